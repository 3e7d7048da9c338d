//! How the room of a store is shared among owners.
//!
//! What one owner may take depends on what is free, so that however many come, the next one finds
//! something: a store that gave each a fixed part would be full for everybody once as many owners
//! as there are parts have come.

use super::StoreError;

/// The bytes that a store holds, in all and of one owner; the owner's are `None` where nobody knows
/// who that is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Held {
    pub(super) in_all: usize,
    pub(super) by_owner: Option<usize>,
}

/// What an entry takes besides its name and value, about.
pub(super) const OVERHEAD: usize = 256;

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
pub(super) fn admit_claim(held: Held, size: usize, max_bytes: usize) -> Result<(), StoreError> {
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
pub(super) enum GivesWay {
    /// None: there is room.
    None,
    /// The owner's that expires first.
    OfOwner,
    /// Of whoever has the most, the one that expires first.
    OfLargest,
}

/// Checks whether there is room for a state of `size` bytes. One that gives way ends a call that
/// waits for its answer; its client may make it again.
pub(super) fn admit_state(
    held: Held,
    size: usize,
    max_bytes: usize,
) -> Result<GivesWay, StoreError> {
    let most = held.by_owner.map_or(max_bytes, |_| max_bytes / STATES);
    if size > most {
        return Err(StoreError::Full { max_bytes: most });
    }
    if held
        .by_owner
        .is_some_and(|owned| owned.saturating_add(size) > most)
    {
        return Ok(GivesWay::OfOwner);
    }
    if held.in_all.saturating_add(size) > max_bytes {
        return Ok(GivesWay::OfLargest);
    }
    Ok(GivesWay::None)
}
