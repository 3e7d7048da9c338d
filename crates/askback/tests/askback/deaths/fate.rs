//! Decides at which await a process dies.

use std::{
    cell::{Cell, RefCell},
    future::Future,
    pin::pin,
    sync::Arc,
    task::{Context, Poll, Wake, Waker},
    thread::{self, Thread},
};

use askback::{
    journal::Millis,
    store::{Claim, ClaimRequest, FlowId, MemoryStore, PutRequest, Store, StoreFuture},
};

use crate::wrapped::Around;

thread_local! {
    pub(super) static FATE: Fate = const { Fate::new() };
}

/// What happens to the processes of a test. They share its thread.
pub(super) struct Fate {
    pub(super) awaits: Cell<u64>,
    pub(super) dies_at: Cell<Option<u64>>,
    pub(super) is_dying: Cell<bool>,
    pub(super) claimed: Cell<u32>,
    /// The commits that a process may carry out.
    pub(super) granted: RefCell<Vec<(FlowId, String)>>,
    /// Whether a process died after claiming a commit and before finishing it.
    pub(super) is_cut: Cell<bool>,
    pub(super) effects: Cell<u32>,
}

impl Fate {
    pub(super) const fn new() -> Self {
        Self {
            awaits: Cell::new(0),
            dies_at: Cell::new(None),
            is_dying: Cell::new(false),
            claimed: Cell::new(0),
            granted: RefCell::new(Vec::new()),
            is_cut: Cell::new(false),
            effects: Cell::new(0),
        }
    }

    fn note_granted(&self, commit: (FlowId, String)) {
        self.claimed.set(self.claimed.get() + 1);
        self.granted.borrow_mut().push(commit);
    }

    pub(super) fn is_granted_twice(&self) -> bool {
        let granted = self.granted.borrow();
        let mut commits = granted.iter().enumerate();
        commits.any(|(at, commit)| granted[..at].contains(commit))
    }

    /// No process dies from now on.
    pub(super) fn spare(&self) {
        self.dies_at.set(None);
    }

    /// Begins a call in which nothing has happened yet.
    pub(super) fn begin(&self) {
        self.awaits.set(0);
        self.dies_at.set(None);
        self.is_dying.set(false);
        self.claimed.set(0);
        self.granted.borrow_mut().clear();
        self.is_cut.set(false);
        self.effects.set(0);
    }
}

/// An await at which the process may die.
pub(super) async fn danger() {
    let is_now = FATE.with(|fate| {
        fate.awaits.set(fate.awaits.get() + 1);
        let is_now = fate.dies_at.get() == Some(fate.awaits.get());
        fate.is_dying.set(fate.is_dying.get() || is_now);
        is_now
    });
    if is_now {
        // The process is lost, or continues much later.
        while FATE.with(|fate| fate.is_dying.get()) {
            tokio::task::yield_now().await;
        }
    }
    tokio::task::yield_now().await;
}

/// Dies before or after an operation on another thread. Meanwhile, time stands still.
pub(super) struct DangerousThread;

impl Around for DangerousThread {
    async fn around<T: Send>(operation: impl Future<Output = T> + Send) -> T {
        danger().await;
        let outcome = finished(operation);
        danger().await;
        outcome
    }
}

fn finished<T>(operation: impl Future<Output = T>) -> T {
    struct Unpark(Thread);

    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }

    let mut operation = pin!(operation);
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    loop {
        match operation.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(outcome) => return outcome,
            Poll::Pending => thread::park(),
        }
    }
}

pub(super) struct Dangerous;

impl Around for Dangerous {
    async fn around<T: Send>(operation: impl Future<Output = T> + Send) -> T {
        danger().await;
        let outcome = operation.await;
        danger().await;
        outcome
    }
}

pub(super) struct DangerousStore(pub(super) Arc<MemoryStore>);

impl Store for DangerousStore {
    fn claim<'a>(&'a self, commit: ClaimRequest<'a>) -> StoreFuture<'a, Claim> {
        Box::pin(Dangerous::around(async move {
            let claim = self.0.claim(commit).await?;
            if claim == Claim::Granted {
                FATE.with(|fate| fate.note_granted((commit.flow, commit.name.to_owned())));
            }
            Ok(claim)
        }))
    }

    fn finish<'a>(&'a self, flow: FlowId, name: &'a str, value: &'a [u8]) -> StoreFuture<'a, ()> {
        Box::pin(Dangerous::around(async move {
            self.0.finish(flow, name, value).await?;
            FATE.with(|fate| fate.claimed.set(0));
            Ok(())
        }))
    }

    fn put<'a>(&'a self, state: PutRequest<'a>) -> StoreFuture<'a, ()> {
        Box::pin(Dangerous::around(self.0.put(state)))
    }

    fn get(&self, id: [u8; 32]) -> StoreFuture<'_, Option<Vec<u8>>> {
        Box::pin(Dangerous::around(self.0.get(id)))
    }

    fn purge(&self, now: Millis) -> StoreFuture<'_, usize> {
        self.0.purge(now)
    }
}
