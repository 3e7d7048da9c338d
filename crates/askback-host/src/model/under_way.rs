//! A call that the person waits for.

use std::time::Duration;

use super::{Call, Effect, Event, Question, WorstEnd};
use crate::text::PeerText;

/// A call that the person waits for: how far it is, and what was asked in it.
#[derive(Debug, Clone, PartialEq)]
pub struct UnderWay {
    /// The call.
    pub call: Call,
    /// The line that is offered for it, where there is one.
    pub line: Option<String>,
    /// How far it is, where the server has said so.
    pub far: Option<Far>,
    /// The questions in it, oldest first, up to [`UnderWay::ROUNDS`].
    pub rounds: Vec<Round>,
    /// How many questions came beside those.
    pub more: usize,
    began: Duration,
    /// The time for which the person had questions in front before it began.
    answering: Duration,
}

/// How far a call is, as the server says.
#[derive(Debug, Clone, PartialEq)]
pub struct Far {
    /// How much is done.
    pub progress: f64,
    /// How much there is to do, where that is known.
    pub total: Option<f64>,
    /// The words on it.
    pub message: Option<PeerText>,
}

/// A question in a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Round {
    /// The number of the question.
    pub id: u64,
    /// How it ended, if it has.
    pub ended: Option<WorstEnd>,
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// With a result.
    Done,
    /// With a result in which the tool reports an error.
    Error,
    /// Without a result.
    Failed,
    /// Without a result, because the person stopped it while nothing else of the server was under way.
    Stopped,
}

impl UnderWay {
    /// The most questions of a call that are kept.
    pub const ROUNDS: usize = 32;

    /// A call that begins now. The person had questions in front for `answering` so far.
    pub(super) fn new(
        call: Call,
        line: Option<String>,
        now: Duration,
        answering: Duration,
    ) -> Self {
        Self {
            call,
            line,
            far: None,
            rounds: Vec::new(),
            more: 0,
            began: now,
            answering,
        }
    }

    /// How long the server has worked on it, without the time in which the person had questions in front.
    pub(super) fn worked(&self, now: Duration, answering: Duration) -> Duration {
        let person = answering.saturating_sub(self.answering);
        now.saturating_sub(self.began).saturating_sub(person)
    }

    /// Takes note of what happens at the desk.
    pub(super) fn note(&mut self, event: &Event) {
        match event {
            Event::Asked(id, question) if is_of_call(question) => {
                match self.rounds.len() < Self::ROUNDS {
                    true => self.rounds.push(Round {
                        id: *id,
                        ended: None,
                    }),
                    false => self.more = self.more.saturating_add(1),
                }
            }
            Event::Withdrawn(id) => self.end(*id, WorstEnd::Unanswered),
            _ => {}
        }
    }

    /// Takes note of what is answered.
    pub(super) fn settle(&mut self, effects: &[Effect]) {
        for effect in effects {
            if let Effect::Answer(id, reply) = effect {
                self.end(*id, reply.ended());
            }
        }
    }

    fn end(&mut self, id: u64, ended: WorstEnd) {
        let mut rounds = self.rounds.iter_mut();
        if let Some(round) = rounds.find(|round| round.id == id && round.ended.is_none()) {
            round.ended = Some(ended);
        }
    }
}

/// Whether the server asks it in a call that is waited for: not for a task, and not ourselves.
fn is_of_call(question: &Question) -> bool {
    !question.ask.is_ours() && question.call.as_ref().is_none_or(|call| !call.is_task())
}
