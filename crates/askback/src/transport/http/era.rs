//! The memory of a server's era.

use std::sync::{Arc, Mutex, PoisonError};

/// The era of a server reached over HTTP, so that the next client does not probe again (2026-07-28,
/// basic/versioning, Backward Compatibility). Clones share it. If it turns out to be wrong, it is
/// forgotten.
#[derive(Debug, Clone, Default)]
pub(super) struct KnownEra(Arc<Mutex<Option<ServerEra>>>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ServerEra {
    /// Stateless requests.
    Modern,
    Handshake,
    /// A handshake, an event stream and a message endpoint.
    EventsAndMessages,
}

impl KnownEra {
    pub(super) fn get(&self) -> Option<ServerEra> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// `None` forgets it.
    pub(super) fn set(&self, era: Option<ServerEra>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = era;
    }
}
