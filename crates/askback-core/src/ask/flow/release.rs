//! Answers that do not count until the work they lead to is done, such as a visit to a link.

use core::mem;

use super::{
    Flow, SlotId,
    slot::{Record, Slot, Wait},
};
use crate::{
    ask::{
        Millis,
        journal::{Reply, Settlement},
        question::CheckedAnswer,
    },
    protocol::{ElicitAction, ElicitResult},
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Release {
    /// The answer counts: the work is done.
    Done,
    /// The answer is forgotten, and the question is asked again.
    NotYet,
    /// The question fails with [`AskError::Unfinished`](crate::ask::AskError).
    TooLate,
}

impl Flow {
    /// Holds the answer to a question that was just asked, if it accepts. A held answer is not
    /// recorded, and delays all questions until it is [released](Flow::release). Answers recorded
    /// in an earlier round are already released.
    pub fn hold(&mut self, slot: SlotId) {
        if let Some(Slot {
            wait: Wait::Question(asked),
            ..
        }) = self.slots.get_mut(&slot)
        {
            asked.holds = true;
        }
    }

    #[must_use]
    pub fn is_held(&self, slot: SlotId) -> bool {
        let slot = self.slots.get(&slot);
        slot.is_some_and(|slot| matches!(slot.wait, Wait::Held(..)))
    }

    #[must_use]
    pub fn holds(&self) -> bool {
        let mut slots = self.slots.values();
        slots.any(|slot| matches!(slot.wait, Wait::Held(..)))
    }

    /// Ends the wait of a held answer. Does nothing if the slot holds no answer.
    pub fn release(&mut self, slot: SlotId, release: Release, now: Millis) {
        let Some(slot) = self.slots.get_mut(&slot) else {
            return;
        };
        let (mut asked, mut answered) = match mem::replace(&mut slot.wait, Wait::Fired) {
            Wait::Held(asked, answered) => (asked, answered),
            other => {
                slot.wait = other;
                return;
            }
        };
        self.running -= 1;
        asked.holds = release == Release::NotYet;
        asked.sent = !asked.holds;
        asked.opened = true;
        slot.wait = Wait::Question(asked);
        if release == Release::TooLate {
            answered.reply = Reply::Unfinished;
        }
        if release != Release::NotYet {
            let key = slot.key.clone();
            self.record(key, now, Settlement::Answered(answered));
        }
    }
}

impl Wait {
    pub(super) fn holds(&self, settled: &Self) -> bool {
        let accepts = matches!(
            settled,
            Self::Answered(Ok(CheckedAnswer::Elicit(ElicitResult {
                action: ElicitAction::Accept,
                ..
            })))
        );
        accepts && matches!(self, Self::Question(asked) if asked.holds)
    }
}

impl Slot {
    pub(super) fn hold(&mut self, record: Record) {
        let Settlement::Answered(answered) = record.entry.outcome else {
            return;
        };
        self.wait = match mem::replace(&mut self.wait, Wait::Fired) {
            Wait::Question(asked) => Wait::Held(asked, answered),
            other => other,
        };
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }
}
