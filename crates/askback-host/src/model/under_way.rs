use std::time::Duration;

use super::{Call, Event};
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
    /// The number of questions of the call.
    pub questions: usize,
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
            questions: 0,
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
        if let Event::Asked(_, question) = event
            && !question.ask.is_ours()
        {
            self.questions = self.questions.saturating_add(1);
        }
    }
}
