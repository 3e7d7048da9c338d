//! Answers that do not count before what they lead to is done.

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

/// The end of an answer that was held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Release {
    /// It counts: what it leads to is done.
    Done,
    /// It is forgotten, and the question is asked again.
    NotYet,
    /// It is too late: the question fails with [`AskError::Unfinished`](crate::ask::AskError).
    TooLate,
}

impl Flow {
    /// Has the answer to a question that was just asked held, where it accepts: it is kept out of
    /// the record, and delays every question, until it is [released](Flow::release). An answer that
    /// an earlier round recorded was released there.
    pub fn hold(&mut self, slot: SlotId) {
        if let Some(Slot {
            wait: Wait::Question(asked),
            ..
        }) = self.slots.get_mut(&slot)
        {
            asked.holds = true;
        }
    }

    /// Whether the answer to this question is held.
    #[must_use]
    pub fn is_held(&self, slot: SlotId) -> bool {
        let slot = self.slots.get(&slot);
        slot.is_some_and(|slot| matches!(slot.wait, Wait::Held(..)))
    }

    /// Whether an answer is held: somebody outside the flow is not done.
    #[must_use]
    pub fn holds(&self) -> bool {
        let mut slots = self.slots.values();
        slots.any(|slot| matches!(slot.wait, Wait::Held(..)))
    }

    /// Ends the wait of an answer that is held; without effect where none is.
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
    /// Whether this is a question that holds such an answer.
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
    /// Holds the recorded answer to the question of this slot.
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
