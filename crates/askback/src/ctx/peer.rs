//! The way back to whoever called.

use std::sync::Arc;

#[cfg(feature = "http-server")]
use askback_core::ask::Millis;
use askback_core::{
    ask::Reply,
    jsonrpc::ErrorObject,
    protocol::{InputRequiredResult, LoggingLevel, ServerNotification},
};

use super::{Incoming, Permitted};
use crate::{
    error::{Error, Result},
    flow::BoxFuture,
};

/// How a flow pauses until it is answered.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct FlowPause {
    /// When it goes on without an answer.
    #[cfg(feature = "http-server")]
    pub(crate) wake: Option<Millis>,
    /// How far its call has come.
    #[cfg(feature = "http-server")]
    pub(crate) progress: crate::flow::ProgressState,
}

/// The way back to the client of a request.
pub(crate) trait Peer: Send + Sync {
    /// Sends a notification that belongs to the request.
    fn notify(&self, notification: ServerNotification);

    /// Whether the client wants log lines of this level.
    fn wants_log(&self, level: LoggingLevel) -> bool;

    /// Says how a task stands; the request of another call has no place for that.
    fn stands(&self, _message: String) {}

    /// Tells that what was behind a link is done, on the session of the request.
    fn complete_elicitation(&self, elicitation_id: String);

    /// Closes the connection that carries the call's stream, where it has one of its own and its
    /// client knows to come back.
    fn close_stream(&self) {}

    /// Whether the questions of a handshake revision are written down, and the call with them. Then they are not
    /// [asked](Self::ask) one by one.
    fn parks(&self) -> bool {
        false
    }

    /// Writes down a round of questions, and asks them; the process that gets an answer goes on with the call. Once this has
    /// returned, the call is no longer in this process.
    fn park(
        &self,
        _incoming: Arc<Incoming>,
        _round: InputRequiredResult,
        _pause: FlowPause,
    ) -> BoxFuture<'static, Result<()>> {
        Box::pin(async { Err(Error::new("the call cannot be written down")) })
    }

    /// Asks a question of a handshake revision. Dropping the future withdraws the question.
    fn ask(&self, key: &str, question: Permitted)
    -> BoxFuture<'static, Result<Reply, ErrorObject>>;
}
