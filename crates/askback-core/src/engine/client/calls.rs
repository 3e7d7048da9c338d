//! The calls in progress, and when something must be done about each.

use alloc::{
    boxed::Box,
    collections::{BTreeMap, BTreeSet},
    vec::Vec,
};
use core::time::Duration;

use super::{CallId, call::Call};

/// The calls in progress, in the order of their ids, with their deadlines in the order in which they
/// come: neither finding the next deadline nor handling it looks at the calls that wait.
///
/// Whatever changes a call may change its deadline. Each call that is given out to be changed is noted,
/// and its deadline is read again by [`Calls::settle`].
#[derive(Debug, Default)]
pub(super) struct Calls {
    /// Boxed: a call is large, and neighbours move when one comes or goes.
    held: BTreeMap<CallId, Box<HeldCall>>,
    deadlines: BTreeSet<(Duration, CallId)>,
    /// Those that may have another deadline now.
    touched: Vec<CallId>,
}

#[derive(Debug)]
struct HeldCall {
    call: Call,
    /// Its entry among the deadlines.
    deadline: Option<Duration>,
}

impl Calls {
    pub(super) fn len(&self) -> usize {
        self.held.len()
    }

    pub(super) fn get(&self, id: CallId) -> Option<&Call> {
        self.held.get(&id).map(|held| &held.call)
    }

    pub(super) fn get_mut(&mut self, id: CallId) -> Option<&mut Call> {
        let held = self.held.get_mut(&id)?;
        if self.touched.last() != Some(&id) {
            self.touched.push(id);
        }
        Some(&mut held.call)
    }

    pub(super) fn insert(&mut self, id: CallId, call: Call) {
        let deadline = None;
        let before = self.held.insert(id, Box::new(HeldCall { call, deadline }));
        self.forget_deadline(id, before.as_deref());
        self.touched.push(id);
    }

    pub(super) fn remove(&mut self, id: CallId) -> Option<Call> {
        let held = self.held.remove(&id)?;
        self.forget_deadline(id, Some(&held));
        Some(held.call)
    }

    /// Takes out the entry of a call that is no longer held.
    fn forget_deadline(&mut self, id: CallId, held: Option<&HeldCall>) {
        if let Some(deadline) = held.and_then(|held| held.deadline) {
            self.deadlines.remove(&(deadline, id));
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (CallId, &Call)> {
        self.held.iter().map(|(id, held)| (*id, &held.call))
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (CallId, &mut Call)> {
        self.touched.extend(self.held.keys());
        self.held.iter_mut().map(|(id, held)| (*id, &mut held.call))
    }

    /// Reads the deadlines again of the calls that may have another one.
    pub(super) fn settle(&mut self) {
        for id in self.touched.drain(..) {
            let Some(held) = self.held.get_mut(&id) else {
                continue;
            };
            let deadline = held.call.deadline();
            if deadline == held.deadline {
                continue;
            }
            if let Some(before) = held.deadline {
                self.deadlines.remove(&(before, id));
            }
            self.deadlines.extend(deadline.map(|at| (at, id)));
            held.deadline = deadline;
        }
    }

    /// The first deadline, as it was settled last.
    pub(super) fn next_deadline(&self) -> Option<Duration> {
        self.deadlines.first().map(|(deadline, _)| *deadline)
    }

    /// The calls whose deadlines are over, in the order of their ids.
    pub(super) fn due(&mut self, now: Duration) -> Vec<CallId> {
        self.settle();
        let over = self.deadlines.range(..=(now, CallId(u64::MAX)));
        let mut due: Vec<CallId> = over.map(|(_, id)| *id).collect();
        due.sort_unstable();
        due
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;
    use core::time::Duration;

    use super::{
        super::{
            call::{Sent, Stage},
            patience::Timeouts,
        },
        Call, CallId, Calls,
    };
    use crate::{
        limits::Limits,
        protocol::{ClientRequest, RequestParams},
    };

    fn call(seconds: u64) -> Call {
        let request = ClientRequest::Ping(RequestParams::default());
        let timeouts = Timeouts {
            request: Some(Duration::from_secs(seconds)),
            in_all: None,
        };
        let mut call = Call::new(request, &Limits::default(), timeouts);
        call.stage = Stage::Sent(Sent {
            id: 1,
            progress: 0.0,
            listening: None,
            context: 0,
        });
        call
    }

    /// A small generator, always the same.
    fn draw(state: &mut u64, most: u64) -> u64 {
        *state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (*state >> 33) % most
    }

    #[test]
    fn the_next_deadline_is_the_first_of_all_calls_whatever_was_done_to_them() {
        let mut calls = Calls::default();
        let mut state = 7;
        let mut seen = 0;
        for step in 0..5_000 {
            let now = Duration::from_millis(50 * step);
            let id = CallId(draw(&mut state, 40));
            match draw(&mut state, 8) {
                0 | 1 => calls.insert(id, call(1 + draw(&mut state, 5))),
                2 => drop(calls.remove(id)),
                3 => calls
                    .iter_mut()
                    .for_each(|(_, call)| call.patience.pause(now)),
                4 => calls
                    .iter_mut()
                    .for_each(|(_, call)| call.patience.run(now)),
                5 => {
                    if let Some(call) = calls.get_mut(id) {
                        call.patience.renew(now);
                    }
                }
                _ => {
                    if let Some(call) = calls.get_mut(id) {
                        call.stage = Stage::Pausing(now * 2);
                    }
                }
            }
            calls.settle();
            let deadlines = calls.iter().filter_map(|(_, call)| call.deadline());
            assert_eq!(calls.next_deadline(), deadlines.min(), "after step {step}");
            let over = |(_, call): &(CallId, &Call)| call.deadline().is_some_and(|at| at <= now);
            let due = calls
                .iter()
                .filter(over)
                .map(|(id, _)| id)
                .collect::<Vec<_>>();
            assert_eq!(calls.due(now), due, "after step {step}");
            seen += due.len();
        }
        assert!(seen > 1000, "only {seen} deadlines were over");
    }
}
