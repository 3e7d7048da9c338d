//! The commands of a client's handles to its driver.

use askback_core::{
    engine::client::{CallId, ClientError, Timeouts},
    protocol::{ClientRequest, SubscriptionFilter},
};
use serde_json::value::RawValue;
use tokio::sync::oneshot;

/// The outcome of a call.
pub(super) type CallOutcome = Result<Box<RawValue>, ClientError>;

/// Where the outcome of a call goes.
pub(super) type Reply = oneshot::Sender<CallOutcome>;

/// The commands of a client's handles.
pub(super) enum Command {
    Call {
        id: CallId,
        request: Box<ClientRequest>,
        timeouts: Timeouts,
        /// Whether the questions of the server are the result.
        is_single: bool,
        reply: Reply,
        /// For a subscription: what was granted, once it begins.
        granted: Option<oneshot::Sender<SubscriptionFilter>>,
    },
    Cancel(CallId),
    RootsChanged,
    SetPrincipal(Option<String>),
    Close(oneshot::Sender<()>),
}
