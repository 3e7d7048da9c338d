//! What a server remembers between two rounds: claims, so that an effect happens at most once,
//! and steps too large for a sealed state.
//!
//! A client may send a round twice, lose the answer and ask again, or go back to an older round.
//! The seal cannot tell (2026-07-28, basic/patterns/mrtr, Server Requirements: what may be
//! consumed once only must be enforced by the server), so a commit first claims its name here.
//!
//! # The life of a claim
//!
//! ```text
//! (nothing) --claim: Granted--> Busy --finish--> Done(value)
//!                                |                  ^
//!                                +--lease over--> Abandoned --finish, late--+
//! ```
//!
//! Whoever is granted the claim performs the effect and finishes it with the value; everybody
//! else gets that value. A claim is granted once and cannot be given back: a process that stops
//! in between leaves it abandoned, and then nobody can know whether the effect happened. That is
//! why there is no `release`: it would be one more way to do the effect twice, to save a person
//! from a message they should read.
//!
//! # Waiting
//!
//! A store tells nobody that a claim was finished, as its processes may share no more than a
//! file. Who finds a claim busy asks again, with a growing pause; that, like every clock, lives in
//! the caller.
//!
//! # Time
//!
//! Times are given by the caller, in [`Millis`]. Entries stay, expired or not, until [`purge`]
//! removes them; an entry's expiry has therefore to lie behind the last moment at which a sealed
//! state of its flow opens, and behind the skew of the clocks of all processes that share the
//! store.
//!
//! [`purge`]: Store::purge

mod memory;
#[cfg(feature = "sqlite")]
mod sqlite;

use std::error::Error;
use std::pin::Pin;
use std::time::Duration;

use askback_core::ask::FlowId;

pub use memory::MemoryStore;
/// The SQLite whose transactions [`SqliteStore::claim_in`] takes.
#[cfg(feature = "sqlite")]
pub use rusqlite;
#[cfg(feature = "sqlite")]
pub use sqlite::SqliteStore;

/// A moment, in milliseconds since the Unix epoch.
pub type Millis = u64;

/// What a [`Store`] gives back: a future of its result.
pub type StoreFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// Where claims and spilled steps are kept.
///
/// A store that several processes share makes commits unique among all of them; [`MemoryStore`]
/// does so within one process.
pub trait Store: Send + Sync {
    /// Claims the commit `name` of `flow`, or says what became of the claim.
    ///
    /// Of any number of callers, ever, at most one is granted it. The claim is taken for
    /// abandoned when it was not finished within `lease` from `now`.
    fn claim<'a>(
        &'a self,
        flow: FlowId,
        name: &'a str,
        now: Millis,
        lease: Duration,
        expires: Millis,
    ) -> StoreFuture<'a, Claim>;

    /// Keeps the value of a commit whose claim was granted, also when its lease is over.
    ///
    /// Finishing again with the same value is allowed, as the first attempt may have failed after
    /// it was written.
    fn finish<'a>(&'a self, flow: FlowId, name: &'a str, value: &'a [u8]) -> StoreFuture<'a, ()>;

    /// Keeps bytes that a sealed state names by `id`; the caller has encrypted them.
    ///
    /// What is kept under an id never changes. Putting it again keeps the first bytes and the
    /// later expiry.
    fn put<'a>(
        &'a self,
        id: [u8; 32],
        bytes: &'a [u8],
        now: Millis,
        expires: Millis,
    ) -> StoreFuture<'a, ()>;

    /// The bytes kept under `id`, if they are still there.
    fn get(&self, id: [u8; 32]) -> StoreFuture<'_, Option<Vec<u8>>>;

    /// Removes what expired at `now` or before, and says how many entries that were.
    fn purge(&self, now: Millis) -> StoreFuture<'_, usize>;
}

/// A store that several servers of one process share.
impl<S: Store + ?Sized> Store for std::sync::Arc<S> {
    fn claim<'a>(
        &'a self,
        flow: FlowId,
        name: &'a str,
        now: Millis,
        lease: Duration,
        expires: Millis,
    ) -> StoreFuture<'a, Claim> {
        (**self).claim(flow, name, now, lease, expires)
    }

    fn finish<'a>(&'a self, flow: FlowId, name: &'a str, value: &'a [u8]) -> StoreFuture<'a, ()> {
        (**self).finish(flow, name, value)
    }

    fn put<'a>(
        &'a self,
        id: [u8; 32],
        bytes: &'a [u8],
        now: Millis,
        expires: Millis,
    ) -> StoreFuture<'a, ()> {
        (**self).put(id, bytes, now, expires)
    }

    fn get(&self, id: [u8; 32]) -> StoreFuture<'_, Option<Vec<u8>>> {
        (**self).get(id)
    }

    fn purge(&self, now: Millis) -> StoreFuture<'_, usize> {
        (**self).purge(now)
    }
}

/// What became of an attempt to claim a commit.
///
/// No other outcome is possible, so the enum is closed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claim {
    /// The caller has it, and performs the effect.
    Granted,
    /// The effect has happened; this is the value it was finished with.
    Done(Vec<u8>),
    /// Somebody else is at work.
    Busy,
    /// Somebody else began and has not finished in time: the outcome is unknown.
    Abandoned,
}

/// Why a store could not do what it was asked. Nothing was claimed or kept.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// An in-memory store holds as much as it may.
    #[error("the store holds {max_bytes} bytes and may hold no more")]
    Full {
        /// Its bound.
        max_bytes: usize,
    },
    /// A commit was finished that nobody has claimed, or whose claim was purged. The caller is to
    /// blame.
    #[error("the commit was finished without a claim")]
    Unclaimed,
    /// A commit was finished before with another value. The caller is to blame.
    #[error("the commit was finished before, with another value")]
    Finished,
    /// What the store stands on failed.
    #[error("the store failed: {0}")]
    Failed(Box<dyn Error + Send + Sync>),
}

/// When the lease of a claim made at `now` is over.
fn lease_end(now: Millis, lease: Duration) -> Millis {
    now.saturating_add(u64::try_from(lease.as_millis()).unwrap_or(u64::MAX))
}
