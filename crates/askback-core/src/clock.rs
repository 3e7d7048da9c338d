//! The clock: the caller supplies it.

use crate::ask::Millis;

/// Tells the time that is written into sealed states, journals and kept tokens.
///
/// Nothing in this crate implements it or calls it. Servers and clients use the clock of the
/// machine unless they are given another; tests give one they can turn.
pub trait Clock: Send + Sync + 'static {
    /// Milliseconds since the Unix epoch.
    fn now(&self) -> Millis;
}
