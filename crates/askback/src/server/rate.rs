//! How often one caller may call one thing (2026-07-28, server/tools, Security Considerations).
//!
//! Each pair of caller and thing has a bucket: it holds
//! [`limits.server.calls`](crate::limits::ServerLimits::calls) calls, and fills again within
//! [`limits.server.calls_window`](crate::limits::ServerLimits::calls_window). A bucket that is full
//! again is forgotten, so that only those who called of late take memory. Callers who are not known
//! are one, with [`limits.server.unknown_calls`](crate::limits::ServerLimits::unknown_calls).
//! Callers are known by the hash of their name: buckets keep nothing that a client sent.

use std::{
    collections::HashMap,
    hash::{BuildHasher, BuildHasherDefault, Hash, Hasher, RandomState},
    sync::{LazyLock, Mutex, PoisonError},
    time::Duration,
};

use askback_core::{
    ask::{Millis, Principal},
    limits::Limits,
};

use crate::clock::millis;

/// How many parts the buckets are in, so that calls rarely wait for one another.
const PARTS: usize = 16;

/// Makes the hashes by which callers and things are known.
static HASHER: LazyLock<RandomState> = LazyLock::new(RandomState::new);

/// The buckets of a server.
pub(super) struct RateLimit {
    known: u64,
    unknown: u64,
    /// In milliseconds.
    window: u64,
    /// The most buckets of one part.
    most: usize,
    parts: [Mutex<Buckets>; PARTS],
}

/// A thing that is called, by the hash of its name: that is worked out once, and not for each call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct ThingHash(u64);

type Buckets = HashMap<u64, Bucket, BuildHasherDefault<IdentityHasher>>;

/// Hands on what is a hash already, of which nobody outside knows the key.
#[derive(Default)]
struct IdentityHasher(u64);

/// The recent calls of one caller: each call adds the milliseconds of the window, each millisecond
/// that passes takes away the number of calls.
#[derive(Debug, Clone, Copy)]
struct Bucket {
    calls: u64,
    taken: u64,
    at: Millis,
    /// Whether the last call found too few in it.
    refused: bool,
}

/// A call that came too early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RateLimitError {
    /// How long the caller has to wait for it.
    pub(super) wait: Duration,
    /// Whether it is the first one after a call that was made: a log that tells of no other cannot be
    /// filled.
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

    /// Takes one call.
    ///
    /// # Errors
    ///
    /// Refused where the caller has to wait for it.
    pub(super) fn take(
        &self,
        caller: Option<&Principal>,
        thing: ThingHash,
        now: Millis,
    ) -> Result<(), RateLimitError> {
        let (calls, hash) = match caller {
            Some(caller) => (self.known, HASHER.hash_one((caller.owner(), thing))),
            None => (self.unknown, thing.0),
        };
        // Of bits in the middle: a map looks at those at both ends.
        let part = &self.parts[(hash >> 32) as usize % PARTS];
        let mut buckets = part.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bucket) = buckets.get_mut(&hash) {
            return bucket.take(self.window, now);
        }
        if buckets.len() >= self.most {
            buckets.retain(|_, bucket| bucket.taken_by(now) > 0);
        }
        // Where there are too many, those who come then share one, those who are known among
        // themselves: what it holds differs.
        let is_shared = buckets.len() >= self.most;
        let shared = u64::from(caller.is_some());
        let empty = Bucket {
            calls,
            taken: 0,
            at: now,
            refused: false,
        };
        let bucket = buckets.entry(if is_shared { shared } else { hash });
        bucket.or_insert(empty).take(self.window, now)
    }
}

impl ThingHash {
    pub(super) fn new(kind: &str, name: &str) -> Self {
        Self(HASHER.hash_one((kind, name)))
    }
}

impl Hasher for IdentityHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }

    fn write(&mut self, bytes: &[u8]) {
        let fold = |hash: u64, byte: &u8| hash.rotate_left(8) ^ u64::from(*byte);
        self.0 = bytes.iter().fold(self.0, fold);
    }
}

impl Bucket {
    fn taken_by(self, now: Millis) -> u64 {
        let passed = now.saturating_sub(self.at);
        self.taken.saturating_sub(passed.saturating_mul(self.calls))
    }

    fn take(&mut self, window: u64, now: Millis) -> Result<(), RateLimitError> {
        let taken = self.taken_by(now).saturating_add(window);
        let over = taken.saturating_sub(self.calls.saturating_mul(window));
        if over > 0 {
            return Err(RateLimitError {
                wait: Duration::from_millis(over.div_ceil(self.calls)),
                is_first: !std::mem::replace(&mut self.refused, true),
            });
        }
        // A clock that is turned back passes the same time again, which fills nothing twice.
        (self.taken, self.at, self.refused) = (taken, self.at.max(now), false);
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
        // When, and how long the caller has to wait.
        let cases = [
            (0, 0),
            (0, 0),
            (0, 0),
            (0, 20_000),
            (5_000, 15_000),
            (19_999, 1),
            (20_000, 0),
            (20_000, 20_000),
            // As long as it is not called, it fills, but not over.
            (1_000_000, 0),
            (1_000_000, 0),
            (1_000_000, 0),
            (1_000_000, 20_000),
            // A clock that is turned back gives nothing, and takes nothing.
            (0, 20_000),
            (1_020_000, 0),
            // Nor does a call fill it that was made meanwhile.
            (1_080_000, 0),
            (0, 0),
            (1_080_000, 0),
            (1_080_000, 20_000),
        ];
        for (at, (now, wait)) in cases.into_iter().enumerate() {
            let taken = rate.take(Some(&ada), ThingHash::new("tools", "reserve"), now);
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
        // Who calls what, and whether they may.
        let cases = [
            (Some(&ada), "tools", "a", true),
            (Some(&ada), "tools", "a", false),
            (Some(&other_client), "tools", "a", false),
            (Some(&ada), "tools", "b", true),
            (Some(&ada), "prompts", "a", true),
            (Some(&eve), "tools", "a", true),
            // All who are not known have a rate of their own together.
            (None, "tools", "a", true),
            (None, "tools", "a", true),
            (None, "tools", "a", false),
        ];
        for (at, (who, kind, name, may)) in cases.into_iter().enumerate() {
            let taken = rate.take(who, ThingHash::new(kind, name), 7);
            assert_eq!(taken.is_ok(), may, "call {at}");
        }
    }

    #[test]
    fn only_the_first_of_several_refusals_in_a_row_is_marked() {
        let rate = RateLimit::new(&limits(1, Duration::from_secs(1)));
        let ada = Principal::new("ada");
        let refused = |who: Option<&Principal>| {
            [0, 0, 0, 0, 1000, 1000, 1000].map(|now| {
                let taken = rate.take(who, ThingHash::new("tools", "a"), now);
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
            rate.take(Some(&who), ThingHash::new("tools", "a"), 0)
                .is_ok()
        };
        // Each part is full with its first bucket; the next callers of a part share.
        for subject in 0..1000 {
            known(&format!("first {subject}"));
        }
        let unknown = (0..1000).filter(|name| {
            rate.take(None, ThingHash::new("tools", &name.to_string()), 0)
                .is_ok()
        });
        // Two calls of those who are not known in each part, however few the known have there.
        assert_eq!(unknown.count(), 2 * PARTS);
    }

    #[test]
    fn buckets_are_bounded_and_forgotten_when_they_are_full_again() {
        let mut limits = limits(1, Duration::from_secs(1));
        limits.server.call_rates = 4 * PARTS;
        let rate = RateLimit::new(&limits);
        let call = |subject: usize, now: Millis| {
            let who = Principal::new(subject.to_string());
            rate.take(Some(&who), ThingHash::new("tools", "a"), now)
                .is_ok()
        };
        let kept = || -> usize {
            let parts = rate.parts.iter();
            parts.map(|part| part.lock().unwrap().len()).sum()
        };
        let mut taken = (0..10_000).filter(|subject| call(*subject, 0)).count();
        // One more of each part is shared by all others.
        assert_eq!((taken, kept()), (5 * PARTS, 5 * PARTS));
        taken = (10_000..10_004)
            .filter(|subject| call(*subject, 1000))
            .count();
        assert_eq!(taken, 4);
        assert!(kept() < 5 * PARTS, "{}", kept());
    }
}
