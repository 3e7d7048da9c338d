//! Model Context Protocol servers and clients in which a plain `async fn` asks a person in the
//! middle, unchanged in every protocol revision.

#[cfg(feature = "server")]
mod answer;
#[cfg(any(feature = "oauth-client", feature = "oauth-server"))]
pub mod authorization;
#[cfg(feature = "client")]
pub mod client;
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
#[cfg(feature = "server")]
pub mod handler;
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
#[cfg(feature = "server")]
pub mod store;
#[cfg(feature = "testing")]
pub mod testing;
pub mod transport;

#[cfg(feature = "server")]
pub use answer::Answer;
pub use askback_core::{
    ask::Principal,
    forms::{self, Form},
    future::BoxFuture,
    jsonrpc::ErrorObject,
    limits::{self, Limits},
    protocol,
    revision::Revision,
};
pub use askback_macros::Form;
#[cfg(feature = "macros")]
pub use askback_macros::{prompt, resource, tool};
pub use clock::{Clock, SystemClock};
#[cfg(feature = "server")]
pub use ctx::{Ask, Ctx};
#[cfg(any(feature = "client", feature = "server"))]
pub use error::{Error, Result};
#[cfg(all(feature = "schemars", feature = "server"))]
pub use handler::Json;
#[cfg(feature = "server")]
pub use handler::{Serde, State};
#[cfg(feature = "schemars")]
pub use schemars;
#[cfg(feature = "http-server")]
pub use server::http;
#[cfg(feature = "server")]
pub use server::middleware;
#[cfg(feature = "server")]
pub use server::{
    Changed, Prompt, Resource, ResourceTemplate, RunError, Server, ServerBuilder, Tool,
};

#[doc(hidden)]
pub mod __private {
    #[cfg(feature = "server")]
    pub use crate::error::Cause;
    #[cfg(feature = "server")]
    pub use crate::handler::{NoForm, Probe, Worded, Words, handling, is_asked, is_parameter};
    pub use askback_core::forms;
}
