//! A call on its way: what was asked for, and how far it has come.

use alloc::{boxed::Box, string::String, sync::Arc, vec::Vec};
use core::time::Duration;

use super::{
    CallTarget, QuestionId,
    asked::{Asked, link_bytes},
    held::Held,
    patience::{Patience, Timeouts},
    writing::response_json,
};
use crate::{
    jsonrpc::ErrorObject,
    limits::Limits,
    protocol::{
        ClientRequest, ElicitAction, ElicitUrlParams, HasMeta, InputResponse, InputResponses, Meta,
    },
    revision::Revision,
};

#[derive(Debug)]
pub(super) struct Call {
    /// Shared with the transport while a round is on its way.
    pub(super) request: Arc<ClientRequest>,
    /// The `_meta` that the caller wrote into it, which is sent with each round.
    pub(super) meta: Option<Box<Meta>>,
    pub(super) stage: Stage,
    /// The task that is taken up in place of sending the request.
    pub(super) taken: Option<String>,
    pub(super) patience: Patience,
    /// How often the server asked for another round.
    pub(super) rounds: u32,
    /// How often in a row it did so without asking anything.
    pub(super) pauses: u32,
    /// Whether the server was started again for the round that is next or in flight.
    pub(super) restarted: bool,
    /// Whether the server works with an answer to a question of this call that it was sent on the session.
    pub(super) has_answered: bool,
    /// The question that the host refused while this was the only call in flight (handshake era).
    pub(super) refused: Option<ErrorObject>,
    /// Whether what the result will say was overtaken by a change.
    pub(super) overtaken: bool,
    /// Whether the questions of the server are the result, and not put to the host.
    pub(super) is_single: bool,
    /// Whether a subscription was opened again as soon as it began, for it may have been opened in
    /// another authorization context.
    pub(super) reopened: bool,
    /// Since when a subscription that had begun is broken off.
    pub(super) away: Option<Duration>,
}

#[derive(Debug)]
pub(super) enum Stage {
    /// Its next round can be sent.
    Ready,
    /// The server has it.
    Sent(Sent),
    /// The host is asked; then it is sent again.
    Asking(Asking),
    /// The server wants it sent again without asking anything.
    Pausing(Duration),
    /// The server holds a task in place of its result.
    Task(Box<Held>),
}

/// A round the server has.
#[derive(Debug)]
pub(super) struct Sent {
    /// The id of the request, which also names its progress.
    pub(super) id: i64,
    pub(super) progress: f64,
    /// When it began, if it is a subscription that has.
    pub(super) listening: Option<Duration>,
    /// The authorization context at that time.
    pub(super) context: u64,
}

/// The questions between two rounds.
#[derive(Debug)]
pub(super) enum Asking {
    /// Those of a result that asks: all at once.
    Questions {
        state: Option<String>,
        asked: Vec<Asked>,
    },
    /// The links of -32042: one by one.
    Links {
        asked: Asked,
        rest: alloc::vec::IntoIter<ElicitUrlParams>,
    },
}

/// The step after an answer.
#[derive(Debug)]
pub(super) enum Answered {
    /// Others are still open.
    Wait,
    /// Ask this next.
    Ask(ElicitUrlParams),
    /// Send the call again.
    Send,
}

impl Call {
    pub(super) fn new(mut request: ClientRequest, limits: &Limits, timeouts: Timeouts) -> Self {
        Self {
            meta: request.meta_slot().take(),
            request: Arc::new(request),
            stage: Stage::Ready,
            taken: None,
            patience: Patience::new(limits, timeouts),
            rounds: 0,
            pauses: 0,
            restarted: false,
            has_answered: false,
            refused: None,
            overtaken: false,
            is_single: false,
            reopened: false,
            away: None,
        }
    }

    pub(super) fn target(&self) -> Option<CallTarget> {
        CallTarget::of(&self.request)
    }

    /// Whether the server may ask in its rounds: those of a call with a target.
    pub(super) fn may_ask(&self) -> bool {
        CallTarget::has(&self.request)
    }

    pub(super) fn sent(&self) -> Option<&Sent> {
        match &self.stage {
            Stage::Sent(sent) => Some(sent),
            Stage::Ready | Stage::Asking(_) | Stage::Pausing(_) | Stage::Task(_) => None,
        }
    }

    /// Whether the call is to be a task of the core protocol (2025-11-25).
    pub(super) fn wants_core_task(&self) -> bool {
        matches!(&*self.request, ClientRequest::CallTool(params) if params.task.is_some())
    }

    /// Whether the server holds this task of the core protocol in place of its result.
    pub(super) fn is_task(&self, id: &str) -> bool {
        matches!(&self.stage, Stage::Task(held) if held.is_core && held.id == id)
    }

    /// Whether the server may ask on the session for this call.
    pub(super) fn is_asking_on_session(&self) -> bool {
        let is_there = match &self.stage {
            Stage::Sent(_) => true,
            Stage::Task(held) => held.is_core,
            Stage::Ready | Stage::Asking(_) | Stage::Pausing(_) => false,
        };
        is_there && self.may_ask()
    }

    /// When something must be done about it.
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

    /// Puts into the request what the next round sends back; of the round before nothing is kept.
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

    /// Whether the round tells a server all there is to know, so that one that has forgotten
    /// everything can take it up.
    pub(super) fn carries_state(&self) -> bool {
        self.round().0.is_some()
    }

    /// Whether the round answers questions.
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

    /// Takes the host's answer to a question of this call.
    pub(super) fn answer(
        &mut self,
        question: QuestionId,
        answer: InputResponse,
        revision: Revision,
        limits: &Limits,
    ) -> Result<Answered, Refusal> {
        let Stage::Asking(asking) = &mut self.stage else {
            return Ok(Answered::Wait);
        };
        match asking {
            Asking::Links { asked, rest } => {
                let answer = asked.check(answer, limits).map_err(Refusal::Host)?;
                if let InputResponse::Elicit(answer) = answer
                    && answer.action != ElicitAction::Accept
                {
                    return Err(Refusal::NotOpened);
                }
                Ok(rest.next().map_or(Answered::Send, Answered::Ask))
            }
            Asking::Questions { state, asked } => {
                let Some(mine) = asked.iter_mut().find(|asked| asked.id == question) else {
                    return Ok(Answered::Wait);
                };
                mine.answer = Some(mine.check(answer, limits).map_err(Refusal::Host)?);
                if asked.iter().any(|asked| asked.answer.is_none()) {
                    return Ok(Answered::Wait);
                }
                let responses = asked
                    .drain(..)
                    .filter_map(|asked| Some((asked.key?, response_json(asked.answer?, revision))))
                    .collect();
                let state = state.take();
                self.set_round(Some(responses), state);
                Ok(Answered::Send)
            }
        }
    }
}

/// Why an answer ends its call.
#[derive(Debug)]
pub(super) enum Refusal {
    /// It is not one.
    Host(String),
    /// A link will not be opened, without which the call cannot go on.
    NotOpened,
}

impl Asking {
    /// How much the round takes until it is answered.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Questions { state, asked } => {
                let asked: usize = asked.iter().map(|asked| asked.bytes).sum();
                asked + state.as_ref().map_or(0, String::len)
            }
            Self::Links { asked, rest } => {
                asked.bytes + rest.as_slice().iter().map(link_bytes).sum::<usize>()
            }
        }
    }

    /// The questions the host still has.
    pub(super) fn open(&self) -> impl Iterator<Item = QuestionId> {
        let asked = match self {
            Self::Questions { asked, .. } => asked.as_slice(),
            Self::Links { asked, .. } => core::slice::from_ref(asked),
        };
        asked
            .iter()
            .filter(|asked| asked.answer.is_none())
            .map(|asked| asked.id)
    }
}
