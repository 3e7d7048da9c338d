use std::time::Duration;

use super::{Call, Effect, Event, Question, WorstEnd};
use crate::text::PeerText;

/// A call that the user waits for, with its progress and questions.
#[derive(Debug, Clone, PartialEq)]
pub struct UnderWay {
    /// The call.
    pub call: Call,
    /// The offered line for this call, if it has one.
    pub line: Option<String>,
    /// The progress that the server reported.
    pub far: Option<Far>,
    /// The questions of the call, oldest first, up to [`UnderWay::ROUNDS`].
    pub rounds: Vec<Round>,
    /// The number of questions beyond that limit.
    pub more: usize,
    began: Duration,
    /// How long questions were in front before the call began.
    answering: Duration,
}

/// The progress of a call, as the server reports it.
#[derive(Debug, Clone, PartialEq)]
pub struct Far {
    /// The amount done.
    pub progress: f64,
    /// The total amount, if known.
    pub total: Option<f64>,
    /// The server's message.
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
    /// The user stopped it, and no other request to the server was pending.
    Stopped,
}

impl UnderWay {
    /// The number of questions kept per call.
    pub const ROUNDS: usize = 32;

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

    /// Returns how long the server has worked on the call, without the time that questions were in
    /// front.
    pub(super) fn worked(&self, now: Duration, answering: Duration) -> Duration {
        let person = answering.saturating_sub(self.answering);
        now.saturating_sub(self.began).saturating_sub(person)
    }

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

/// Excludes a task's questions and our own.
fn is_of_call(question: &Question) -> bool {
    !question.ask.is_ours() && question.call.as_ref().is_none_or(|call| !call.is_task())
}
