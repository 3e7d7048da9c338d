//! The way back to whoever called.

use askback_core::{
    ask::Reply,
    jsonrpc::ErrorObject,
    protocol::{LoggingLevel, ServerNotification},
};

use super::Permitted;
use crate::flow::BoxFuture;

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

    /// Asks a question of a handshake revision. Dropping the future withdraws the question.
    fn ask(&self, key: &str, question: Permitted)
    -> BoxFuture<'static, Result<Reply, ErrorObject>>;
}
