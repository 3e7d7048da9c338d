//! Short messages between the processes of a service.

use super::{CallId, SessionId, StoreFuture};

/// The longest hint, in bytes.
pub const MAX_HINT_BYTES: usize = 1 << 10;

/// How many hints a bus keeps for processes that have yet to hear them, if it keeps them itself.
pub(crate) const MAX_HINTS_KEPT: usize = 1024;

/// The subject of a hint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Topic {
    /// The log of a call has grown, or the call has ended.
    Call(CallId),
    /// The client of a session has chosen something.
    Session(SessionId),
    /// Something that the service offers has changed.
    Changed,
}

/// The hints that were heard on a bus.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HeardHints {
    /// The hints, in the order in which they were published.
    pub hints: Vec<(Topic, Vec<u8>)>,
    /// The place behind them, from which the next ones are heard.
    pub cursor: u64,
    /// Whether hints before these may have been lost: the process has to look at everything again.
    pub has_gap: bool,
}

/// Tells the processes of a service to look at something, such as the [journal](super::Journal).
///
/// A hint may be lost, and may be heard by the process that published it. A hint that is lost costs only time. It has at most
/// [`MAX_HINT_BYTES`], and what is confidential in it is sealed.
///
/// [`MemoryJournal`](super::MemoryJournal) is the bus of the servers of one process. A
/// [`SqliteStore`](crate::store::SqliteStore) is one for the processes of one machine; it passes on no hints about calls,
/// because the logs of calls are read as often as its hints.
pub trait Bus: Send + Sync {
    /// Publishes a hint. It never waits.
    fn publish(&self, topic: Topic, hint: &[u8]);

    /// Waits for hints behind a cursor. Without one, returns at once with the cursor of the present.
    fn hear(&self, after: Option<u64>) -> StoreFuture<'_, HeardHints>;
}

impl<B: Bus + ?Sized> Bus for std::sync::Arc<B> {
    fn publish(&self, topic: Topic, hint: &[u8]) {
        (**self).publish(topic, hint);
    }

    fn hear(&self, after: Option<u64>) -> StoreFuture<'_, HeardHints> {
        (**self).hear(after)
    }
}
