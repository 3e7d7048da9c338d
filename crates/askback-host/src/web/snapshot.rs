//! The page as it was last rendered, and the channel from the HTTP server to the leaf.

use std::{
    net::SocketAddr,
    sync::{Mutex, MutexGuard, PoisonError},
};

use tokio::{
    sync::{mpsc, oneshot, watch},
    time::Instant,
};

use super::{SETTLE, form::Form, html::Html, visit::Visit};

pub(super) const REGIONS: [&str; 3] = ["question", "servers", "log"];

/// Shared by the HTTP server and the leaf.
pub(super) struct Shared {
    pub(super) address: SocketAddr,
    pub(super) visit: Visit,
    pub(super) said: mpsc::Sender<Submission>,
    pub(super) changes: watch::Sender<u64>,
    /// Whether a browser shows the page.
    pub(super) is_open: watch::Sender<bool>,
    snapshot: Mutex<Snapshot>,
}

pub(super) struct Submission {
    pub(super) form: Form,
    /// Sent once the effect is rendered. Dropped if the question is no longer in front.
    pub(super) taken: oneshot::Sender<()>,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Region {
    pub(super) html: Html,
    pub(super) version: u64,
}

#[derive(Default)]
pub(super) struct Snapshot {
    pub(super) regions: [Region; 3],
    pub(super) title: String,
    pub(super) token: String,
    /// Whether the server asked the question. It did not if an action of the user led to it.
    pub(super) is_news: bool,
    /// When the question was first sent to a browser.
    pub(super) seen: Option<Instant>,
}

impl Shared {
    pub(super) fn new(address: SocketAddr, visit: Visit, said: mpsc::Sender<Submission>) -> Self {
        Self {
            address,
            visit,
            said,
            changes: watch::Sender::new(0),
            is_open: watch::Sender::new(false),
            snapshot: Mutex::default(),
        }
    }

    pub(super) fn snapshot(&self) -> MutexGuard<'_, Snapshot> {
        self.snapshot.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the regions and the title, and marks the question as seen.
    pub(super) fn deliver(&self) -> ([Region; 3], String) {
        let mut snapshot = self.snapshot();
        snapshot.seen.get_or_insert_with(Instant::now);
        (snapshot.regions.clone(), snapshot.title.clone())
    }
}

impl Snapshot {
    /// Whether the question is so new that the user cannot have read it.
    pub(super) fn settles(&self) -> bool {
        self.is_news && self.seen.is_none_or(|since| since.elapsed() < SETTLE)
    }

    pub(super) fn put(&mut self, region: usize, html: Html) -> bool {
        match self.regions.get_mut(region) {
            Some(known) if known.html != html => {
                known.html = html;
                known.version = known.version.saturating_add(1);
                true
            }
            _ => false,
        }
    }
}
