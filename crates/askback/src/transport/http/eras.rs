//! The memory of servers' eras.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use url::Url;

/// The eras of servers reached over HTTP, so that the next client does not probe again (2026-07-28,
/// basic/versioning, Backward Compatibility). Clones share their entries. An entry that turns out
/// to be wrong is removed.
///
/// The key is origin and path, because a gateway may have servers of both eras at one origin.
#[derive(Debug, Clone, Default)]
pub struct Eras(Arc<Mutex<HashMap<String, ServerEra>>>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ServerEra {
    /// Stateless requests.
    Modern,
    Handshake,
    /// A handshake, an event stream and a message endpoint.
    EventsAndMessages,
}

impl Eras {
    pub(super) fn get(&self, url: &Url) -> Option<ServerEra> {
        self.lock().get(&key(url)).copied()
    }

    pub(super) fn learn(&self, url: &Url, known: ServerEra) {
        self.lock().insert(key(url), known);
    }

    pub(super) fn forget(&self, url: &Url) {
        self.lock().remove(&key(url));
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, ServerEra>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn key(url: &Url) -> String {
    format!("{}{}", url.origin().ascii_serialization(), url.path())
}
