//! How the room of a store is shared among owners: for whoever writes one.
//!
//! A store counts the bytes of its claims, and again of its states, in all and for each
//! [`Owner`](super::Owner). Before it keeps a claim it asks [`admit_claim`], before it keeps a state
//! [`admit_state`], in the same transaction, and after what has expired was removed.
//!
//! The share of an owner depends on the free room, so that however many come, the next one finds
//! some: a store with fixed shares would be full for all once as many owners as shares have come.

use super::StoreError;

/// The bytes of one kind that a store holds.
#[derive(Debug, Clone, Copy)]
pub struct StoredBytes {
    /// Those of all owners, and of nobody known.
    pub in_all: usize,
    /// Those of the owner in question; `None` where nobody knows who that is.
    pub by_owner: Option<usize>,
}

/// About what an entry takes besides its name and value, in bytes. A claim counts for this, its name
/// and the room for its value; a state for this and its bytes.
pub const OVERHEAD: usize = 256;

/// An owner who has this part of what the claims of all leave free gets no more. Fifty owners that
/// take what they can leave about a fifth of the store to others.
const CLAIMS: usize = 32;

/// An owner may have this part of the room for states: theirs give way to newer ones.
const STATES: usize = 8;

/// Checks that there is room for a claim of `size` bytes: what is granted is never forgotten for
/// another.
///
/// Of the owner, only what they have counts. What is set aside for a value is much, and mostly given
/// back: to count that as well would leave a small store no room for anybody.
pub fn admit_claim(held: StoredBytes, size: usize, max_bytes: usize) -> Result<(), StoreError> {
    let free = max_bytes.saturating_sub(held.in_all);
    if size > free {
        return Err(StoreError::Full { max_bytes });
    }
    match held.by_owner {
        Some(owned) if owned > free / CLAIMS => Err(StoreError::ShareFull),
        _ => Ok(()),
    }
}

/// Which state gives way to a new one of `size` bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Eviction {
    /// None: there is room.
    None,
    /// The owner's that expires first.
    OfOwner,
    /// Of whoever has the most, the one that expires first.
    OfLargest,
}

/// Checks whether there is room for a state of `size` bytes. One that gives way ends a call that
/// waits for its answer; its client may make it again. The store removes it and asks again.
///
/// # Errors
///
/// [`StoreError::Full`] where the state is larger than the room there is for those of its owner.
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
