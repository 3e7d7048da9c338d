//! Shares the room of a store among owners. Use it to write your own store.
//!
//! A store counts the bytes of its claims and, separately, of its states, in total and per [`Owner`](super::Owner). It
//! calls [`admit_claim`] before it stores a claim and [`admit_state`] before it stores a state, in the same
//! transaction, and after it has removed expired entries.
//!
//! An owner's share depends on the free room, so there is always some left for the next owner. With fixed shares, the
//! store would be full as soon as all shares are taken.

use super::StoreError;

/// The bytes of one kind that a store holds.
#[derive(Debug, Clone, Copy)]
pub struct StoredBytes {
    /// The bytes of all owners, and of callers without an owner.
    pub in_all: usize,
    /// The bytes of the owner in question; `None` if the caller has no owner.
    pub by_owner: Option<usize>,
}

/// The approximate overhead of an entry, in bytes. A claim counts as this plus its name and the room for its value; a
/// state counts as this plus its bytes.
pub const OVERHEAD: usize = 256;

/// An owner with this fraction of the space that claims leave free gets no more. Fifty owners that take all they can
/// still leave about a fifth of the store to others.
const CLAIMS: usize = 32;

/// An owner may have this fraction of the room for states; then its oldest ones make room for new ones.
const STATES: usize = 8;

/// Checks that there is room for a claim of `size` bytes. Granted claims are never removed to make room.
///
/// The share counts what the owner already has, without the new claim. The space reserved for a value is large, and
/// most of it is released later: if it counted too, no owner could use a small store.
pub fn admit_claim(held: StoredBytes, size: usize, max_bytes: usize) -> Result<(), StoreError> {
    if size > max_bytes.saturating_sub(held.in_all) {
        return Err(StoreError::Full { max_bytes });
    }
    match held.by_owner {
        Some(owned) if owned > claim_share(held.in_all, max_bytes) => Err(StoreError::ShareFull),
        _ => Ok(()),
    }
}

/// Returns how many bytes of claims an owner may have and still get another one, when all owners have `in_all` bytes.
#[must_use]
pub fn claim_share(in_all: usize, max_bytes: usize) -> usize {
    max_bytes.saturating_sub(in_all) / CLAIMS
}

/// Which state to remove for a new one of `size` bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Eviction {
    /// No state: there is room.
    None,
    /// The owner's state that expires first.
    OfOwner,
    /// The state that expires first, of the owner with the most bytes.
    OfLargest,
}

/// Checks whether there is room for a state of `size` bytes. Removing a state ends a call that waits for its answer;
/// its client may make the call again. The store removes the state and then checks again.
///
/// # Errors
///
/// [`StoreError::Full`] if the state is larger than the owner's room for states.
pub fn admit_state(
    held: StoredBytes,
    size: usize,
    max_bytes: usize,
) -> Result<Eviction, StoreError> {
    let most = held.by_owner.map_or(max_bytes, |_| max_bytes / STATES);
    if size > most {
        return Err(StoreError::Full { max_bytes: most });
    }
    if held
        .by_owner
        .is_some_and(|owned| owned.saturating_add(size) > most)
    {
        return Ok(Eviction::OfOwner);
    }
    if held.in_all.saturating_add(size) > max_bytes {
        return Ok(Eviction::OfLargest);
    }
    Ok(Eviction::None)
}
