//! The table of tasks, with the work on each.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use askback_core::{
    auth::Scopes,
    engine::server::{Room, RoomError, Tasks},
    limits::Limits,
};
use tokio::task::AbortHandle;

use super::{
    asks::PendingQuestions,
    budget::{Budget, Charge},
};

/// The tasks of a server, and who works on them.
pub(super) struct Board {
    inner: Mutex<Inner>,
    /// The room for so many of them.
    pub(super) places: Budget,
}

/// The room of one task: its place among the others, and what is kept of it.
pub(super) struct TaskRoom {
    pub(super) _place: Charge,
    pub(super) bytes: Charge,
}

pub(super) struct Inner {
    pub(super) tasks: Tasks<TaskRoom>,
    /// The running work of each unfinished task.
    pub(super) work: HashMap<String, Work>,
    /// The scopes that each task needs: those of the call that it was.
    pub(super) scopes: HashMap<String, Arc<Scopes>>,
    /// Whether somebody looks over the tasks.
    pub(super) watched: bool,
}

#[derive(Default)]
pub(super) struct Work {
    pub(super) handler: Option<AbortHandle>,
    pub(super) asks: PendingQuestions<String>,
}

impl Board {
    pub(super) fn new(limits: &Limits) -> Self {
        Self {
            inner: Mutex::new(Inner {
                tasks: Tasks::new(&limits.tasks),
                work: HashMap::new(),
                scopes: HashMap::new(),
                watched: false,
            }),
            places: Budget::of_things(limits.tasks.kept, limits),
        }
    }

    /// A panic while the lock was held cannot have left what it guards half-changed: it calls
    /// nobody.
    pub(super) fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Room for TaskRoom {
    fn resize(&mut self, bytes: usize) -> Result<(), RoomError> {
        self.bytes.resize(bytes)
    }
}

impl Inner {
    /// Forgets what is over.
    pub(super) fn sweep(&mut self, now: u64) {
        for id in self.tasks.sweep(now) {
            self.stop(&id);
            self.scopes.remove(&id);
        }
    }

    /// Stops the work for a task. Whoever waits for an answer is dropped with it.
    pub(super) fn stop(&mut self, id: &str) {
        if let Some(handler) = self.work.remove(id).and_then(|work| work.handler) {
            handler.abort();
        }
    }
}
