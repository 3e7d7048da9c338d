//! Time that does not count against a server's timeouts.

use std::{
    future::poll_fn,
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Poll, Waker},
    time::Duration,
};

use tokio::time::Instant;

/// The time in which a transport waits for a user, or for another service than the server. The
/// server's timeouts stop meanwhile.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pause(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    waiting: usize,
    since: Option<Instant>,
    /// The total of the earlier pauses.
    before: Duration,
    /// Whether a pause began or ended since the last wait, and the waiting task.
    has_changed: bool,
    waker: Option<Waker>,
}

/// Dropping it ends the pause.
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

    /// The total time of all pauses until now.
    pub(crate) fn lasted(&self) -> Duration {
        let state = self.lock();
        let since = state.since.map_or(Duration::ZERO, |since| since.elapsed());
        state.before + since
    }

    pub(crate) fn is_on(&self) -> bool {
        self.lock().since.is_some()
    }

    /// Waits until a pause begins or ends, unless one did since the last wait. One task waits at a
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
