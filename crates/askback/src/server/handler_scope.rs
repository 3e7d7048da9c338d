//! The per-server parts of handlers: states, limits and middleware.

use std::sync::{Arc, atomic::AtomicU32};

use askback_core::limits::Limits;

use super::middleware::Layer;
use crate::{
    clock::Clock,
    ctx::{Backing, RunningCommits, States},
    store::Store,
};

/// The builder's version of [`HandlerScope`]. A mounted server keeps its own.
#[derive(Default)]
pub(super) struct ScopeParts {
    pub(super) states: States,
    pub(super) limits: Limits,
    pub(super) layers: Vec<Layer>,
}

pub(super) struct HandlerScope {
    pub(super) backing: Arc<Backing>,
    /// Outermost first.
    pub(super) layers: Vec<Layer>,
}

impl ScopeParts {
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
        let backing = Backing {
            limits: Arc::new(parts.limits),
            states: parts.states,
            clock: Arc::clone(clock),
            logs,
            commits: commits.clone(),
            store: Arc::clone(store),
            writes: AtomicU32::new(0),
        };
        Self {
            backing: Arc::new(backing),
            layers: parts.layers,
        }
    }
}
