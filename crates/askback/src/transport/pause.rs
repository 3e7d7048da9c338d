//! Time that does not count against a server's timeouts.

use std::{sync::Arc, time::Duration};

use tokio::{sync::Notify, time::Instant};

use crate::mutex::Mutex;

/// The time in which a transport waits for a user, or for another service than the server. The
/// server's timeouts stop meanwhile.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pause(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    state: Mutex<State>,
    /// A pause began or ended.
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    waiting: usize,
    since: Option<Instant>,
    /// The total of the earlier pauses.
    before: Duration,
}

/// Dropping it ends the pause.
#[cfg_attr(not(feature = "oauth-client"), allow(dead_code))]
pub(crate) struct PauseGuard(Pause);

impl Pause {
    #[cfg_attr(not(feature = "oauth-client"), allow(dead_code))]
    pub(crate) fn begin(&self) -> PauseGuard {
        let mut state = self.0.state.lock();
        state.waiting += 1;
        state.since.get_or_insert_with(Instant::now);
        drop(state);
        self.0.changed.notify_one();
        PauseGuard(self.clone())
    }

    /// The total time of all pauses until now.
    pub(crate) fn lasted(&self) -> Duration {
        let state = self.0.state.lock();
        let since = state.since.map_or(Duration::ZERO, |since| since.elapsed());
        state.before + since
    }

    pub(crate) fn is_on(&self) -> bool {
        self.0.state.lock().since.is_some()
    }

    /// Waits until a pause begins or ends, unless one did since the last wait. One task waits at a
    /// time. Cancel safe.
    pub(crate) async fn changed(&self) {
        self.0.changed.notified().await;
    }
}

impl Drop for PauseGuard {
    fn drop(&mut self) {
        let mut state = self.0.0.state.lock();
        state.waiting -= 1;
        if state.waiting == 0
            && let Some(since) = state.since.take()
        {
            state.before += since.elapsed();
        }
        drop(state);
        self.0.0.changed.notify_one();
    }
}
