use askback_core::ask::Millis;
use tokio::time::Instant;

use crate::clock::{Clock, millis};

/// A clock that starts at 1 January 2026 and follows tokio's time.
///
/// If that is paused (`#[tokio::test(start_paused = true)]`), `tokio::time::sleep` advances it: timers, leases and
/// sealed states expire without waiting.
#[derive(Debug, Clone, Copy)]
pub struct TestClock {
    started: Instant,
}

/// Midnight, 2026-01-01, UTC.
const START: Millis = 1_767_225_600_000;

impl TestClock {
    /// Creates a clock that starts now.
    #[must_use]
    pub fn new() -> Self {
        Self {
            started: Instant::now(),
        }
    }
}

impl Default for TestClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for TestClock {
    fn now(&self) -> Millis {
        START + millis(self.started.elapsed())
    }
}
