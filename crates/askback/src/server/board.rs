//! The table of tasks and their running work.

use std::{
    collections::HashMap,
    sync::{Arc, MutexGuard},
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
use crate::mutex::Mutex;

pub(super) struct Board {
    inner: Mutex<Inner>,
    pub(super) places: Budget,
}

pub(super) struct TaskRoom {
    pub(super) _place: Charge,
    pub(super) bytes: Charge,
}

pub(super) struct Inner {
    pub(super) tasks: Tasks<TaskRoom>,
    pub(super) work: HashMap<String, Work>,
    pub(super) scopes: HashMap<String, Arc<Scopes>>,
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

    pub(super) fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock()
    }
}

impl Room for TaskRoom {
    fn resize(&mut self, bytes: usize) -> Result<(), RoomError> {
        self.bytes.resize(bytes)
    }
}

impl Inner {
    pub(super) fn sweep(&mut self, now: u64) {
        for id in self.tasks.sweep(now) {
            self.stop(&id);
            self.scopes.remove(&id);
        }
    }

    pub(super) fn stop(&mut self, id: &str) {
        if let Some(handler) = self.work.remove(id).and_then(|work| work.handler) {
            handler.abort();
        }
    }
}
