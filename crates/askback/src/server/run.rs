//! Builds and runs a server in one step.

use std::{fmt, io};

use super::BuildError;
use super::ServerBuilder;

/// The error of [`ServerBuilder::run_stdio`] and `ServerBuilder::run_http`.
///
/// A `main` can return it: Rust prints the `Debug` form of such an error, which is the message
/// here.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The server could not be built. This is a mistake in the server's code.
    #[error("the server cannot be built: {0}")]
    Build(BuildError),
    /// Standard input or output failed.
    #[error("standard input or output failed: {0}")]
    Stdio(io::Error),
    /// The address to listen on cannot be resolved.
    #[error(
        "the address to listen on cannot be resolved: {0}. Give an IP address and a port, such as `127.0.0.1:8000`."
    )]
    Address(io::Error),
    /// Listening at the address failed.
    #[error("cannot listen on {address}: {why}.{}", way_out(why))]
    Listen {
        /// The addresses that were tried.
        address: String,
        /// The error of the operating system.
        why: io::Error,
    },
    /// Accepting connections failed.
    #[error("the server stopped: {0}")]
    Serve(io::Error),
}

impl fmt::Debug for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl From<BuildError> for RunError {
    fn from(error: BuildError) -> Self {
        Self::Build(error)
    }
}

#[cfg(feature = "stdio")]
impl ServerBuilder {
    /// Builds the server and serves the client that started this process over standard input and
    /// output, until its input ends. This is all that the `main` of most servers needs.
    ///
    /// ```no_run
    /// use askback::{Result, RunError, Server, Tool};
    ///
    /// #[tokio::main]
    /// async fn main() -> Result<(), RunError> {
    ///     let hello = Tool::new("hello", async || -> Result<&'static str> { Ok("Hello!") });
    ///     Server::new("greeter", "1.0.0").tool(hello).run_stdio().await
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// Fails if the server cannot be built, or if standard input or output fails.
    pub async fn run_stdio(self) -> Result<(), RunError> {
        self.build()?.serve_stdio().await.map_err(RunError::Stdio)
    }
}

/// Implemented for no type, so that a program without the feature gets this message and not "no
/// method named `run_http`".
#[cfg(not(feature = "http-server"))]
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`run_http` needs the feature `http-server` of `askback`",
    label = "this server was built without HTTP",
    note = "add it in Cargo.toml: `askback = {{ version = \"..\", features = [\"http-server\"] }}`"
)]
pub trait HttpServerFeature {}

#[cfg(not(feature = "http-server"))]
impl ServerBuilder {
    #[doc(hidden)]
    pub fn run_http<A: HttpServerFeature>(self, _: A) -> std::future::Ready<Result<(), RunError>> {
        std::future::ready(self.build().map(drop).map_err(RunError::from))
    }
}

/// Implemented for no type, so that a build without the feature gets this message.
#[cfg(not(feature = "stdio"))]
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`run_stdio` needs the feature `stdio` of `askback`",
    label = "this server was built without standard input and output",
    note = "add it in Cargo.toml: `askback = {{ version = \"..\", features = [\"stdio\"] }}`"
)]
pub trait StdioFeature {}

#[cfg(not(feature = "stdio"))]
impl ServerBuilder {
    #[doc(hidden)]
    pub fn run_stdio(self) -> std::future::Ready<Result<(), RunError>>
    where
        // With this lifetime, the compiler reports the error at the call and not here.
        for<'a> &'a Self: StdioFeature,
    {
        std::future::ready(self.build().map(drop).map_err(RunError::from))
    }
}

fn way_out(why: &io::Error) -> &'static str {
    match why.kind() {
        io::ErrorKind::AddrInUse => " Stop the program that listens there, or choose another port.",
        io::ErrorKind::AddrNotAvailable => " Choose an address of this machine.",
        io::ErrorKind::PermissionDenied => " Choose a port above 1023.",
        _ => "",
    }
}
