//! Notices that a client's roots changed.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering},
    },
    time::Duration,
};

use askback_core::{
    ask::Principal, engine::server::Origin, protocol::Implementation, revision::Revision,
};
use tokio::time::timeout;

use crate::flow::BoxFuture;

pub(super) type Handler = Arc<dyn Fn(RootsChanged) -> BoxFuture<'static, ()> + Send + Sync>;

pub(super) fn both(first: Option<Handler>, second: Option<Handler>) -> Option<Handler> {
    let (first, second) = match (first, second) {
        (Some(first), Some(second)) => (first, second),
        (first, second) => return first.or(second),
    };
    Some(Arc::new(move |changed: RootsChanged| {
        let (first, second) = (first(changed.clone()), second(changed));
        Box::pin(async move {
            first.await;
            second.await;
        })
    }))
}

/// The notice that a client's roots changed, which clients of handshake revisions send (2025-11-25,
/// client/roots, Root List Changes): see
/// [`ServerBuilder::on_roots_changed`](super::ServerBuilder::on_roots_changed).
#[derive(Debug, Clone)]
pub struct RootsChanged {
    origin: Arc<Origin>,
}

/// Runs the handler for one connection, one run at a time. However many notices the client sends,
/// at most one more run is pending.
#[derive(Debug, Default)]
pub(super) struct RootsWatch(Arc<AtomicU8>);

const IDLE: u8 = 0;
const RUNNING: u8 = 1;
/// Running, with another run pending.
const AGAIN: u8 = 2;

impl RootsChanged {
    /// Returns the principal, if the server's authentication identified one, as
    /// [`Ctx::principal`](crate::Ctx::principal) does in calls.
    #[must_use]
    pub fn principal(&self) -> Option<&Principal> {
        self.origin.principal.as_deref()
    }

    /// Returns the client's own name and version, unverified.
    #[must_use]
    pub fn client_info(&self) -> Option<&Implementation> {
        self.origin.client.as_ref()
    }

    /// Returns the revision of the session.
    #[must_use]
    pub fn revision(&self) -> Revision {
        self.origin.revision
    }
}

impl RootsWatch {
    pub(super) fn changed(&self, handler: Option<&Handler>, limit: Duration, origin: Arc<Origin>) {
        let Some(handler) = handler.cloned() else {
            return;
        };
        if self.0.swap(AGAIN, Ordering::AcqRel) != IDLE {
            return;
        }
        let changed = RootsChanged { origin };
        let mut running = Running(Some(Arc::clone(&self.0)));
        tokio::spawn(async move {
            loop {
                running.begin();
                if timeout(limit, handler(changed.clone())).await.is_err() {
                    tracing::warn!("what is done about changed roots took too long and was ended");
                }
                if running.end() {
                    return;
                }
            }
        });
    }
}

/// Marks the handler as running. If it panics, the next notice runs it again.
struct Running(Option<Arc<AtomicU8>>);

impl Running {
    fn begin(&self) {
        if let Some(state) = &self.0 {
            state.store(RUNNING, Ordering::Release);
        }
    }

    /// Returns whether the handler has finished, without another notice. Then another run may
    /// start.
    fn end(&mut self) -> bool {
        let idle = |state: &Arc<AtomicU8>| {
            let (succeeded, failed) = (Ordering::AcqRel, Ordering::Acquire);
            state
                .compare_exchange(RUNNING, IDLE, succeeded, failed)
                .is_ok()
        };
        if self.0.as_ref().is_some_and(idle) {
            self.0 = None;
        }
        self.0.is_none()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(state) = &self.0 {
            state.store(IDLE, Ordering::Release);
        }
    }
}
