//! A store in the memory of one process.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;
use std::hash::Hash;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use askback_core::ask::FlowId;
use askback_core::limits::Limits;

use super::{Claim, Millis, Store, StoreError, StoreFuture, lease_end};

/// A store in memory: at most once per process, forgotten when the process ends.
///
/// It is bounded, for claims and for steps apart, so that neither crowds out the other. When it
/// is full it removes what has expired and, if that is not enough, refuses new entries; it never
/// forgets a claim that counts. The value of a granted claim is always kept.
pub struct MemoryStore {
    shelves: Mutex<Shelves>,
}

struct Shelves {
    claims: Shelf<(FlowId, Box<str>), ClaimState>,
    steps: Shelf<[u8; 32], Vec<u8>>,
}

enum ClaimState {
    Running { lease_end: Millis },
    Done(Vec<u8>),
}

impl MemoryStore {
    /// An empty store of at most `max_bytes` for claims, and as many for steps.
    pub fn new(max_bytes: usize) -> Self {
        Self {
            shelves: Mutex::new(Shelves {
                claims: Shelf::new(max_bytes),
                steps: Shelf::new(max_bytes),
            }),
        }
    }

    fn shelves(&self) -> MutexGuard<'_, Shelves> {
        // Nothing below panics half-way, so what a poisoned lock guards is whole.
        self.shelves.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A store with the default of [`Limits::store_bytes`].
impl Default for MemoryStore {
    fn default() -> Self {
        Self::new(Limits::default().store_bytes)
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shelves = self.shelves();
        f.debug_struct("MemoryStore")
            .field("claims", &shelves.claims.slots.len())
            .field("steps", &shelves.steps.slots.len())
            .finish_non_exhaustive()
    }
}

impl Store for MemoryStore {
    fn claim<'a>(
        &'a self,
        flow: FlowId,
        name: &'a str,
        now: Millis,
        lease: Duration,
        expires: Millis,
    ) -> StoreFuture<'a, Claim> {
        Box::pin(async move {
            let key = (flow, name.into());
            let claims = &mut self.shelves().claims;
            match claims.slots.get(&key).map(|slot| &slot.value) {
                Some(ClaimState::Done(value)) => return Ok(Claim::Done(value.clone())),
                Some(ClaimState::Running { lease_end }) if *lease_end > now => {
                    return Ok(Claim::Busy);
                }
                Some(ClaimState::Running { .. }) => return Ok(Claim::Abandoned),
                None => {}
            }
            let lease_end = lease_end(now, lease);
            claims.insert(
                key,
                ClaimState::Running { lease_end },
                name.len(),
                now,
                expires,
            )?;
            Ok(Claim::Granted)
        })
    }

    fn finish<'a>(&'a self, flow: FlowId, name: &'a str, value: &'a [u8]) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let claims = &mut self.shelves().claims;
            let slot = claims
                .slots
                .get_mut(&(flow, name.into()))
                .ok_or(StoreError::Unclaimed)?;
            match &slot.value {
                ClaimState::Done(first) if first == value => Ok(()),
                ClaimState::Done(_) => Err(StoreError::Finished),
                ClaimState::Running { .. } => {
                    slot.value = ClaimState::Done(value.to_vec());
                    slot.size += value.len();
                    claims.bytes += value.len();
                    Ok(())
                }
            }
        })
    }

    fn put<'a>(
        &'a self,
        id: [u8; 32],
        bytes: &'a [u8],
        now: Millis,
        expires: Millis,
    ) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let steps = &mut self.shelves().steps;
            steps.insert(id, bytes.to_vec(), bytes.len(), now, expires)
        })
    }

    fn get(&self, id: [u8; 32]) -> StoreFuture<'_, Option<Vec<u8>>> {
        Box::pin(async move {
            let steps = &self.shelves().steps;
            Ok(steps.slots.get(&id).map(|slot| slot.value.clone()))
        })
    }

    fn purge(&self, now: Millis) -> StoreFuture<'_, usize> {
        Box::pin(async move {
            let mut shelves = self.shelves();
            Ok(shelves.claims.purge(now) + shelves.steps.purge(now))
        })
    }
}

/// Entries of one kind, counted in bytes.
struct Shelf<K, V> {
    slots: HashMap<K, Slot<V>>,
    bytes: usize,
    max_bytes: usize,
}

struct Slot<V> {
    value: V,
    /// What the slot counts for in [`Shelf::bytes`].
    size: usize,
    expires: Millis,
}

impl<K: Eq + Hash, V> Shelf<K, V> {
    /// What an entry takes besides its text and value, about.
    const OVERHEAD: usize = 128;

    fn new(max_bytes: usize) -> Self {
        Self {
            slots: HashMap::new(),
            bytes: 0,
            max_bytes,
        }
    }

    /// Keeps a value, unless one is there already: that one stays, until the later expiry.
    fn insert(
        &mut self,
        key: K,
        value: V,
        size: usize,
        now: Millis,
        expires: Millis,
    ) -> Result<(), StoreError> {
        let size = size.saturating_add(Self::OVERHEAD);
        if !self.has_room(size) && !self.slots.contains_key(&key) {
            self.purge(now);
            if !self.has_room(size) {
                return Err(StoreError::Full {
                    max_bytes: self.max_bytes,
                });
            }
        }
        match self.slots.entry(key) {
            Entry::Occupied(mut slot) => {
                let slot = slot.get_mut();
                slot.expires = slot.expires.max(expires);
            }
            Entry::Vacant(slot) => {
                slot.insert(Slot {
                    value,
                    size,
                    expires,
                });
                self.bytes += size;
            }
        }
        Ok(())
    }

    fn has_room(&self, size: usize) -> bool {
        self.max_bytes
            .checked_sub(self.bytes)
            .is_some_and(|room| size <= room)
    }

    fn purge(&mut self, now: Millis) -> usize {
        let before = self.slots.len();
        self.slots.retain(|_, slot| slot.expires > now);
        self.bytes = self.slots.values().map(|slot| slot.size).sum();
        before - self.slots.len()
    }
}
