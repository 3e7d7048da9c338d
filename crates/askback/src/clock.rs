//! Where the time comes from.

use std::time::{SystemTime, UNIX_EPOCH};

use askback_core::ask::Millis;

/// Tells the time that is written into sealed states and journals.
///
/// A server uses [`SystemClock`] unless it is given another; tests give one they can turn.
pub trait Clock: Send + Sync + 'static {
    /// Milliseconds since the Unix epoch.
    fn now(&self) -> Millis;
}

/// The clock of the machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Millis {
        let since = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    }
}
