//! The parts that the handlers of one server have for themselves.

use std::sync::Arc;

use askback_core::limits::Limits;

use super::middleware::Layer;
use crate::{
    clock::Clock,
    ctx::{Backing, RunningCommits, States},
    store::Store,
};

/// The parts that the handlers of one server have for themselves, before it is built: also where it
/// is mounted on another.
#[derive(Default)]
pub(super) struct ScopeParts {
    pub(super) states: States,
    pub(super) limits: Limits,
    pub(super) layers: Vec<Layer>,
}

/// The parts that the handlers of one server have for themselves.
pub(super) struct HandlerScope {
    pub(super) backing: Arc<Backing>,
    /// The middleware around their calls, the outermost first.
    pub(super) layers: Vec<Layer>,
}

impl ScopeParts {
    /// The same with middleware of another server around its own.
    pub(super) fn inside(mut self, layers: &[Layer]) -> Self {
        self.layers.splice(0..0, layers.iter().cloned());
        self
    }
}

impl HandlerScope {
    pub(super) fn new(
        parts: ScopeParts,
        clock: &Arc<dyn Clock>,
        store: &Arc<dyn Store>,
        commits: &RunningCommits,
        logs: bool,
    ) -> Self {
        let (clock, store) = (Arc::clone(clock), Arc::clone(store));
        let (limits, commits) = (Arc::new(parts.limits), commits.clone());
        let backing = Backing::new(limits, parts.states, clock, logs, commits, store);
        Self {
            backing: Arc::new(backing),
            layers: parts.layers,
        }
    }
}
