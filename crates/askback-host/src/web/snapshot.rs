//! The page as it was drawn last, and the way from the server to the leaf.

use std::{
    net::SocketAddr,
    sync::{Mutex, MutexGuard, PoisonError},
};

use tokio::{
    sync::{mpsc, oneshot, watch},
    time::Instant,
};

use super::{SETTLE, form::Form, html::Html, visit::Visit};

/// The parts of the page that are updated separately.
pub(super) const REGIONS: [&str; 3] = ["question", "servers", "log"];

/// What the server of the page and its leaf have in common.
pub(super) struct Shared {
    pub(super) address: SocketAddr,
    pub(super) visit: Visit,
    pub(super) said: mpsc::Sender<Submission>,
    /// Counts the changes of the snapshot.
    pub(super) changes: watch::Sender<u64>,
    /// Whether a browser shows the page.
    pub(super) is_open: watch::Sender<bool>,
    snapshot: Mutex<Snapshot>,
}

/// A form that was sent.
pub(super) struct Submission {
    pub(super) form: Form,
    /// Receives a message after the effect is drawn. Dropped if the question is not in front any more.
    pub(super) taken: oneshot::Sender<()>,
}

/// A region as it was drawn last.
#[derive(Debug, Clone, Default)]
pub(super) struct Region {
    pub(super) html: Html,
    pub(super) version: u64,
}

#[derive(Default)]
pub(super) struct Snapshot {
    pub(super) regions: [Region; 3],
    pub(super) title: String,
    /// The token of the forms in it.
    pub(super) token: String,
    /// Whether the server asked it, and not a step of the person led to it.
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

    /// The regions and the title, which a browser sees from now on.
    pub(super) fn deliver(&self) -> ([Region; 3], String) {
        let mut snapshot = self.snapshot();
        snapshot.seen.get_or_insert_with(Instant::now);
        (snapshot.regions.clone(), snapshot.title.clone())
    }
}

impl Snapshot {
    /// Whether the question is too new to have been read.
    pub(super) fn settles(&self) -> bool {
        self.is_news && self.seen.is_none_or(|since| since.elapsed() < SETTLE)
    }

    /// Replaces a region. Returns whether it has changed.
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
