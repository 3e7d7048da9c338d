//! Limits how much of the work on calls a connection does in its own task.

use std::time::Duration;

use tokio::time::Instant;

/// How long a connection works on calls before it yields. A spawned call costs about 2 µs more.
const LONGEST: Duration = Duration::from_micros(200);

/// A call is slow if it takes this long: it blocks or computes, and was not just interrupted.
const SLOW: Duration = Duration::from_millis(1);

/// How many calls are spawned unpolled after a slow one. A handler that blocks delays its
/// connection only once in so many calls. If the call was slow by chance, the only cost is the
/// spawning.
const CAUTION: u32 = 64;

pub(super) struct Pace {
    ends: Instant,
    /// When the current message or call counts as slow.
    slow_from: Instant,
    is_over: bool,
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

    pub(super) fn begin(&mut self) {
        *self = Self {
            caution: self.caution,
            ..Self::new()
        };
    }

    /// Makes the connection yield before anything else, so that aborted tasks can end.
    pub(super) fn give_way(&mut self) {
        self.is_over = true;
    }

    pub(super) fn is_over(&self) -> bool {
        self.is_over
    }

    /// Whether the next call is polled in this task. Otherwise it is spawned, and may run in
    /// parallel.
    pub(super) fn polls_next(&mut self) -> bool {
        if self.caution > 0 {
            self.caution -= 1;
            return false;
        }
        !self.is_over
    }

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
    async fn a_call_that_yields_waits_until_the_next_wake_up() {
        let mut pace = Pace::new();
        pace.give_way();
        assert!(pace.is_over() && !pace.polls_next());
        pace.begin();
        assert!(!pace.is_over() && pace.polls_next());
    }

    #[tokio::test(start_paused = true)]
    async fn after_a_slow_call_a_number_of_calls_is_spawned_unpolled() {
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
