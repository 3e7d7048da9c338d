use std::mem;

use askback::{forms::Content, limits::Limits};

use super::{Ask, Call, Draft, Question, Reply, step::Step};
use crate::text::Clock;

/// The user's answers in a call. If the call is repeated, they answer the same questions again.
/// Answers to forms that ask for secrets, and consent to links, are not kept.
#[derive(Debug, Default)]
pub(super) struct Repeats {
    given: Vec<(Question, Reply)>,
    again: Vec<(Question, Reply)>,
    asked_secret: bool,
}

const KEPT: usize = 64;

impl Repeats {
    pub(super) fn begin(&mut self, repeats: bool) {
        let before = mem::take(&mut self.given);
        self.again = if repeats { before } else { Vec::new() };
        self.asked_secret = false;
    }

    /// Unused answers are kept together with the used ones.
    pub(super) fn end(&mut self) {
        self.given.append(&mut self.again);
        self.given.truncate(KEPT);
    }

    pub(super) fn keep(&mut self, question: &Question, reply: &Reply) {
        let is_kept = match (&question.ask, reply) {
            (Ask::Form { .. }, Reply::Form(_)) => !question.ask.asks_for_secrets(),
            (Ask::Sample(_), Reply::Text(_)) => true,
            _ => false,
        };
        if is_kept && self.given.len() < KEPT {
            self.given.push((question.clone(), reply.clone()));
        }
    }

    pub(super) fn has_kept(&self) -> bool {
        !self.given.is_empty()
    }

    /// Returns the last answer sent in this call for the same form, if the form is asked again with
    /// a longer message. The server then explains why it rejected that answer.
    pub(super) fn sent(&self, question: &Question) -> Option<&Content> {
        let Ask::Form { message, schema } = &question.ask else {
            return None;
        };
        let mut sent = self.given.iter().filter_map(|(before, reply)| {
            let is_same = before.call == question.call && before.key == question.key;
            match (&before.ask, reply) {
                (
                    Ask::Form {
                        message,
                        schema: form,
                    },
                    Reply::Form(content),
                ) if is_same && form == schema => Some((message.as_str(), content)),
                _ => None,
            }
        });
        let is_begun = |first: &&str| message.len() > first.len() && message.starts_with(*first);
        let first = sent.clone().map(|(first, _)| first).find(is_begun)?;
        let last = sent.rfind(|(message, _)| message.starts_with(first));
        last.map(|(_, content)| content)
    }

    pub(super) fn asked_secret(&self) -> bool {
        self.asked_secret
    }

    /// Takes the answer to the same question in the previous call, if this call repeats it.
    pub(super) fn take(&mut self, question: &Question) -> Option<Reply> {
        self.asked_secret |= question.ask.asks_for_secrets();
        let at = self
            .again
            .iter()
            .position(|(before, _)| before == question)?;
        let (question, reply) = self.again.remove(at);
        self.given.push((question, reply.clone()));
        Some(reply)
    }
}

/// The last unfinished form or model reply whose question was withdrawn. It is restored if the same
/// question is asked again, for example because a call is repeated after a lost connection. A form
/// that asks for secrets is not kept.
#[derive(Debug, Default)]
pub(super) struct Leftover(Option<(Question, Step)>);

impl Leftover {
    pub(super) fn keep(&mut self, question: Question, step: Step, limits: &Limits) {
        if let Some(step) = written(&question.ask, step, limits) {
            self.0 = Some((question, step));
        }
    }

    pub(super) fn is_of(&self, call: &Call) -> bool {
        let kept = self.0.as_ref();
        kept.is_some_and(|(question, _)| question.call.as_ref() == Some(call))
    }

    pub(super) fn take(&mut self, question: &Question) -> Option<Step> {
        let (_, step) = self.0.take_if(|(before, _)| before == question)?;
        Some(step)
    }
}

/// Returns the step at which the user can continue, if anything was written.
fn written(ask: &Ask, step: Step, limits: &Limits) -> Option<Step> {
    match (ask, step) {
        (_, Step::Reason(before)) => written(ask, *before, limits),
        (Ask::Form { schema, .. }, Step::Filling(draft) | Step::Review(draft)) => {
            let (none, clock) = (Content::new(), Clock::default());
            let empty = || Draft::new(schema.clone(), &none, limits.clone(), clock);
            (!ask.asks_for_secrets() && draft != empty()).then_some(Step::Filling(draft))
        }
        (Ask::Sample(asked), Step::Request(sampling) | Step::Running(sampling)) => {
            (sampling.request != **asked || sampling.has_kept()).then_some(Step::Request(sampling))
        }
        (Ask::Sample(_), Step::Write(sampling)) => {
            (!sampling.so_far.is_empty()).then_some(Step::Write(sampling))
        }
        (Ask::Sample(_), step @ (Step::Replied(_) | Step::Rewrite(..) | Step::Reread(..))) => {
            Some(step)
        }
        _ => None,
    }
}
