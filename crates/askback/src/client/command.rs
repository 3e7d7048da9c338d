//! The commands of a client's handles to its driver.

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
    /// With all its rounds.
    #[default]
    Whole,
    /// One round of it: the questions of the server are the result.
    Round,
    /// Nothing is called: it goes on with this task, which it became before.
    Task(Arc<str>),
}

/// The commands of a client's handles.
pub(super) enum Command {
    Call {
        id: CallId,
        request: Box<ClientRequest>,
        timeouts: Timeouts,
        manner: CallMode,
        reply: Reply,
        /// For a subscription: what was granted, once it begins.
        granted: Option<oneshot::Sender<SubscriptionFilter>>,
    },
    Cancel(CallId),
    /// Ends a call whose task goes on without it.
    Leave(CallId),
    RootsChanged,
    /// Tells the host of this.
    Note(String),
    SetPrincipal(Option<String>),
    Close(oneshot::Sender<()>),
}
