//! The rate limit for each caller and offer (2026-07-28, server/tools, Security Considerations).
//!
//! Each pair of caller and offer has a bucket of
//! [`limits.server.calls`](crate::limits::ServerLimits::calls) calls, which refills within
//! [`limits.server.calls_window`](crate::limits::ServerLimits::calls_window). Full buckets are
//! dropped, so that only recent callers take memory. All unauthenticated callers share a bucket of
//! [`limits.server.unknown_calls`](crate::limits::ServerLimits::unknown_calls). Callers are
//! identified by a hash: buckets keep nothing that a client sent.

use std::{
    collections::HashMap,
    hash::{BuildHasher, RandomState},
    sync::LazyLock,
    time::Duration,
};

use askback_core::{
    ask::{Millis, Principal},
    limits::Limits,
};

use crate::{clock::millis, mutex::Mutex};

/// The buckets are split into this many parts, to reduce lock contention.
const PARTS: usize = 16;

static HASHER: LazyLock<RandomState> = LazyLock::new(RandomState::new);

pub(super) struct RateLimit {
    known: u64,
    unknown: u64,
    /// In milliseconds.
    window: u64,
    /// The maximum number of buckets in one part.
    most: usize,
    parts: [Mutex<Buckets>; PARTS],
}

/// The hash of an offer's name, which is computed once and not for each call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct ThingHash(u64);

type Buckets = HashMap<u64, Bucket>;

/// The recent calls of one caller: each call adds the milliseconds of the window, and each
/// millisecond that passes removes the number of calls.
#[derive(Debug, Clone, Copy)]
struct Bucket {
    calls: u64,
    taken: u64,
    at: Millis,
    refused: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RateLimitError {
    pub(super) wait: Duration,
    /// Whether the previous call was allowed. Only this one is logged, so that a client cannot fill
    /// the log.
    pub(super) is_first: bool,
}

impl RateLimit {
    pub(super) fn new(limits: &Limits) -> Self {
        Self {
            known: limits.server.calls.max(1).into(),
            unknown: limits.server.unknown_calls.max(1).into(),
            window: millis(limits.server.calls_window).max(1),
            most: (limits.server.call_rates / PARTS).max(1),
            parts: Default::default(),
        }
    }

    /// Returns how many calls this caller may make within which time.
    #[cfg(feature = "http-server")]
    pub(super) fn budget(&self, caller: Option<&Principal>) -> (u64, Duration) {
        let calls = match caller {
            Some(_) => self.known,
            None => self.unknown,
        };
        (calls, Duration::from_millis(self.window))
    }

    /// Counts a call of one of this many processes, each of which allows its share of the budget.
    ///
    /// # Errors
    ///
    /// Fails if the caller has to wait.
    pub(super) fn take(
        &self,
        caller: Option<&Principal>,
        thing: ThingHash,
        processes: u64,
        now: Millis,
    ) -> Result<(), RateLimitError> {
        let (calls, hash) = match caller {
            Some(caller) => (self.known, HASHER.hash_one((caller.owner(), thing))),
            None => (self.unknown, thing.0),
        };
        let calls = calls.div_ceil(processes.max(1));
        // Uses bits in the middle, because maps use the bits at both ends.
        let part = &self.parts[(hash >> 32) as usize % PARTS];
        let mut buckets = part.lock();
        if let Some(bucket) = buckets.get_mut(&hash) {
            return bucket.take(calls, self.window, now);
        }
        if buckets.len() >= self.most || buckets.len() == buckets.capacity() {
            buckets.retain(|_, bucket| bucket.taken_by(now) > 0);
            // As many calls as there are buckets pass before the next search.
            let kept = buckets.len();
            buckets.reserve(kept.min(self.most.saturating_sub(kept)));
        }
        // If there are too many buckets, new callers share one. Unauthenticated callers have a
        // separate shared bucket, because it has a different size.
        let is_shared = buckets.len() >= self.most;
        let shared = u64::from(caller.is_some());
        let empty = Bucket {
            calls,
            taken: 0,
            at: now,
            refused: false,
        };
        let bucket = buckets.entry(if is_shared { shared } else { hash });
        bucket.or_insert(empty).take(calls, self.window, now)
    }
}

impl ThingHash {
    pub(super) fn new(kind: &str, name: &str) -> Self {
        Self(HASHER.hash_one((kind, name)))
    }
}

impl Bucket {
    fn taken_by(self, now: Millis) -> u64 {
        let passed = now.saturating_sub(self.at);
        self.taken.saturating_sub(passed.saturating_mul(self.calls))
    }

    /// Counts a call against this many in a window. The share of a process may have changed since the last call.
    fn take(&mut self, calls: u64, window: u64, now: Millis) -> Result<(), RateLimitError> {
        // If the clock is set back, the same time does not refill the bucket twice.
        (self.taken, self.at, self.calls) = (self.taken_by(now), self.at.max(now), calls);
        let taken = self.taken.saturating_add(window);
        let over = taken.saturating_sub(calls.saturating_mul(window));
        if over > 0 {
            return Err(RateLimitError {
                wait: Duration::from_millis(over.div_ceil(calls)),
                is_first: !std::mem::replace(&mut self.refused, true),
            });
        }
        (self.taken, self.refused) = (taken, false);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(calls: u32, window: Duration) -> Limits {
        let mut limits = Limits::default();
        (limits.server.calls, limits.server.unknown_calls) = (calls, calls * 2);
        limits.server.calls_window = window;
        limits
    }

    #[test]
    fn a_bucket_gives_what_it_holds_and_fills_again_in_its_window() {
        let rate = RateLimit::new(&limits(3, Duration::from_secs(60)));
        let ada = Principal::new("ada");
        // The time of a call, and how long the caller has to wait.
        let cases = [
            (0, 0),
            (0, 0),
            (0, 0),
            (0, 20_000),
            (5_000, 15_000),
            (19_999, 1),
            (20_000, 0),
            (20_000, 20_000),
            // The bucket refills while it is not used, but only up to its size.
            (1_000_000, 0),
            (1_000_000, 0),
            (1_000_000, 0),
            (1_000_000, 20_000),
            // A clock that is set back changes nothing.
            (0, 20_000),
            (1_020_000, 0),
            // A call that was made meanwhile does not refill the bucket either.
            (1_080_000, 0),
            (0, 0),
            (1_080_000, 0),
            (1_080_000, 20_000),
        ];
        for (at, (now, wait)) in cases.into_iter().enumerate() {
            let taken = rate.take(Some(&ada), ThingHash::new("tools", "reserve"), 1, now);
            let waits = taken.err().map_or(0, |early| millis(early.wait));
            assert_eq!(waits, wait, "call {at}");
        }
    }

    #[test]
    fn a_process_allows_its_share() {
        let rate = RateLimit::new(&limits(6, Duration::from_secs(60)));
        let ada = Principal::new("ada");
        // How many processes serve, the time of a call, and how long the caller has to wait.
        let cases = [
            (3, 0, 0),
            (3, 0, 0),
            (3, 0, 30_000),
            // One process is gone, then another comes, which is more than the caller has left.
            (2, 0, 0),
            (2, 0, 20_000),
            (3, 0, 60_000),
            (3, 59_999, 1),
            (3, 60_000, 0),
            (1, 60_000, 0),
            // Never less than one.
            (100, 120_000, 0),
            (100, 120_000, 60_000),
        ];
        for (at, (processes, now, wait)) in cases.into_iter().enumerate() {
            let thing = ThingHash::new("tools", "reserve");
            let taken = rate.take(Some(&ada), thing, processes, now);
            let waits = taken.err().map_or(0, |early| millis(early.wait));
            assert_eq!(waits, wait, "call {at}");
        }
    }

    #[test]
    fn each_caller_has_a_bucket_for_each_thing() {
        let rate = RateLimit::new(&limits(1, Duration::from_secs(1)));
        let other_client = Principal {
            client_id: Some("other".into()),
            ..Principal::new("ada")
        };
        let (ada, eve) = (Principal::new("ada"), Principal::new("eve"));
        // The caller, the thing it calls, and whether the call is allowed.
        let cases = [
            (Some(&ada), "tools", "a", true),
            (Some(&ada), "tools", "a", false),
            (Some(&other_client), "tools", "a", false),
            (Some(&ada), "tools", "b", true),
            (Some(&ada), "prompts", "a", true),
            (Some(&eve), "tools", "a", true),
            // All unauthenticated callers share one bucket.
            (None, "tools", "a", true),
            (None, "tools", "a", true),
            (None, "tools", "a", false),
        ];
        for (at, (who, kind, name, may)) in cases.into_iter().enumerate() {
            let taken = rate.take(who, ThingHash::new(kind, name), 1, 7);
            assert_eq!(taken.is_ok(), may, "call {at}");
        }
    }

    #[test]
    fn only_the_first_of_several_refusals_in_a_row_is_marked() {
        let rate = RateLimit::new(&limits(1, Duration::from_secs(1)));
        let ada = Principal::new("ada");
        let refused = |who: Option<&Principal>| {
            [0, 0, 0, 0, 1000, 1000, 1000].map(|now| {
                let taken = rate.take(who, ThingHash::new("tools", "a"), 1, now);
                taken.err().map(|early| early.is_first)
            })
        };
        let (no, first, later) = (None, Some(true), Some(false));
        assert_eq!(
            refused(Some(&ada)),
            [no, first, later, later, no, first, later]
        );
        assert_eq!(refused(None), [no, no, first, later, no, no, first]);
    }

    #[test]
    fn those_who_share_a_bucket_have_it_as_large_as_their_own() {
        let mut limits = limits(1, Duration::from_secs(1));
        limits.server.call_rates = 0;
        let rate = RateLimit::new(&limits);
        let known = |subject: &str| {
            let who = Principal::new(subject);
            rate.take(Some(&who), ThingHash::new("tools", "a"), 1, 0)
                .is_ok()
        };
        // Each part is full with its first bucket; later callers of a part share.
        for subject in 0..1000 {
            known(&format!("first {subject}"));
        }
        let unknown = (0..1000).filter(|name| {
            rate.take(None, ThingHash::new("tools", &name.to_string()), 1, 0)
                .is_ok()
        });
        // Each part allows two unauthenticated calls, however few the known callers have there.
        assert_eq!(unknown.count(), 2 * PARTS);
    }

    #[test]
    fn callers_take_memory_only_until_their_buckets_are_full_again() {
        let rate = RateLimit::new(&limits(1, Duration::from_secs(1)));
        for subject in 0..10_000 {
            let who = Principal::new(subject.to_string());
            let taken = rate.take(Some(&who), ThingHash::new("tools", "a"), 1, 1000 * subject);
            assert_eq!(taken, Ok(()));
        }
        let parts = rate.parts.iter();
        let kept: usize = parts.map(|part| part.lock().len()).sum();
        assert!(kept < 8 * PARTS, "{kept}");
    }

    #[test]
    fn buckets_are_bounded_and_forgotten_when_they_are_full_again() {
        let mut limits = limits(1, Duration::from_secs(1));
        limits.server.call_rates = 4 * PARTS;
        let rate = RateLimit::new(&limits);
        let call = |subject: usize, now: Millis| {
            let who = Principal::new(subject.to_string());
            rate.take(Some(&who), ThingHash::new("tools", "a"), 1, now)
                .is_ok()
        };
        let kept = || -> usize {
            let parts = rate.parts.iter();
            parts.map(|part| part.lock().len()).sum()
        };
        let mut taken = (0..10_000).filter(|subject| call(*subject, 0)).count();
        // One more bucket in each part is shared by all others.
        assert_eq!((taken, kept()), (5 * PARTS, 5 * PARTS));
        taken = (10_000..10_004)
            .filter(|subject| call(*subject, 1000))
            .count();
        assert_eq!(taken, 4);
        assert!(kept() < 5 * PARTS, "{}", kept());
    }
}
