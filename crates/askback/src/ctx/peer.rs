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
    /// When the call continues even without an answer.
    #[cfg(feature = "http-server")]
    pub(crate) wake: Option<Millis>,
    #[cfg(feature = "http-server")]
    pub(crate) progress: crate::flow::ProgressState,
}

/// The client of a call. By default it is told nothing.
pub(crate) trait Peer: Send + Sync {
    fn notify(&self, _notification: ServerNotification) {}

    fn wants_log(&self, _level: LoggingLevel) -> bool {
        false
    }

    /// Sets the status of a task. Other calls have no status.
    fn stands(&self, _message: String) {}

    /// Notifies the client, on the session of the request, that the user is done with a link's page.
    fn complete_elicitation(&self, _elicitation_id: String) {}

    /// Closes the connection of the call's stream, if the stream has its own connection and the client reconnects.
    fn close_stream(&self) {}
}

pub(crate) trait AskingPeer: Peer {
    /// Asks a question. Dropping the future withdraws the question.
    fn ask(&self, key: &str, question: CheckedRequest) -> BoxFuture<'static, Reply>;
}

/// A client whose call is parked in a journal while it asks.
pub(crate) trait ParkingPeer: Peer {
    /// Parks the call with a round of questions, and asks them. The process that gets an answer continues the call.
    /// After this returns, the call is no longer in this process.
    fn park(
        &self,
        incoming: Arc<Incoming>,
        round: InputRequiredResult,
        pause: FlowPause,
    ) -> BoxFuture<'static, Result<()>>;
}

#[derive(Clone)]
pub(crate) enum CallPeer {
    /// Questions are the result of the request; the next request has the answers (2026-07-28).
    Rounds(Arc<dyn Peer>),
    /// Questions are requests to the client, and are stored with the call, so that any process of a fleet can continue
    /// it.
    #[cfg_attr(not(feature = "http-server"), expect(dead_code))]
    Journal(Arc<dyn ParkingPeer>),
    /// Questions are requests to the client, or questions of a task, and the handler waits for the answers.
    Held(Arc<dyn AskingPeer>),
}

impl CallPeer {
    /// The client of a connection that supports both eras.
    pub(crate) fn of_connection(peer: Arc<impl AskingPeer + 'static>, origin: &Origin) -> Self {
        match origin.revision.era() {
            Era::Modern => Self::Rounds(peer),
            Era::Legacy => Self::Held(peer),
        }
    }

    pub(crate) fn to_tell(&self) -> Arc<dyn Peer> {
        match self {
            Self::Rounds(peer) => Arc::clone(peer),
            Self::Journal(peer) => Arc::clone(peer) as _,
            Self::Held(peer) => Arc::clone(peer) as _,
        }
    }
}
