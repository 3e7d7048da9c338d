//! The client of a call: what it is told, and how it is asked.

use std::sync::Arc;

#[cfg(feature = "http-server")]
use askback_core::ask::Millis;
use askback_core::{
    ask::{CheckedRequest, Reply},
    engine::server::Origin,
    protocol::{InputRequiredResult, LoggingLevel, ServerNotification},
    revision::Era,
};

use super::Incoming;
use crate::{error::Result, flow::BoxFuture};

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct FlowPause {
    /// When it goes on without an answer.
    #[cfg(feature = "http-server")]
    pub(crate) wake: Option<Millis>,
    /// How far its call has come.
    #[cfg(feature = "http-server")]
    pub(crate) progress: crate::flow::ProgressState,
}

/// The client of a call, as far as it is told something.
pub(crate) trait Peer: Send + Sync {
    /// Sends a notification that belongs to the request.
    fn notify(&self, notification: ServerNotification);

    fn wants_log(&self, level: LoggingLevel) -> bool;

    /// Says how a task stands; the request of another call has no place for that.
    fn stands(&self, _message: String) {}

    /// Tells that what was behind a link is done, on the session of the request.
    fn complete_elicitation(&self, elicitation_id: String);

    /// Closes the connection that carries the call's stream, if the stream has its own connection and
    /// the client reconnects.
    fn close_stream(&self) {}
}

/// A client that is asked one question after another, while the handler waits.
pub(crate) trait AskingPeer: Peer {
    /// Asks a question. Dropping the future withdraws the question.
    fn ask(&self, key: &str, question: CheckedRequest) -> BoxFuture<'static, Reply>;
}

/// A client whose questions are written down, and the call with them.
pub(crate) trait ParkingPeer: Peer {
    /// Writes down a round of questions, and asks them; the process that gets an answer goes on with the call. Once this has
    /// returned, the call is no longer in this process.
    fn park(
        &self,
        incoming: Arc<Incoming>,
        round: InputRequiredResult,
        pause: FlowPause,
    ) -> BoxFuture<'static, Result<()>>;
}

/// The client of a call, by how its questions travel.
#[derive(Clone)]
pub(crate) enum CallPeer {
    /// They are the result of the request; the next request has the answers (2026-07-28).
    Rounds(Arc<dyn Peer>),
    /// They are requests to the client, and written down with the call, so that any process of a fleet goes on with it.
    #[cfg_attr(not(feature = "http-server"), expect(dead_code))]
    Journal(Arc<dyn ParkingPeer>),
    /// They are requests to the client, or questions of a task, and the handler waits for the answers.
    Held(Arc<dyn AskingPeer>),
}

impl CallPeer {
    /// The client of a connection that serves both eras.
    pub(crate) fn of_connection(peer: Arc<impl AskingPeer + 'static>, origin: &Origin) -> Self {
        match origin.revision.era() {
            Era::Modern => Self::Rounds(peer),
            Era::Legacy => Self::Held(peer),
        }
    }

    /// The client, to be told something.
    pub(crate) fn to_tell(&self) -> Arc<dyn Peer> {
        match self {
            Self::Rounds(peer) => Arc::clone(peer),
            Self::Journal(peer) => Arc::clone(peer) as _,
            Self::Held(peer) => Arc::clone(peer) as _,
        }
    }
}
