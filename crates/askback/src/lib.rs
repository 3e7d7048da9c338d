//! Model Context Protocol servers and clients in which a plain `async fn` asks a person in the
//! middle, unchanged in every protocol revision.
//!
//! A whole server that asks before it acts:
//!
//! ```no_run
//! use askback::{Ctx, Result, RunError, Server, tool};
//!
//! #[tool(description = "Deletes a file, if a person agrees.")]
//! async fn delete(ctx: Ctx, path: String) -> Result<&'static str> {
//!     if !ctx.confirm(format!("Delete {path}?")).await? {
//!         return Ok("Nothing was deleted.");
//!     }
//!     let delete = async move || Ok(std::fs::remove_file(path)?);
//!     ctx.commit("delete", delete).await.map(|()| "Deleted.")
//! }
//!
//! #[tokio::main]
//! async fn main() -> Result<(), RunError> {
//!     Server::new("files", "1.0").tool(delete).run_stdio().await
//! }
//! ```
//!
//! Its dependencies:
//!
//! ```toml
//! [dependencies]
//! askback = "0.1"
//! tokio = { version = "1", features = ["macros", "rt-multi-thread"] }
//! ```
//!
//! - A parameter of a plain type is an argument, which the model fills in: see [`tool`].
//! - [`Ctx::confirm`] asks for a yes or no, [`Ctx::elicit`] for a form or one value. The line goes on
//!   with the answer.
//! - [`Ctx::commit`] does something at most once after the answer, whatever the client repeats.
//!   **A handler may run more than once**: [`Ctx`] says when, and what to do about it.
//! - [`ServerBuilder::run_stdio`] serves the client that started the program; so logs go to standard
//!   error: `tracing_subscriber::fmt().with_writer(std::io::stderr).init()`. With the feature
//!   `http-server`, `run_http` serves over HTTP.
//!
//! Try it with the `askback` command, `askback -- target/debug/files`, or name it in the `mcp.json`
//! of a host: `{"mcpServers": {"files": {"command": "/path/to/files"}}}`.
//!
//! The guide is in `docs/guide` of the repository. Begin with `tutorial.md`, which takes ten minutes, and read `asking.md`
//! and `effects.md` before a server acts.
//!
//! # Where to find what
//!
//! | module | what it is for |
//! |---|---|
//! | [`server`] | what a server offers, and how it is built and served |
//! | [`ctx`] | the context of a handler: questions, steps, progress |
//! | [`forms`](mod@forms) | what a person can be asked to fill in |
//! | [`handler`] | parameters and results of handlers |
//! | [`client`] | the other side: calling servers, and answering what they ask |
//! | [`http`] | serving over HTTP (feature `http-server`) |
//! | [`transport`] | standard streams, child processes, HTTP for clients, and your own |
//! | [`authorization`] | who asks (feature `oauth-server`), and signing in (feature `oauth-client`) |
//! | [`store`] | claims of commits: in files, in SQLite, in memory |
//! | [`testing`] | a scripted person in front of a handler (feature `testing`) |
//! | [`protocol`] | the messages of the protocol as types |
//!
//! # Features
//!
//! | feature | what it brings |
//! |---|---|
//! | `macros`, `server`, `stdio` | the default features: `#[tool]` and its like, servers, standard streams |
//! | `client` | clients; with `stdio`, of servers that they start |
//! | `bridge` | [`bridge`]: servers whose requests are answered by another server |
//! | `anyhow` | handlers may fail with `anyhow::Error` |
//! | `dates`, `pattern` | forms with dates and times, and with patterns of text |
//! | `http-server`, `http-client` | HTTP, for each side |
//! | `oauth-server`, `oauth-client` | authorization, for each side, over HTTP |
//! | `schemars`, `json-schema` | `Json<T>` with the schema of its type; checks by the schemas of tools |
//! | `sqlite`, `sqlite-bundled` | commits in SQLite: that of the system, or one that is compiled in |
//! | `testing` | [`testing`], for dev-dependencies |
//! | `witness` | [`witness`]: proof that a person said yes |

#[cfg(feature = "server")]
mod answer;
#[cfg(any(feature = "oauth-client", feature = "oauth-server"))]
pub mod authorization;
#[cfg(feature = "bridge")]
pub mod bridge;
#[cfg(feature = "client")]
pub mod client;
#[doc(hidden)]
pub mod clock;
#[cfg(feature = "server")]
pub mod ctx;
#[cfg(feature = "server")]
mod entropy;
#[cfg(any(feature = "client", feature = "server"))]
mod error;
#[cfg(any(feature = "client", feature = "server"))]
mod extension;
#[cfg(feature = "server")]
mod flow;
#[cfg(feature = "http-server")]
#[doc(inline)]
pub use server::fleet::Fleet;

#[cfg(feature = "server")]
pub mod handler;
#[cfg(feature = "http-server")]
pub mod journal;
#[cfg(feature = "server")]
pub mod keys;
#[cfg(feature = "server")]
mod private_file;
#[cfg(feature = "server")]
mod roots;
#[cfg(all(feature = "json-schema", any(feature = "client", feature = "server")))]
mod schema;
#[cfg(feature = "server")]
pub mod server;
#[cfg(any(feature = "client", feature = "server"))]
mod span;
#[cfg(feature = "server")]
pub mod store;
#[cfg(feature = "testing")]
pub mod testing;
pub mod transport;
#[cfg(feature = "witness")]
pub mod witness;

#[cfg(feature = "server")]
#[doc(inline)]
pub use answer::Answer;
#[doc(inline)]
pub use askback_core::{
    ask::Principal,
    forms::{self, Form},
    future::BoxFuture,
    jsonrpc::ErrorObject,
    limits::{self, Limits},
    protocol,
    revision::Revision,
};
#[doc(inline)]
pub use askback_macros::Form;
#[cfg(feature = "macros")]
#[doc(inline)]
pub use askback_macros::{prompt, resource, tool};
#[doc(inline)]
pub use clock::{Clock, SystemClock};
#[cfg(feature = "server")]
#[doc(inline)]
pub use ctx::{Ask, Ctx};
#[cfg(any(feature = "client", feature = "server"))]
#[doc(inline)]
pub use error::{Error, Result};
#[cfg(all(feature = "schemars", feature = "server"))]
#[doc(inline)]
pub use handler::Json;
#[cfg(feature = "server")]
#[doc(inline)]
pub use handler::{PlainJson, State};
#[cfg(feature = "schemars")]
pub use schemars;
#[cfg(feature = "http-server")]
#[doc(inline)]
pub use server::http;
#[cfg(feature = "server")]
#[doc(inline)]
pub use server::middleware;
#[cfg(feature = "server")]
#[doc(inline)]
pub use server::{
    Change, Prompt, Resource, ResourceTemplate, RunError, Server, ServerBuilder, Tool,
};

/// The core, for the crates above this one. Not public interface.
#[doc(hidden)]
pub use askback_core as internal;

#[doc(hidden)]
pub mod __private {
    #[cfg(feature = "server")]
    pub use crate::error::Cause;
    #[cfg(all(feature = "schemars", feature = "server"))]
    pub use crate::handler::{ArgumentReader, CallArguments, NestedArguments, ObjectSchema};
    #[cfg(feature = "server")]
    pub use crate::handler::{
        AskMessage, AskWithMessage, NoForm, Probe, handling, handling_result, is_asked,
        is_parameter,
    };
    pub use askback_core::forms;

    /// Hands on the code of a tool that has a list, a map, a path or a struct as an argument.
    #[cfg(feature = "schemars")]
    #[macro_export]
    #[doc(hidden)]
    macro_rules! __nested {
        ($($code:tt)*) => { $($code)* };
    }

    #[cfg(not(feature = "schemars"))]
    #[macro_export]
    #[doc(hidden)]
    macro_rules! __nested {
        ($($code:tt)*) => {
            ::core::compile_error!(
                "lists, maps, paths and structs are arguments with the feature `schemars` of askback"
            )
        };
    }

    pub use __nested as nested;
}
