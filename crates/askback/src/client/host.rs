//! Whoever is behind a client.

use std::{future::Future, pin::Pin};

use askback_core::{
    engine::client::{Event, HostQuestion},
    jsonrpc::ErrorObject,
    protocol::{ClientCapabilities, InputResponse},
};

/// The answer to a question, which may take a person a while.
pub type Answering<'a> =
    Pin<Box<dyn Future<Output = Result<InputResponse, ErrorObject>> + Send + 'a>>;

/// Answers what a server asks, and hears what it says: a person at a screen, a script, a model.
pub trait Host: Send + Sync + 'static {
    /// How the host can be asked. It is read once, when a client connects; servers ask for nothing
    /// that is not declared here.
    fn capabilities(&self) -> ClientCapabilities;

    /// Answers a question. A no is an answer like any other; an error with the code
    /// [`USER_REJECTED`](askback_core::protocol::codes::USER_REJECTED) says that what was to be
    /// sampled or told is refused, and any other that the host failed.
    ///
    /// Several questions may be asked at the same time. The future is dropped when the question is
    /// withdrawn; a panic costs only the question.
    fn answer(&self, question: HostQuestion) -> Answering<'_>;

    /// Hears something. It must not block.
    fn event(&self, event: Event) {
        let _ = event;
    }
}

/// Nobody: a client that cannot be asked anything.
pub(super) struct Nobody;

impl Host for Nobody {
    fn capabilities(&self) -> ClientCapabilities {
        ClientCapabilities::default()
    }

    fn answer(&self, question: HostQuestion) -> Answering<'_> {
        let error = ErrorObject::method_not_found(question.request.method());
        Box::pin(async { Err(error) })
    }
}
