//! The record of a session, shared by its connections and front ends.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use askback::transport::WireEvent;
use tokio::sync::watch;

use super::{News, Wire};

/// The record of a session. Clones share it.
#[derive(Debug, Clone)]
pub struct SharedWire(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    wire: Mutex<Wire>,
    changes: watch::Sender<()>,
}

impl SharedWire {
    /// Shares a record.
    pub fn new(wire: Wire) -> Self {
        Self(Arc::new(Shared {
            wire: Mutex::new(wire),
            changes: watch::Sender::new(()),
        }))
    }

    /// Records an event, as [`Wire::take`].
    pub fn take(&self, event: &WireEvent<'_>, at: Duration) -> Option<News> {
        let news = self.lock().take(event, at);
        self.0.changes.send_replace(());
        news
    }

    /// The record. No event is recorded while it is locked.
    pub fn lock(&self) -> MutexGuard<'_, Wire> {
        self.0.wire.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notified when something was recorded.
    #[cfg(feature = "web")]
    pub(crate) fn changes(&self) -> watch::Receiver<()> {
        self.0.changes.subscribe()
    }
}
