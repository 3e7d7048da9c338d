//! A server's storage between rounds: claims, so that an effect happens at most once, and states that are too large for
//! their clients.
//!
//! A client may send a round twice, lose the answer and ask again, or go back to an older round. The seal cannot detect
//! this (2026-07-28, basic/patterns/mrtr, Server Requirements: the server must enforce one-time use), so a commit first
//! claims its name here.
//!
//! # The life of a claim
//!
//! ```text
//! (nothing) --claim: Granted--> Busy --finish--> Done(value)
//!                                |                  ^
//!                                +--lease over--> Abandoned --finish, late--+
//! ```
//!
//! The call that is granted the claim performs the effect and finishes the claim with the value; every other call gets
//! that value. A claim is granted once and cannot be given back. If a process stops in between, the claim is abandoned,
//! and no process can know whether the effect happened. There is no `release`, because it could run an effect twice,
//! only to save a user from a message that they should read.
//!
//! # Waiting
//!
//! A store does not notify anyone when a claim is finished, because its processes may share only a file. A caller that
//! finds a claim busy asks again, with growing pauses. The caller does this, because a store has no clock.
//!
//! # Time
//!
//! The caller passes the time in [`Millis`]. Expired entries may be removed at any time, and remain valid until they
//! are. An entry must therefore expire later than any sealed state of its flow, plus the clock skew between the
//! processes that share the store.
//!
//! # Room
//!
//! Claims and states are limited in bytes, each kind separately, in total and per [`Owner`].
//!
//! A claim is never removed before it expires. If there is no room for a claim, it is refused before its effect. It is
//! also refused if its owner already has a 32nd of the space that all claims leave free, so there is always room for
//! another owner. The space for a claim's value is reserved until the claim is finished.
//!
//! A state may be removed, because its client can repeat the call. If an owner has an eighth of the space, its oldest
//! states are removed for its new ones. If the store is full, states of the largest owner are removed.
//!
//! # Your own store
//!
//! Implement [`Store`], use the functions of [`share`] to decide what there is room for, and run
//! `askback::testing::check_store` (feature `testing`) on it, as the tests of this crate's stores do.

pub(crate) mod file;
pub(crate) mod memory;
pub(crate) mod owner;
mod process_lock;
pub mod share;
#[cfg(feature = "sqlite")]
pub(crate) mod sqlite;

use std::time::Duration;
use std::{error::Error, ops::Deref};

use askback_core::future::BoxFuture;
use tokio::time::{Instant, sleep};

pub use askback_core::ask::{FlowId, Millis};
/// The version of `rusqlite` that [`SqliteStore::claim_in`] takes.
#[cfg(feature = "sqlite")]
pub use askback_sql::rusqlite;
pub use file::FileStore;
pub use memory::MemoryStore;
pub use owner::Owner;
#[cfg(feature = "sqlite")]
pub use sqlite::SqliteStore;

/// The future that a [`Store`] method returns.
pub type StoreFuture<'a, T> = BoxFuture<'a, Result<T, StoreError>>;

/// A commit to be claimed.
#[derive(Debug, Clone, Copy)]
pub struct ClaimRequest<'a> {
    /// The owner of the call; `None` if the caller is not authenticated.
    pub owner: Option<Owner>,
    /// The flow of the call.
    pub flow: FlowId,
    /// The name of the commit, unique in its flow.
    pub name: &'a str,
    /// The maximum length of the value that the claim ends with, in bytes. The store reserves this
    /// much.
    pub value_bytes: usize,
    /// The current time.
    pub now: Millis,
    /// How long the claim may take. If it is not finished by then, it is abandoned.
    pub lease: Duration,
    /// When the claim may be removed, finished or not.
    pub expires: Millis,
}

/// A state to store.
#[derive(Debug, Clone, Copy)]
pub struct PutRequest<'a> {
    /// The owner of the call; `None` if the caller is not authenticated.
    pub owner: Option<Owner>,
    /// The id by which a sealed state refers to it.
    pub id: [u8; 32],
    /// The state, encrypted by the caller.
    pub bytes: &'a [u8],
    /// The current time.
    pub now: Millis,
    /// When the state may be removed.
    pub expires: Millis,
}

/// Stores claims and spilled states.
///
/// If several processes share a store, commits are unique among all of them: use [`FileStore`] or `SqliteStore` on one
/// machine, and your own database on several. [`MemoryStore`] works within one process. The [module](self) has the
/// rules that a store must follow.
pub trait Store: Send + Sync {
    /// Claims a commit, or returns the state of the existing claim.
    ///
    /// At most one caller is ever granted the claim. If the claim exists, every caller gets its outcome, even if the
    /// store is full.
    fn claim<'a>(&'a self, commit: ClaimRequest<'a>) -> StoreFuture<'a, Claim>;

    /// Stores the value of a granted claim, even if its lease has ended.
    ///
    /// Finishing again with the same value is allowed, because the first attempt may have failed after the value was
    /// written. There is always room for a value within the claim's limit.
    fn finish<'a>(&'a self, flow: FlowId, name: &'a str, value: &'a [u8]) -> StoreFuture<'a, ()>;

    /// Stores a state that a sealed state refers to by its id.
    ///
    /// The state of an id never changes: storing it again keeps the first bytes and owner, and the later expiry.
    fn put<'a>(&'a self, state: PutRequest<'a>) -> StoreFuture<'a, ()>;

    /// Returns the bytes of `id` unless they were removed.
    fn get(&self, id: [u8; 32]) -> StoreFuture<'_, Option<Vec<u8>>>;

    /// Removes entries that expired at `now` or earlier, and returns how many. The server calls this from time to time.
    fn purge(&self, now: Millis) -> StoreFuture<'_, usize>;

    /// Whether claims survive the end of this process.
    ///
    /// A client's state can be opened as long as the key of its seal is known. If the claims were lost by then, a
    /// commit could happen twice, so a server whose store returns `false` draws a new key in each process. A database
    /// returns `true`, the default. A store in memory, or in a file that is deleted with the process, returns `false`.
    /// A store that wraps another one returns the inner store's value.
    fn outlives_process(&self) -> bool {
        true
    }
}

/// A store behind a pointer, such as one that several servers of one process share.
impl<P> Store for P
where
    P: Deref<Target: Store> + Send + Sync,
{
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
/// The enum is exhaustive: there are no other outcomes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claim {
    /// The caller has the claim, and performs the effect.
    Granted,
    /// The effect has happened. This is its value.
    Done(Vec<u8>),
    /// Another caller is performing the effect.
    Busy,
    /// Another call claimed it, and its process ended or did not finish in time: the outcome is unknown.
    Abandoned,
}

/// Why a store operation failed. Nothing was claimed or stored, except perhaps by an operation that ended as
/// [`Unreachable`](Self::Unreachable).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// There is no room for another claim, or the state is larger than the owner's room for states. The operator can
    /// raise the limit.
    #[error("the store is full: its limit is {max_bytes} bytes")]
    Full {
        /// The limit of the store.
        max_bytes: usize,
    },
    /// There is no room for another claim of this owner. The client gets this message.
    #[error("your quota of stored data is used up; try again when some of it has expired")]
    ShareFull,
    /// The value of a commit is longer than its claim allows. This is a bug in the caller. The claim is unchanged.
    #[error("the value of the commit is longer than the {max_bytes} bytes set aside for it")]
    TooLong {
        /// The limit of the claim.
        max_bytes: usize,
    },
    /// The commit was never claimed, or its claim was purged. This is a bug in the caller.
    #[error("the commit was finished without a claim")]
    Unclaimed,
    /// The commit is already finished with another value. This is a bug in the caller.
    #[error("the commit was finished before with a different value")]
    Finished,
    /// The storage cannot be reached now, or the connection to it was lost. The operation may have been carried out.
    /// Return it only if the same operation may succeed later: a fleet repeats what has to be stored.
    #[error("the store cannot be reached: {0}")]
    Unreachable(Box<dyn Error + Send + Sync>),
    /// The underlying storage failed.
    #[error("the store failed: {0}")]
    Failed(Box<dyn Error + Send + Sync>),
    /// A [bus](crate::journal::Bus) cannot be used: its address is wrong, or its server refuses the user.
    #[error("the bus cannot be used: {0}")]
    Bus(Box<dyn Error + Send + Sync>),
}

impl From<std::io::Error> for StoreError {
    fn from(error: std::io::Error) -> Self {
        failed(error)
    }
}

/// The pauses between requests to a storage that cannot be reached.
const MIN_UNREACHABLE_PAUSE: Duration = Duration::from_millis(100);
const MAX_UNREACHABLE_PAUSE: Duration = Duration::from_secs(2);

/// Makes a request to a store or a journal. If it cannot be reached, waits for it and repeats the request, for at most
/// this long.
pub(crate) async fn when_reachable<'a, T>(
    max_wait: Duration,
    request: impl Fn() -> StoreFuture<'a, T>,
) -> Result<T, StoreError> {
    let begun = Instant::now();
    let mut pause = MIN_UNREACHABLE_PAUSE;
    loop {
        let answer = request().await;
        let is_away = matches!(answer, Err(StoreError::Unreachable(_)));
        if !is_away || begun.elapsed().saturating_add(pause) > max_wait {
            return answer;
        }
        sleep(pause).await;
        pause = MAX_UNREACHABLE_PAUSE.min(pause * 2);
    }
}

fn failed(error: impl Error + Send + Sync + 'static) -> StoreError {
    StoreError::Failed(Box::new(error))
}

/// Returns when the lease of a claim made at `now` ends.
#[must_use]
pub fn lease_end(now: Millis, lease: Duration) -> Millis {
    now.saturating_add(u64::try_from(lease.as_millis()).unwrap_or(u64::MAX))
}
