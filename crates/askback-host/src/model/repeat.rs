//! The answers of a call, to be given again.

use std::mem;

use askback::forms::Content;

use super::{Ask, Question, Reply};

/// The answers that the person gave in a call. When the call is repeated, the same questions are
/// answered with them. Those to a form that asks for secrets are not kept, and nor is a yes to a link.
#[derive(Debug, Default)]
pub(super) struct Repeats {
    given: Vec<(Question, Reply)>,
    /// Those of the call before, which are given again.
    again: Vec<(Question, Reply)>,
    asked_secret: bool,
}

/// The most answers that are kept.
const KEPT: usize = 64;

impl Repeats {
    /// Begins with a call: one that is new, or the one before again.
    pub(super) fn begin(&mut self, repeats: bool) {
        let before = mem::take(&mut self.given);
        self.again = if repeats { before } else { Vec::new() };
        self.asked_secret = false;
    }

    /// Ends a call. An answer that was not wanted in it stays with those that were.
    pub(super) fn end(&mut self) {
        self.given.append(&mut self.again);
        self.given.truncate(KEPT);
    }

    /// Keeps an answer of the person.
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

    /// Whether an answer of the call is kept.
    pub(super) fn has_kept(&self) -> bool {
        !self.given.is_empty()
    }

    /// The answer that the person sent last for the same form in this call, where it is asked again with more words: the server
    /// says in them why it could not use that.
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

    /// Whether the call asked for a secret.
    pub(super) fn asked_secret(&self) -> bool {
        self.asked_secret
    }

    /// Takes the answer to the same question in the call before, if this is that call again.
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
