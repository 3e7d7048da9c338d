//! Model Context Protocol servers and clients in which a plain `async fn` asks the user in the middle of a call,
//! unchanged in every protocol revision.
//!
//! A complete server that asks before it acts:
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
//! - [`Ctx::confirm`] asks for a yes or no, [`Ctx::elicit`] for a form or one value. The code continues with the
//!   answer.
//! - [`Ctx::commit`] runs an effect at most once after the answer, even if the client repeats a request.
//!   **A handler may run more than once**: [`Ctx`] explains when, and what to do about it.
//! - [`ServerBuilder::run_stdio`] serves the client that started the program. Stdout is for the protocol, so log to
//!   stderr: `tracing_subscriber::fmt().with_writer(std::io::stderr).init()`. With the feature `http-server`,
//!   `run_http` serves over HTTP.
//!
//! Try it with the `askback` command, `askback -- target/debug/files`, or add it to the `mcp.json` of a host:
//! `{"mcpServers": {"files": {"command": "/path/to/files"}}}`.
//!
//! The guide is in `docs/guide` of the repository. Start with `tutorial.md`, which takes ten minutes. Read `asking.md`
//! and `effects.md` before your server has effects.
//!
//! # Modules
//!
//! | module | content |
//! |---|---|
//! | [`server`] | building and serving a server |
//! | [`ctx`] | the context of a handler: questions, steps, progress |
//! | [`forms`](mod@forms) | forms for the user |
//! | [`handler`] | parameters and results of handlers |
//! | [`client`] | calling servers, and answering their questions |
//! | [`http`] | serving over HTTP (feature `http-server`) |
//! | [`transport`] | stdio, child processes, HTTP for clients, and your own |
//! | [`authorization`] | token checks (feature `oauth-server`), and signing in (feature `oauth-client`) |
//! | [`store`] | storage for claims of commits: in files, in SQLite, in memory |
//! | [`testing`] | a scripted user for tests of handlers (feature `testing`) |
//! | [`protocol`] | the protocol's messages as types |
//!
//! # Features
//!
//! | feature | content |
//! |---|---|
//! | `macros`, `server`, `stdio` | the default features: `#[tool]` and similar macros, servers, stdio |
//! | `client` | clients; with `stdio`, for servers that they start |
//! | `bridge` | [`bridge`]: servers that forward their requests to another server |
//! | `anyhow` | handlers may fail with `anyhow::Error` |
//! | `dates`, `pattern` | forms with dates and times, and with text patterns |
//! | `http-server`, `http-client` | HTTP, for each side |
//! | `oauth-server`, `oauth-client` | authorization, for each side, over HTTP |
//! | `schemars`, `json-schema` | `Json<T>` with the schema of its type; checks against the schemas of tools |
//! | `skills` | skills, for each side |
//! | `sqlite`, `sqlite-bundled` | commits in SQLite: the system's, or one that is compiled in |
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
#[cfg(any(feature = "client", feature = "server"))]
mod mutex;
#[cfg(feature = "server")]
mod private_file;
#[cfg(feature = "server")]
mod roots;
#[cfg(all(feature = "json-schema", any(feature = "client", feature = "server")))]
mod schema;
#[cfg(feature = "server")]
pub mod server;
#[cfg(all(feature = "skills", any(feature = "client", feature = "server")))]
mod skill_file;
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
pub use ctx::{Ask, Ctx, TransactionCommit};
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
#[cfg(all(feature = "skills", feature = "server"))]
#[doc(inline)]
pub use server::Skill;
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

/// For the crates that build on this one. Not public API.
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

    /// Adds the code for a tool that has a list, map, path or struct as an argument.
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
