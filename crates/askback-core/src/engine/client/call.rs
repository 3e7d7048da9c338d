//! A call in progress: its request and its stage.

use alloc::{
    boxed::Box,
    collections::{BTreeMap, BTreeSet},
    string::String,
    sync::Arc,
    vec::Vec,
};
use core::time::Duration;

use super::{
    QuestionId,
    question::link_bytes,
    task::RemoteTask,
    timing::{CallTimer, Timeouts},
};
use crate::{
    jsonrpc::ErrorObject,
    limits::Limits,
    protocol::{
        CallTarget, ClientRequest, ElicitUrlParams, HasMeta, InputResponses, Meta, RawJson,
    },
};

#[derive(Debug)]
pub(super) struct Call {
    /// Shared with the transport while a round is in flight.
    pub(super) request: Arc<ClientRequest>,
    /// The caller's `_meta`, which is sent with each round.
    pub(super) meta: Option<Box<Meta>>,
    pub(super) stage: Stage,
    pub(super) taken: Option<String>,
    pub(super) patience: CallTimer,
    pub(super) rounds: u32,
    /// How many of the last rounds were requested without a question.
    pub(super) pauses: u32,
    /// How many times in a row the server or the connection was lost during this round.
    pub(super) losses: u32,
    /// Whether the server is working with an answer that it got on the session.
    pub(super) has_answered: bool,
    /// The error of the question that the host refused while this was the only call in flight
    /// (handshake era).
    pub(super) refused: Option<ErrorObject>,
    /// Whether a change made the pending result stale.
    pub(super) overtaken: bool,
    /// Whether the server's questions are returned as the result instead of being put to the host.
    pub(super) is_single: bool,
    /// Whether a subscription was reopened as soon as it began, because it may have been opened in
    /// another authorization context.
    pub(super) reopened: bool,
    pub(super) away: Option<Duration>,
}

#[derive(Debug)]
pub(super) enum Stage {
    Ready,
    Sent(SentRound),
    /// The host is being asked; then the next round is sent.
    Asking(AskedRound),
    /// The server wants another round without a question, at this time.
    Pausing(Duration),
    Task(Box<RemoteTask>),
}

#[derive(Debug)]
pub(super) struct SentRound {
    /// The id of the request, which is also its progress token.
    pub(super) id: i64,
    pub(super) progress: f64,
    /// When the subscription began; `None` for other calls.
    pub(super) listening: Option<Duration>,
    pub(super) context: u64,
}

/// A round that the host is asked for.
#[derive(Debug, Default)]
pub(super) struct AskedRound {
    /// The state for the next round.
    pub(super) state: Option<String>,
    /// The answers with their keys.
    pub(super) answers: BTreeMap<QuestionId, (String, RawJson)>,
    /// The links to ask for after the open one.
    pub(super) links: alloc::vec::IntoIter<ElicitUrlParams>,
}

impl Call {
    pub(super) fn new(mut request: ClientRequest, limits: &Limits, timeouts: Timeouts) -> Self {
        Self {
            meta: request.meta_slot().take(),
            request: Arc::new(request),
            stage: Stage::Ready,
            taken: None,
            patience: CallTimer::new(limits, timeouts),
            rounds: 0,
            pauses: 0,
            losses: 0,
            has_answered: false,
            refused: None,
            overtaken: false,
            is_single: false,
            reopened: false,
            away: None,
        }
    }

    pub(super) fn target(&self) -> Option<CallTarget> {
        CallTarget::new(self.request.method(), self.request.target()?)
    }

    pub(super) fn is_forwarded(&self) -> bool {
        matches!(&*self.request, ClientRequest::Other(_))
    }

    pub(super) fn may_ask(&self) -> bool {
        CallTarget::may_ask(self.request.method()) && self.request.target().is_some()
    }

    pub(super) fn wants_progress(&self) -> bool {
        self.is_forwarded() || self.may_ask()
    }

    pub(super) fn sent(&self) -> Option<&SentRound> {
        match &self.stage {
            Stage::Sent(sent) => Some(sent),
            Stage::Ready | Stage::Asking(_) | Stage::Pausing(_) | Stage::Task(_) => None,
        }
    }

    pub(super) fn wants_core_task(&self) -> bool {
        matches!(&*self.request, ClientRequest::CallTool(params) if params.task.is_some())
    }

    pub(super) fn is_task(&self, id: &str) -> bool {
        matches!(&self.stage, Stage::Task(held) if held.is_core && held.id == id)
    }

    pub(super) fn is_asking_on_session(&self) -> bool {
        let is_there = match &self.stage {
            Stage::Sent(_) => true,
            Stage::Task(held) => held.is_core,
            Stage::Ready | Stage::Asking(_) | Stage::Pausing(_) => false,
        };
        is_there && self.may_ask()
    }

    /// When the call needs attention next.
    pub(super) fn deadline(&self) -> Option<Duration> {
        match &self.stage {
            Stage::Sent(_) => self.patience.deadline(),
            Stage::Pausing(until) => Some(*until),
            Stage::Task(held) if held.waits => None,
            Stage::Task(held) => {
                let due = held.deadline();
                Some(self.patience.deadline().map_or(due, |end| end.min(due)))
            }
            Stage::Ready | Stage::Asking(_) => None,
        }
    }

    /// Replaces the answers and the state for the next round.
    pub(super) fn set_round(&mut self, responses: Option<InputResponses>, state: Option<String>) {
        let (own_responses, own_state) = match Arc::make_mut(&mut self.request) {
            ClientRequest::CallTool(params) => {
                (&mut params.input_responses, &mut params.request_state)
            }
            ClientRequest::GetPrompt(params) => {
                (&mut params.input_responses, &mut params.request_state)
            }
            ClientRequest::ReadResource(params) => {
                (&mut params.input_responses, &mut params.request_state)
            }
            _ => return,
        };
        *own_responses = responses;
        *own_state = state;
    }

    /// Whether the round carries the server's state, so that a restarted server can continue it.
    pub(super) fn carries_state(&self) -> bool {
        self.round().0.is_some()
    }

    pub(super) fn carries_answers(&self) -> bool {
        self.round().1.is_some_and(|answers| !answers.is_empty())
    }

    fn round(&self) -> (Option<&String>, Option<&InputResponses>) {
        let (state, answers) = match &*self.request {
            ClientRequest::CallTool(params) => (&params.request_state, &params.input_responses),
            ClientRequest::GetPrompt(params) => (&params.request_state, &params.input_responses),
            ClientRequest::ReadResource(params) => (&params.request_state, &params.input_responses),
            _ => return (None, None),
        };
        (state.as_ref(), answers.as_ref())
    }

    pub(super) fn is_subscription(&self) -> bool {
        matches!(*self.request, ClientRequest::Listen(_))
    }
}

impl AskedRound {
    pub(super) fn bytes(&self) -> usize {
        let links: usize = self.links.as_slice().iter().map(link_bytes).sum();
        links + self.state.as_ref().map_or(0, String::len)
    }
}

/// The id of a call. The caller chooses it and never uses it twice on a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId(pub u64);

/// The calls in progress by id, with an index of their deadlines, so that finding and handling the
/// next deadline never scans the waiting calls.
///
/// Any change of a call may change its deadline. Calls borrowed mutably are noted, and
/// [`Calls::settle`] reads their deadlines again.
#[derive(Debug, Default)]
pub(super) struct Calls {
    /// Boxed because calls are large and the map moves its entries.
    held: BTreeMap<CallId, Box<CallEntry>>,
    deadlines: BTreeSet<(Duration, CallId)>,
    touched: Vec<CallId>,
}

#[derive(Debug)]
struct CallEntry {
    call: Call,
    deadline: Option<Duration>,
}

impl Calls {
    pub(super) fn len(&self) -> usize {
        self.held.len()
    }

    pub(super) fn get(&self, id: CallId) -> Option<&Call> {
        self.held.get(&id).map(|held| &held.call)
    }

    pub(super) fn get_mut(&mut self, id: CallId) -> Option<&mut Call> {
        let held = self.held.get_mut(&id)?;
        if self.touched.last() != Some(&id) {
            self.touched.push(id);
        }
        Some(&mut held.call)
    }

    pub(super) fn insert(&mut self, id: CallId, call: Call) {
        let deadline = None;
        let before = self.held.insert(id, Box::new(CallEntry { call, deadline }));
        self.forget_deadline(id, before.as_deref());
        self.touched.push(id);
    }

    pub(super) fn remove(&mut self, id: CallId) -> Option<Call> {
        let held = self.held.remove(&id)?;
        self.forget_deadline(id, Some(&held));
        Some(held.call)
    }

    fn forget_deadline(&mut self, id: CallId, held: Option<&CallEntry>) {
        if let Some(deadline) = held.and_then(|held| held.deadline) {
            self.deadlines.remove(&(deadline, id));
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (CallId, &Call)> {
        self.held.iter().map(|(id, held)| (*id, &held.call))
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (CallId, &mut Call)> {
        self.touched.extend(self.held.keys());
        self.held.iter_mut().map(|(id, held)| (*id, &mut held.call))
    }

    /// Updates the deadlines of calls that were borrowed mutably.
    pub(super) fn settle(&mut self) {
        for id in self.touched.drain(..) {
            let Some(held) = self.held.get_mut(&id) else {
                continue;
            };
            let deadline = held.call.deadline();
            if deadline == held.deadline {
                continue;
            }
            if let Some(before) = held.deadline {
                self.deadlines.remove(&(before, id));
            }
            self.deadlines.extend(deadline.map(|at| (at, id)));
            held.deadline = deadline;
        }
    }

    /// The earliest deadline, as of the last [`Calls::settle`].
    pub(super) fn next_deadline(&self) -> Option<Duration> {
        self.deadlines.first().map(|(deadline, _)| *deadline)
    }

    /// Returns the calls whose deadlines have passed, by id.
    pub(super) fn due(&mut self, now: Duration) -> Vec<CallId> {
        self.settle();
        let over = self.deadlines.range(..=(now, CallId(u64::MAX)));
        let mut due: Vec<CallId> = over.map(|(_, id)| *id).collect();
        due.sort_unstable();
        due
    }
}
