use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::hash::Hash;
use std::sync::Arc;

use askback_core::limits::Limits;

use super::share::{self, Eviction, OVERHEAD, StoredBytes};
use super::{
    Claim, ClaimRequest, FlowId, Millis, Owner, PutRequest, Store, StoreError, StoreFuture,
    lease_end,
};
use crate::mutex::Mutex;

/// A store in memory. Commits happen at most once per process, because the claims are lost when the process ends. The
/// store is bounded as the [module](crate::store) describes.
///
/// A server with this store draws a new key in each process, so that a process never continues a call whose claims it
/// does not have. If you set a permanent key anyway, the server logs a warning when it is built.
pub struct MemoryStore {
    shelves: Mutex<Shelves>,
}

struct Shelves {
    claims: Shelf<(FlowId, Arc<str>), ClaimState>,
    states: Shelf<[u8; 32], Vec<u8>>,
    /// The limit for claims, and again for states.
    max_bytes: usize,
}

enum ClaimState {
    Running {
        lease_end: Millis,
        value_bytes: usize,
    },
    Done(Vec<u8>),
}

impl MemoryStore {
    /// Creates an empty store of at most `max_bytes` for claims, and as many for states.
    pub fn new(max_bytes: usize) -> Self {
        Self {
            shelves: Mutex::new(Shelves {
                claims: Shelf::default(),
                states: Shelf::default(),
                max_bytes,
            }),
        }
    }
}

/// A store with the default of
/// [`limits.asking.store_bytes`](crate::limits::AskingLimits::store_bytes).
impl Default for MemoryStore {
    fn default() -> Self {
        Self::new(Limits::default().asking.store_bytes)
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shelves = self.shelves.lock();
        f.debug_struct("MemoryStore")
            .field("claims", &shelves.claims.slots.len())
            .field("states", &shelves.states.slots.len())
            .finish_non_exhaustive()
    }
}

impl Store for MemoryStore {
    fn outlives_process(&self) -> bool {
        false
    }

    fn claim<'a>(&'a self, commit: ClaimRequest<'a>) -> StoreFuture<'a, Claim> {
        Box::pin(async move { self.shelves.lock().claim(&commit) })
    }

    fn finish<'a>(&'a self, flow: FlowId, name: &'a str, value: &'a [u8]) -> StoreFuture<'a, ()> {
        Box::pin(async move { self.shelves.lock().finish((flow, name.into()), value) })
    }

    fn put<'a>(&'a self, state: PutRequest<'a>) -> StoreFuture<'a, ()> {
        Box::pin(async move { self.shelves.lock().put(&state) })
    }

    fn get(&self, id: [u8; 32]) -> StoreFuture<'_, Option<Vec<u8>>> {
        Box::pin(async move {
            let states = &self.shelves.lock().states;
            Ok(states.slots.get(&id).map(|slot| slot.value.clone()))
        })
    }

    fn purge(&self, now: Millis) -> StoreFuture<'_, usize> {
        Box::pin(async move {
            let mut shelves = self.shelves.lock();
            Ok(shelves.claims.purge(now).len() + shelves.states.purge(now).len())
        })
    }
}

impl Shelves {
    fn claim(&mut self, commit: &ClaimRequest<'_>) -> Result<Claim, StoreError> {
        let key = (commit.flow, commit.name.into());
        match self.claims.slots.get(&key).map(|slot| &slot.value) {
            Some(ClaimState::Done(value)) => return Ok(Claim::Done(value.clone())),
            Some(ClaimState::Running { lease_end, .. }) if *lease_end > commit.now => {
                return Ok(Claim::Busy);
            }
            Some(ClaimState::Running { .. }) => return Ok(Claim::Abandoned),
            None => {}
        }
        self.claims.purge(commit.now);
        let size = (OVERHEAD + commit.name.len()).saturating_add(commit.value_bytes);
        share::admit_claim(self.claims.held(commit.owner), size, self.max_bytes)?;
        let value = ClaimState::Running {
            lease_end: lease_end(commit.now, commit.lease),
            value_bytes: commit.value_bytes,
        };
        let slot = Slot {
            value,
            owner: commit.owner,
            size,
            expires: commit.expires,
        };
        self.claims.insert(key, slot);
        Ok(Claim::Granted)
    }

    fn finish(&mut self, key: (FlowId, Arc<str>), value: &[u8]) -> Result<(), StoreError> {
        let Some(mut slot) = self.claims.remove(&key) else {
            return Err(StoreError::Unclaimed);
        };
        let finished = slot.finish(value);
        self.claims.insert(key, slot);
        finished
    }

    fn put(&mut self, state: &PutRequest<'_>) -> Result<(), StoreError> {
        if self.states.lengthen(state.id, state.expires) {
            return Ok(());
        }
        self.states.purge(state.now);
        let slot = Slot {
            value: state.bytes.to_vec(),
            owner: state.owner,
            size: OVERHEAD + state.bytes.len(),
            expires: state.expires,
        };
        self.states.put(state.id, slot, self.max_bytes)
    }
}

/// Entries of one kind, counted in bytes.
pub(crate) struct Shelf<K, V> {
    pub(crate) slots: HashMap<K, Slot<V>>,
    bytes: usize,
    by_expiry: BTreeSet<(Millis, K)>,
    owners: HashMap<Option<Owner>, Holding<K>>,
    /// The owners ordered by their bytes. With many owners, a search through all of them would block every caller.
    by_bytes: BTreeSet<(usize, Option<Owner>)>,
}

pub(crate) struct Slot<V> {
    pub(crate) value: V,
    pub(crate) owner: Option<Owner>,
    pub(crate) size: usize,
    pub(crate) expires: Millis,
}

impl Slot<ClaimState> {
    fn finish(&mut self, value: &[u8]) -> Result<(), StoreError> {
        match &self.value {
            ClaimState::Done(first) if first == value => Ok(()),
            ClaimState::Done(_) => Err(StoreError::Finished),
            ClaimState::Running { value_bytes, .. } => {
                let max_bytes = *value_bytes;
                let left = max_bytes
                    .checked_sub(value.len())
                    .ok_or(StoreError::TooLong { max_bytes })?;
                self.value = ClaimState::Done(value.to_vec());
                self.size -= left;
                Ok(())
            }
        }
    }
}

struct Holding<K> {
    bytes: usize,
    by_expiry: BTreeSet<(Millis, K)>,
}

impl<K, V> Default for Shelf<K, V> {
    fn default() -> Self {
        Self {
            slots: HashMap::new(),
            bytes: 0,
            by_expiry: BTreeSet::new(),
            owners: HashMap::new(),
            by_bytes: BTreeSet::new(),
        }
    }
}

impl<K> Default for Holding<K> {
    fn default() -> Self {
        Self {
            bytes: 0,
            by_expiry: BTreeSet::new(),
        }
    }
}

impl<K: Clone + Hash + Ord, V> Shelf<K, V> {
    pub(super) fn held(&self, owner: Option<Owner>) -> StoredBytes {
        let of = |owner| self.owners.get(&Some(owner)).map_or(0, |held| held.bytes);
        StoredBytes {
            in_all: self.bytes,
            by_owner: owner.map(of),
        }
    }

    /// Inserts an entry. If there is no room, older ones are removed.
    pub(crate) fn put(
        &mut self,
        key: K,
        slot: Slot<V>,
        max_bytes: usize,
    ) -> Result<(), StoreError> {
        loop {
            let held = self.held(slot.owner);
            let gone = match share::admit_state(held, slot.size, max_bytes)? {
                Eviction::None => break,
                Eviction::OfOwner => self.first_of(slot.owner),
                Eviction::OfLargest => self.first_of_largest(),
            };
            // An owner with bytes has at least one entry.
            let Some(gone) = gone else { break };
            self.remove(&gone);
        }
        self.insert(key, slot);
        Ok(())
    }

    pub(super) fn insert(&mut self, key: K, slot: Slot<V>) {
        self.bytes += slot.size;
        self.by_expiry.insert((slot.expires, key.clone()));
        let holding = self.owners.entry(slot.owner).or_default();
        self.by_bytes.remove(&(holding.bytes, slot.owner));
        holding.bytes += slot.size;
        self.by_bytes.insert((holding.bytes, slot.owner));
        holding.by_expiry.insert((slot.expires, key.clone()));
        self.slots.insert(key, slot);
    }

    pub(crate) fn remove(&mut self, key: &K) -> Option<Slot<V>> {
        let slot = self.slots.remove(key)?;
        let entry = (slot.expires, key.clone());
        self.by_expiry.remove(&entry);
        self.bytes -= slot.size;
        if let Some(holding) = self.owners.get_mut(&slot.owner) {
            self.by_bytes.remove(&(holding.bytes, slot.owner));
            holding.bytes -= slot.size;
            holding.by_expiry.remove(&entry);
            if holding.by_expiry.is_empty() {
                self.owners.remove(&slot.owner);
            } else {
                self.by_bytes.insert((holding.bytes, slot.owner));
            }
        }
        Some(slot)
    }

    fn lengthen(&mut self, key: K, expires: Millis) -> bool {
        let Some(mut slot) = self.remove(&key) else {
            return false;
        };
        slot.expires = slot.expires.max(expires);
        self.insert(key, slot);
        true
    }

    fn first_of(&self, owner: Option<Owner>) -> Option<K> {
        let (_, key) = self.owners.get(&owner)?.by_expiry.first()?;
        Some(key.clone())
    }

    fn first_of_largest(&self) -> Option<K> {
        let (_, largest) = self.by_bytes.last()?;
        self.first_of(*largest)
    }

    pub(crate) fn purge(&mut self, now: Millis) -> Vec<K> {
        let mut removed = Vec::new();
        while let Some((expires, key)) = self.by_expiry.first()
            && *expires <= now
        {
            let key = key.clone();
            self.remove(&key);
            removed.push(key);
        }
        removed
    }
}
