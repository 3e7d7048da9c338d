//! The machine behind a flow: what waits, what is recorded, what happens next.

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
/// [`Flow::begin_timer`]) and poll it; the driver asks [`Flow::verdict`] whenever the handler is
/// quiescent. See the [module](super) for the rule both follow.
#[derive(Debug)]
pub struct Flow {
    /// Absent until somebody asks who this is.
    identity: Option<Identity>,
    started: Millis,
    limits: Arc<Limits>,
    round: u32,
    /// How many of the rounds only asked for links again that were opened before.
    link_rounds: u32,
    journal: Vec<Record>,
    /// How many entries were recorded before this execution began.
    recorded: usize,
    /// Everything before this entry is delivered.
    undelivered: usize,
    /// The open slots, in the order of their first poll.
    slots: BTreeMap<SlotId, Slot>,
    next_slot: u64,
    /// The names of each [`Kind`] in use, with the last ordinal behind each.
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

/// Something a handler waits for, as a handle of the [`Flow`] it belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct SlotId(u64);

/// The next step of the driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// A settlement was delivered: poll the handler again.
    Delivered,
    /// Questions are open and nothing else can move: ask them.
    Ask,
    /// Something outside the flow must happen first, at the latest at this time.
    Wait(Option<Millis>),
}

/// A question that is to be sent now.
#[derive(Debug, Clone)]
pub struct OpenQuestion {
    /// Its key, unique within the flow.
    pub key: String,
    /// The request to send; its message says so where an earlier answer was not usable.
    pub request: CheckedRequest,
    /// Whether it is a link that was opened before, and what is behind it was not done yet.
    pub is_opened_link: bool,
}

/// The open slots that a sealed state carries.
#[derive(Debug, Default)]
struct CarriedSlots {
    open: Vec<OpenEntry>,
    timers: Vec<TimerEntry>,
}

/// Whether steps may start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// They may: the record is delivered.
    Going,
    /// Not yet: the record is being delivered. A step it does not hold was dropped before it had
    /// ended, and will be dropped again before it starts.
    Replaying,
    /// They may not, and timers do not run: the handler is only to be seen to come where it was.
    Rehearsing,
}

/// The kinds of names that are counted separately.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Question,
    Step,
    Timer,
}

impl Flow {
    /// A flow at the start of its first round.
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

    /// A flow that a retry continues: timers that ran out settle first, by their deadlines, then
    /// the answers, in the order in which their questions were asked. Answers to questions that
    /// were not asked are ignored.
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
    /// end before it is needed.
    ///
    /// # Errors
    ///
    /// That of the draw.
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

    /// How many rounds of questions it has asked.
    #[must_use]
    pub fn round(&self) -> u32 {
        self.round
    }

    /// The time as the handler sees it: that of the last settlement delivered, so that a replay
    /// sees the same.
    #[must_use]
    pub fn now(&self) -> Millis {
        self.now
    }

    /// The identity of the flow, if a sealed state leads to it, and perhaps not for the first time.
    #[must_use]
    pub fn resumed(&self) -> Option<&Identity> {
        self.identity.as_ref().filter(|_| self.resumed)
    }

    /// Notes that a state of this flow was written down while its handler goes on: another process may come here again, so
    /// its effects must be claimed as in a flow that was [resumed](Self::resumed).
    pub fn note_written_down(&mut self) {
        self.resumed = true;
    }

    /// Whether the handler has passed everything an earlier execution had reached. Before that,
    /// progress and log lines would be repeats.
    #[must_use]
    pub fn is_live(&self) -> bool {
        self.live
    }

    /// The number of the next draw of random bytes in this course of the handler.
    pub fn next_draw(&mut self, course: u64) -> u64 {
        let draws = self.draws.entry(course).or_insert(0);
        *draws += 1;
        *draws
    }

    /// The keys of questions whose recorded answers no longer fit because the question changed,
    /// since the last call.
    pub fn take_skewed(&mut self) -> Vec<String> {
        mem::take(&mut self.skewed)
    }

    /// Registers a question under `key`, or `key-2`, `key-3`, … where that was used before. `missing` is what
    /// the client would have to support for it, and does not: such a question is answered only from the record.
    ///
    /// # Errors
    ///
    /// [`AskError::TooManyQuestions`] where as many are open as one round may carry, what
    /// [`Question::new`] finds wrong with the request, and [`AskError::Unsupported`] if something is missing.
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

    /// Whether what this waits for is recorded and not delivered yet.
    fn is_recorded(&self, slot: SlotId) -> bool {
        self.slots
            .get(&slot)
            .is_some_and(|slot| self.undelivered().any(|record| record.settles(slot)))
    }

    /// The answer, once delivered.
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

    /// Whether a step of this name was begun in this execution.
    #[must_use]
    pub fn has_step(&self, name: &str) -> bool {
        self.names[Kind::Step as usize].contains_key(name)
    }

    /// Registers a step. It is running only once it was [started](Flow::start_step).
    pub fn begin_step(&mut self, name: &str) -> SlotId {
        let key = self.name(Kind::Step, name);
        self.wait_for(key, Wait::Step { running: false })
    }

    /// The key of a step: its name, or `name-2`, … where the name was used before.
    #[must_use]
    pub fn step_key(&self, slot: SlotId) -> &str {
        self.slots.get(&slot).map_or("", |slot| &slot.key)
    }

    /// Whether to run a step now: no if its value is recorded. If yes it counts as running, and
    /// delays every question until it is finished or dropped. Pending while a recorded settlement
    /// may still make its handler drop it.
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

    /// Records the value of a running step.
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

    /// The value of a step, once delivered.
    pub fn poll_step(&mut self, slot: SlotId, waker: &Waker) -> Poll<RawJson> {
        self.take(slot, waker, |wait| match wait {
            Wait::Done(value) => Ok(value),
            other => Err(other),
        })
    }

    /// Registers a timer that runs out at `deadline`, or when a sealed state said it would.
    pub fn begin_timer(&mut self, name: &str, deadline: Millis) -> SlotId {
        let key = self.name(Kind::Timer, name);
        let carried = self.carried.timers.iter().find(|timer| timer.key == key);
        let deadline = carried.map_or(deadline, |timer| timer.deadline);
        self.wait_for(key, Wait::Timer { deadline })
    }

    /// Ready once the timer has run out and that was delivered.
    pub fn poll_timer(&mut self, slot: SlotId, waker: &Waker) -> Poll<()> {
        self.take(slot, waker, |wait| match wait {
            Wait::Fired => Ok(()),
            other => Err(other),
        })
    }

    /// The handler no longer waits for this. Returns the key of a question that had been sent and
    /// must be withdrawn.
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

    /// The questions of this round, in the order in which they were asked. They count as sent.
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

    /// Whether all that is to be asked now are links that were opened before.
    fn only_opened_links(&self) -> bool {
        let unsent = self.slots.values().filter_map(|slot| match &slot.wait {
            Wait::Question(asked) if !asked.sent => Some(asked.opened),
            _ => None,
        });
        let mut unsent = unsent.peekable();
        unsent.peek().is_some() && unsent.all(|opened| opened)
    }

    /// The keys and digests of the open questions, in the order in which they were asked.
    pub fn open(&self) -> impl Iterator<Item = (&str, QuestionDigest)> {
        self.slots.values().filter_map(|slot| match &slot.wait {
            Wait::Question(asked) => Some((slot.key.as_str(), asked.question.digest)),
            _ => None,
        })
    }

    /// Records what came back for a question that was sent. Ignored where no question of that key
    /// waits, or where it has its answer already.
    pub fn reply(&mut self, key: &str, reply: Reply, now: Millis) {
        // A timer that has run out by now did so before the answer came, noticed or not.
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

    /// Returns the state to seal, from which a retry goes on as the flow of this
    /// [identity](Flow::identity).
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

    /// The flow as a handler that is run again now would find it: the same record, nothing of it
    /// delivered.
    #[must_use]
    pub fn again(&self) -> Self {
        let mut flow = Self::start(self.started, Arc::clone(&self.limits));
        flow.identity.clone_from(&self.identity);
        flow.round = self.round;
        flow.link_rounds = self.link_rounds;
        flow.replay(self.entries(), self.left(), self.now);
        flow
    }

    /// A flow in which a handler can only come where the state says it was: nothing new settles,
    /// no step starts and no timer runs out. Its verdict is [`Verdict::Ask`] whenever nothing more
    /// is recorded, also where no question is open.
    #[must_use]
    pub fn rehearse(state: FlowState, limits: Arc<Limits>) -> Self {
        let mut flow = Self::resume(state, BTreeMap::new(), 0, limits);
        flow.phase = Phase::Rehearsing;
        flow
    }

    /// The keys of the steps that have not ended.
    pub fn open_steps(&self) -> impl Iterator<Item = &str> {
        self.slots.values().filter_map(|slot| match &slot.wait {
            Wait::Step { .. } => Some(slot.key.as_str()),
            _ => None,
        })
    }

    /// Goes back to the start of a handler that is to come, by a record, where it was: `left` is
    /// what was still waited for.
    fn replay(&mut self, journal: Vec<Entry>, left: CarriedSlots, now: Millis) {
        self.resumed = true;
        self.phase = Phase::Replaying;
        self.recorded = journal.len();
        // A handler that asked by hand goes on where its record ends, one that asked a question
        // where the answer to that comes.
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

    /// The slots that are open and would be open again.
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

    /// A name that nothing else of this kind has: the base, or that with the next free ordinal.
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
        // Time does not run backwards for the handler, whatever a clock does.
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
