//! Time that no server is charged with.

use std::{
    future::poll_fn,
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Poll, Waker},
    time::Duration,
};

use tokio::time::Instant;

/// The time in which a transport waits for a person, or for somebody else than the server. The
/// clock by which the server is judged stands meanwhile.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pause(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    waiting: usize,
    since: Option<Instant>,
    /// How long it was before.
    before: Duration,
    /// Whether it began or ended since that was waited for, and who waits.
    has_changed: bool,
    waker: Option<Waker>,
}

/// Somebody waits, as long as this value lasts.
#[cfg_attr(not(feature = "oauth-client"), allow(dead_code))]
pub(crate) struct PauseGuard(Pause);

impl Pause {
    #[cfg_attr(not(feature = "oauth-client"), allow(dead_code))]
    pub(crate) fn begin(&self) -> PauseGuard {
        let mut state = self.lock();
        state.waiting += 1;
        state.since.get_or_insert_with(Instant::now);
        state.change();
        drop(state);
        PauseGuard(self.clone())
    }

    /// How long it was in all, up to now.
    pub(crate) fn lasted(&self) -> Duration {
        let state = self.lock();
        let since = state.since.map_or(Duration::ZERO, |since| since.elapsed());
        state.before + since
    }

    pub(crate) fn is_on(&self) -> bool {
        self.lock().since.is_some()
    }

    /// Waits until it begins or ends, if it did not since that was waited for last. One waits at a
    /// time. Cancel safe.
    pub(crate) async fn changed(&self) {
        let changed = poll_fn(|cx| {
            let mut state = self.lock();
            if mem::take(&mut state.has_changed) {
                return Poll::Ready(());
            }
            match &mut state.waker {
                Some(waker) => waker.clone_from(cx.waker()),
                none => *none = Some(cx.waker().clone()),
            }
            Poll::Pending
        });
        changed.await;
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn change(&mut self) {
        self.has_changed = true;
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }
}

impl Drop for PauseGuard {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.waiting -= 1;
        if state.waiting == 0
            && let Some(since) = state.since.take()
        {
            state.before += since.elapsed();
        }
        state.change();
    }
}
