//! A process of a fleet: its leases, and who reads the logs of calls in it.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use askback_core::ask::Millis;
use tokio::sync::{Notify, broadcast};

use super::{
    CallRecord, LogMessage,
    calls::FleetCalls,
    hints,
    tasks::WorkingTask,
    watch::{keep_leases, keep_watch},
};
use crate::{
    clock::millis,
    entropy::entropy,
    journal::{Bus, CallCounter, CallId, Journal, Lease, NodeId, SessionId},
    mutex::Mutex,
    server::Shared,
    store::{self, StoreError, StoreFuture},
};

/// How long a process holds a call before it has to renew its lease.
pub(super) const LEASE: Duration = Duration::from_secs(10);

/// How long a stopping process waits for its handlers to be dropped before it gives up its leases.
const STOP: Duration = Duration::from_millis(500);

/// How often a process notes that it serves.
pub(super) const ANNOUNCE: Duration = Duration::from_secs(5);

/// How long a process counts as serving after its last note.
const ANNOUNCED: Duration = Duration::from_secs(15);

/// How many messages of a call wait for their reader in this process.
const MAX_ADDED: usize = 64;

/// How many sessions may wait to be reread. A session that is missed is reread with its stream.
const CHOICES: usize = 256;

/// Several processes that serve together, over HTTP.
///
/// When a call asks a question, it is saved in the [journal](crate::journal) and its handler is
/// dropped. Any process of the fleet receives the answer and continues the call, so nothing is lost
/// if the process that asked is gone. All processes share the journal, the
/// [keys](crate::ServerBuilder::keys), the [store](crate::ServerBuilder::store) and the name of the
/// [service](crate::ServerBuilder::service).
///
/// With each answer a handler runs again from its beginning, in every revision. Without a fleet,
/// this happens only in 2026-07-28.
#[derive(Clone)]
pub struct Fleet {
    journal: Arc<dyn Journal>,
    bus: Option<Arc<dyn Bus>>,
    counter: Option<Arc<dyn CallCounter>>,
}

impl Fleet {
    /// Creates a fleet whose processes share this journal.
    pub fn new(journal: impl Journal + 'static) -> Self {
        Self {
            journal: Arc::new(journal),
            bus: None,
            counter: None,
        }
    }

    /// Adds a bus, on which the processes tell each other of changes: notices of
    /// [`Server::changed`](crate::Server::changed) then reach the clients of all processes, and so
    /// do subscriptions. Each process changes its own catalog.
    #[must_use]
    pub fn bus(mut self, bus: impl Bus + 'static) -> Self {
        self.bus = Some(Arc::new(bus));
        self
    }

    /// Makes the [rate limit](crate::ServerBuilder::without_rate_limit) exact for all processes together. Without a
    /// counter, or while it fails, each process counts its own calls and allows its share: the limit divided by the
    /// number of processes that serve. A failure is logged.
    #[must_use]
    pub fn call_counter(mut self, counter: impl CallCounter + 'static) -> Self {
        self.counter = Some(Arc::new(counter));
        self
    }
}

askback_core::debug_only!(Fleet {});

pub(crate) struct Node {
    pub(crate) journal: Arc<dyn Journal>,
    pub(in crate::server) bus: Option<Arc<dyn Bus>>,
    /// `None` if each process counts its own calls.
    pub(in crate::server) calls: Option<FleetCalls>,
    pub(super) id: NodeId,
    /// Sessions whose client has set its log level or subscriptions at another process.
    pub(super) chosen: broadcast::Sender<SessionId>,
    pub(super) leased: Mutex<Vec<LeasedCall>>,
    /// Whether this process renews leases and continues other processes' calls: after its first
    /// request.
    is_watching: AtomicBool,
    pub(super) is_stopping: AtomicBool,
    is_cut_off: AtomicBool,
    /// The number of processes that served at the last note of this one, which is among them.
    processes: AtomicU64,
    /// Whether the fleet's other processes seal with keys that this process does not have.
    pub(super) has_other_keys: AtomicBool,
    followers: Mutex<HashMap<CallId, Vec<Arc<LogNews>>>>,
}

/// Reads the log of a call, and gets what this process adds to it.
pub(crate) struct Follower {
    node: Arc<Node>,
    call: CallId,
    news: Arc<LogNews>,
}

struct LogNews {
    session: SessionId,
    arrived: Notify,
    added: Mutex<AddedMessages>,
}

/// What has happened to the log of a call since its reader last looked.
#[derive(Default)]
struct AddedMessages {
    /// The messages that this process has added, or that came with a hint.
    messages: Vec<LogMessage>,
    /// Whether there may be others.
    must_read: bool,
}

impl LogNews {
    fn wake(&self) {
        self.added.lock().must_read = true;
        self.arrived.notify_one();
    }

    fn give(&self, messages: &[LogMessage]) {
        {
            let mut added = self.added.lock();
            if added.messages.len() + messages.len() > MAX_ADDED {
                added.must_read = true;
            } else {
                added.messages.extend_from_slice(messages);
            }
        }
        self.arrived.notify_one();
    }

    async fn wait(&self) {
        loop {
            {
                let added = self.added.lock();
                if added.must_read || !added.messages.is_empty() {
                    return;
                }
            }
            self.arrived.notified().await;
        }
    }
}

impl Follower {
    pub(crate) fn new(node: &Arc<Node>, session: SessionId, call: CallId) -> Self {
        let news = Arc::new(LogNews {
            session,
            arrived: Notify::new(),
            added: Mutex::default(),
        });
        let mut followers = node.followers.lock();
        followers.entry(call).or_default().push(Arc::clone(&news));
        drop(followers);
        Self {
            node: Arc::clone(node),
            call,
            news,
        }
    }

    /// Waits until the log has grown. Returns `false` after a timeout of `most`.
    pub(crate) async fn wait(&self, most: Duration) -> bool {
        tokio::time::timeout(most, self.news.wait()).await.is_ok()
    }

    /// Returns what was given directly after this number, and whether it is the end. If that may not be all, the log must
    /// be read.
    pub(crate) fn take_added(&self, after: u64) -> Option<(Vec<LogMessage>, bool)> {
        let added = std::mem::take(&mut *self.news.added.lock());
        let mut numbers = added.messages.iter().zip(after + 1..);
        let is_next = numbers.all(|(message, number)| message.number == number);
        let is_all = is_next && !added.must_read && !added.messages.is_empty();
        let is_over = added.messages.last().is_some_and(|it| it.is_last);
        is_all.then_some((added.messages, is_over))
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        let mut followers = self.node.followers.lock();
        if let Some(of_call) = followers.get_mut(&self.call) {
            of_call.retain(|news| !Arc::ptr_eq(news, &self.news));
            if of_call.is_empty() {
                followers.remove(&self.call);
            }
        }
    }
}

impl Node {
    pub(in crate::server) fn new(fleet: Fleet) -> std::io::Result<Self> {
        Ok(Self {
            journal: fleet.journal,
            bus: fleet.bus,
            chosen: broadcast::Sender::new(CHOICES),
            calls: fleet.counter.map(FleetCalls::new),
            id: NodeId(entropy()?),
            leased: Mutex::default(),
            is_watching: AtomicBool::new(false),
            is_stopping: AtomicBool::new(false),
            is_cut_off: AtomicBool::new(false),
            processes: AtomicU64::new(1),
            has_other_keys: AtomicBool::new(false),
            followers: Mutex::default(),
        })
    }

    /// Passes on an answer of the journal. Logs once when the journal stops answering, and once
    /// when it answers again.
    pub(crate) fn heard<T>(&self, answer: Result<T, StoreError>) -> Result<T, StoreError> {
        match &answer {
            Ok(_) if self.is_cut_off.swap(false, Ordering::Relaxed) => {
                tracing::info!("the journal answers again");
            }
            Err(error) if !self.is_cut_off.swap(true, Ordering::Relaxed) => {
                tracing::error!(%error, "the journal does not answer: it is tried again and again");
            }
            Ok(_) | Err(_) => {}
        }
        answer
    }

    /// Makes a request to the journal. If the journal cannot be reached, waits for it and repeats
    /// the request, for at most this long.
    pub(super) async fn when_reachable<'a, T: Send>(
        &'a self,
        max_wait: Duration,
        request: impl Fn() -> StoreFuture<'a, T> + Send + Sync,
    ) -> Result<T, StoreError> {
        store::when_reachable(max_wait, || Box::pin(async { self.heard(request().await) })).await
    }

    /// Notes that this process serves, and finds out how many do.
    pub(super) async fn announce(&self, now: Millis) {
        let until = now.saturating_add(millis(ANNOUNCED));
        let announced = self.journal.announce(self.id, until, now).await;
        // On failure, the last number stays.
        if let Ok(processes) = self.heard(announced) {
            let before = self.processes.swap(processes.max(1), Ordering::Relaxed);
            if before != processes {
                tracing::debug!(
                    processes,
                    "the number of processes of the fleet has changed"
                );
            }
        }
    }

    /// Returns the number of processes that serve, with this one.
    pub(in crate::server) fn processes(&self) -> u64 {
        self.processes.load(Ordering::Relaxed)
    }

    pub(crate) fn begin_to_stop(&self) {
        self.is_stopping.store(true, Ordering::Relaxed);
    }

    pub(super) fn lease(&self, now: Millis) -> Lease {
        Lease {
            node: self.id,
            until: now.saturating_add(millis(LEASE)),
        }
    }

    pub(crate) fn is_busy(&self) -> bool {
        !self.leased.lock().is_empty()
    }

    /// Starts the watcher, if it is not running. Must be called within a runtime.
    pub(crate) fn watch(&self, shared: &Arc<Shared>) {
        if !self.is_watching.swap(true, Ordering::Relaxed) {
            tokio::spawn(keep_watch(Arc::downgrade(shared)));
            tokio::spawn(keep_leases(Arc::downgrade(shared)));
            if self.bus.is_some() {
                tokio::spawn(hints::listen(Arc::downgrade(shared)));
            }
        }
    }

    pub(crate) async fn release(&self, now: Millis) {
        let leased: Vec<_> = self.leased.lock().iter().map(|call| call.taken).collect();
        if leased.is_empty() {
            return;
        }
        for call in self.leased.lock().iter() {
            call.stop.notify_one();
        }
        let stopping = async {
            while self.is_busy() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let _ = tokio::time::timeout(STOP, stopping).await;
        // On failure, other processes continue when the leases expire.
        let _ = self.heard(self.journal.renew(&leased, now).await);
    }

    pub(crate) fn chosen(&self) -> broadcast::Receiver<SessionId> {
        self.chosen.subscribe()
    }

    pub(super) fn wake_all(&self) {
        for news in self.followers.lock().values().flatten() {
            news.wake();
        }
    }

    /// The session of a call whose log is read here.
    pub(super) fn follows(&self, call: CallId) -> Option<SessionId> {
        Some(self.followers.lock().get(&call)?.first()?.session)
    }

    /// Whether hints about calls of other processes arrive here.
    pub(crate) fn hears_of_calls(&self) -> bool {
        let bus = self.bus.as_ref();
        bus.is_some_and(|bus| bus.passes_calls() && bus.was_reached() && !bus.is_refused())
    }

    pub(crate) fn wake(&self, call: CallId) {
        for news in self.followers.lock().get(&call).into_iter().flatten() {
            news.wake();
        }
    }

    /// Gives messages that are in the journal now to the readers of their log.
    pub(super) fn give(&self, call: CallId, messages: &[LogMessage]) {
        for news in self.followers.lock().get(&call).into_iter().flatten() {
            news.give(messages);
        }
    }

    pub(crate) fn stop(&self, request: [u8; 16]) {
        for call in self.leased.lock().iter().filter(|it| it.request == request) {
            call.stop.notify_one();
        }
    }

    /// Stops the handlers of these sessions.
    pub(crate) fn end_sessions(&self, ended: &[SessionId]) {
        let leased = self.leased.lock();
        for call in leased.iter().filter(|it| ended.contains(&it.session)) {
            call.stop.notify_one();
        }
    }

    pub(super) fn stop_lost(&self, lost: &[(CallId, u32)]) {
        let leased = self.leased.lock();
        for call in leased.iter().filter(|it| lost.contains(&it.taken)) {
            tracing::debug!("a call was cancelled, or another process has taken it over");
            call.stop.notify_one();
        }
    }
}

pub(super) struct LeasedCall {
    pub(super) taken: (CallId, u32),
    /// Of a task, the owner.
    pub(super) session: SessionId,
    request: [u8; 16],
    stop: Arc<Notify>,
    pub(super) task: Option<WorkingTask>,
}

pub(super) struct LeaseGuard {
    node: Arc<Node>,
    stop: Arc<Notify>,
}

impl LeaseGuard {
    pub(super) fn new(node: &Arc<Node>, standing: &CallRecord) -> Self {
        let stop = Arc::new(Notify::new());
        node.leased.lock().push(LeasedCall {
            taken: (standing.call, standing.epoch),
            session: standing.session,
            request: standing.request(),
            stop: Arc::clone(&stop),
            task: standing.task.clone(),
        });
        Self {
            node: Arc::clone(node),
            stop,
        }
    }
}

impl Drop for LeaseGuard {
    fn drop(&mut self) {
        // A call that is answered while it is being parked is held twice for a moment, in one
        // epoch.
        let is_other = |call: &LeasedCall| !Arc::ptr_eq(&call.stop, &self.stop);
        self.node.leased.lock().retain(is_other);
    }
}

impl LeaseGuard {
    /// Runs the work in its own task until it ends or is stopped. The lease lasts as long.
    pub(super) fn work(self, work: impl Future<Output = ()> + Send + 'static) {
        tokio::spawn(async move {
            tokio::select! {
                () = self.stop.notified() => {}
                () = work => {}
            }
        });
    }
}
