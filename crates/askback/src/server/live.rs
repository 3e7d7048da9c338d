//! The catalog of a running server.

use std::sync::Arc;

use arc_swap::{ArcSwap, Guard};

use super::catalog::Catalog;
use crate::mutex::Mutex;

/// The current catalog of a server. Each change makes a new catalog, so a request sees one that
/// does not change.
pub(super) struct LiveCatalog {
    now: ArcSwap<Catalog>,
    /// Held while the next catalog is made.
    changing: Mutex<()>,
}

impl LiveCatalog {
    pub(super) fn new(catalog: Catalog) -> Self {
        Self {
            now: ArcSwap::from_pointee(catalog),
            changing: Mutex::new(()),
        }
    }

    pub(super) fn load(&self) -> Guard<Arc<Catalog>> {
        self.now.load()
    }

    pub(super) fn snapshot(&self) -> Arc<Catalog> {
        self.now.load_full()
    }

    pub(super) fn change<T, E>(
        &self,
        change: impl FnOnce(&mut Catalog) -> Result<T, E>,
    ) -> Result<T, E> {
        let _changing = self.changing.lock();
        let mut next = Catalog::clone(&self.now.load());
        let changed = change(&mut next)?;
        self.now.store(Arc::new(next));
        Ok(changed)
    }
}
