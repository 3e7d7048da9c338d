use std::{future::pending, pin::Pin, time::Duration};

use tokio::time::{Instant, Sleep, sleep};

/// A timer that rings no later than the last deadline it was set to.
///
/// Deadlines mostly move back, because calls end before them. The timer is then left as it is and sometimes rings too
/// early, which is cheaper than resetting it with each call. It also rings too early if the deadlines' clock was
/// paused.
pub(super) struct Alarm {
    sleep: Pin<Box<Sleep>>,
    due: Option<Duration>,
}

impl Alarm {
    /// Must be called within a runtime.
    pub(super) fn new() -> Self {
        Self {
            sleep: Box::pin(sleep(Duration::ZERO)),
            due: None,
        }
    }

    /// Sets the alarm to this deadline or an earlier one. `now` is the current time of the deadlines' clock.
    pub(super) fn set(&mut self, due: Duration, now: impl FnOnce() -> Duration) {
        if self.due.is_some_and(|before| before <= due) {
            return;
        }
        // A time that is out of range is never reached.
        if let Some(at) = Instant::now().checked_add(due.saturating_sub(now())) {
            self.sleep.as_mut().reset(at);
            self.due = Some(due);
        }
    }

    /// Waits until the alarm rings, and unsets it. Cancel safe.
    pub(super) async fn ring(&mut self) {
        if self.due.is_none() {
            pending::<()>().await;
        }
        self.sleep.as_mut().await;
        self.due = None;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::{Instant, timeout};

    use super::Alarm;

    #[tokio::test(start_paused = true)]
    async fn an_alarm_rings_once_for_its_earliest_deadline() {
        let s = Duration::from_secs;
        let begun = Instant::now();
        let mut alarm = Alarm::new();
        assert!(
            timeout(s(100), alarm.ring()).await.is_err(),
            "it was not set"
        );
        for due in [160, 130, 140] {
            alarm.set(s(due), || begun.elapsed());
        }
        assert!(timeout(s(20), alarm.ring()).await.is_err(), "it rang early");
        alarm.ring().await;
        assert_eq!(begun.elapsed(), s(130));
        assert!(
            timeout(s(100), alarm.ring()).await.is_err(),
            "it rang again"
        );
        alarm.set(s(231), || begun.elapsed());
        alarm.ring().await;
        assert_eq!(begun.elapsed(), s(231));
        alarm.set(Duration::MAX, || begun.elapsed());
        assert!(
            timeout(s(100), alarm.ring()).await.is_err(),
            "no clock shows it"
        );
    }
}
