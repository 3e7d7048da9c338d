//! The catalog of a server that runs.

use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::{ArcSwap, Guard};

use super::catalog::Catalog;

/// The current catalog of a server. A change makes another catalog, so that a request is answered
/// from one that stays the same.
pub(super) struct LiveCatalog {
    now: ArcSwap<Catalog>,
    /// Held by whoever makes the next one.
    changing: Mutex<()>,
}

impl LiveCatalog {
    pub(super) fn new(catalog: Catalog) -> Self {
        Self {
            now: ArcSwap::from_pointee(catalog),
            changing: Mutex::new(()),
        }
    }

    /// The catalog of this moment, for what does not wait.
    pub(super) fn load(&self) -> Guard<Arc<Catalog>> {
        self.now.load()
    }

    pub(super) fn snapshot(&self) -> Arc<Catalog> {
        self.now.load_full()
    }

    /// Changes what is offered from now on, unless the change fails.
    pub(super) fn change<T, E>(
        &self,
        change: impl FnOnce(&mut Catalog) -> Result<T, E>,
    ) -> Result<T, E> {
        let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut next = Catalog::clone(&self.now.load());
        let changed = change(&mut next)?;
        self.now.store(Arc::new(next));
        Ok(changed)
    }
}
