//! Decides the next step of a flow: deliver a settlement, ask questions, or wait.

use core::mem;

use super::{
    Flow, Phase, Verdict,
    slot::{Record, Slot, Wait},
};
use crate::ask::{
    AskError, Millis,
    journal::{Reply, Settlement},
};

/// The memory of a record without its strings, in bytes.
const RECORD_BYTES: usize = 128;

/// The memory of an open slot without the strings of its question, in bytes.
const SLOT_BYTES: usize = 1024;

impl Flow {
    #[must_use]
    pub fn kept_bytes(&self) -> usize {
        let recorded = self.journal.iter().map(|record| {
            let outcome = match &record.entry.outcome {
                Settlement::Answered(answered) => reply_bytes(&answered.reply),
                Settlement::Done(value) => value.as_str().len(),
                Settlement::Fired => 0,
            };
            RECORD_BYTES + record.entry.key.len() + outcome
        });
        let asked = self.slots.values().map(|slot| match &slot.wait {
            Wait::Question(asked) | Wait::Held(asked, _) => asked.question.kept_bytes(),
            _ => 0,
        });
        self.slots.len() * SLOT_BYTES + asked.sum::<usize>() + recorded.sum::<usize>()
    }

    /// Decides the next step of a quiescent handler. A delivery is carried out here.
    pub fn verdict(&mut self, now: Millis) -> Verdict {
        loop {
            if self.deliver() {
                return Verdict::Delivered;
            }
            if self.phase == Phase::Rehearsing {
                return Verdict::Ask;
            }
            if !self.fire_timer(now) {
                break;
            }
        }
        if mem::replace(&mut self.phase, Phase::Going) == Phase::Replaying && self.wake_steps() {
            return Verdict::Delivered;
        }
        if self.fail_unsupported() {
            return Verdict::Delivered;
        }
        let unsent = |slot: &Slot| matches!(&slot.wait, Wait::Question(asked) if !asked.sent);
        if self.running > 0 || !self.slots.values().any(unsent) {
            return Verdict::Wait(self.next_deadline());
        }
        let (used, most) = match self.only_opened_links() {
            true => (self.link_rounds, self.limits.asking.link_rounds),
            false => (self.round - self.link_rounds, self.limits.asking.rounds),
        };
        if used < most {
            return Verdict::Ask;
        }
        self.fail_questions();
        Verdict::Delivered
    }

    /// Delivers the earliest recorded settlement that a slot waits for. An answer that breaks its
    /// form is forgotten, and its question is asked again. An answer to hold is moved to its slot
    /// until it is released.
    fn deliver(&mut self) -> bool {
        let mut at = self.undelivered;
        while let Some(record) = self.journal.get_mut(at) {
            let Some(slot) = self.slots.values_mut().find(|slot| record.settles(slot)) else {
                at += 1;
                continue;
            };
            let settled = match (&mut slot.wait, &mut record.entry.outcome) {
                (Wait::Question(asked), Settlement::Answered(answered)) => asked
                    .receive(&mut answered.reply, &self.limits)
                    .map(Wait::Answered),
                (_, Settlement::Done(value)) => Some(Wait::Done(value.clone())),
                _ => Some(Wait::Fired),
            };
            let Some(settled) = settled else {
                self.journal.remove(at);
                self.recorded -= usize::from(at < self.recorded);
                continue;
            };
            if at >= self.recorded && slot.wait.holds(&settled) {
                let record = self.journal.remove(at);
                slot.hold(record);
                self.running += 1;
                self.live = true;
                return true;
            }
            slot.wait = settled;
            record.delivered = true;
            self.now = record.entry.at;
            self.live |=
                at >= self.recorded || (at + 1 == self.recorded && self.carried.open.is_empty());
            if let Some(waker) = slot.waker.take() {
                waker.wake();
            }
            let delivered = self.journal[self.undelivered..].iter();
            self.undelivered += delivered.take_while(|record| record.delivered).count();
            return true;
        }
        false
    }

    /// Wakes the steps that waited for the end of the replay. Returns whether there were any.
    fn wake_steps(&mut self) -> bool {
        let mut woken = false;
        for slot in self.slots.values_mut() {
            if matches!(slot.wait, Wait::Step { running: false })
                && let Some(waker) = slot.waker.take()
            {
                waker.wake();
                woken = true;
            }
        }
        woken
    }

    pub(super) fn fire_timer(&mut self, now: Millis) -> bool {
        let fired = |slot: &Slot| self.undelivered().any(|record| record.settles(slot));
        let due = self.slots.values().filter_map(|slot| match slot.wait {
            Wait::Timer { deadline } if deadline <= now && !fired(slot) => {
                Some((deadline, &slot.key))
            }
            _ => None,
        });
        // If several timers have the same deadline, the first one fires, as in `resume`.
        let Some((deadline, key)) = due.min_by_key(|(deadline, _)| *deadline) else {
            return false;
        };
        let key = key.clone();
        self.record(key, deadline, Settlement::Fired);
        true
    }

    pub(super) fn undelivered(&self) -> impl Iterator<Item = &Record> {
        self.journal[self.undelivered..].iter()
    }

    fn next_deadline(&self) -> Option<Millis> {
        let deadlines = self.slots.values().filter_map(|slot| match slot.wait {
            Wait::Timer { deadline } => Some(deadline),
            _ => None,
        });
        deadlines.min()
    }

    /// Fails the unsent questions that the client does not support (any more). Returns whether
    /// there were any.
    fn fail_unsupported(&mut self) -> bool {
        let mut has_failed = false;
        for slot in self.slots.values_mut() {
            if let Wait::Question(asked) = &slot.wait
                && let (false, Some(missing)) = (asked.sent, asked.missing)
            {
                slot.fail(AskError::Unsupported(missing));
                has_failed = true;
            }
        }
        self.live |= has_failed;
        has_failed
    }

    /// Fails every open question, because the rounds are used up.
    fn fail_questions(&mut self) {
        for slot in self.slots.values_mut() {
            if let Wait::Question(asked) = &slot.wait {
                let rounds = self.limits.asking.rounds;
                let error = if asked.changed {
                    AskError::Changing {
                        key: slot.key.clone(),
                        rounds,
                    }
                } else if asked.opened {
                    AskError::Unfinished
                } else if asked.holds {
                    AskError::TimedOut
                } else {
                    AskError::TooManyRounds(rounds)
                };
                slot.fail(error);
            }
        }
        self.live = true;
    }
}

fn reply_bytes(reply: &Reply) -> usize {
    match reply {
        Reply::Value(value) => value.as_str().len(),
        Reply::Error { message: text, .. } | Reply::Refused(text) => text.len(),
        Reply::TimedOut | Reply::Unfinished => 0,
    }
}
