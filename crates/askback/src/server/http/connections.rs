//! Connection limits: if there are too many connections, idle ones are closed.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::{
    sync::{AcquireError, Notify, OwnedSemaphorePermit, Semaphore},
    time::{Instant, timeout},
};

/// The pause before more idle connections are closed.
pub(super) const BREATH: Duration = Duration::from_millis(50);

/// If there is no room, one connection in this many is closed at once, so that a flood does not
/// cause a search of all connections for each new one.
const GIVING_WAY: usize = 256;

/// The `waits_since` value of a working connection.
const AT_WORK: u64 = u64::MAX;

/// A limited number of connections. If all places are taken, the connections that were idle longest
/// are closed.
#[derive(Debug)]
pub struct ConnectionPlaces {
    room: Arc<Semaphore>,
    waiting: Arc<ConnectionTable>,
}

/// The place of one connection. Dropping it frees the place.
#[derive(Debug)]
pub struct ConnectionPlace {
    present: ConnectionGuard,
    _permit: OwnedSemaphorePermit,
}

impl ConnectionPlaces {
    /// Creates this many places.
    #[must_use]
    pub fn new(most: usize) -> Self {
        Self {
            room: Arc::new(Semaphore::new(most)),
            waiting: ConnectionTable::new(),
        }
    }

    /// Returns a place for a new connection, which waits for its first request.
    ///
    /// # Panics
    ///
    /// Never: places are not closed.
    pub async fn take(&self) -> ConnectionPlace {
        let permit = self.permit().await;
        ConnectionPlace {
            _permit: permit.expect("the semaphore is not closed"),
            present: self.waiting.enter(),
        }
    }

    pub(super) fn waiting(&self) -> &Arc<ConnectionTable> {
        &self.waiting
    }

    pub(super) async fn permit(&self) -> Result<OwnedSemaphorePermit, AcquireError> {
        loop {
            if let Ok(permit) = Arc::clone(&self.room).try_acquire_owned() {
                return Ok(permit);
            }
            self.waiting.make_room();
            let permit = Arc::clone(&self.room).acquire_owned();
            if let Ok(permit) = timeout(BREATH, permit).await {
                return permit;
            }
        }
    }
}

impl ConnectionPlace {
    /// Notes that a whole request has arrived. The connection is then not closed to make room.
    pub fn work(&self) {
        self.present.0.work();
    }

    /// Waits until the connection should close to make room for another.
    pub async fn gives_way(&self) {
        self.present.0.gives_way().await;
    }
}

#[derive(Debug)]
pub(super) struct ConnectionTable {
    connections: Mutex<Connections>,
    begun: Instant,
}

#[derive(Debug, Default)]
struct Connections {
    by_number: HashMap<u64, Arc<ConnectionActivity>>,
    last: u64,
}

/// The state of one connection. It is idle until a whole request has arrived, then works, and is
/// idle again when the response is written.
#[derive(Debug)]
pub(super) struct ConnectionActivity {
    number: u64,
    /// In nanoseconds since the server started.
    waits_since: AtomicU64,
    /// Whether a request's head has arrived and its response is not yet written.
    in_request: AtomicBool,
    /// Whether the response is complete but not yet written.
    is_answered: AtomicBool,
    holds_head: AtomicBool,
    is_asked: AtomicBool,
    gives_way: Notify,
    among: Arc<ConnectionTable>,
}

#[derive(Debug)]
pub(super) struct ConnectionGuard(pub(super) Arc<ConnectionActivity>);

pub(super) struct RequestGuard(Arc<ConnectionActivity>);

impl ConnectionTable {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self {
            connections: Mutex::default(),
            begun: Instant::now(),
        })
    }

    pub(super) fn enter(self: &Arc<Self>) -> ConnectionGuard {
        let mut connections = self.lock();
        connections.last += 1;
        let number = connections.last;
        let standing = Arc::new(ConnectionActivity {
            number,
            waits_since: AtomicU64::new(self.now()),
            in_request: AtomicBool::new(false),
            is_answered: AtomicBool::new(false),
            holds_head: AtomicBool::new(false),
            is_asked: AtomicBool::new(false),
            gives_way: Notify::new(),
            among: Arc::clone(self),
        });
        connections.by_number.insert(number, Arc::clone(&standing));
        ConnectionGuard(standing)
    }

    pub(super) fn make_room(&self) {
        let mut waiting = self.waiting(|_| true);
        let many = waiting.len() / GIVING_WAY + 1;
        waiting.sort_unstable_by_key(|(since, _)| *since);
        for (_, standing) in waiting.iter().take(many) {
            standing.ask();
        }
    }

    /// Asks the other connection that has held a large unfinished head longest to close.
    fn make_room_for_head(&self, of: &ConnectionActivity) {
        let holding = |standing: &ConnectionActivity| {
            standing.number != of.number
                && standing.holds_head.load(Ordering::Relaxed)
                && !standing.is_asked.load(Ordering::Relaxed)
        };
        let holding = self.waiting(holding);
        if let Some((_, standing)) = holding.iter().min_by_key(|(since, _)| *since) {
            standing.ask();
        }
    }

    fn waiting(
        &self,
        which: impl Fn(&ConnectionActivity) -> bool,
    ) -> Vec<(u64, Arc<ConnectionActivity>)> {
        let connections = self.lock();
        let all = connections.by_number.values();
        all.filter(|standing| !standing.is_at_work() && which(standing))
            .map(|standing| (standing.since(), Arc::clone(standing)))
            .collect()
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

impl ConnectionActivity {
    fn since(&self) -> u64 {
        self.waits_since.load(Ordering::Relaxed)
    }

    pub(super) fn waits_since(&self) -> Instant {
        self.among.begun + Duration::from_nanos(self.since())
    }

    fn is_at_work(&self) -> bool {
        self.since() == AT_WORK
    }

    pub(super) fn awaits_head(&self) -> bool {
        !self.in_request.load(Ordering::Relaxed)
    }

    pub(super) fn request(self: &Arc<Self>) -> RequestGuard {
        self.in_request.store(true, Ordering::Relaxed);
        self.holds_head.store(false, Ordering::Relaxed);
        RequestGuard(Arc::clone(self))
    }

    pub(super) fn work(&self) {
        self.waits_since.store(AT_WORK, Ordering::Relaxed);
    }

    pub(super) fn is_written(&self) {
        if self.is_answered.swap(false, Ordering::Relaxed) {
            self.waits_since.store(self.among.now(), Ordering::Relaxed);
            self.in_request.store(false, Ordering::Relaxed);
        }
    }

    /// Notes that it holds a large unfinished head. If there is no room for that, another
    /// connection is closed.
    pub(super) fn hold_head(&self, has_room: bool) {
        if !has_room {
            self.among.make_room_for_head(self);
        }
        self.holds_head.store(true, Ordering::Relaxed);
    }

    fn ask(&self) {
        self.is_asked.store(true, Ordering::Relaxed);
        self.gives_way.notify_one();
    }

    pub(super) fn is_asked(&self) -> bool {
        self.is_asked.load(Ordering::Relaxed)
    }

    /// Waits until it should close for another connection and is not working.
    pub(super) async fn gives_way(&self) {
        loop {
            self.gives_way.notified().await;
            self.is_asked.store(false, Ordering::Relaxed);
            if !self.is_at_work() {
                return;
            }
        }
    }
}

impl Drop for RequestGuard {
    fn drop(&mut self) {
        self.0.is_answered.store(true, Ordering::Relaxed);
    }
}

impl Drop for ConnectionGuard {
    fn drop(&mut self) {
        self.0.among.lock().by_number.remove(&self.0.number);
    }
}
