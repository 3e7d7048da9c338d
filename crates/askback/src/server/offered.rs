//! The offers of a server, of whatever kind.

use super::{complete::Completers, needs::Needs, visibility::Visibility};
use crate::ctx::Parameters;

/// One thing that a server offers, of whatever kind.
pub(super) trait Offered: Send + Sync {
    /// The name or URI by which clients ask for it.
    fn name(&self) -> &str;

    /// Returns the needs of its handler's parameters.
    fn parameters(&self) -> &Parameters;

    fn needs(&self) -> &Needs;

    fn visibility(&self) -> &Visibility;

    /// The completers of its arguments, for kinds whose arguments are completed.
    fn completers(&self) -> Option<&Completers> {
        None
    }

    /// Whether calls of it become tasks.
    fn becomes_task(&self) -> bool {
        false
    }
}
