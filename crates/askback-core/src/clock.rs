//! The clock, supplied by the caller.

use crate::ask::Millis;

/// The source of the time that is written into sealed states, journals and stored tokens.
///
/// Servers and clients use the system clock unless they are given another. Tests supply one that
/// they can set.
pub trait Clock: Send + Sync + 'static {
    /// Milliseconds since the Unix epoch.
    fn now(&self) -> Millis;
}
