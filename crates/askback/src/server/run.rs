//! From a builder to a running server in one step, for programs that do nothing else.

use std::{fmt, io};

use super::BuildError;
use super::ServerBuilder;

/// The error of [`ServerBuilder::run_stdio`] and `ServerBuilder::run_http`.
///
/// A `main` can return it: Rust prints the `Debug` form of such an error, which is the message here.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The server cannot be built. The author is to blame.
    #[error("the server cannot be built: {0}")]
    Build(BuildError),
    /// Standard input or output failed.
    #[error("standard input or output failed: {0}")]
    Stdio(io::Error),
    /// The address does not say where to listen.
    #[error(
        "the address to listen on cannot be resolved: {0}. Give an IP address and a port, such as `127.0.0.1:8000`."
    )]
    Address(io::Error),
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {why}.{}", way_out(why))]
    Listen {
        /// The addresses that were tried.
        address: String,
        /// The error of the operating system.
        why: io::Error,
    },
    /// The connections cannot be served any longer.
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
    /// output, until its input ends: all that the `main` of most servers does.
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
    /// Fails where the server cannot be built, and where standard input or output fails.
    pub async fn run_stdio(self) -> Result<(), RunError> {
        self.build()?.serve_stdio().await.map_err(RunError::Stdio)
    }
}

/// A stand-in for the address of `run_http`, which nothing is: what a program without the feature is
/// told in place of "no method named `run_http`".
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

/// A stand-in for the program of `run_stdio`, which nothing is, in a build without the feature.
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
        // A lifetime has the compiler look where this is called, and not here.
        for<'a> &'a Self: StdioFeature,
    {
        std::future::ready(self.build().map(drop).map_err(RunError::from))
    }
}

/// The hint for an address that cannot be listened on.
fn way_out(why: &io::Error) -> &'static str {
    match why.kind() {
        io::ErrorKind::AddrInUse => " Stop the program that listens there, or choose another port.",
        io::ErrorKind::AddrNotAvailable => " Choose an address of this machine.",
        io::ErrorKind::PermissionDenied => " Choose a port above 1023.",
        _ => "",
    }
}
