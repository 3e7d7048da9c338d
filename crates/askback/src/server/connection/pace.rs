//! How much of the work on calls a connection does itself.

use std::time::Duration;

use tokio::time::Instant;

/// How long a connection works on calls in one go. A spawned call costs about 2 µs more.
const LONGEST: Duration = Duration::from_micros(200);

/// The time of a call that is slow: one that blocks or computes, and not one that was interrupted.
const SLOW: Duration = Duration::from_millis(1);

/// How many calls are spawned unpolled after a slow one. A handler that blocks holds up its connection
/// once in so many calls; what was slow by accident costs no more than their spawning.
const CAUTION: u32 = 64;

/// Measures the work of a connection from one wake-up to the next.
pub(super) struct Pace {
    /// When others should have their turn.
    ends: Instant,
    /// When the message or call that is worked on becomes a slow one.
    slow_from: Instant,
    /// Whether others should have their turn.
    is_over: bool,
    /// How many of the next calls are not polled here.
    caution: u32,
}

impl Pace {
    pub(super) fn new() -> Self {
        let now = Instant::now();
        Self {
            ends: now + LONGEST,
            slow_from: now + SLOW,
            is_over: false,
            caution: 0,
        }
    }

    /// Begins to work, at a wake-up.
    pub(super) fn begin(&mut self) {
        *self = Self {
            caution: self.caution,
            ..Self::new()
        };
    }

    /// Lets others have their turn before anything else, as those who were told to end.
    pub(super) fn give_way(&mut self) {
        self.is_over = true;
    }

    /// Whether others should have their turn.
    pub(super) fn is_over(&self) -> bool {
        self.is_over
    }

    /// Whether the next call is polled where it was read. Else others may work on it at the same time.
    pub(super) fn polls_next(&mut self) -> bool {
        if self.caution > 0 {
            self.caution -= 1;
            return false;
        }
        !self.is_over
    }

    /// Notes that a message or a call was done with.
    pub(super) fn tick(&mut self) {
        let now = Instant::now();
        if now > self.slow_from {
            self.caution = CAUTION;
        }
        self.slow_from = now + SLOW;
        self.is_over |= now > self.ends;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::advance;

    use super::{CAUTION, LONGEST, Pace, SLOW};

    async fn work(pace: &mut Pace, time: Duration) {
        advance(time).await;
        pace.tick();
    }

    #[tokio::test(start_paused = true)]
    async fn calls_are_polled_until_others_should_have_their_turn() {
        let mut pace = Pace::new();
        for _ in 0..2 {
            pace.begin();
            work(&mut pace, LONGEST / 2).await;
            work(&mut pace, LONGEST / 2).await;
            assert!(pace.polls_next() && !pace.is_over());
            work(&mut pace, LONGEST / 2).await;
            assert!(!pace.polls_next() && pace.is_over());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_gives_way_does_so_until_the_next_wake_up() {
        let mut pace = Pace::new();
        pace.give_way();
        assert!(pace.is_over() && !pace.polls_next());
        pace.begin();
        assert!(!pace.is_over() && pace.polls_next());
    }

    #[tokio::test(start_paused = true)]
    async fn after_a_slow_call_so_many_are_not_polled_at_whatever_wake_up() {
        let mut pace = Pace::new();
        work(&mut pace, SLOW * 2).await;
        for _ in 0..CAUTION {
            pace.begin();
            assert!(!pace.polls_next() && !pace.is_over());
            work(&mut pace, LONGEST / 2).await;
        }
        assert!(pace.polls_next());
    }
}
