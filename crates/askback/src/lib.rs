//! Model Context Protocol servers and clients in which a plain `async fn` asks a person in the
//! middle, unchanged in every protocol revision.

mod answer;
#[cfg(any(feature = "oauth-client", feature = "oauth-server"))]
pub mod authorization;
#[cfg(feature = "client")]
pub mod client;
pub mod clock;
pub mod ctx;
mod entropy;
mod error;
mod extension;
mod flow;
pub mod handler;
pub mod keys;
mod private_file;
mod roots;
#[cfg(feature = "json-schema")]
mod schema;
pub mod server;
pub mod store;
#[cfg(feature = "testing")]
pub mod testing;
pub mod transport;

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
pub use ctx::{Ask, Ctx};
pub use error::{Error, Result};
#[cfg(feature = "schemars")]
pub use handler::Json;
pub use handler::{Serde, State};
#[cfg(feature = "schemars")]
pub use schemars;
#[cfg(feature = "http-server")]
pub use server::http;
pub use server::middleware;
pub use server::{
    Changed, Prompt, Resource, ResourceTemplate, RunError, Server, ServerBuilder, Tool,
};

#[doc(hidden)]
pub mod __private {
    pub use crate::error::Cause;
    pub use crate::handler::{NoForm, Probe, Worded, Words, handling, is_asked, is_parameter};
    pub use askback_core::forms;
}
