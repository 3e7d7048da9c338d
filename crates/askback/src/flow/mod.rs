//! Runs a handler through its questions: the poll loop of both eras.
//!
//! A handler runs inside a [`Drive`]. Its questions, steps and timers register in the [`Flow`] of its [`Cell`] and stay
//! pending. The drive polls the handler until it is quiescent (pending, without a wake since the poll began) and then
//! does what [`Flow::verdict`] says.

mod drive;
mod page;
mod progress;
mod question;
mod scope;
mod step;
mod task_stage;
mod timer;

use std::{
    collections::BTreeMap,
    io,
    ops::{Deref, DerefMut},
    sync::{
        Arc, MutexGuard,
        atomic::{AtomicBool, Ordering},
    },
    task::{Poll, Waker},
    time::Duration,
};

use askback_core::{
    ask::{AskError, Flow, FlowId, Identity, SlotId},
    limits::Limits,
    protocol::ElicitResult,
};

pub(crate) use askback_core::future::BoxFuture;
pub(crate) use drive::{Drive, Turn};
pub(crate) use page::Page;
pub(crate) use progress::Progress;
#[cfg(feature = "http-server")]
pub(crate) use progress::ProgressState;
pub(crate) use question::QuestionFuture;
pub(crate) use scope::{Course, Scope, course_of_step};
pub(crate) use step::NamePolicy;
pub use step::Step;
pub(crate) use task_stage::TaskStage;
pub(crate) use timer::Timer;

use self::{drive::Signal, task_stage::NoTaskSupport};
use crate::{clock::Clock, entropy::entropy, error::CommitPlace, mutex::Mutex};

const BEGUN: &str = "a flow that is looked at has begun";

pub(crate) struct Cell {
    held: Mutex<CellState>,
    clock: Arc<dyn Clock>,
    limits: Arc<Limits>,
    seed: Option<[u8; 32]>,
    signal: Arc<Signal>,
    suspending: AtomicBool,
    progress: Progress,
    rounds: RoundMode,
    answer_rule: Option<Arc<dyn AnswerRule>>,
}

/// A rule for accepting answers, in addition to their form.
pub(crate) trait AnswerRule: Send + Sync {
    fn check(&self, result: &ElicitResult) -> Result<(), AskError>;
}

/// Whether a call's questions are its result, so that the client answers them with a retry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RoundMode {
    Never,
    UntilTask,
    Always,
}

/// The content of a cell. Its lock is never held while a future of the handler is polled or dropped.
struct CellState {
    /// Created on first use, because most handlers ask nothing and record nothing.
    going: Option<Box<StartedFlow>>,
    stage: TaskStage,
    /// Children that the drive has not taken yet; `None` once the handler has ended.
    spawned: Option<Vec<BoxFuture<'static, ()>>>,
}

struct StartedFlow {
    flow: Flow,
    /// The keys of questions that were sent and then dropped.
    withdrawn: Vec<String>,
    commits: BTreeMap<String, CommitPlace>,
}

pub(crate) struct FlowGuard<'a>(MutexGuard<'a, CellState>);

impl Cell {
    pub(crate) fn new(
        flow: Option<Flow>,
        clock: Arc<dyn Clock>,
        limits: Arc<Limits>,
        seed: Option<[u8; 32]>,
        stage: TaskStage,
        rounds: RoundMode,
        answer_rule: Option<Arc<dyn AnswerRule>>,
    ) -> Arc<Self> {
        Arc::new(Self {
            held: Mutex::new(CellState {
                going: flow.map(StartedFlow::new),
                stage,
                spawned: Some(Vec::new()),
            }),
            clock,
            limits,
            seed,
            signal: Arc::default(),
            suspending: AtomicBool::new(false),
            progress: Progress::new(),
            rounds,
            answer_rule,
        })
    }

    /// Its lock is never held while a handler is polled.
    pub(crate) fn flow(&self) -> FlowGuard<'_> {
        let mut held = self.held.lock();
        if held.going.is_none() {
            let flow = Flow::start(self.clock.now(), Arc::clone(&self.limits));
            held.going = Some(StartedFlow::new(flow));
        }
        FlowGuard(held)
    }

    pub(crate) fn identity(&self) -> io::Result<Identity> {
        let mut flow = self.flow();
        let identity = flow.identity(|| {
            let seed = self.seed.map_or_else(entropy, Ok)?;
            Ok((FlowId(entropy()?), seed))
        });
        identity.cloned()
    }

    pub(crate) fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    pub(crate) fn answer_rule(&self) -> Option<&Arc<dyn AnswerRule>> {
        self.answer_rule.as_ref()
    }

    pub(crate) fn progress(&self) -> &Progress {
        &self.progress
    }

    /// Ready once the call is a task, or at once if it cannot become one.
    pub(crate) fn poll_task(&self, waker: &Waker) -> Poll<Result<(), NoTaskSupport>> {
        self.held.lock().stage.poll(waker)
    }

    pub(crate) fn is_task(&self) -> bool {
        matches!(self.held.lock().stage, TaskStage::Is)
    }

    /// Whether a user who is not done with a link's page can be asked to try again, and how long to wait before.
    pub(crate) fn patience(&self) -> (bool, Duration) {
        let is_in_rounds = match self.rounds {
            RoundMode::Never => false,
            RoundMode::UntilTask => !self.is_task(),
            RoundMode::Always => true,
        };
        match is_in_rounds {
            true => (true, self.limits.asking.page),
            false => (false, self.limits.asking.answer),
        }
    }

    pub(crate) fn become_task(&self) {
        let before = std::mem::replace(&mut self.held.lock().stage, TaskStage::Is);
        if let TaskStage::Wanted(wakers) = before {
            wakers.into_iter().for_each(Waker::wake);
        }
    }

    pub(crate) fn is_suspending(&self) -> bool {
        self.suspending.load(Ordering::Relaxed)
    }

    /// Adds a future for the drive to poll along with the handler, in the course that spawned it. It is dropped when
    /// the handler ends.
    pub(crate) fn spawn(self: &Arc<Self>, mut future: BoxFuture<'static, ()>) {
        if !Scope::may_ask(self) {
            let course = Scope::course(self);
            let mut inner = future;
            future = Box::pin(std::future::poll_fn(move |cx| {
                let _scope = Scope::aside(course);
                inner.as_mut().poll(cx)
            }));
        }
        if let Some(spawned) = &mut self.held.lock().spawned {
            spawned.push(future);
        }
        self.signal.raise();
    }

    fn take_spawned(&self) -> Vec<BoxFuture<'static, ()>> {
        let mut held = self.held.lock();
        held.spawned
            .as_mut()
            .map(std::mem::take)
            .unwrap_or_default()
    }

    /// Forbids new children, because the handler has ended or will not continue.
    fn close(&self) {
        let spawned = self.held.lock().spawned.take();
        drop(spawned);
    }

    pub(crate) fn committed(&self, name: &str) -> Option<CommitPlace> {
        let held = self.held.lock();
        held.going.as_ref()?.commits.get(name).copied()
    }

    pub(crate) fn note_commit(&self, name: &str, place: CommitPlace) {
        let mut flow = self.flow();
        flow.going_mut().commits.insert(name.to_owned(), place);
    }

    pub(crate) fn take_withdrawn(&self) -> Vec<String> {
        match &mut self.held.lock().going {
            Some(going) => std::mem::take(&mut going.withdrawn),
            None => Vec::new(),
        }
    }
}

impl StartedFlow {
    fn new(flow: Flow) -> Box<Self> {
        Box::new(Self {
            flow,
            withdrawn: Vec::new(),
            commits: BTreeMap::new(),
        })
    }
}

impl FlowGuard<'_> {
    fn going(&self) -> &StartedFlow {
        self.0.going.as_ref().expect(BEGUN)
    }

    fn going_mut(&mut self) -> &mut StartedFlow {
        self.0.going.as_mut().expect(BEGUN)
    }

    fn wants_task(&self) -> bool {
        matches!(self.0.stage, TaskStage::Wanted(_))
    }
}

impl Deref for FlowGuard<'_> {
    type Target = Flow;

    fn deref(&self) -> &Flow {
        &self.going().flow
    }
}

impl DerefMut for FlowGuard<'_> {
    fn deref_mut(&mut self) -> &mut Flow {
        &mut self.going_mut().flow
    }
}

/// The slot of a future in a handler. The flow notices when it is dropped.
pub(crate) struct Slot {
    cell: Arc<Cell>,
    id: SlotId,
}

impl Slot {
    fn new(cell: &Arc<Cell>, id: SlotId) -> Self {
        Self {
            cell: Arc::clone(cell),
            id,
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if let Some(going) = &mut self.cell.held.lock().going {
            let withdrawn = going.flow.drop_slot(self.id);
            going.withdrawn.extend(withdrawn);
        }
    }
}
