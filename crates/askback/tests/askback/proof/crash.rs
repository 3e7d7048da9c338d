//! A store whose process ends before the value of a commit is kept.

use std::{future::pending, sync::Mutex};

use askback::store::{
    Claim, ClaimRequest, FlowId, MemoryStore, Millis, PutRequest, Store, StoreFuture,
};
use tokio::sync::Notify;

/// A store that stands for one which outlives the process, and for the end of that.
pub(super) struct CrashingStore {
    store: MemoryStore,
    crash: Mutex<Crash>,
    happened: Notify,
}

struct Crash {
    /// How many commits are finished before it.
    after: Option<usize>,
    /// The commit that was not.
    left: Option<(FlowId, String)>,
}

impl CrashingStore {
    /// A store whose process ends after so many commits.
    pub(super) fn new(after: Option<usize>) -> Self {
        Self {
            store: MemoryStore::default(),
            crash: Mutex::new(Crash { after, left: None }),
            happened: Notify::new(),
        }
    }

    /// Waits until the process has ended.
    pub(super) async fn crashed(&self) {
        self.happened.notified().await;
    }

    fn crashes(&self, flow: FlowId, name: &str) -> bool {
        let mut crash = self.crash.lock().expect("nothing panics");
        let Some(left) = crash.after else {
            return false;
        };
        crash.after = left.checked_sub(1);
        if left == 0 {
            crash.left = Some((flow, name.to_owned()));
            self.happened.notify_one();
        }
        left == 0
    }

    fn is_left(&self, flow: FlowId, name: &str) -> bool {
        let crash = self.crash.lock().expect("nothing panics");
        crash.left == Some((flow, name.to_owned()))
    }
}

impl Store for CrashingStore {
    fn claim<'a>(&'a self, commit: ClaimRequest<'a>) -> StoreFuture<'a, Claim> {
        Box::pin(async move {
            let claim = self.store.claim(commit).await?;
            // As if the retry came when the lease is over.
            let is_left = claim == Claim::Busy && self.is_left(commit.flow, commit.name);
            Ok(if is_left { Claim::Abandoned } else { claim })
        })
    }

    fn finish<'a>(&'a self, flow: FlowId, name: &'a str, value: &'a [u8]) -> StoreFuture<'a, ()> {
        if self.crashes(flow, name) {
            return Box::pin(pending());
        }
        self.store.finish(flow, name, value)
    }

    fn put<'a>(&'a self, state: PutRequest<'a>) -> StoreFuture<'a, ()> {
        self.store.put(state)
    }

    fn get(&self, id: [u8; 32]) -> StoreFuture<'_, Option<Vec<u8>>> {
        self.store.get(id)
    }

    fn purge(&self, now: Millis) -> StoreFuture<'_, usize> {
        self.store.purge(now)
    }
}
