//! A registry of named offers.

use std::{collections::BTreeMap, sync::Arc};

use askback_core::ask::Principal;

use super::{offer::OfferDetails, rate::ThingHash};

/// Offers that are found by name and listed in the order in which they were added.
///
/// Requests find and list only what is visible: a disabled offer, or one hidden from the caller,
/// does not exist for them.
pub(super) struct Registry<T> {
    entries: Vec<Entry<T>>,
    /// Indexes by name. Only authors choose names, so clients cannot make lookups slow.
    by_name: BTreeMap<String, usize>,
    /// Whether any offer was ever restricted to some callers.
    differs: bool,
}

pub(super) struct Entry<T> {
    pub(super) item: Arc<T>,
    pub(super) scope: ScopeId,
    /// The key for the rate limit.
    pub(super) thing: ThingHash,
    enabled: bool,
}

/// The index of an offer's handler scope: 0 is the server itself; mounted servers follow.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ScopeId(pub(super) usize);

impl<T: OfferDetails> Registry<T> {
    pub(super) fn find(&self, name: &str, caller: Option<&Principal>) -> Option<&Entry<T>> {
        let entry = &self.entries[*self.by_name.get(name)?];
        entry.is_for(caller).then_some(entry)
    }

    pub(super) fn list(&self, caller: Option<&Principal>) -> impl Iterator<Item = &Entry<T>> {
        let entries = self.entries.iter();
        entries.filter(move |entry| entry.is_for(caller))
    }

    pub(super) fn entries(&self) -> &[Entry<T>] {
        &self.entries
    }

    pub(super) fn get(&self, name: &str) -> Option<&Entry<T>> {
        self.by_name.get(name).map(|at| &self.entries[*at])
    }

    pub(super) fn differs(&self) -> bool {
        self.differs
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Adds an item at the end, or returns it if its name is taken.
    pub(super) fn add(&mut self, item: T, scope: ScopeId, thing: ThingHash) -> Result<(), T> {
        if self.by_name.contains_key(item.name()) {
            return Err(item);
        }
        self.differs |= item.visibility().differs();
        self.by_name
            .insert(item.name().to_owned(), self.entries.len());
        self.entries.push(Entry {
            item: Arc::new(item),
            scope,
            thing,
            enabled: true,
        });
        Ok(())
    }

    /// Completes each item. This must not change names.
    pub(super) fn complete<E>(
        &mut self,
        mut complete: impl FnMut(&mut T, ScopeId) -> Result<(), E>,
    ) -> Result<(), E>
    where
        T: Clone,
    {
        let mut entries = self.entries.iter_mut();
        entries.try_for_each(|entry| complete(Arc::make_mut(&mut entry.item), entry.scope))
    }

    pub(super) fn remove(&mut self, name: &str) -> Option<Arc<T>> {
        let at = self.by_name.remove(name)?;
        for place in self.by_name.values_mut().filter(|place| **place > at) {
            *place -= 1;
        }
        Some(self.entries.remove(at).item)
    }

    /// Returns the item if this changed something.
    pub(super) fn enable(&mut self, name: &str, enabled: bool) -> Option<&Arc<T>> {
        let entry = &mut self.entries[*self.by_name.get(name)?];
        let before = std::mem::replace(&mut entry.enabled, enabled);
        (before != enabled).then_some(&entry.item)
    }
}

impl<T: OfferDetails> Entry<T> {
    pub(super) fn is_for(&self, caller: Option<&Principal>) -> bool {
        self.enabled && self.item.visibility().is_for(caller)
    }
}

impl<T> Default for Registry<T> {
    fn default() -> Self {
        Self {
            entries: Vec::new(),
            by_name: BTreeMap::new(),
            differs: false,
        }
    }
}

impl<T> Clone for Registry<T> {
    fn clone(&self) -> Self {
        Self {
            entries: self.entries.clone(),
            by_name: self.by_name.clone(),
            differs: self.differs,
        }
    }
}

impl<T> Clone for Entry<T> {
    fn clone(&self) -> Self {
        Self {
            item: Arc::clone(&self.item),
            scope: self.scope,
            thing: self.thing,
            enabled: self.enabled,
        }
    }
}
