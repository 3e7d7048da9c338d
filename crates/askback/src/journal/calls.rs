use std::time::Duration;

use super::{StoreFuture, for_arc};

/// One call to be counted, against a budget that refills steadily.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct CountedCall {
    /// The budget: a digest of the caller, the method and the name of the offer. It is the same in every process, and
    /// does not show what a client sent.
    pub budget: [u8; 16],
    /// The number of calls that a full budget holds, at least 1.
    pub calls: u64,
    /// How long an empty budget takes to refill, at least a millisecond.
    pub window: Duration,
}

impl CountedCall {
    /// Creates the description of a call.
    #[must_use]
    pub fn new(budget: [u8; 16], calls: u64, window: Duration) -> Self {
        Self {
            budget,
            calls: calls.max(1),
            window: window.max(Duration::from_millis(1)),
        }
    }
}

/// Counts the calls of all processes of a fleet, so that the rate limit holds for all of them together:
/// [`Fleet::call_counter`](crate::Fleet::call_counter).
///
/// A counter forgets a budget that is full again, so only recent callers take room. It fails early if it cannot count:
/// each call waits for it, and is then counted by its process alone.
pub trait CallCounter: Send + Sync {
    /// Counts a call. Returns `None` if it is within its budget, or else how long to wait; a refused call does not count.
    fn take(&self, call: CountedCall) -> StoreFuture<'_, Option<Duration>>;
}

for_arc! { CallCounter:
    fn take(call: CountedCall) -> StoreFuture<'a, Option<Duration>>;
}
