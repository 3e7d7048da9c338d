//! Commands from a client's handles to its driver.

use std::sync::Arc;

use askback_core::{
    engine::client::{CallId, ClientError, Timeouts},
    protocol::{ClientRequest, SubscriptionFilter},
};
use serde_json::value::RawValue;
use tokio::sync::oneshot;

pub(super) type CallOutcome = Result<Box<RawValue>, ClientError>;

pub(super) type Reply = oneshot::Sender<CallOutcome>;

#[derive(Clone, Default)]
pub(super) enum CallMode {
    #[default]
    Whole,
    /// A single round, whose result may be the server's questions.
    Round,
    /// Resumes this task instead of calling.
    Task(Arc<str>),
}

pub(super) enum Command {
    Call {
        id: CallId,
        request: Box<ClientRequest>,
        timeouts: Timeouts,
        manner: CallMode,
        reply: Reply,
        /// For a subscription: receives what was granted, once it begins.
        granted: Option<oneshot::Sender<SubscriptionFilter>>,
    },
    Cancel(CallId),
    Leave(CallId),
    RootsChanged,
    Note(String),
    SetPrincipal(Option<String>),
    Close(oneshot::Sender<()>),
}
