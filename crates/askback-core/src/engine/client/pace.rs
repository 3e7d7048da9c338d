//! How often something may happen.

use alloc::collections::VecDeque;
use core::time::Duration;

/// Admits at most so many events in any window of time.
#[derive(Debug)]
pub(super) struct Pace {
    most: usize,
    window: Duration,
    times: VecDeque<Duration>,
}

impl Pace {
    pub(super) fn new(most: u32, window: Duration) -> Self {
        Self {
            most: usize::try_from(most).unwrap_or(usize::MAX),
            window,
            times: VecDeque::new(),
        }
    }

    /// Whether the event may happen now; if so, it counts.
    pub(super) fn admit(&mut self, now: Duration) -> bool {
        while let Some(first) = self.times.front()
            && now.saturating_sub(*first) >= self.window
        {
            self.times.pop_front();
        }
        let admitted = self.times.len() < self.most;
        if admitted {
            self.times.push_back(now);
        }
        admitted
    }
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use super::Pace;

    #[test]
    fn the_window_moves_on_with_time() {
        let mut pace = Pace::new(2, Duration::from_secs(10));
        let mut admitted = [0, 1, 2, 9, 10, 10, 11, 12, 21].map(|second| {
            let now = Duration::from_secs(second);
            (second, pace.admit(now))
        });
        admitted.sort_unstable();
        let yes: alloc::vec::Vec<u64> = admitted
            .iter()
            .filter(|(_, yes)| *yes)
            .map(|(second, _)| *second)
            .collect();
        assert_eq!(yes, [0, 1, 10, 11, 21]);
    }
}
