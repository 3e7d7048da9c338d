//! The state machine of a flow: what the handler waits for, what is recorded, and what happens
//! next.

mod release;
mod settle;
mod slot;

use alloc::{
    boxed::Box,
    collections::BTreeMap,
    format,
    string::{String, ToString},
    sync::Arc,
    vec::Vec,
};
use core::{
    mem,
    task::{Poll, Waker},
};

pub use self::release::Release;
use self::slot::{QuestionSlot, Record, Slot, Wait};
use super::{
    AskError, Capability, Millis,
    journal::{Entry, QuestionDigest, RecordedAnswer, Reply, Settlement},
    question::{CheckedAnswer, CheckedRequest, Question},
    receipt::challenge,
    state::{FlowId, FlowState, Identity, OpenEntry, TimerEntry, TokenId},
};
use crate::{
    limits::Limits,
    protocol::{HasMeta, InputRequest, RawJson},
};

/// One call of a handler, from its first round to its result.
///
/// The futures of a handler register what they wait for ([`Flow::ask`], [`Flow::begin_step`],
/// [`Flow::begin_timer`]) and poll it. When the handler is quiescent, the driver calls
/// [`Flow::verdict`]. See the [module](super) for the rule.
#[derive(Debug)]
pub struct Flow {
    /// Drawn on first use.
    identity: Option<Identity>,
    started: Millis,
    limits: Arc<Limits>,
    round: u32,
    link_rounds: u32,
    journal: Vec<Record>,
    /// The number of entries recorded before this execution began.
    recorded: usize,
    /// The index of the first entry that may be undelivered.
    undelivered: usize,
    slots: BTreeMap<SlotId, Slot>,
    next_slot: u64,
    /// The names of each [`Kind`] in use, with the last ordinal of each.
    names: [BTreeMap<String, u32>; 3],
    carried: CarriedSlots,
    resumed: bool,
    phase: Phase,
    running: usize,
    now: Millis,
    draws: BTreeMap<u64, u64>,
    live: bool,
    skewed: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct SlotId(u64);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// A settlement was delivered: poll the handler again.
    Delivered,
    /// Questions are open and nothing else can move: ask them.
    Ask,
    /// Something outside the flow must happen first, or the next timer must end, at this time.
    Wait(Option<Millis>),
}

#[derive(Debug, Clone)]
pub struct OpenQuestion {
    /// Its key, unique within the flow.
    pub key: String,
    /// The request to send. If an earlier answer was unusable, its message says why.
    pub request: CheckedRequest,
    /// Whether the user has opened this link before but not finished there.
    pub is_opened_link: bool,
}

#[derive(Debug, Default)]
struct CarriedSlots {
    open: Vec<OpenEntry>,
    timers: Vec<TimerEntry>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The record is delivered; steps may start.
    Going,
    /// The record is being delivered; steps may not start yet. If a step is not recorded, the
    /// handler dropped it before it had ended, and will drop it again.
    Replaying,
    /// Neither steps nor timers run: the run only checks how far the handler gets.
    Rehearsing,
}

/// The kinds of names, each with its own ordinals.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Question,
    Step,
    Timer,
}

impl Flow {
    #[must_use]
    pub fn start(now: Millis, limits: Arc<Limits>) -> Self {
        Self {
            now,
            identity: None,
            started: now,
            limits,
            round: 0,
            link_rounds: 0,
            journal: Vec::new(),
            recorded: 0,
            undelivered: 0,
            slots: BTreeMap::new(),
            next_slot: 0,
            names: Default::default(),
            carried: CarriedSlots::default(),
            resumed: false,
            phase: Phase::Going,
            running: 0,
            draws: BTreeMap::new(),
            live: true,
            skewed: Vec::new(),
        }
    }

    /// Continues a flow with a client's retry. Expired timers settle first, in the order of their
    /// deadlines, then the answers, in the order in which their questions were asked. Answers to
    /// unknown questions are ignored.
    #[must_use]
    pub fn resume(
        state: FlowState,
        mut replies: BTreeMap<String, Reply>,
        now: Millis,
        limits: Arc<Limits>,
    ) -> Self {
        let mut flow = Self::start(state.identity.started, limits);
        flow.identity = Some(state.identity);
        flow.round = state.round;
        flow.link_rounds = state.link_rounds;
        let left = CarriedSlots {
            open: state.open,
            timers: state.timers,
        };
        flow.replay(state.journal, left, now);
        for at in 0..flow.carried.open.len() {
            let OpenEntry { key, question, .. } = &flow.carried.open[at];
            if let Some(reply) = replies.remove(key) {
                let answered = RecordedAnswer {
                    question: *question,
                    reply,
                };
                flow.record(key.clone(), now, Settlement::Answered(answered));
            }
        }
        flow
    }

    /// Returns the identity of the flow. Its random part is drawn on first use, because most calls
    /// end before they need it.
    ///
    /// # Errors
    ///
    /// Fails if `draw` fails.
    pub fn identity<E>(
        &mut self,
        draw: impl FnOnce() -> Result<(FlowId, [u8; 32]), E>,
    ) -> Result<&Identity, E> {
        let identity = match self.identity.take() {
            Some(identity) => identity,
            None => {
                let (flow, seed) = draw()?;
                Identity {
                    flow,
                    started: self.started,
                    seed,
                }
            }
        };
        Ok(self.identity.insert(identity))
    }

    #[must_use]
    pub fn round(&self) -> u32 {
        self.round
    }

    /// The time that the handler sees: the time of the last settlement delivered, so that a replay
    /// sees the same.
    #[must_use]
    pub fn now(&self) -> Millis {
        self.now
    }

    /// Returns the identity if the flow came from a sealed state, possibly more than once.
    #[must_use]
    pub fn resumed(&self) -> Option<&Identity> {
        self.identity.as_ref().filter(|_| self.resumed)
    }

    /// Notes that a state of this flow was stored while its handler goes on. Another process may
    /// resume from it, so effects must be claimed as in a [resumed](Self::resumed) flow.
    pub fn note_written_down(&mut self) {
        self.resumed = true;
    }

    /// Whether the handler has passed the point that an earlier execution reached. Before that,
    /// progress and log lines would be repeated.
    #[must_use]
    pub fn is_live(&self) -> bool {
        self.live
    }

    pub fn next_draw(&mut self, course: u64) -> u64 {
        let draws = self.draws.entry(course).or_insert(0);
        *draws += 1;
        *draws
    }

    /// Takes the keys of questions whose recorded answers no longer match, because the question
    /// changed.
    pub fn take_skewed(&mut self) -> Vec<String> {
        mem::take(&mut self.skewed)
    }

    /// Registers a question under `key`, or under `key-2`, `key-3`, … if the key is taken.
    /// `missing` is the capability that the question needs and the client lacks: such a question
    /// can only be answered from the record.
    ///
    /// # Errors
    ///
    /// [`AskError::TooManyQuestions`] if a round cannot carry more open questions, the errors of
    /// [`Question::new`], and [`AskError::Unsupported`] if a capability is missing.
    pub fn ask(
        &mut self,
        key: &str,
        request: InputRequest,
        missing: Option<Capability>,
    ) -> Result<SlotId, AskError> {
        self.ask_named(None, key, request, missing)
    }

    /// [`Flow::ask`] with a challenge in a form or link, so that the answer may come with a [`Receipt`](crate::protocol::Receipt). The
    /// [identity](Flow::identity) must be drawn before.
    ///
    /// # Errors
    ///
    /// As [`Flow::ask`].
    pub fn ask_with_challenge(
        &mut self,
        key: &str,
        mut request: InputRequest,
        missing: Option<Capability>,
    ) -> Result<SlotId, AskError> {
        let named = self.name(Kind::Question, key);
        if let (InputRequest::Elicit(asked), Some(identity)) = (&mut request, &self.identity) {
            let challenge = challenge(&identity.flow.0, &named);
            asked.meta_mut().set_challenge(challenge);
        }
        self.ask_named(Some(named), key, request, missing)
    }

    /// `named` is the unique key, if it was made before.
    fn ask_named(
        &mut self,
        named: Option<String>,
        key: &str,
        request: InputRequest,
        missing: Option<Capability>,
    ) -> Result<SlotId, AskError> {
        let question = Question::new(request, &self.limits)?;
        let open = self
            .slots
            .values()
            .filter(|slot| matches!(slot.wait, Wait::Question(_)));
        if open.count() >= self.limits.asking.questions_per_round {
            return Err(AskError::TooManyQuestions(
                self.limits.asking.questions_per_round,
            ));
        }
        let key = named.unwrap_or_else(|| self.name(Kind::Question, key));
        let carried = self.carried.open.iter().find(|open| open.key == key);
        let fitting = carried.filter(|open| open.question == question.digest);
        let changed = |record: &Record| match &record.entry.outcome {
            Settlement::Answered(old) => record.entry.key == key && old.question != question.digest,
            _ => false,
        };
        let changed = (carried.is_some() && fitting.is_none()) || self.journal.iter().any(changed);
        if changed {
            self.skewed.push(key.clone());
        }
        let asked = QuestionSlot {
            attempts: fitting.map_or(0, |open| open.attempts),
            reason: fitting.and_then(|open| open.reason.clone()),
            question,
            missing,
            sent: false,
            changed,
            holds: false,
            opened: false,
        };
        let slot = self.wait_for(key, Wait::Question(Box::new(asked)));
        match missing {
            Some(capability) if !self.is_recorded(slot) => {
                self.slots.remove(&slot);
                Err(AskError::Unsupported(capability))
            }
            _ => Ok(slot),
        }
    }

    fn is_recorded(&self, slot: SlotId) -> bool {
        self.slots
            .get(&slot)
            .is_some_and(|slot| self.undelivered().any(|record| record.settles(slot)))
    }

    pub fn poll_question(
        &mut self,
        slot: SlotId,
        waker: &Waker,
    ) -> Poll<Result<CheckedAnswer, AskError>> {
        self.take(slot, waker, |wait| match wait {
            Wait::Answered(answer) => Ok(answer),
            other => Err(other),
        })
    }

    #[must_use]
    pub fn has_step(&self, name: &str) -> bool {
        self.names[Kind::Step as usize].contains_key(name)
    }

    /// Registers a step. It runs only after [`Flow::start_step`].
    pub fn begin_step(&mut self, name: &str) -> SlotId {
        let key = self.name(Kind::Step, name);
        self.wait_for(key, Wait::Step { running: false })
    }

    /// Returns the key of a step: its name, or `name-2`, … if the name is taken.
    #[must_use]
    pub fn step_key(&self, slot: SlotId) -> &str {
        self.slots.get(&slot).map_or("", |slot| &slot.key)
    }

    /// Decides whether to run a step: not if its value is recorded. A step that runs delays all
    /// questions until it is finished or dropped. Pending during a replay, because a recorded
    /// settlement may still make the handler drop the step.
    pub fn start_step(&mut self, slot: SlotId, waker: &Waker) -> Poll<bool> {
        if self.is_recorded(slot) {
            return Poll::Ready(false);
        }
        let may_start = self.phase == Phase::Going;
        let Some(Slot {
            wait: Wait::Step { running },
            waker: waiting,
            ..
        }) = self.slots.get_mut(&slot)
        else {
            return Poll::Pending;
        };
        if !may_start {
            *waiting = Some(waker.clone());
            return Poll::Pending;
        }
        if !mem::replace(running, true) {
            self.running += 1;
        }
        Poll::Ready(true)
    }

    pub fn finish_step(&mut self, slot: SlotId, value: RawJson, now: Millis) {
        let Some(Slot {
            key,
            wait: Wait::Step { running },
            ..
        }) = self.slots.get_mut(&slot)
        else {
            return;
        };
        if mem::take(running) {
            self.running -= 1;
        }
        let key = key.clone();
        self.record(key, now, Settlement::Done(value));
    }

    /// Polls for the value of a step, which is ready once it is delivered.
    pub fn poll_step(&mut self, slot: SlotId, waker: &Waker) -> Poll<RawJson> {
        self.take(slot, waker, |wait| match wait {
            Wait::Done(value) => Ok(value),
            other => Err(other),
        })
    }

    /// Registers a timer with this deadline, or with its deadline in the sealed state.
    pub fn begin_timer(&mut self, name: &str, deadline: Millis) -> SlotId {
        let key = self.name(Kind::Timer, name);
        let carried = self.carried.timers.iter().find(|timer| timer.key == key);
        let deadline = carried.map_or(deadline, |timer| timer.deadline);
        self.wait_for(key, Wait::Timer { deadline })
    }

    /// Polls a timer, which is ready once it has run out and its settlement is delivered.
    pub fn poll_timer(&mut self, slot: SlotId, waker: &Waker) -> Poll<()> {
        self.take(slot, waker, |wait| match wait {
            Wait::Fired => Ok(()),
            other => Err(other),
        })
    }

    /// Removes a slot that the handler no longer waits for. Returns the key of the question if it
    /// was sent and must be withdrawn.
    pub fn drop_slot(&mut self, slot: SlotId) -> Option<String> {
        let slot = self.slots.remove(&slot)?;
        match slot.wait {
            Wait::Step { running: true } | Wait::Held(..) => {
                self.running -= 1;
                None
            }
            Wait::Question(asked) if asked.sent => Some(slot.key),
            _ => None,
        }
    }

    /// Returns the questions of this round, in the order in which they were asked, and marks them
    /// as sent.
    pub fn send_questions(&mut self) -> Vec<OpenQuestion> {
        self.round += 1;
        self.link_rounds += u32::from(self.only_opened_links());
        let mut questions = Vec::new();
        for slot in self.slots.values_mut() {
            if let Wait::Question(asked) = &mut slot.wait
                && !mem::replace(&mut asked.sent, true)
            {
                questions.push(OpenQuestion {
                    key: slot.key.clone(),
                    request: asked.question.to_send(asked.reason.as_deref()),
                    is_opened_link: asked.opened,
                });
            }
        }
        questions
    }

    fn only_opened_links(&self) -> bool {
        let unsent = self.slots.values().filter_map(|slot| match &slot.wait {
            Wait::Question(asked) if !asked.sent => Some(asked.opened),
            _ => None,
        });
        let mut unsent = unsent.peekable();
        unsent.peek().is_some() && unsent.all(|opened| opened)
    }

    pub fn open(&self) -> impl Iterator<Item = (&str, QuestionDigest)> {
        self.slots.values().filter_map(|slot| match &slot.wait {
            Wait::Question(asked) => Some((slot.key.as_str(), asked.question.digest)),
            _ => None,
        })
    }

    /// Records the reply to a question that was sent. Ignored if no question with this key is
    /// waiting for an answer.
    pub fn reply(&mut self, key: &str, reply: Reply, now: Millis) {
        // A timer that has run out by now did so before the answer arrived.
        while self.fire_timer(now) {}
        let waiting = self.slots.iter().find_map(|(id, slot)| match &slot.wait {
            Wait::Question(asked) if asked.sent && slot.key == key => {
                Some((*id, asked.question.digest))
            }
            _ => None,
        });
        let Some((slot, question)) = waiting else {
            return;
        };
        if !self.is_recorded(slot) {
            let answered = RecordedAnswer { question, reply };
            self.record(key.to_string(), now, Settlement::Answered(answered));
        }
    }

    /// Returns the state to seal. A retry continues from it as the same flow.
    #[must_use]
    pub fn suspend(&self, identity: Identity, token: TokenId, now: Millis) -> FlowState {
        let CarriedSlots { open, timers } = self.left();
        FlowState {
            identity,
            token,
            round: self.round,
            link_rounds: self.link_rounds,
            issued: now,
            journal: self.entries(),
            open,
            timers,
            by_hand: None,
        }
    }

    /// Returns a copy for running the handler again from its start, with the same record and
    /// nothing delivered.
    #[must_use]
    pub fn again(&self) -> Self {
        let mut flow = Self::start(self.started, Arc::clone(&self.limits));
        flow.identity.clone_from(&self.identity);
        flow.round = self.round;
        flow.link_rounds = self.link_rounds;
        flow.replay(self.entries(), self.left(), self.now);
        flow
    }

    /// Returns a copy that can only replay the record: nothing new settles, no step starts and no
    /// timer runs out. When the record is delivered, its verdict is [`Verdict::Ask`], even if no
    /// question is open.
    #[must_use]
    pub fn rehearse(state: FlowState, limits: Arc<Limits>) -> Self {
        let mut flow = Self::resume(state, BTreeMap::new(), 0, limits);
        flow.phase = Phase::Rehearsing;
        flow
    }

    pub fn open_steps(&self) -> impl Iterator<Item = &str> {
        self.slots.values().filter_map(|slot| match &slot.wait {
            Wait::Step { .. } => Some(slot.key.as_str()),
            _ => None,
        })
    }

    /// Prepares a replay. `left` are the slots that were still open.
    fn replay(&mut self, journal: Vec<Entry>, left: CarriedSlots, now: Millis) {
        self.resumed = true;
        self.phase = Phase::Replaying;
        self.recorded = journal.len();
        // A handler that asks by hand goes live at the end of its record; one that asked a
        // question, when the answer arrives.
        self.live = self.recorded == 0 && left.open.is_empty();
        self.journal = journal.into_iter().map(Record::new).collect();
        let (mut due, running) = left
            .timers
            .into_iter()
            .partition::<Vec<_>, _>(|timer| timer.deadline <= now);
        due.sort_by_key(|timer| timer.deadline);
        self.carried = CarriedSlots {
            open: left.open,
            timers: running,
        };
        for timer in due {
            self.record(timer.key, timer.deadline, Settlement::Fired);
        }
    }

    fn entries(&self) -> Vec<Entry> {
        let journal = self.journal.iter();
        journal
            .filter_map(|record| record.kept(&self.limits))
            .collect()
    }

    fn left(&self) -> CarriedSlots {
        let mut left = CarriedSlots::default();
        for slot in self.slots.values() {
            match &slot.wait {
                Wait::Question(asked) | Wait::Held(asked, _) => left.open.push(OpenEntry {
                    key: slot.key.clone(),
                    question: asked.question.digest,
                    attempts: asked.attempts,
                    reason: asked.reason.clone(),
                }),
                Wait::Timer { deadline } => left.timers.push(TimerEntry {
                    key: slot.key.clone(),
                    deadline: *deadline,
                }),
                _ => {}
            }
        }
        left
    }

    fn name(&mut self, kind: Kind, base: &str) -> String {
        let names = &mut self.names[kind as usize];
        let mut name = base.to_string();
        if let Some(mut ordinal) = names.get(base).copied() {
            while names.contains_key(&name) {
                ordinal += 1;
                name = format!("{base}-{ordinal}");
            }
            names.insert(base.to_string(), ordinal);
        }
        names.insert(name.clone(), 1);
        name
    }

    fn wait_for(&mut self, key: String, wait: Wait) -> SlotId {
        let id = SlotId(self.next_slot);
        self.next_slot += 1;
        self.slots.insert(
            id,
            Slot {
                key,
                wait,
                waker: None,
            },
        );
        id
    }

    fn record(&mut self, key: String, at: Millis, outcome: Settlement) {
        // The handler never sees time run backwards, even if the clock does.
        let last = self
            .journal
            .last()
            .map_or(self.started, |record| record.entry.at);
        self.journal.push(Record::new(Entry {
            key,
            at: at.max(last),
            outcome,
        }));
    }

    fn take<T>(
        &mut self,
        slot: SlotId,
        waker: &Waker,
        settled: impl FnOnce(Wait) -> Result<T, Wait>,
    ) -> Poll<T> {
        let Some(Slot { key, wait, .. }) = self.slots.remove(&slot) else {
            return Poll::Pending;
        };
        match settled(wait) {
            Ok(value) => Poll::Ready(value),
            Err(wait) => {
                self.slots.insert(
                    slot,
                    Slot {
                        key,
                        wait,
                        waker: Some(waker.clone()),
                    },
                );
                Poll::Pending
            }
        }
    }
}
