//! Calls that are given back to a client before it gives up. They go on at the server, and the client gets the result when
//! it makes the same call again. Nothing here reads a clock.

use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

use askback_core::protocol::OtherRequest;

use crate::{error::Result, server::forward::arguments_digest};

/// The time between two progress notifications that say that the user is being asked.
const PROGRESS_PAUSE: Duration = Duration::from_secs(15);

/// A question that is answered sooner, such as by an answers file, is not why a call takes long.
const SHORTEST_WAIT: Duration = Duration::from_secs(1);

/// The maximum number of held calls of one client.
const HELD_CALLS: usize = 256;

/// How calls that wait for the user are held: see [`Bridge::hold`](super::Bridge::hold).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hold {
    /// How long a call waits before it is given back to the client. Must be less than the client's
    /// timeout.
    pub after: Duration,
    /// How long a call that was given back continues, if the client does not repeat it.
    pub keep: Duration,
    /// A sentence that says where the user answers.
    pub place: String,
}

/// Two calls with the same key are the same call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CallKey {
    method: String,
    target: Option<String>,
    arguments: [u8; 32],
}

impl CallKey {
    pub(super) fn of(request: &OtherRequest) -> Result<Self> {
        Ok(Self {
            method: request.method().to_owned(),
            target: request.target().map(ToOwned::to_owned),
            arguments: arguments_digest(request)?,
        })
    }
}

/// The held calls of a client, the oldest first.
#[derive(Debug, Default)]
pub(super) struct HeldCalls {
    last: u64,
    calls: BTreeMap<u64, HeldCall>,
    /// Calls that were given back and not repeated in time: the next one may repeat an effect.
    expired: VecDeque<CallKey>,
}

/// All times are measured from the start of the connection.
#[derive(Debug)]
struct HeldCall {
    key: CallKey,
    /// For the request that waits for the call: how long it may wait, since when, and when progress
    /// was last sent.
    after: Duration,
    since: Duration,
    last_progress: Duration,
    /// When the call was given back. `None` while a request waits for it.
    given_back: Option<Duration>,
    /// The questions that the user has not answered yet.
    questions: usize,
    /// Whether a question was open for so long that the client may give up before the server is done.
    has_waited: bool,
    is_done: bool,
}

/// How a request relates to the calls that are held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Arrival {
    /// The first of a call.
    First(u64),
    /// A repeat of a call that was given back at this time.
    Again(u64, Duration),
    /// A call that is not held, because too many calls are.
    Surplus,
}

/// What to do for a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// Deliver the result. The call is forgotten.
    Deliver,
    GiveBack,
    /// Tell the client that the user is being asked.
    Progress,
    /// Wait for a change, or until a time if one is given.
    Wait(Option<Duration>),
}

impl HeldCalls {
    /// Adds a request, which is given back `after` this time. A later round is never matched with a call
    /// that was given back.
    pub(super) fn arrive(
        &mut self,
        key: CallKey,
        is_later_round: bool,
        after: Duration,
        now: Duration,
    ) -> Arrival {
        let is_same =
            |call: &&mut HeldCall| !is_later_round && call.given_back.is_some() && call.key == key;
        let mut calls = self.calls.iter_mut();
        if let Some((id, call)) = calls.find(|(_, call)| is_same(call))
            && let Some(given_back) = call.given_back.take()
        {
            (call.after, call.since, call.last_progress) = (after, now, now);
            return Arrival::Again(*id, given_back);
        }
        if self.calls.len() >= HELD_CALLS {
            return Arrival::Surplus;
        }
        self.last += 1;
        let call = HeldCall {
            key,
            after,
            since: now,
            last_progress: now,
            given_back: None,
            questions: 0,
            has_waited: false,
            is_done: false,
        };
        self.calls.insert(self.last, call);
        Arrival::First(self.last)
    }

    pub(super) fn asks(&mut self, id: u64) {
        if let Some(call) = self.calls.get_mut(&id) {
            call.questions += 1;
        }
    }

    /// A question of a call has an answer, or was withdrawn, after it was open for this long.
    pub(super) fn answers(&mut self, id: u64, open_for: Duration) {
        if let Some(call) = self.calls.get_mut(&id) {
            call.questions = call.questions.saturating_sub(1);
            call.has_waited |= open_for >= SHORTEST_WAIT;
        }
    }

    pub(super) fn ends(&mut self, id: u64) {
        if let Some(call) = self.calls.get_mut(&id) {
            call.is_done = true;
        }
    }

    /// Forgets a call that the client did not repeat in time, but remembers that the call was made.
    pub(super) fn expire(&mut self, id: u64) {
        if let Some(call) = self.calls.remove(&id) {
            if self.expired.len() >= HELD_CALLS {
                self.expired.pop_front();
            }
            self.expired.push_back(call.key);
        }
    }

    /// Whether this call has expired before. Returns true only once: the call after it is a new
    /// one.
    pub(super) fn take_expired(&mut self, key: &CallKey) -> bool {
        let at = self.expired.iter().position(|expired| expired == key);
        at.is_some_and(|at| self.expired.remove(at).is_some())
    }

    #[cfg(test)]
    pub(super) fn count(&self) -> usize {
        self.calls.len()
    }

    /// Returns whether the call had no end yet.
    pub(super) fn forget(&mut self, id: u64) -> bool {
        self.calls.remove(&id).is_some()
    }

    pub(super) fn step(&mut self, id: u64, now: Duration) -> Step {
        let Some(call) = self.calls.get_mut(&id) else {
            return Step::Deliver;
        };
        if call.is_done {
            self.calls.remove(&id);
            return Step::Deliver;
        }
        let end =
            (call.has_waited || call.questions > 0).then(|| call.since.saturating_add(call.after));
        if end.is_some_and(|end| end <= now) {
            call.given_back = Some(now);
            return Step::GiveBack;
        }
        let progress = call.last_progress.saturating_add(PROGRESS_PAUSE);
        let progress = (call.questions > 0).then_some(progress);
        if progress.is_some_and(|due| due <= now) {
            call.last_progress = now;
            return Step::Progress;
        }
        Step::Wait(end.into_iter().chain(progress).min())
    }

    /// When a call that was given back expires; `None` if a request waits for it.
    pub(super) fn until(&self, id: u64, keep: Duration) -> Option<Duration> {
        let given_back = self.calls.get(&id)?.given_back?;
        Some(given_back.saturating_add(keep))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AFTER: Duration = Duration::from_secs(45);

    fn key(target: &str, argument: u8) -> CallKey {
        CallKey {
            method: "tools/call".to_owned(),
            target: Some(target.to_owned()),
            arguments: [argument; 32],
        }
    }

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[track_caller]
    fn arrives(calls: &mut HeldCalls, seconds: u64, expected: Arrival) {
        let arrival = calls.arrive(key("a", 0), false, AFTER, at(seconds));
        assert_eq!(arrival, expected);
    }

    #[test]
    fn an_expired_call_is_not_made_again_unnoticed() {
        let mut calls = HeldCalls::default();
        arrives(&mut calls, 0, Arrival::First(1));
        calls.asks(1);
        assert_eq!(calls.step(1, at(45)), Step::GiveBack);
        assert!(!calls.take_expired(&key("a", 0)));
        calls.expire(1);
        assert!(!calls.take_expired(&key("a", 1)));
        assert!(calls.take_expired(&key("a", 0)));
        assert!(!calls.take_expired(&key("a", 0)));
        arrives(&mut calls, 9, Arrival::First(2));
    }

    #[test]
    fn a_call_without_a_person_is_never_given_back() {
        let mut calls = HeldCalls::default();
        arrives(&mut calls, 0, Arrival::First(1));
        assert_eq!(calls.step(1, at(1000)), Step::Wait(None));
        calls.ends(1);
        assert_eq!(calls.step(1, at(1001)), Step::Deliver);
        arrives(&mut calls, 1002, Arrival::First(2));
    }

    #[test]
    fn a_call_with_a_person_tells_of_it_and_is_given_back_in_time() {
        let mut calls = HeldCalls::default();
        arrives(&mut calls, 100, Arrival::First(1));
        calls.asks(1);
        for (now, step) in [
            (110, Step::Wait(Some(at(115)))),
            (115, Step::Progress),
            (115, Step::Wait(Some(at(130)))),
            (131, Step::Progress),
            (132, Step::Wait(Some(at(145)))),
            (145, Step::GiveBack),
        ] {
            assert_eq!(calls.step(1, at(now)), step, "{now}");
        }
        assert_eq!(calls.until(1, at(900)), Some(at(1045)));
        arrives(&mut calls, 150, Arrival::Again(1, at(145)));
        assert_eq!(calls.until(1, at(900)), None);
        // The user has answered, and the server continues.
        calls.answers(1, at(50));
        assert_eq!(calls.step(1, at(170)), Step::Wait(Some(at(195))));
        assert_eq!(calls.step(1, at(195)), Step::GiveBack);
        calls.ends(1);
        // The result is delivered at once, and once.
        arrives(&mut calls, 200, Arrival::Again(1, at(195)));
        assert_eq!(calls.step(1, at(200)), Step::Deliver);
        arrives(&mut calls, 201, Arrival::First(2));
    }

    #[test]
    fn a_call_whose_question_is_answered_at_once_is_not_given_back() {
        let mut calls = HeldCalls::default();
        arrives(&mut calls, 0, Arrival::First(1));
        calls.asks(1);
        calls.answers(1, Duration::from_millis(20));
        assert_eq!(calls.step(1, at(60)), Step::Wait(None));
    }

    #[test]
    fn a_later_round_is_not_taken_for_a_call_that_was_given_back() {
        let mut calls = HeldCalls::default();
        calls.arrive(key("a", 0), true, AFTER, at(0));
        calls.asks(1);
        assert_eq!(calls.step(1, at(45)), Step::GiveBack);
        let arrival = calls.arrive(key("a", 0), true, AFTER, at(46));
        assert_eq!(arrival, Arrival::First(2));
        let arrival = calls.arrive(key("a", 0), false, AFTER, at(46));
        assert_eq!(arrival, Arrival::Again(1, at(45)));
    }

    #[test]
    fn a_question_that_comes_late_gives_the_call_back_at_once() {
        let mut calls = HeldCalls::default();
        arrives(&mut calls, 0, Arrival::First(1));
        assert_eq!(calls.step(1, at(60)), Step::Wait(None));
        calls.asks(1);
        assert_eq!(calls.step(1, at(60)), Step::GiveBack);
    }

    #[test]
    fn only_the_same_call_is_attached_and_the_oldest_first() {
        #[track_caller]
        fn check(again: CallKey, arrival: Arrival) {
            let mut calls = HeldCalls::default();
            for (target, argument) in [("a", 0), ("a", 0), ("b", 0)] {
                let Arrival::First(id) = calls.arrive(key(target, argument), false, AFTER, at(0))
                else {
                    panic!("each is another call");
                };
                calls.asks(id);
            }
            // While a request waits for the first call, the same call again is another one.
            for id in [2, 3] {
                assert_eq!(calls.step(id, at(45)), Step::GiveBack);
            }
            assert_eq!(calls.arrive(again, false, AFTER, at(46)), arrival);
        }
        check(key("a", 0), Arrival::Again(2, at(45)));
        check(key("b", 0), Arrival::Again(3, at(45)));
        check(key("a", 1), Arrival::First(4));
        check(key("c", 0), Arrival::First(4));
        let prompt = CallKey {
            method: "prompts/get".to_owned(),
            ..key("a", 0)
        };
        check(prompt, Arrival::First(4));
    }

    #[test]
    fn the_number_of_held_calls_is_limited() {
        let mut calls = HeldCalls::default();
        for id in (1..).take(HELD_CALLS) {
            arrives(&mut calls, 0, Arrival::First(id));
        }
        arrives(&mut calls, 0, Arrival::Surplus);
        calls.forget(7);
        arrives(&mut calls, 0, Arrival::First(HELD_CALLS as u64 + 1));
    }
}
