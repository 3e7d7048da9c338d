//! Limits how often questions open the browser.

use std::time::Duration;

use tokio::time::Instant;

/// The minimum time between two openings of the browser.
const OPENING_PAUSE: Duration = Duration::from_secs(60);

/// Limits how often a question opens the browser. A browser without JavaScript does not report that it
/// shows the page, so each question would open another tab.
#[derive(Debug)]
pub(super) struct OpeningPace {
    last: Instant,
}

impl OpeningPace {
    /// Starts as if the browser was opened at `now`.
    pub(super) fn new(now: Instant) -> Self {
        Self { last: now }
    }

    /// Whether the browser may be opened now. If so, it counts as opened.
    pub(super) fn take(&mut self, now: Instant) -> bool {
        let is_due = now.saturating_duration_since(self.last) >= OPENING_PAUSE;
        if is_due {
            self.last = now;
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_browser_opens_once_a_minute() {
        let began = Instant::now();
        let at = |seconds| began + Duration::from_secs(seconds);
        let mut pace = OpeningPace::new(began);
        // A question every seven seconds.
        let opened: Vec<_> = (0..=182)
            .step_by(7)
            .filter(|it| pace.take(at(*it)))
            .collect();
        assert_eq!(opened, [63, 126]);
        assert!(pace.take(at(186)));
        assert!(!pace.take(began), "a clock that goes back");
    }
}
