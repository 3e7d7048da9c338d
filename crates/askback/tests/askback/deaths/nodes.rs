//! The processes of a fleet in one thread, and their clock.

use std::{
    future::poll_fn,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    task::Poll,
    time::Duration,
};

use askback::store::SqliteStore;
use askback::{
    Clock, Fleet, Prompt, Resource, Tool,
    journal::{Journal, Millis},
    keys::{Key, KeyRing, KeySource},
    protocol::TaskSupport,
    store::{MemoryStore, Store},
};
use askback_travel::{Bookings, Itineraries};
use tokio::runtime::{Builder, Runtime};

use super::fate::DangerousThread;
use super::{
    fate::{Dangerous, DangerousStore, FATE, Fate},
    tools::{book, both, greet, late, note, samples, slow},
};
use crate::{fleet::memory, http::client::Client, wrapped::Wrapped};

pub(super) const NODES: usize = 3;

#[derive(Debug, Default, Clone)]
pub(super) struct Schedule {
    /// When processes die: after this many awaits of handlers, journals and stores, each counted
    /// from the last death.
    pub(super) at: Vec<u64>,
    /// When processes die: after this many polls, each counted from the last death.
    pub(super) after: Vec<u64>,
    /// Whether processes freeze for a while instead.
    pub(super) freezes: bool,
}

/// How long a process freezes, in milliseconds: longer than a lease.
const FROZEN: Millis = 15_000;

#[derive(Clone)]
pub(super) struct Hands(Arc<AtomicU64>);

impl Clock for Hands {
    fn now(&self) -> Millis {
        self.0.load(Ordering::Relaxed)
    }
}

pub(super) struct Common {
    journal: Box<dyn Fn() -> Arc<dyn Journal>>,
    store: Arc<MemoryStore>,
    bookings: Bookings,
    hands: Hands,
}

impl Common {
    pub(super) fn in_memory() -> Self {
        let journal = Arc::new(Wrapped::new(memory::journal(), Dangerous));
        Self::new(move || journal.clone())
    }

    pub(super) fn in_sqlite() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        Self::new(move || {
            let store = SqliteStore::open(folder.path().join("deaths.db"));
            Arc::new(Wrapped::new(store.expect("it opens"), DangerousThread))
        })
    }

    fn new(journal: impl Fn() -> Arc<dyn Journal> + 'static) -> Self {
        Self {
            journal: Box::new(journal),
            store: Arc::default(),
            bookings: Bookings::default(),
            hands: Hands(Arc::new(AtomicU64::new(1_800_000_000_000))),
        }
    }
}

pub(super) struct Node {
    pub(super) runtime: Runtime,
    pub(super) client: Client,
    /// When the process was frozen.
    frozen: Option<Millis>,
}

pub(super) struct World {
    pub(super) nodes: [Option<Node>; NODES],
    common: Common,
    pub(super) dice: Dice,
    pub(super) schedule: Schedule,
    /// The polls until a process dies.
    pub(super) polls: Option<u64>,
    /// The polls so far.
    pub(super) polled: u64,
    pub(super) deaths: u64,
    /// The time step when nothing happens, in milliseconds.
    pub(super) stride: Millis,
}

impl World {
    pub(super) fn new(seed: u64, common: Common) -> Self {
        let mut world = Self {
            nodes: [const { None }; NODES],
            common,
            dice: Dice(seed),
            schedule: Schedule::default(),
            polls: None,
            polled: 0,
            deaths: 0,
            stride: 1,
        };
        for at in 0..NODES {
            world.start(at);
        }
        world
    }

    pub(super) fn start(&mut self, at: usize) {
        let common = &self.common;
        let store: Arc<dyn Store> = Arc::new(DangerousStore(Arc::clone(&common.store)));
        let task = |tool: Tool| tool.task(TaskSupport::Optional);
        let server = askback_travel::builder(common.bookings.clone(), Itineraries::Nowhere)
            .service("tests")
            .keys(KeySource::Ring(KeyRing::new(Key::new(&[1; 32]))))
            .store(store)
            .clock(common.hands.clone())
            .fleet(Fleet::new((common.journal)()))
            .check_replay(false)
            .tool(task(Tool::new("book", book)).durable())
            .tool(task(Tool::new("both", both)).durable())
            .tool(Tool::new("late", late))
            .tool(task(Tool::new("slow", slow)))
            .tool(task(Tool::new("slow_durably", slow)).durable())
            .tool(Tool::new("samples", samples))
            .prompt(Prompt::new("greet", greet))
            .resource(Resource::new("note://asks", "asks", note))
            .build()
            .expect("the server is whole");
        let runtime = Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            // The future of `block_on` is polled between any two polls of tasks.
            .event_interval(1)
            .build()
            .expect("a runtime");
        let client = runtime.block_on(async { Client::of(&server) });
        self.nodes[at] = Some(Node {
            runtime,
            client,
            frozen: None,
        });
    }

    /// Lets each process poll some of its tasks, then advances the clock.
    pub(super) fn turn(&mut self) {
        for _ in 0..4 {
            let first = self.dice.below(NODES as u64) as usize;
            for at in 0..NODES {
                let polls = 1 + self.dice.below(8);
                self.step((first + at) % NODES, polls);
            }
        }
        // A dead process is started again.
        if self.dice.below(8) == 0
            && let Some(at) = self.nodes.iter().position(Option::is_none)
        {
            self.start(at);
        }
        let by = self.stride;
        self.stride = (by * 2).min(500);
        self.common.hands.0.fetch_add(by, Ordering::Relaxed);
        let now = self.now();
        for at in 0..NODES {
            if let Some(node) = &mut self.nodes[at]
                && node.frozen.is_none_or(|since| since + FROZEN <= now)
            {
                let by = node.frozen.take().map_or(by, |since| now - since);
                let by = Duration::from_millis(by);
                node.runtime.block_on(tokio::time::advance(by));
            }
            self.bury(at);
        }
    }

    pub(super) fn step(&mut self, at: usize, polls: u64) {
        let node = self.nodes[at].as_ref();
        let Some(node) = node.filter(|node| node.frozen.is_none()) else {
            return;
        };
        let mut left = polls.min(self.polls.unwrap_or(polls));
        self.polls = self.polls.map(|polls| polls - left);
        self.polled += left;
        node.runtime.block_on(poll_fn(|cx| {
            if left == 0 || FATE.with(|fate| fate.is_dying.get()) {
                return Poll::Ready(());
            }
            left -= 1;
            cx.waker().wake_by_ref();
            Poll::Pending
        }));
        if self.polls == Some(0) {
            self.polls = None;
            FATE.with(|fate| fate.is_dying.set(true));
        }
        self.bury(at);
    }

    /// Ends or freezes a process that is marked as dying.
    fn bury(&mut self, at: usize) {
        if !FATE.with(|fate| fate.is_dying.replace(false)) {
            return;
        }
        let now = self.now();
        match &mut self.nodes[at] {
            Some(node) if self.schedule.freezes => node.frozen = Some(now),
            node => {
                *node = None;
                FATE.with(|fate| fate.is_cut.set(fate.is_cut.get() || fate.claimed.get() > 0));
            }
        }
        self.deaths += 1;
        self.plan();
    }

    pub(super) fn now(&self) -> Millis {
        self.common.hands.now()
    }

    /// Begins a call in which processes die.
    pub(super) fn begin(&mut self, schedule: Schedule) {
        FATE.with(Fate::begin);
        self.polled = 0;
        self.schedule = schedule;
        self.plan();
    }

    /// No process dies from now on. Returns the number of awaits and polls.
    pub(super) fn spare(&mut self) -> (u64, u64) {
        self.schedule = Schedule::default();
        self.polls = None;
        FATE.with(|fate| {
            fate.spare();
            (fate.awaits.get(), self.polled)
        })
    }

    fn plan(&mut self) {
        FATE.with(|fate| {
            let at = self.schedule.at.pop();
            fate.dies_at.set(at.map(|at| fate.awaits.get() + at));
        });
        if self.polls.is_none() {
            self.polls = self.schedule.after.pop();
        }
    }
}

/// A deterministic random number generator.
pub(super) struct Dice(pub(super) u64);

impl Dice {
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}
