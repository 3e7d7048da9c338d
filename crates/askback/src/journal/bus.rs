use super::{CallId, SessionId, StoreFuture, for_arc};

/// The longest hint, in bytes.
pub const MAX_HINT_BYTES: usize = 1 << 10;

/// The subject of a hint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Topic {
    /// The log of a call has grown, or the call has ended.
    Call(CallId),
    /// A client has set its session's log level or subscriptions.
    Session(SessionId),
    /// Something that the service offers has changed.
    Changed,
}

/// The hints that were heard on a bus.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HeardHints {
    /// The hints, in the order in which they were published.
    pub hints: Vec<(Topic, Vec<u8>)>,
    /// The cursor after the last hint: pass it to the next call.
    pub cursor: u64,
    /// Whether earlier hints may have been lost. If so, the process has to check everything again.
    pub has_gap: bool,
}

/// Tells the processes of a service to look at something, such as the [journal](super::Journal).
///
/// A bus may lose a hint, which only delays the work, and a process may receive its own hints. A hint has at most
/// [`MAX_HINT_BYTES`]; confidential data in it is sealed.
///
/// A bus does not count or log what it hears: it reports it in [`HeardHints`], and the process that serves counts it.
///
/// [`SqliteStore`](crate::store::SqliteStore) is a bus for the processes of one machine. It does not pass on hints about
/// calls, because the processes read the logs of calls as often as they read hints.
pub trait Bus: Send + Sync {
    /// Publishes a hint without waiting.
    fn publish(&self, topic: Topic, hint: &[u8]);

    /// Waits for hints after a cursor. Without a cursor, returns the current one at once.
    fn hear(&self, after: Option<u64>) -> StoreFuture<'_, HeardHints>;

    /// Whether the bus was reached at least once. A process whose bus has not been reached yet serves, and is not
    /// ready. It stays ready if the bus is lost later, because hints only save time.
    fn was_reached(&self) -> bool {
        true
    }

    /// Whether the bus refuses this process now, for example because its user lacks a permission.
    fn is_refused(&self) -> bool {
        false
    }

    /// Whether it passes on hints about calls. If not, each process reads the logs of its waiting calls more often.
    fn passes_calls(&self) -> bool {
        true
    }
}

for_arc! { Bus:
    fn publish(topic: Topic, hint: &[u8]);
    fn hear(after: Option<u64>) -> StoreFuture<'a, HeardHints>;
    fn was_reached() -> bool;
    fn is_refused() -> bool;
    fn passes_calls() -> bool;
}
