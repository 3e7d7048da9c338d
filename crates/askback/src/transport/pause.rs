//! Time that no server is charged with.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{sync::Notify, time::Instant};

/// The time in which a transport waits for a person, or for somebody else than the server. The
/// clock by which the server is judged stands meanwhile.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pause(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    /// How many wait.
    waiting: usize,
    since: Option<Instant>,
    /// How long it was before.
    before: Duration,
}

/// Somebody waits, as long as this value lasts.
#[cfg_attr(not(feature = "oauth-client"), allow(dead_code))]
pub(crate) struct Waiting(Pause);

impl Pause {
    /// Begins to wait.
    #[cfg_attr(not(feature = "oauth-client"), allow(dead_code))]
    pub(crate) fn begin(&self) -> Waiting {
        {
            let mut state = self.lock();
            state.waiting += 1;
            state.since.get_or_insert_with(Instant::now);
        }
        self.0.changed.notify_one();
        Waiting(self.clone())
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

    /// Waits until it begins or ends. Cancel safe.
    pub(crate) async fn changed(&self) {
        self.0.changed.notified().await;
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        {
            let mut state = self.0.lock();
            state.waiting -= 1;
            if state.waiting == 0
                && let Some(since) = state.since.take()
            {
                state.before += since.elapsed();
            }
        }
        self.0.0.changed.notify_one();
    }
}
