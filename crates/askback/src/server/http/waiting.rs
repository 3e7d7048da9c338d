//! Connections that wait for a request: those that give way where there are too many.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use tokio::{sync::Notify, time::Instant};

/// One in how many connections gives way where there is no room for one more, so that a flood does
/// not look through all of them for each of its own.
const GIVING_WAY: usize = 256;

/// Stands for the time since which a connection waits that is at work.
const AT_WORK: u64 = u64::MAX;

/// All connections there are.
pub(super) struct Waiting {
    connections: Mutex<Connections>,
    begun: Instant,
}

#[derive(Default)]
struct Connections {
    by_number: HashMap<u64, Arc<Standing>>,
    last: u64,
}

/// What one connection is at.
pub(super) struct Standing {
    number: u64,
    /// In nanoseconds, from when the server began.
    waits_since: AtomicU64,
    gives_way: Notify,
    among: Arc<Waiting>,
}

/// A connection, as long as there is one.
pub(super) struct Present(pub(super) Arc<Standing>);

/// A request that is being answered, up to the end of its response.
pub(super) struct AtWork(Arc<Standing>);

impl Waiting {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self {
            connections: Mutex::default(),
            begun: Instant::now(),
        })
    }

    /// Notes a connection, which waits for its first request.
    pub(super) fn enter(self: &Arc<Self>) -> Present {
        let mut connections = self.lock();
        connections.last += 1;
        let number = connections.last;
        let standing = Arc::new(Standing {
            number,
            waits_since: AtomicU64::new(self.now()),
            gives_way: Notify::new(),
            among: Arc::clone(self),
        });
        connections.by_number.insert(number, Arc::clone(&standing));
        Present(standing)
    }

    /// Asks those that have waited for the longest to give way.
    pub(super) fn make_room(&self) {
        let mut waiting: Vec<_> = {
            let connections = self.lock();
            let all = connections.by_number.values();
            all.filter(|standing| !standing.is_at_work())
                .map(|standing| (standing.waits_since(), Arc::clone(standing)))
                .collect()
        };
        let many = waiting.len() / GIVING_WAY + 1;
        waiting.sort_unstable_by_key(|(since, _)| *since);
        for (_, standing) in waiting.iter().take(many) {
            standing.gives_way.notify_one();
        }
    }

    fn now(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_nanos()).unwrap_or(AT_WORK - 1)
    }

    fn lock(&self) -> MutexGuard<'_, Connections> {
        self.connections
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Standing {
    /// Since when it waits for its next request; another number for each.
    pub(super) fn waits_since(&self) -> u64 {
        self.waits_since.load(Ordering::Relaxed)
    }

    pub(super) fn is_at_work(&self) -> bool {
        self.waits_since() == AT_WORK
    }

    /// Begins to answer a request.
    pub(super) fn work(self: &Arc<Self>) -> AtWork {
        self.waits_since.store(AT_WORK, Ordering::Relaxed);
        AtWork(Arc::clone(self))
    }

    /// Waits until it is to give way to another, and has nothing to do.
    pub(super) async fn gives_way(&self) {
        loop {
            self.gives_way.notified().await;
            if !self.is_at_work() {
                return;
            }
        }
    }
}

impl Drop for AtWork {
    fn drop(&mut self) {
        let now = self.0.among.now();
        self.0.waits_since.store(now, Ordering::Relaxed);
    }
}

impl Drop for Present {
    fn drop(&mut self) {
        self.0.among.lock().by_number.remove(&self.0.number);
    }
}
