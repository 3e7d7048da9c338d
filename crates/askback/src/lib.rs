//! Model Context Protocol servers and clients in which a plain `async fn` asks a person in the
//! middle, unchanged in every protocol revision.

mod answer;
#[cfg(any(feature = "oauth-client", feature = "oauth-server"))]
pub mod authorization;
#[cfg(feature = "client")]
pub mod client;
mod clock;
mod ctx;
mod entropy;
mod error;
mod extension;
mod flow;
mod handler;
pub mod keys;
mod private_file;
mod roots;
mod server;
pub mod store;
#[cfg(feature = "testing")]
pub mod testing;
pub mod transport;

pub use answer::Answer;
pub use askback_core::{
    ask::{AskError, Principal},
    forms::{self, Form},
    jsonrpc::ErrorObject,
    limits::Limits,
    protocol,
    revision::Revision,
};
pub use askback_macros::Form;
#[cfg(feature = "macros")]
pub use askback_macros::{prompt, resource, tool};
pub use clock::{Clock, SystemClock};
pub use ctx::{
    Arguments, Ask, CompletionNotice, Confirm, Ctx, Elapsed, Elicit, ElicitUrl, Incoming,
    ListRoots, Parameters, Questions, Sample,
};
pub use error::{Error, Result};
pub use flow::Step;
pub use handler::{
    Extract, Extraction, Handler, IntoPromptResult, IntoReadResult, IntoToolResult, Json, State,
};
pub use roots::{RemoteRoots, Roots};
#[cfg(feature = "http-server")]
pub use server::http;
pub use server::{
    BuildError, Changed, Completing, Offers, Prompt, Resource, ResourceTemplate, RootsChanged,
    RunError, Server, ServerBuilder, Tool,
};

#[doc(hidden)]
pub mod __private {
    pub use crate::handler::{NoForm, Probe, Worded, Words, handling, is_asked, is_parameter};
    pub use askback_core::forms;
}
