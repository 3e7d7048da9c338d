//! Calls that wait for a person, written down so that any process of a service can go on with them.
//!
//! A server with a [`Fleet`](crate::Fleet) keeps no call in memory that waits for an answer. The state of its flow
//! and the messages for its client are *parked* in a journal, and the handler is dropped. The process that receives the
//! answer takes the call, which only one process can do, and runs the handler again from its record.
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
//! - A call is in the journal from its first question on. Before that, a process that ends takes the call with it.
//! - Each time a process takes a call, its **epoch** grows by one. Who parks or finishes with an older epoch has
//!   [lost](ParkOutcome::Lost) it, and what it brings is not kept.
//! - A process that works on a call holds a **lease**, and renews it. When the lease is over,
//!   [`due`](Journal::due) gives the call to another process.
//! - A **task** is in the journal from its beginning. It is parked with a lease, because its process goes on with it, and
//!   it has a **status** that can be read without taking it. Its session is its owner.
//! - **The first answer to a question counts.** Later ones are [duplicates](AnswerOutcome::Duplicate).
//! - The messages for the client are a **log**. They are numbered without a gap, and the process that has the client's
//!   stream reads them.
//!
//! # What a journal sees
//!
//! Records, answers and messages are sealed before they come here, and opened only for the principal whose call it is.
//!
//! # Time and room
//!
//! As in a [store](crate::store): times are given by the caller, and entries are counted in bytes, in all and for each
//! [`Owner`]. A call for which there is no room is refused before it is parked. What is kept of the sessions of an owner gives
//! way to newer sessions of that owner.
//!
//! # A journal of your own
//!
//! It implements [`Journal`] and passes `askback::testing::check_journal` (feature `testing`). A [`Bus`] passes
//! `check_bus`.

// A new fact of a call is a member of the sealed `Record` (`server/fleet/record.rs`). If a journal must see it, to find or
// count calls, it is a field of `ParkRequest` instead, and each journal keeps it.

mod bus;
mod memory;
#[cfg(feature = "sqlite")]
mod sqlite;

use std::sync::Arc;

pub use askback_core::ask::Millis;

pub use crate::store::{Owner, StoreError, StoreFuture};
pub(crate) use bus::MAX_HINTS_KEPT;
pub use bus::{Bus, HeardHints, MAX_HINT_BYTES, Topic};
pub use memory::MemoryJournal;

/// A call, in every process of a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId(pub [u8; 16]);

/// A session, in every process of a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId(pub [u8; 16]);

/// A process of a service. It is drawn when the process starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub [u8; 8]);

/// The lease of a process on a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease {
    /// The process.
    pub node: NodeId,
    /// When the lease is over unless it is renewed.
    pub until: Millis,
}

/// A call to be parked.
#[derive(Debug, Clone, Copy)]
pub struct ParkRequest<'a> {
    /// The call.
    pub call: CallId,
    /// Its session.
    pub session: SessionId,
    /// Which request of the session it answers, as a digest of the request's id.
    pub request: [u8; 16],
    /// Whose call it is; `None` if the server does not know who asks.
    pub owner: Option<Owner>,
    /// The epoch in which it was taken; 0 if it is not in the journal yet.
    pub epoch: u32,
    /// The sealed record with which the next process continues the call.
    pub record: &'a [u8],
    /// The sealed status of a task. It replaces the status before.
    pub status: Option<&'a [u8]>,
    /// The questions whose answers are part of the record now, and those that are withdrawn.
    pub settled: &'a [u32],
    /// The messages for the client, sealed; numbered from `first_event` on.
    pub events: &'a [Event],
    /// The number of the first of them. In the first request, the log begins with it.
    pub first_event: u64,
    /// When a process has to go on with it though no answer comes.
    pub wake: Option<Millis>,
    /// The lease with which this process goes on with the call; `None` if the call waits.
    pub keep: Option<Lease>,
    /// The time.
    pub now: Millis,
    /// When it may be removed.
    pub expires: Millis,
}

/// A message for the client of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// The number of the question that it asks, if it asks one.
    pub ask: Option<u32>,
    /// The message, sealed.
    pub message: Vec<u8>,
}

/// The outcome of parking a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ParkOutcome {
    /// It is written down, and waits unless the process keeps it.
    Waiting,
    /// An answer came meanwhile: the same process goes on with it, in the same epoch.
    Answered(TakenCall),
    /// Another process has taken it, or it was cancelled: nothing was kept.
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
    /// The record with which it was parked.
    pub record: Vec<u8>,
    /// The answers that are not part of the record, by the numbers of their questions.
    pub answers: Vec<(u32, Vec<u8>)>,
    /// The number of the next message of its log.
    pub next_event: u64,
    /// Whether another process worked on it, whose lease is over.
    pub was_interrupted: bool,
}

/// An answer to a question.
#[derive(Debug, Clone, Copy)]
pub struct AnswerRequest<'a> {
    /// The call that asked.
    pub call: CallId,
    /// The session in which the answer came. That of the call, or the call is not known.
    pub session: SessionId,
    /// The number of the question.
    pub ask: u32,
    /// The answer, sealed.
    pub reply: &'a [u8],
    /// The process that received it, and for how long it takes the call.
    pub lease: Lease,
    /// The time.
    pub now: Millis,
}

/// The outcome of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnswerOutcome {
    /// There is no such call in this session (any more).
    Unknown,
    /// The question was answered before.
    Duplicate,
    /// The answer is kept, for the process that works on the call now.
    Kept,
    /// The answer is kept, and the call taken.
    Taken(TakenCall),
}

/// The end of a call.
#[derive(Debug, Clone, Copy)]
pub struct FinishRequest<'a> {
    /// The call.
    pub call: CallId,
    /// The epoch in which it was taken. `None` ends it for the process that works on it, too.
    pub epoch: Option<u32>,
    /// Its last messages, sealed.
    pub events: &'a [Event],
    /// The last status of a task, sealed.
    pub status: Option<&'a [u8]>,
    /// Until when its client may come back for them.
    pub expires: Millis,
}

/// The state of a task, as it can be read without taking it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskState {
    /// Its last status, sealed.
    pub status: Vec<u8>,
    /// The questions that are answered, by their numbers.
    pub answered: Vec<u32>,
}

/// A session of which something is kept.
#[derive(Debug, Clone, Copy)]
pub struct SessionRequest {
    /// The session.
    pub session: SessionId,
    /// Whose session it is; `None` if the server does not know who asks.
    pub owner: Option<Owner>,
    /// The time.
    pub now: Millis,
    /// When it may be forgotten.
    pub expires: Millis,
}

/// A part of the log of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Log {
    /// The messages, from the number that was asked for on.
    pub events: Vec<LogEvent>,
    /// Whether no more messages come behind these.
    pub is_over: bool,
}

/// A message of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogEvent {
    /// Its number.
    pub number: u64,
    /// Whether it asks a question that is answered.
    pub is_answered: bool,
    /// The message, sealed.
    pub message: Vec<u8>,
}

/// Where calls are parked.
///
/// The [module](self) says what a journal must keep to. Each method is done whole or not at all, also if its future is
/// dropped.
pub trait Journal: Send + Sync {
    /// Parks a call, with the messages for its client.
    fn park<'a>(&'a self, call: ParkRequest<'a>) -> StoreFuture<'a, ParkOutcome>;

    /// Keeps the first answer to a question, and takes the call if no process works on it.
    fn answer<'a>(&'a self, answer: AnswerRequest<'a>) -> StoreFuture<'a, AnswerOutcome>;

    /// Ends a call. Says whether the process had it still; otherwise nothing was kept.
    fn finish<'a>(&'a self, end: FinishRequest<'a>) -> StoreFuture<'a, bool>;

    /// Returns at most so many messages of a call behind a number; `None` if there is no such call in this session.
    fn read(
        &self,
        call: CallId,
        session: SessionId,
        after: u64,
        most: usize,
    ) -> StoreFuture<'_, Option<Log>>;

    /// Takes calls that have to go on: their time has come, or the lease of their process is over.
    fn due(&self, lease: Lease, now: Millis, most: usize) -> StoreFuture<'_, Vec<TakenCall>>;

    /// Renews the leases on these calls, each in its epoch. Returns the calls that the process does not have any more: they
    /// were cancelled, or another process has taken them.
    fn renew<'a>(
        &'a self,
        held: &'a [(CallId, u32)],
        until: Millis,
    ) -> StoreFuture<'a, Vec<(CallId, u32)>>;

    /// Replaces the status of a task, if a process works on it in this epoch. The status of a task that is parked says what
    /// it asks.
    fn set_status<'a>(&'a self, call: CallId, epoch: u32, status: &'a [u8]) -> StoreFuture<'a, ()>;

    /// Returns the state of a task; `None` if this session has no such task.
    fn task(&self, call: CallId, session: SessionId) -> StoreFuture<'_, Option<TaskState>>;

    /// Removes the call that answers this request of a session. Says whether there was one that was not over.
    fn cancel(&self, session: SessionId, request: [u8; 16]) -> StoreFuture<'_, bool>;

    /// Keeps something about a session that its id does not say, sealed; the last one counts.
    fn note<'a>(&'a self, session: SessionRequest, note: &'a [u8]) -> StoreFuture<'a, ()>;

    /// Ends a session for all processes, and removes its calls.
    fn end_session(&self, session: SessionRequest) -> StoreFuture<'_, ()>;

    /// Returns what is known of a session.
    fn session(&self, session: SessionId) -> StoreFuture<'_, SessionNote>;

    /// Returns the sessions that were ended at `since` or later.
    fn ended_since(&self, since: Millis) -> StoreFuture<'_, Vec<SessionId>>;

    /// Removes what expired at `now` or before, and says how many entries that were.
    fn purge(&self, now: Millis) -> StoreFuture<'_, usize>;
}

/// A journal that several servers of one process share.
impl<J: Journal + ?Sized> Journal for Arc<J> {
    fn park<'a>(&'a self, call: ParkRequest<'a>) -> StoreFuture<'a, ParkOutcome> {
        (**self).park(call)
    }

    fn answer<'a>(&'a self, answer: AnswerRequest<'a>) -> StoreFuture<'a, AnswerOutcome> {
        (**self).answer(answer)
    }

    fn finish<'a>(&'a self, end: FinishRequest<'a>) -> StoreFuture<'a, bool> {
        (**self).finish(end)
    }

    fn read(
        &self,
        call: CallId,
        session: SessionId,
        after: u64,
        most: usize,
    ) -> StoreFuture<'_, Option<Log>> {
        (**self).read(call, session, after, most)
    }

    fn due(&self, lease: Lease, now: Millis, most: usize) -> StoreFuture<'_, Vec<TakenCall>> {
        (**self).due(lease, now, most)
    }

    fn renew<'a>(
        &'a self,
        held: &'a [(CallId, u32)],
        until: Millis,
    ) -> StoreFuture<'a, Vec<(CallId, u32)>> {
        (**self).renew(held, until)
    }

    fn set_status<'a>(&'a self, call: CallId, epoch: u32, status: &'a [u8]) -> StoreFuture<'a, ()> {
        (**self).set_status(call, epoch, status)
    }

    fn task(&self, call: CallId, session: SessionId) -> StoreFuture<'_, Option<TaskState>> {
        (**self).task(call, session)
    }

    fn cancel(&self, session: SessionId, request: [u8; 16]) -> StoreFuture<'_, bool> {
        (**self).cancel(session, request)
    }

    fn note<'a>(&'a self, session: SessionRequest, note: &'a [u8]) -> StoreFuture<'a, ()> {
        (**self).note(session, note)
    }

    fn end_session(&self, session: SessionRequest) -> StoreFuture<'_, ()> {
        (**self).end_session(session)
    }

    fn session(&self, session: SessionId) -> StoreFuture<'_, SessionNote> {
        (**self).session(session)
    }

    fn ended_since(&self, since: Millis) -> StoreFuture<'_, Vec<SessionId>> {
        (**self).ended_since(since)
    }

    fn purge(&self, now: Millis) -> StoreFuture<'_, usize> {
        (**self).purge(now)
    }
}

/// The state of a session in a journal.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SessionNote {
    /// Whether it has ended.
    pub is_ended: bool,
    /// The last [note](Journal::note).
    pub note: Option<Vec<u8>>,
}
