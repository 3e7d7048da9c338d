//! The storage of a server between two rounds: claims, so that an effect happens at most once, and
//! states too large for their clients.
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
//! The call that is granted the claim performs the effect and finishes the claim with the value;
//! every other call gets that value. A claim is granted once and cannot be given back: a process
//! that stops in between leaves it abandoned, and then no process can know whether the effect
//! happened. That is why there is no `release`: it would be one more way to do the effect twice, to
//! save a person from a message they should read.
//!
//! # Waiting
//!
//! A store tells nobody that a claim was finished, as its processes may share no more than a
//! file. Who finds a claim busy asks again, with a growing pause; that, like every clock, lives in
//! the caller.
//!
//! # Time
//!
//! Times are given by the caller, in [`Millis`]. What has expired may be removed at any time, and
//! stays until then; an entry's expiry has therefore to lie behind the last moment at which a sealed
//! state of its flow opens, and behind the skew of the clocks of all processes that share the
//! store.
//!
//! # Room
//!
//! Claims and states are bounded in bytes, each kind by itself, in all and for each [`Owner`]. A
//! claim is never forgotten before its time, so a claim for which there is no room is refused,
//! before its effect; so is that of an owner who has a 32nd of what the claims of all leave free, so
//! that however many owners come, the next one finds room. The room for its value is set aside until it is finished. A
//! state may be forgotten, as its client can make the call again: those of an owner who has an
//! eighth of the room give way to newer ones of theirs, and where there is no room at all, those of
//! whoever has the most.
//!
//! # A store of your own
//!
//! It implements [`Store`], decides with the functions of [`share`] what there is room for, and passes
//! `askback::testing::check_store` (feature `testing`), which is how the stores of this crate are
//! tested.

mod file;
mod memory;
mod owner;
mod process_lock;
pub mod share;
#[cfg(feature = "sqlite")]
pub(crate) mod sqlite;

use std::error::Error;
use std::time::Duration;

use askback_core::future::BoxFuture;

pub use askback_core::ask::{FlowId, Millis};
/// The SQLite whose transactions [`SqliteStore::claim_in`] takes.
#[cfg(feature = "sqlite")]
pub use askback_sql::rusqlite;
pub use file::FileStore;
pub use memory::MemoryStore;
pub use owner::Owner;
#[cfg(feature = "sqlite")]
pub use sqlite::SqliteStore;

/// The future of a [`Store`].
pub type StoreFuture<'a, T> = BoxFuture<'a, Result<T, StoreError>>;

/// A commit to be claimed.
#[derive(Debug, Clone, Copy)]
pub struct ClaimRequest<'a> {
    /// Whose call commits; `None` where the server does not know who asks.
    pub owner: Option<Owner>,
    /// The flow of the call.
    pub flow: FlowId,
    /// The name of the commit, which it has to itself in its flow.
    pub name: &'a str,
    /// The longest value it may be finished with, in bytes: a store sets that much aside.
    pub value_bytes: usize,
    /// The time.
    pub now: Millis,
    /// How long from now the claim may take: one that is not finished then is taken for abandoned.
    pub lease: Duration,
    /// When the claim, finished or not, may be removed.
    pub expires: Millis,
}

/// A state to be kept.
#[derive(Debug, Clone, Copy)]
pub struct PutRequest<'a> {
    /// Whose call the state is of; `None` where the server does not know who asks.
    pub owner: Option<Owner>,
    /// The name under which a sealed state knows it.
    pub id: [u8; 32],
    /// The state, which the caller has encrypted.
    pub bytes: &'a [u8],
    /// The time.
    pub now: Millis,
    /// When the state may be removed.
    pub expires: Millis,
}

/// Where claims and spilled states are kept.
///
/// A store that several processes share makes commits unique among all of them: [`FileStore`] and
/// `SqliteStore` on one machine, a database of your own on several. [`MemoryStore`] does so within one
/// process. The [module](self) says what a store must keep to.
pub trait Store: Send + Sync {
    /// Claims a commit, or says what became of the claim.
    ///
    /// Of any number of callers, ever, at most one is granted it. Who asks for a claim that exists
    /// gets its outcome, however full the store is and whoever asks.
    fn claim<'a>(&'a self, commit: ClaimRequest<'a>) -> StoreFuture<'a, Claim>;

    /// Keeps the value of a commit whose claim was granted, also when its lease is over.
    ///
    /// Finishing again with the same value is allowed, as the first attempt may have failed after
    /// it was written. There is always room for a value that is no longer than its claim said.
    fn finish<'a>(&'a self, flow: FlowId, name: &'a str, value: &'a [u8]) -> StoreFuture<'a, ()>;

    /// Keeps a state that a sealed one names by its id.
    ///
    /// Stores a state. The state under an id never changes: putting it again keeps the first bytes,
    /// their owner and the later expiry.
    fn put<'a>(&'a self, state: PutRequest<'a>) -> StoreFuture<'a, ()>;

    /// The bytes kept under `id`, if they are still there.
    fn get(&self, id: [u8; 32]) -> StoreFuture<'_, Option<Vec<u8>>>;

    /// Removes what expired at `now` or before, and says how many entries that were. A server calls
    /// this now and then.
    fn purge(&self, now: Millis) -> StoreFuture<'_, usize>;

    /// Whether claims are still there when this process has ended.
    ///
    /// A state that a client holds opens as long as the key of its seal is known. If claims are gone by
    /// then, a commit can happen twice, so a server with such a store draws a new key in each process. A
    /// database answers `true`, the default. What is kept in memory, or in a file that is deleted with the
    /// process, answers `false`. A store around another one returns the answer of that.
    fn outlives_process(&self) -> bool {
        true
    }
}

/// A store that several servers of one process share.
impl<S: Store + ?Sized> Store for std::sync::Arc<S> {
    fn claim<'a>(&'a self, commit: ClaimRequest<'a>) -> StoreFuture<'a, Claim> {
        (**self).claim(commit)
    }

    fn finish<'a>(&'a self, flow: FlowId, name: &'a str, value: &'a [u8]) -> StoreFuture<'a, ()> {
        (**self).finish(flow, name, value)
    }

    fn put<'a>(&'a self, state: PutRequest<'a>) -> StoreFuture<'a, ()> {
        (**self).put(state)
    }

    fn get(&self, id: [u8; 32]) -> StoreFuture<'_, Option<Vec<u8>>> {
        (**self).get(id)
    }

    fn purge(&self, now: Millis) -> StoreFuture<'_, usize> {
        (**self).purge(now)
    }

    fn outlives_process(&self) -> bool {
        (**self).outlives_process()
    }
}

/// The outcome of an attempt to claim a commit.
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
    /// Another call began it, and has not finished in time or its process has ended: the outcome is unknown.
    Abandoned,
}

/// Why a store could not do what it was asked. Nothing was claimed or kept.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// There is no room for another claim, or a state is larger than the room there is for those of
    /// its owner. The operator can give the store more.
    #[error("the store has no room for it: it may hold {max_bytes} bytes")]
    Full {
        /// Its bound.
        max_bytes: usize,
    },
    /// There is no room for another claim of this owner. A client is told so in these words.
    #[error("as much is kept for you as may be; try again when some of it has expired")]
    ShareFull,
    /// The value of a commit is longer than its claim said. The claim stays as it is; the caller is
    /// to blame.
    #[error("the value of the commit is longer than the {max_bytes} bytes set aside for it")]
    TooLong {
        /// The bound of its claim.
        max_bytes: usize,
    },
    /// A commit was finished that nobody has claimed, or whose claim was purged. The caller is to
    /// blame.
    #[error("the commit was finished without a claim")]
    Unclaimed,
    /// A commit was finished before with another value. The caller is to blame.
    #[error("the commit was finished before, with another value")]
    Finished,
    /// The storage below failed.
    #[error("the store failed: {0}")]
    Failed(Box<dyn Error + Send + Sync>),
}

impl From<std::io::Error> for StoreError {
    fn from(error: std::io::Error) -> Self {
        failed(error)
    }
}

fn failed(error: impl Error + Send + Sync + 'static) -> StoreError {
    StoreError::Failed(Box::new(error))
}

/// Returns when the lease of a claim made at `now` is over.
#[must_use]
pub fn lease_end(now: Millis, lease: Duration) -> Millis {
    now.saturating_add(u64::try_from(lease.as_millis()).unwrap_or(u64::MAX))
}
