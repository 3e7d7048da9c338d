//! Notices that a client's roots changed.

use std::{sync::Arc, time::Duration};

use askback_core::{
    ask::Principal, engine::server::Origin, protocol::Implementation, revision::Revision,
};
use tokio::{sync::mpsc, time::timeout};

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
pub(super) struct RootsWatch(Option<mpsc::Sender<RootsChanged>>);

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
    pub(super) fn changed(
        &mut self,
        handler: Option<&Handler>,
        limit: Duration,
        origin: Arc<Origin>,
    ) {
        let Some(handler) = handler else { return };
        let notices = match &self.0 {
            Some(notices) if !notices.is_closed() => notices,
            _ => self.0.insert(begin(Arc::clone(handler), limit)),
        };
        // If there is no room, another run is pending, which begins after this change.
        let _ = notices.try_send(RootsChanged { origin });
    }
}

/// If the handler panics, this task ends, and the next notice begins another.
fn begin(handler: Handler, limit: Duration) -> mpsc::Sender<RootsChanged> {
    let (notices, mut pending) = mpsc::channel(1);
    tokio::spawn(async move {
        while let Some(changed) = pending.recv().await {
            if timeout(limit, handler(changed)).await.is_err() {
                tracing::warn!("what is done about changed roots took too long and was ended");
            }
        }
    });
    notices
}
