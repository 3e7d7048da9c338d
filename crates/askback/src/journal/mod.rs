//! Calls that wait for a user, stored so that any process of a service can continue them.
//!
//! A server with a [`Fleet`](crate::Fleet) does not keep waiting calls in memory. It *parks* the state of the flow and
//! the messages for the client in a journal, and drops the handler. The process that receives the answer takes the
//! call, which only one process can do, and runs the handler again from its record.
//!
//! # The life of a call
//!
//! ```text
//!          park                 answer, or due
//! Working --------> Parked ------------------------> Working --finish--> Over --purge--> (nothing)
//!    ^                 |                                |
//!    +--- its lease is over: due ----------------------+
//! ```
//!
//! - A call enters the journal with its first question. If the process ends before that, the call is lost.
//! - Each time a process takes a call, its **epoch** grows by one. A process that parks or finishes a call with an
//!   older epoch has [lost](ParkOutcome::Lost) the call, and the journal ignores what it sent.
//! - A process that works on a call holds a **lease**, and renews it. When the lease expires, [`due`](Journal::due)
//!   gives the call to another process.
//! - A **task** is in the journal from its start. It is parked with a lease, because its process continues it, and it
//!   has a **status** that can be read without taking it. Its session is its owner.
//! - **The first answer to a question counts.** Later ones are [duplicates](AnswerOutcome::Duplicate).
//! - The messages for the client are a **log**. They are numbered without gaps, and the process that has the client's
//!   stream reads them.
//!
//! # What a journal sees
//!
//! Records, answers and messages are sealed before the journal gets them, and only the call's principal can open them.
//!
//! # Time and room
//!
//! As in a [store](crate::store), the caller passes the time, and entries are counted in bytes, in total and per
//! [`Owner`]. If there is no room for a call, parking it fails. Notes about an owner's sessions are removed to make
//! room for newer sessions of the same owner.
//!
//! # Your own journal
//!
//! Implement [`Journal`] and run `askback::testing::check_journal` (feature `testing`) on it. For a [`Bus`], run
//! `check_bus`.

// A new fact of a call belongs in the sealed `Record` (`server/fleet/record.rs`). If a journal must read it, to find or
// count calls, make it a field of `ParkRequest` instead, which every journal then stores.

mod bus;
mod calls;
#[cfg(feature = "sqlite")]
mod sqlite;

use std::{collections::BTreeSet, time::Duration};

pub use askback_core::ask::Millis;

pub use crate::store::{Owner, StoreError, StoreFuture};
pub use bus::{Bus, HeardHints, MAX_HINT_BYTES, Topic};
pub use calls::{CallCounter, CountedCall};

/// The id of a call, the same in every process of a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId(pub [u8; 16]);

/// The id of a session, the same in every process of a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId(pub [u8; 16]);

/// The id of a process of a service, drawn at random when the process starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub [u8; 8]);

/// A process's lease on a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease {
    /// The process.
    pub node: NodeId,
    /// When the lease ends unless it is renewed.
    pub until: Millis,
}

/// A call to be parked.
#[derive(Debug, Clone, Copy)]
pub struct ParkRequest<'a> {
    /// The call.
    pub call: CallId,
    /// Its session.
    pub session: SessionId,
    /// A digest of the id of the request that the call answers.
    pub request: [u8; 16],
    /// The owner of the call; `None` if the caller is not authenticated.
    pub owner: Option<Owner>,
    /// The epoch in which it was taken; 0 if it is not in the journal yet.
    pub epoch: u32,
    /// The sealed record with which the next process continues the call.
    pub record: &'a [u8],
    /// The sealed status of a task. It replaces the previous status.
    pub status: Option<&'a [u8]>,
    /// The questions whose answers are now part of the record, and the withdrawn ones.
    pub settled: &'a [u32],
    /// The sealed messages for the client, numbered from `first_event`.
    pub events: &'a [Event],
    /// The number of the first message. The log begins with the number in the first request.
    pub first_event: u64,
    /// When a process has to continue the call even if no answer came.
    pub wake: Option<Millis>,
    /// The lease with which this process continues the call; `None` if the call waits.
    pub keep: Option<Lease>,
    /// The current time.
    pub now: Millis,
    /// When the call may be removed.
    pub expires: Millis,
}

/// A message for the client of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// The number of the question, if the message asks one.
    pub ask: Option<u32>,
    /// The sealed message.
    pub message: Vec<u8>,
}

/// The outcome of parking a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ParkOutcome {
    /// The call is parked. It waits unless this process keeps it.
    Waiting,
    /// An answer came in the meantime: this process continues the call, in the same epoch.
    Answered(TakenCall),
    /// Another process took the call, or it was cancelled. Nothing was stored.
    Lost,
}

/// A call that a process has taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TakenCall {
    /// The call.
    pub call: CallId,
    /// Its session.
    pub session: SessionId,
    /// The epoch in which it is taken.
    pub epoch: u32,
    /// The record stored when the call was parked.
    pub record: Vec<u8>,
    /// The answers that are not part of the record, with their question numbers.
    pub answers: Vec<(u32, Vec<u8>)>,
    /// The number of the next message in its log.
    pub next_event: u64,
    /// Whether another process worked on it and let its lease expire.
    pub was_interrupted: bool,
}

/// An answer to a question.
#[derive(Debug, Clone, Copy)]
pub struct AnswerRequest<'a> {
    /// The call that asked.
    pub call: CallId,
    /// The session in which the answer came. If it is not the call's session, the outcome is
    /// [`Unknown`](AnswerOutcome::Unknown).
    pub session: SessionId,
    /// The number of the question.
    pub ask: u32,
    /// The sealed answer.
    pub reply: &'a [u8],
    /// The process that received the answer, and the lease with which it takes the call.
    pub lease: Lease,
    /// The current time.
    pub now: Millis,
}

/// The outcome of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnswerOutcome {
    /// The session has no such call, or not any more.
    Unknown,
    /// The question was already answered.
    Duplicate,
    /// The answer is stored for the process that works on the call now.
    Kept,
    /// The answer is stored, and the call is taken.
    Taken(TakenCall),
}

/// The end of a call.
#[derive(Debug, Clone, Copy)]
pub struct FinishRequest<'a> {
    /// The call.
    pub call: CallId,
    /// The epoch in which it was taken. `None` ends the call in any epoch, even if a process works on it.
    pub epoch: Option<u32>,
    /// Its last messages, sealed.
    pub events: &'a [Event],
    /// The last status of a task, sealed.
    pub status: Option<&'a [u8]>,
    /// How long its client may still fetch the messages.
    pub expires: Millis,
}

/// The state of a task, readable without taking the task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskState {
    /// Its last status, sealed.
    pub status: Vec<u8>,
    /// The numbers of the questions that are answered.
    pub answered: Vec<u32>,
}

/// A session for which the journal stores an entry.
#[derive(Debug, Clone, Copy)]
pub struct SessionRequest {
    /// The session.
    pub session: SessionId,
    /// The owner of the session; `None` if the caller is not authenticated.
    pub owner: Option<Owner>,
    /// The current time.
    pub now: Millis,
    /// When the entry may be removed.
    pub expires: Millis,
}

/// A part of the log of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Log {
    /// The messages, starting with the requested number.
    pub events: Vec<LogEvent>,
    /// Whether these are the last messages.
    pub is_over: bool,
}

/// A message of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogEvent {
    /// Its number.
    pub number: u64,
    /// Whether it asks a question that has been answered.
    pub is_answered: bool,
    /// The sealed message.
    pub message: Vec<u8>,
}

/// Stores parked calls.
///
/// The [module](self) has the rules that a journal must follow. Each method takes effect completely or not at all, even
/// if its future is dropped.
pub trait Journal: Send + Sync {
    /// Parks a call with the messages for its client.
    ///
    /// Each record is sealed with its own random bytes, so the same record means the same request. If the call is already
    /// parked in this epoch with the same record, the request is a repetition whose first outcome was lost: its messages
    /// are not stored again, and its lease replaces the first one.
    fn park<'a>(&'a self, call: ParkRequest<'a>) -> StoreFuture<'a, ParkOutcome>;

    /// Stores the first answer to a question, and takes the call if no process works on it.
    fn answer<'a>(&'a self, answer: AnswerRequest<'a>) -> StoreFuture<'a, AnswerOutcome>;

    /// Ends a call. Returns whether the process still had the call; if not, nothing was stored.
    fn finish<'a>(&'a self, end: FinishRequest<'a>) -> StoreFuture<'a, bool>;

    /// Returns up to `most` messages of a call after a number; `None` if this session has no such call.
    fn read(
        &self,
        call: CallId,
        session: SessionId,
        after: u64,
        most: usize,
    ) -> StoreFuture<'_, Option<Log>>;

    /// Takes up to `most` calls whose wake time has come or whose lease has expired.
    fn due(&self, lease: Lease, now: Millis, most: usize) -> StoreFuture<'_, Vec<TakenCall>>;

    /// Renews the leases on these calls, each in its epoch. Returns the calls that the process has lost, because they
    /// were cancelled or another process took them.
    fn renew<'a>(
        &'a self,
        held: &'a [(CallId, u32)],
        until: Millis,
    ) -> StoreFuture<'a, Vec<(CallId, u32)>>;

    /// Replaces the status of a task if a process works on it in this epoch. A parked task keeps the status it was
    /// parked with, which has its questions.
    fn set_status<'a>(&'a self, call: CallId, epoch: u32, status: &'a [u8]) -> StoreFuture<'a, ()>;

    /// Returns the state of a task; `None` if this session has no such task.
    fn task(&self, call: CallId, session: SessionId) -> StoreFuture<'_, Option<TaskState>>;

    /// Removes the call that answers this request of a session. Returns whether such a call was running.
    fn cancel(&self, session: SessionId, request: [u8; 16]) -> StoreFuture<'_, bool>;

    /// Stores a sealed note about a session. A later note replaces it.
    fn note<'a>(&'a self, session: SessionRequest, note: &'a [u8]) -> StoreFuture<'a, ()>;

    /// Ends a session for all processes and removes its calls.
    fn end_session(&self, session: SessionRequest) -> StoreFuture<'_, ()>;

    /// Returns what the journal knows about a session.
    fn session(&self, session: SessionId) -> StoreFuture<'_, SessionNote>;

    /// Returns the sessions that ended at `since` or later.
    fn ended_since(&self, since: Millis) -> StoreFuture<'_, Vec<SessionId>>;

    /// Notes that a process serves until `until`, and returns how many processes serve at `now`, with this one.
    fn announce(&self, process: NodeId, until: Millis, now: Millis) -> StoreFuture<'_, u64>;

    /// Removes entries that expired at `now` or earlier, and returns how many.
    fn purge(&self, now: Millis) -> StoreFuture<'_, usize>;

    /// Counts the contents of the journal, for an operator. Reads all calls, so do not call it often.
    fn status(&self, now: Millis) -> StoreFuture<'_, JournalStatus>;
}

/// Implements a trait for an `Arc`, which several servers of one process share.
macro_rules! for_arc {
    ($trait:ident: $(fn $name:ident($($argument:ident: $type:ty),*) $(-> $returns:ty)?;)*) => {
        #[allow(clippy::needless_lifetimes, reason = "some arguments need it")]
        impl<T: $trait + ?Sized> $trait for std::sync::Arc<T> {
            $(fn $name<'a>(&'a self, $($argument: $type),*) $(-> $returns)? {
                (**self).$name($($argument),*)
            })*
        }
    };
}

use for_arc;

for_arc! { Journal:
    fn park(call: ParkRequest<'a>) -> StoreFuture<'a, ParkOutcome>;
    fn answer(answer: AnswerRequest<'a>) -> StoreFuture<'a, AnswerOutcome>;
    fn finish(end: FinishRequest<'a>) -> StoreFuture<'a, bool>;
    fn read(call: CallId, session: SessionId, after: u64, most: usize) -> StoreFuture<'a, Option<Log>>;
    fn due(lease: Lease, now: Millis, most: usize) -> StoreFuture<'a, Vec<TakenCall>>;
    fn renew(held: &'a [(CallId, u32)], until: Millis) -> StoreFuture<'a, Vec<(CallId, u32)>>;
    fn set_status(call: CallId, epoch: u32, status: &'a [u8]) -> StoreFuture<'a, ()>;
    fn task(call: CallId, session: SessionId) -> StoreFuture<'a, Option<TaskState>>;
    fn cancel(session: SessionId, request: [u8; 16]) -> StoreFuture<'a, bool>;
    fn note(session: SessionRequest, note: &'a [u8]) -> StoreFuture<'a, ()>;
    fn end_session(session: SessionRequest) -> StoreFuture<'a, ()>;
    fn session(session: SessionId) -> StoreFuture<'a, SessionNote>;
    fn ended_since(since: Millis) -> StoreFuture<'a, Vec<SessionId>>;
    fn announce(process: NodeId, until: Millis, now: Millis) -> StoreFuture<'a, u64>;
    fn purge(now: Millis) -> StoreFuture<'a, usize>;
    fn status(now: Millis) -> StoreFuture<'a, JournalStatus>;
}

/// The contents of a journal at one moment. Each call that is not over is waiting, running or overdue. A task is a call.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct JournalStatus {
    /// The calls that wait for an answer or a timer.
    pub waiting_calls: u64,
    /// The calls that a process works on.
    pub running_calls: u64,
    /// The calls that any process should have continued: their timer or the lease of their process has ended.
    pub overdue_calls: u64,
    /// How long the oldest overdue call has been overdue. A healthy fleet continues a call within half a second.
    pub lag: Duration,
    /// When the first waiting call continues without an answer, because its timer ends or the time for the answer is over.
    /// `None` if no waiting call has such a time.
    pub next_wake: Option<Millis>,
    /// The questions without an answer. Questions of tasks are not counted, because they are in the sealed status of the task.
    pub open_questions: u64,
    /// The processes that work on a call now.
    pub busy_processes: u64,
    /// The bytes of all calls, also of those that are over and have not expired.
    pub bytes: u64,
}

impl JournalStatus {
    /// Counts calls that are not over, each with its lease and its wake time. A call without a lease waits.
    pub fn of_calls(
        calls: impl IntoIterator<Item = (Option<Lease>, Option<Millis>)>,
        now: Millis,
    ) -> Self {
        let mut status = Self::default();
        let mut busy = BTreeSet::new();
        for (lease, wake) in calls {
            match lease.map(|lease| lease.until).or(wake) {
                Some(due) if due <= now => {
                    status.overdue_calls += 1;
                    status.lag = status.lag.max(Duration::from_millis(now - due));
                    continue;
                }
                Some(wake) if lease.is_none() => {
                    status.next_wake = Some(status.next_wake.map_or(wake, |next| next.min(wake)));
                }
                _ => {}
            }
            match lease {
                Some(lease) => {
                    status.running_calls += 1;
                    busy.insert(lease.node.0);
                }
                None => status.waiting_calls += 1,
            }
        }
        status.busy_processes = busy.len() as u64;
        status
    }
}

/// The state of a session in a journal.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SessionNote {
    /// Whether the session has ended.
    pub is_ended: bool,
    /// The last [note](Journal::note).
    pub note: Option<Vec<u8>>,
}
