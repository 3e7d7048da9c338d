use std::{future::pending, sync::Arc};

use askback_core::ask::FlowId;
use tokio::sync::Notify;

use crate::{
    mutex::Mutex,
    store::{Claim, ClaimRequest, Millis, PutRequest, Store, StoreFuture},
};

/// The planned crash of a run, if any.
#[derive(Debug)]
pub struct Crash {
    state: Mutex<State>,
    happened: Notify,
}

#[derive(Debug)]
enum State {
    Planned(usize),
    Happened(FlowId, String),
    Never,
}

/// A store whose process crashes before the value of a commit is stored.
pub struct CrashingStore {
    store: Arc<dyn Store>,
    crash: Arc<Crash>,
}

impl Crash {
    /// Plans a crash after this many commits.
    #[must_use]
    pub fn new(after: Option<usize>) -> Self {
        Self {
            state: Mutex::new(after.map_or(State::Never, State::Planned)),
            happened: Notify::new(),
        }
    }

    /// Waits for the crash.
    pub async fn happened(&self) {
        self.happened.notified().await;
    }

    fn is_now(&self, flow: FlowId, name: &str) -> bool {
        let mut state = self.state.lock();
        match &mut *state {
            State::Planned(0) => {
                *state = State::Happened(flow, name.to_owned());
                self.happened.notify_one();
                true
            }
            State::Planned(left) => {
                *left -= 1;
                false
            }
            State::Happened(..) | State::Never => false,
        }
    }

    fn has_left(&self, flow: FlowId, name: &str) -> bool {
        matches!(&*self.state.lock(), State::Happened(of, left) if *of == flow && left == name)
    }
}

impl CrashingStore {
    /// Wraps the store that survives the crash.
    pub fn new(store: Arc<dyn Store>, crash: &Arc<Crash>) -> Self {
        let crash = Arc::clone(crash);
        Self { store, crash }
    }
}

impl Store for CrashingStore {
    fn claim<'a>(&'a self, commit: ClaimRequest<'a>) -> StoreFuture<'a, Claim> {
        Box::pin(async move {
            let claim = self.store.claim(commit).await?;
            // The retry comes after the claim's lease has ended.
            let is_left = claim == Claim::Busy && self.crash.has_left(commit.flow, commit.name);
            Ok(if is_left { Claim::Abandoned } else { claim })
        })
    }

    fn finish<'a>(&'a self, flow: FlowId, name: &'a str, value: &'a [u8]) -> StoreFuture<'a, ()> {
        if self.crash.is_now(flow, name) {
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

    fn outlives_process(&self) -> bool {
        self.store.outlives_process()
    }
}
