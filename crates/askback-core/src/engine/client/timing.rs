//! Timeouts of calls, and a rate limiter.

use alloc::collections::VecDeque;
use core::time::Duration;

use crate::limits::Limits;

/// The timeouts of one call (2026-07-28, basic/patterns/cancellation, Timeouts). Time spent asking
/// the user does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Timeouts {
    /// The timeout for each request of the call, restarted by each sign of progress. Defaults to
    /// [`limits.wire.request`](crate::limits::WireLimits::request).
    pub request: Option<Duration>,
    /// The timeout for the whole call, whatever the progress, and for the task it may become.
    /// Defaults to [`limits.client.request_in_all`](crate::limits::ClientLimits::request_in_all)
    /// and [`limits.tasks.in_all`](crate::limits::TaskLimits::in_all).
    pub in_all: Option<Duration>,
}

/// The time left for a call. It runs while the server works and is paused while the user is asked.
#[derive(Debug)]
pub(super) struct CallTimer {
    /// The time granted by a start or a sign of progress.
    step: Duration,
    left: Duration,
    whole: Duration,
    in_all: Duration,
    /// The timeout of a task, if the caller set one.
    task: Option<Duration>,
    running_since: Option<Duration>,
}

impl CallTimer {
    pub(super) fn new(limits: &Limits, timeouts: Timeouts) -> Self {
        let Timeouts { request, in_all } = timeouts;
        let step = request.unwrap_or(limits.wire.request);
        let whole = in_all.unwrap_or(limits.client.request_in_all.max(step));
        Self {
            step,
            left: step,
            whole,
            in_all: whole,
            task: in_all,
            running_since: None,
        }
    }

    pub(super) fn task(&self, limits: &Limits) -> Duration {
        let longest = limits.tasks.in_all;
        self.task.map_or(longest, |task| task.min(longest))
    }

    /// The timeout that was exceeded first.
    pub(super) fn exceeded(&self) -> Duration {
        if self.in_all < self.left {
            self.whole
        } else {
            self.step.min(self.whole)
        }
    }

    pub(super) fn deadline(&self) -> Option<Duration> {
        let since = self.running_since?;
        Some(since.saturating_add(self.left.min(self.in_all)))
    }

    pub(super) fn run(&mut self, now: Duration) {
        self.running_since.get_or_insert(now);
    }

    pub(super) fn pause(&mut self, now: Duration) {
        if let Some(since) = self.running_since.take() {
            let spent = now.saturating_sub(since);
            self.left = self.left.saturating_sub(spent);
            self.in_all = self.in_all.saturating_sub(spent);
        }
    }

    /// Restarts the time for the request: a new round began, or the server made progress. The total
    /// time is unchanged (2026-07-28, basic/patterns/cancellation, Timeouts).
    pub(super) fn renew(&mut self, now: Duration) {
        let running = self.running_since.is_some();
        self.pause(now);
        self.left = self.step;
        if running {
            self.run(now);
        }
    }
}

/// Admits at most `most` events in any window of time.
#[derive(Debug)]
pub(super) struct RateLimiter {
    most: usize,
    window: Duration,
    times: VecDeque<Duration>,
}

impl RateLimiter {
    pub(super) fn new(most: u32, window: Duration) -> Self {
        Self {
            most: usize::try_from(most).unwrap_or(usize::MAX),
            window,
            times: VecDeque::new(),
        }
    }

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
