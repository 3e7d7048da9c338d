//! What a handler waits for, and what is recorded of how that ended.

use alloc::{boxed::Box, string::String};
use core::task::Waker;

use crate::{
    ask::{
        AskError, Millis,
        journal::{Entry, Outcome, Reply},
        question::{Checked, Question},
    },
    limits::Limits,
    protocol::RawJson,
};

#[derive(Debug)]
pub(super) struct Slot {
    pub(super) key: String,
    pub(super) wait: Wait,
    pub(super) waker: Option<Waker>,
}

#[derive(Debug)]
pub(super) enum Wait {
    Question(Box<Asked>),
    Answered(Result<Checked, AskError>),
    Step { running: bool },
    Done(RawJson),
    Timer { deadline: Millis },
    Fired,
}

#[derive(Debug)]
pub(super) struct Asked {
    pub(super) question: Question,
    pub(super) attempts: u32,
    pub(super) reason: Option<String>,
    pub(super) sent: bool,
}

#[derive(Debug)]
pub(super) struct Record {
    pub(super) entry: Entry,
    pub(super) delivered: bool,
}

impl Record {
    pub(super) fn new(entry: Entry) -> Self {
        Self {
            entry,
            delivered: false,
        }
    }

    pub(super) fn settles(&self, slot: &Slot) -> bool {
        if self.delivered || self.entry.key != slot.key {
            return false;
        }
        match (&slot.wait, &self.entry.outcome) {
            (Wait::Question(asked), Outcome::Answered(answered)) => {
                asked.question.digest == answered.question
            }
            (Wait::Step { .. }, Outcome::Done(_)) | (Wait::Timer { .. }, Outcome::Fired) => true,
            _ => false,
        }
    }
}

impl Asked {
    /// What a reply means for this question; `None` where the question is to be asked again. The
    /// last unusable answer is recorded as the refusal it leads to.
    pub(super) fn receive(
        &mut self,
        reply: &mut Reply,
        limits: &Limits,
    ) -> Option<Result<Checked, AskError>> {
        let reason = match reply {
            Reply::Value(value) => match self.question.check(value, limits) {
                Ok(checked) => return Some(Ok(checked)),
                Err(reason) => reason,
            },
            Reply::Error { code, message } => {
                return Some(Err(AskError::Client {
                    code: *code,
                    message: message.clone(),
                }));
            }
            Reply::Refused(reason) => return Some(Err(AskError::Refused(reason.clone()))),
            Reply::TimedOut => return Some(Err(AskError::TimedOut)),
        };
        self.attempts += 1;
        if self.attempts <= limits.ask_attempts {
            self.reason = Some(reason);
            self.sent = false;
            return None;
        }
        *reply = Reply::Refused(reason.clone());
        Some(Err(AskError::Refused(reason)))
    }
}
