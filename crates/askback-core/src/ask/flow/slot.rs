//! The slots a handler waits for, and the records of how they ended.

use alloc::{
    boxed::Box,
    string::{String, ToString},
};
use core::task::Waker;

use crate::{
    ask::{
        AskError, Capability, Millis,
        journal::{Entry, RecordedAnswer, Reply, Settlement},
        question::{CheckedAnswer, Question, UnusableAnswer},
        reading::unread,
    },
    limits::Limits,
    protocol::RawJson,
    quote::clipped,
};

#[derive(Debug)]
pub(super) struct Slot {
    pub(super) key: String,
    pub(super) wait: Wait,
    pub(super) waker: Option<Waker>,
}

#[derive(Debug)]
pub(super) enum Wait {
    Question(Box<QuestionSlot>),
    /// The answer has arrived but does not count before [`Flow::release`](super::Flow::release).
    Held(Box<QuestionSlot>, RecordedAnswer),
    Answered(Result<CheckedAnswer, AskError>),
    Step {
        running: bool,
    },
    Done(RawJson),
    Timer {
        deadline: Millis,
    },
    Fired,
}

#[derive(Debug)]
pub(super) struct QuestionSlot {
    pub(super) question: Question,
    /// The capability that the question needs and the client lacks. It can only be answered from
    /// the record.
    pub(super) missing: Option<Capability>,
    pub(super) attempts: u32,
    pub(super) reason: Option<String>,
    pub(super) sent: bool,
    /// The recorded answer to this key was for a different question.
    pub(super) changed: bool,
    pub(super) holds: bool,
    /// The user opened this link in this round but did not finish there.
    pub(super) opened: bool,
}

impl Slot {
    pub(super) fn fail(&mut self, error: AskError) {
        self.wait = Wait::Answered(Err(error));
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }
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
            (Wait::Question(asked), Settlement::Answered(answered)) => {
                asked.question.digest == answered.question
            }
            (Wait::Step { .. }, Settlement::Done(_)) | (Wait::Timer { .. }, Settlement::Fired) => {
                true
            }
            _ => false,
        }
    }
}

impl Record {
    /// Returns the entry to store between rounds. An undelivered answer was not checked, so only
    /// the members that a question may read are stored. `None` if it is too large: then the
    /// question is asked again.
    pub(super) fn kept(&self, limits: &Limits) -> Option<Entry> {
        let Entry { key, at, outcome } = &self.entry;
        let outcome = match outcome {
            Settlement::Answered(RecordedAnswer {
                question,
                reply: Reply::Value(answer),
            }) if !self.delivered => Settlement::Answered(RecordedAnswer {
                question: *question,
                reply: Reply::Value(unread(answer, &limits.asking)?),
            }),
            outcome => outcome.clone(),
        };
        Some(Entry {
            key: key.clone(),
            at: *at,
            outcome,
        })
    }
}

impl QuestionSlot {
    /// Reads a reply. Returns `None` if the question must be asked again. In the record, the
    /// members that were read replace the reply, and a refusal replaces the last unusable reply.
    pub(super) fn receive(
        &mut self,
        reply: &mut Reply,
        limits: &Limits,
    ) -> Option<Result<CheckedAnswer, AskError>> {
        let reason = match reply {
            Reply::Value(value) => match self.read(value, limits) {
                Ok((checked, read)) => {
                    *value = read;
                    return Some(Ok(checked));
                }
                Err(UnusableAnswer::NoFields(read)) => {
                    *value = read;
                    return Some(Err(AskError::NoFields));
                }
                Err(UnusableAnswer::Because(reason)) => {
                    clipped(&reason, limits.asking.reason_bytes)
                }
            },
            other => return other.clone().into_value().err().map(Err),
        };
        self.attempts += 1;
        // A receipt is about the question as it was first sent.
        if self.attempts <= limits.asking.attempts && !self.question.has_challenge() {
            self.reason = Some(reason);
            self.sent = false;
            return None;
        }
        *reply = Reply::Refused(reason.clone());
        Some(Err(AskError::Refused(reason)))
    }
    fn read(
        &self,
        value: &RawJson,
        limits: &Limits,
    ) -> Result<(CheckedAnswer, RawJson), UnusableAnswer> {
        let checked = self.question.check(value, limits)?;
        let json = checked.to_json().map_err(|error| error.to_string())?;
        Ok((checked, json))
    }
}
