//! How long a server may take.

use core::time::Duration;

use crate::limits::Limits;

/// The time a server has left for a call: it runs while the server works and stands while a
/// person is asked.
#[derive(Debug)]
pub(super) struct Patience {
    /// What a fresh start, or a sign of progress, gives.
    step: Duration,
    left: Duration,
    in_all: Duration,
    running_since: Option<Duration>,
}

impl Patience {
    /// The patience with a new call; it does not run yet.
    pub(super) fn new(limits: &Limits) -> Self {
        Self {
            step: limits.request,
            left: limits.request,
            in_all: limits.request_in_all.max(limits.request),
            running_since: None,
        }
    }

    /// When it ends, if it runs.
    pub(super) fn deadline(&self) -> Option<Duration> {
        let since = self.running_since?;
        Some(since.saturating_add(self.left.min(self.in_all)))
    }

    /// Starts or goes on.
    pub(super) fn run(&mut self, now: Duration) {
        self.running_since.get_or_insert(now);
    }

    /// Stands still.
    pub(super) fn pause(&mut self, now: Duration) {
        if let Some(since) = self.running_since.take() {
            let spent = now.saturating_sub(since);
            self.left = self.left.saturating_sub(spent);
            self.in_all = self.in_all.saturating_sub(spent);
        }
    }

    /// Gives the server its time anew: a new round, or a sign that it works. The time in all stays
    /// what it was (2026-07-28, basic/patterns/cancellation, Timeouts).
    pub(super) fn renew(&mut self, now: Duration) {
        let running = self.running_since.is_some();
        self.pause(now);
        self.left = self.step;
        if running {
            self.run(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use super::Patience;
    use crate::limits::Limits;

    const fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn it_stands_while_paused_and_progress_renews_it_within_the_whole() {
        let limits = Limits {
            request: s(10),
            request_in_all: s(25),
            ..Limits::default()
        };
        let mut patience = Patience::new(&limits);
        assert_eq!(patience.deadline(), None);
        patience.run(s(100));
        assert_eq!(patience.deadline(), Some(s(110)));
        patience.pause(s(104));
        assert_eq!(patience.deadline(), None);
        patience.run(s(1000));
        assert_eq!(patience.deadline(), Some(s(1006)));
        patience.renew(s(1005));
        assert_eq!(patience.deadline(), Some(s(1015)));
        patience.renew(s(1014));
        // 18 of 25 are spent.
        assert_eq!(patience.deadline(), Some(s(1021)));
    }
}
