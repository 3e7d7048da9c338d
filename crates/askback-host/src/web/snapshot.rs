//! The page as it was last rendered, and the channel from the HTTP server to the leaf.

use std::{
    collections::BTreeMap,
    io,
    net::SocketAddr,
    sync::{Mutex, MutexGuard, OnceLock, PoisonError},
    time::SystemTime,
};

use tokio::{
    sync::{mpsc, oneshot, watch},
    time::Instant,
};

use super::{
    SETTLE,
    bench::{self, BenchState, Results},
    form::Form,
    html::Html,
    visit::{Visit, random},
    wire,
};
use crate::{server_id::ServerId, tasks::Tasks, wire::SharedWire};

/// The names and titles of the regions, in the order of the page.
pub(super) const REGIONS: [(&str, &str); 7] = [
    ("question", "Question"),
    ("results", "Results"),
    ("tasks", "Calls in the background"),
    ("log", "What was said"),
    ("bench", "Bench"),
    ("wire", "Messages"),
    ("servers", "Servers"),
];

pub(super) const QUESTION: usize = 0;
pub(super) const RESULTS: usize = 1;
const TASKS: usize = 2;
pub(super) const LOG: usize = 3;
pub(super) const BENCH: usize = 4;
const WIRE: usize = 5;
pub(super) const SERVERS: usize = 6;

/// Shared by the HTTP server and the leaf.
pub(super) struct Shared {
    pub(super) address: SocketAddr,
    pub(super) visit: Visit,
    pub(super) said: mpsc::Sender<Submission>,
    pub(super) command_token: String,
    pub(super) changes: watch::Sender<u64>,
    /// Notified when another question comes to the front.
    pub(super) questions: watch::Sender<()>,
    /// Whether a browser shows the page.
    pub(super) is_open: watch::Sender<bool>,
    snapshot: Mutex<Snapshot>,
    wires: Mutex<BTreeMap<ServerId, SharedWire>>,
    pub(super) tasks: OnceLock<Tasks>,
}

pub(super) struct Submission {
    pub(super) form: Form,
    /// Whether it is a command, and not about the question.
    pub(super) is_command: bool,
    /// Sent once the effect is rendered. Dropped if the question is no longer in front.
    pub(super) taken: oneshot::Sender<()>,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Region {
    pub(super) html: Html,
    pub(super) version: u64,
}

#[derive(Default)]
pub(super) struct Snapshot {
    pub(super) regions: [Region; 7],
    pub(super) server: ServerId,
    pub(super) results: Results,
    /// Whether a command can be run now.
    pub(super) is_idle: bool,
    pub(super) title: String,
    pub(super) token: String,
    /// Whether the server asked the question. It did not if an action of the user led to it.
    pub(super) is_news: bool,
    /// When the question was first sent to a browser.
    pub(super) seen: Option<Instant>,
    /// When the first step of the question was first sent to a browser.
    pub(super) drawn: Option<SystemTime>,
}

impl Shared {
    /// Fails if the system gives no random numbers.
    pub(super) fn new(
        address: SocketAddr,
        visit: Visit,
        said: mpsc::Sender<Submission>,
    ) -> io::Result<Self> {
        Ok(Self {
            command_token: random()?,
            address,
            visit,
            said,
            changes: watch::Sender::new(0),
            questions: watch::Sender::new(()),
            is_open: watch::Sender::new(false),
            snapshot: Mutex::default(),
            wires: Mutex::default(),
            tasks: OnceLock::new(),
        })
    }

    pub(super) fn snapshot(&self) -> MutexGuard<'_, Snapshot> {
        self.snapshot.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a call in the background is still at work, so that its status may change at any time.
    pub(super) fn has_task_at_work(&self) -> bool {
        let tasks = self.tasks.get().map(Tasks::all);
        let mut tasks = tasks.into_iter().flatten();
        tasks.any(|(_, task)| task.is_at_work())
    }

    /// The messages of each server, as of its last connection.
    pub(super) fn wires(&self) -> MutexGuard<'_, BTreeMap<ServerId, SharedWire>> {
        self.wires.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the messages of the server on the page.
    pub(super) fn seen_wire(&self) -> Option<(ServerId, SharedWire)> {
        let server = self.snapshot().server;
        let wire = self.wires().get(&server).cloned();
        wire.map(|wire| (server, wire))
    }

    /// Returns the regions and the title, and marks the question as seen.
    pub(super) fn deliver(&self) -> ([Region; 7], String) {
        let visit = self.visit.path();
        let wire = self.seen_wire();
        let list = wire.map(|(server, wire)| wire::list(server, &wire, None, &visit));
        let mut snapshot = self.snapshot();
        snapshot.put(WIRE, list.unwrap_or_default());
        let state = BenchState {
            token: &self.command_token,
            visit: &visit,
            is_idle: snapshot.is_idle,
        };
        let tasks = self.tasks.get().map(|tasks| bench::tasks(tasks, state));
        snapshot.put(TASKS, tasks.unwrap_or_default());
        snapshot.seen.get_or_insert_with(Instant::now);
        snapshot.drawn.get_or_insert_with(SystemTime::now);
        (snapshot.regions.clone(), snapshot.title.clone())
    }
}

impl Snapshot {
    /// Whether the question is so new that the user cannot have read it.
    pub(super) fn settles(&self) -> bool {
        self.is_news && self.seen.is_none_or(|since| since.elapsed() < SETTLE)
    }

    pub(super) fn put(&mut self, region: usize, html: Html) -> bool {
        match self.regions.get_mut(region) {
            Some(known) if known.html != html => {
                known.html = html;
                known.version = known.version.saturating_add(1);
                true
            }
            _ => false,
        }
    }
}
