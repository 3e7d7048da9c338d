//! The servers whose lists have changed.

use std::{
    collections::BTreeSet,
    mem,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use askback::client::Event;
use tokio::{sync::Notify, time::sleep};

use crate::relay::ServerId;

/// How long changes are collected, so that a server cannot cause more frequent list requests.
const PACE: Duration = Duration::from_secs(1);

/// The servers that reported a changed list since the last [`next`](Self::next). Clones share it.
#[derive(Debug, Clone, Default)]
pub struct ChangedLists(Arc<Changes>);

#[derive(Debug, Default)]
struct Changes {
    servers: Mutex<BTreeSet<ServerId>>,
    folders: AtomicBool,
    noted: Notify,
}

impl ChangedLists {
    pub(crate) fn hear(&self, server: ServerId, event: &Event) {
        if matches!(
            event,
            Event::ToolsChanged | Event::PromptsChanged | Event::ResourcesChanged
        ) {
            self.note(server);
        }
    }

    pub fn note(&self, server: ServerId) {
        self.lock().insert(server);
        self.0.noted.notify_one();
    }

    /// Records that the shared folders have changed, so that the next wait ends.
    pub(crate) fn note_folders(&self) {
        self.0.folders.store(true, Ordering::Relaxed);
        self.0.noted.notify_one();
    }

    /// Whether a list of this server has changed and was not yet taken.
    pub fn has(&self, server: ServerId) -> bool {
        self.lock().contains(&server)
    }

    /// Waits for changed lists, collects for one more second, and returns their servers. Returns an
    /// empty set at once if only shared folders have changed. Cancel safe.
    pub async fn next(&self) -> BTreeSet<ServerId> {
        while self.lock().is_empty() {
            if self.0.folders.swap(false, Ordering::Relaxed) {
                return BTreeSet::new();
            }
            self.0.noted.notified().await;
        }
        sleep(PACE).await;
        mem::take(&mut *self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<ServerId>> {
        let servers = self.0.servers.lock();
        servers.unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use tokio::time::timeout;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn changes_are_gathered_and_told_once() {
        let changed = ChangedLists::default();
        let patience = Duration::from_secs(60);
        assert!(timeout(patience, changed.next()).await.is_err());
        for server in [2, 0, 2] {
            changed.note(ServerId(server));
        }
        // Cancelling the wait loses nothing.
        assert!(timeout(PACE.mul_f32(0.5), changed.next()).await.is_err());
        let both = BTreeSet::from([ServerId(0), ServerId(2)]);
        assert_eq!(timeout(patience, changed.next()).await, Ok(both));
        assert!(timeout(patience, changed.next()).await.is_err());
        let later = async {
            sleep(PACE * 3).await;
            changed.note(ServerId(1));
            pending().await
        };
        let told = tokio::select! {
            told = changed.next() => told,
            () = later => unreachable!("it waits for ever"),
        };
        assert_eq!(told, BTreeSet::from([ServerId(1)]));
        changed.note_folders();
        assert_eq!(
            timeout(PACE.mul_f32(0.5), changed.next()).await,
            Ok(BTreeSet::new())
        );
        assert!(timeout(patience, changed.next()).await.is_err());
    }
}
