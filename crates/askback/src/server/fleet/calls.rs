//! The rate limit of a whole fleet: all processes count their calls in one place.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use askback_core::ask::{Millis, Principal};
use sha2::{Digest as _, Sha256};

use crate::{
    clock::millis,
    journal::{CallCounter, CountedCall},
    server::rate::{RateLimit, RateLimitError},
    store::{Owner, owner::half},
};

/// The counter of a fleet, and whether this process can reach it.
pub(in crate::server) struct FleetCalls {
    counter: Arc<dyn CallCounter>,
    is_alone: AtomicBool,
    /// When a refusal was last logged as a warning, plus one; 0 for never.
    warned: AtomicU64,
}

impl FleetCalls {
    pub(super) fn new(counter: Arc<dyn CallCounter>) -> Self {
        Self {
            counter,
            is_alone: AtomicBool::new(false),
            warned: AtomicU64::new(0),
        }
    }

    /// Counts a call in the fleet. Returns `None` if that is not possible now, so that the process counts alone.
    pub(in crate::server) async fn take(
        &self,
        rate: &RateLimit,
        caller: Option<&Principal>,
        (method, name): (&str, &str),
        now: Millis,
    ) -> Option<Result<(), RateLimitError>> {
        let (calls, window) = rate.budget(caller);
        let call = CountedCall::new(budget(caller, method, name), calls, window);
        match self.counter.take(call).await {
            Ok(wait) => {
                if self.is_alone.swap(false, Ordering::Relaxed) {
                    tracing::info!("calls are counted for the whole fleet again");
                }
                Some(wait.map_or(Ok(()), |wait| {
                    let is_first = self.warns(now, window);
                    Err(RateLimitError { wait, is_first })
                }))
            }
            Err(error) => {
                if !self.is_alone.swap(true, Ordering::Relaxed) {
                    tracing::error!(
                        %error,
                        "calls cannot be counted for the whole fleet: each process counts its own"
                    );
                }
                None
            }
        }
    }

    /// Whether a refusal is logged: once in a window, so that clients cannot fill the log.
    fn warns(&self, now: Millis, window: Duration) -> bool {
        let warned = self.warned.load(Ordering::Relaxed);
        let is_due = warned == 0 || now.saturating_add(1).saturating_sub(warned) >= millis(window);
        if is_due {
            self.warned.store(now.saturating_add(1), Ordering::Relaxed);
        }
        is_due
    }
}

fn budget(caller: Option<&Principal>, method: &str, name: &str) -> [u8; 16] {
    let mut digest = Sha256::new_with_prefix("askback call budget v1");
    digest.update([u8::from(caller.is_some())]);
    digest.update(caller.map(|caller| Owner::of(caller).0).unwrap_or_default());
    digest.update(method);
    // No method has this byte.
    digest.update([0]);
    digest.update(name);
    half(digest)
}
