//! The calls that a person makes, and what is kept of each to make it again.

use super::Desk;
use crate::model::Call;

impl Desk {
    /// Begins a call that the person makes. If it is the one before again, the questions that were
    /// answered in that are answered as they were, and how they end now counts in place of how they did.
    pub fn begin_call(&mut self, is_repeated: bool) {
        match is_repeated {
            true => self.ended = self.ended_before,
            false => self.ended_before = self.ended,
        }
        self.repeats.begin(is_repeated);
    }

    /// Whether anything is kept of what the person wrote in a call that has ended, to be sent if it is made again.
    pub fn has_kept(&self, call: &Call) -> bool {
        self.repeats.has_kept() || self.kept.is_of(call)
    }

    /// Whether a form of the call asked for a secret. The answers to it are not kept.
    pub fn asked_secret(&self) -> bool {
        self.repeats.asked_secret()
    }

    /// Ends a call that the person made.
    pub fn end_call(&mut self) {
        self.repeats.end();
    }
}
