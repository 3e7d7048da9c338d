//! The store and the journal: a statement or a transaction for each method.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use askback::{
    journal::{
        AnswerOutcome, AnswerRequest, CallId, FinishRequest, Journal, JournalStatus, Lease, Log,
        Millis, NodeId, ParkOutcome, ParkRequest, SessionId, SessionNote, SessionRequest,
        StoreError, StoreFuture, TakenCall, TaskState,
    },
    limits::Limits,
    store::{Claim, ClaimRequest, FlowId, PutRequest, Store},
};
use askback_sql::{Postgres, PostgresSettings};
use tokio::time::{Instant, sleep, timeout};

use crate::{
    claims,
    failure::Failure,
    journal,
    room::TableBytes,
    schema::{SCHEMA, execute, integer, row, rows},
};

/// A store and a journal in PostgreSQL (15 or newer), for the processes of any number of machines.
///
/// It creates its tables, whose names begin with `askback_`, in the first schema of the search path. Claims survive the
/// death of a process. The values of commits are not encrypted.
///
/// [`limits.asking.store_bytes`](askback::limits::AskingLimits::store_bytes) limits the bytes of claims, of states, of
/// calls and of sessions, each on its own; [`connect_with`](Self::connect_with) sets another limit. Processes that write
/// at the same moment may exceed it, with calls and claims by what the others store in a second.
///
/// While PostgreSQL cannot be reached, each operation waits and is repeated, for
/// [`PostgresSettings::wait`](askback_sql::PostgresSettings::wait). An operation that takes a lease is not repeated
/// here, because the lease may be over by then: the server repeats it with a new lease. If PostgreSQL refuses the user,
/// the operation fails at once.
pub struct PostgresStore {
    database: Postgres,
    max_bytes: usize,
    call_bytes: TableBytes,
    commit_bytes: TableBytes,
    session_bytes: TableBytes,
    state_bytes: TableBytes,
    clock_differs: AtomicBool,
}

askback_core::debug_only!(PostgresStore {});

impl PostgresStore {
    /// Connects to a database, and creates missing tables.
    ///
    /// # Errors
    ///
    /// If the connection string is invalid, the database cannot be reached or refuses the user, or its tables have
    /// another version. The errors do not contain the connection string.
    pub async fn connect(settings: PostgresSettings) -> Result<Self, StoreError> {
        Self::connect_with(settings, Limits::default().asking.store_bytes).await
    }

    /// [`PostgresStore::connect`], with another limit on the bytes of each kind. All processes should use the same
    /// limit.
    ///
    /// # Errors
    ///
    /// As [`PostgresStore::connect`].
    pub async fn connect_with(
        settings: PostgresSettings,
        max_bytes: usize,
    ) -> Result<Self, StoreError> {
        let database = Postgres::connect(settings, &[SCHEMA]).await;
        let database = database.map_err(|error| StoreError::Failed(error.into_inner()))?;
        Ok(Self {
            database,
            max_bytes,
            call_bytes: TableBytes::new("askback_calls"),
            commit_bytes: TableBytes::new("askback_commits"),
            session_bytes: TableBytes::new("askback_sessions"),
            state_bytes: TableBytes::new("askback_states"),
            clock_differs: AtomicBool::new(false),
        })
    }
}

/// How far the clock of a process may differ from PostgreSQL's. A lease is renewed when it has seven seconds left, and another
/// process takes a call whose lease is over by its own clock.
const MAX_CLOCK_DIFFERENCE: Duration = Duration::from_secs(3);

impl PostgresStore {
    /// Logs an error if the clock of this process differs from PostgreSQL's. `now` is the time at which it was asked, and
    /// `time` its answer, some time within `elapsed`.
    fn compare_clocks(&self, now: Millis, elapsed: Duration, time: Millis) {
        let asked = Duration::from_millis(now);
        let time = Duration::from_millis(time);
        let ahead = asked.saturating_sub(time);
        let behind = time.saturating_sub(asked + elapsed);
        let differs = ahead.max(behind) > MAX_CLOCK_DIFFERENCE;
        let differed = self.clock_differs.swap(differs, Ordering::Relaxed);
        if differs && !differed {
            let place = if behind.is_zero() {
                "ahead of"
            } else {
                "behind"
            };
            tracing::error!(
                "the clock of this process is {:?} {place} PostgreSQL's: a handler may run at two processes at once. Set \
                 the clocks of all machines by NTP",
                ahead.max(behind)
            );
        }
    }
}

const MIN_RECONNECT_PAUSE: Duration = Duration::from_millis(50);
const MAX_RECONNECT_PAUSE: Duration = Duration::from_secs(1);

/// An operation that takes a lease is not repeated, however short the outage was.
const NOT_REPEATED: Duration = Duration::ZERO;

/// A lease that begins now, for an operation that may have to wait for PostgreSQL.
#[derive(Clone, Copy)]
struct NewLease {
    lease: Lease,
    now: Millis,
    begun: Instant,
}

impl NewLease {
    fn new(lease: Lease, now: Millis) -> Self {
        let begun = Instant::now();
        Self { lease, now, begun }
    }

    /// Rejects a lease of which half is over before it is committed. The caller repeats the operation with a new lease.
    /// Otherwise, the call might be taken by another process while its handler runs here.
    fn check(&self) -> Result<(), Failure> {
        let whole = Duration::from_millis(self.lease.until.saturating_sub(self.now));
        if self.begun.elapsed() < whole / 2 {
            return Ok(());
        }
        let why =
            "PostgreSQL took too long: the lease on a call was half over before it was stored";
        Err(StoreError::Unreachable(why.into()).into())
    }
}

/// The pauses between the attempts of an operation while PostgreSQL cannot be reached.
struct Outage {
    begun: Instant,
    pause: Duration,
    max: Duration,
}

impl Outage {
    fn new(max: Duration) -> Self {
        Self {
            begun: Instant::now(),
            pause: MIN_RECONNECT_PAUSE,
            max,
        }
    }

    /// Waits before the next attempt. Returns the error if it is not a lost connection, or if the outage lasts too long.
    async fn wait_after(&mut self, Failure(error): Failure) -> Result<(), StoreError> {
        let is_lost = matches!(error, StoreError::Unreachable(_));
        if !is_lost || self.begun.elapsed() + self.pause > self.max {
            return Err(error);
        }
        tracing::debug!(%error, "the operation is repeated");
        sleep(self.pause).await;
        self.pause = MAX_RECONNECT_PAUSE.min(self.pause * 2);
        Ok(())
    }
}

/// Does work with a connection. A transaction that fails, or whose future is dropped, is rolled back. A statement outside
/// a transaction may be carried out, completely, although its future was dropped, when it has waited for a lock: only
/// statements that change nothing then, or what they should have changed, are outside of one.
///
/// If the connection is lost, the work is repeated, although its transaction may have been committed. This is safe:
///
/// | repeated after its commit | effect |
/// |---|---|
/// | `park` | finds its record, and stores only its new lease |
/// | `answer` | is a duplicate: the call goes on when its lease is over; a task that is not durable ends as interrupted |
/// | `due` | leaves what it took: it goes on when its lease is over; a task that is not durable ends as interrupted |
/// | `claim` | is busy, and then abandoned: the outcome is reported as unknown, and the effect does not happen |
/// | `Journal::finish` | finds the call ended |
/// | other methods | store the same again |
///
/// Work that takes a lease is repeated by its caller, with a new lease: its maximum is [`NOT_REPEATED`].
macro_rules! within {
    ($store:ident, [$($mutable:tt)?] $connection:ident => $work:expr) => {
        within!($store, $store.database.wait(), [$($mutable)?] $connection => $work)
    };
    ($store:ident, $max_wait:expr, [$($mutable:tt)?] $connection:ident => $work:expr) => {
        Box::pin(async move {
            let mut outage = Outage::new($max_wait);
            loop {
                let attempt = async {
                    let $($mutable)? $connection = $store.database.client().await?;
                    let work = async { $work };
                    let done = timeout($store.database.wait(), work).await;
                    $store.database.ended($connection, done)
                };
                match attempt.await {
                    Ok(done) => return Ok(done),
                    Err(failure) => outage.wait_after(failure).await?,
                }
            }
        })
    };
}

/// Does work in a transaction.
macro_rules! write {
    ($store:ident, $transaction:ident => $work:expr) => {
        within!($store, [mut] connection => {
            let $transaction = connection.transaction().await?;
            let done = $work.await?;
            $transaction.commit().await?;
            Ok(done)
        })
    };
}

impl Store for PostgresStore {
    fn claim<'a>(&'a self, commit: ClaimRequest<'a>) -> StoreFuture<'a, Claim> {
        within!(self, [mut] connection => {
            if claims::grant(&connection, &commit, &self.commit_bytes, self.max_bytes).await? {
                return Ok(Claim::Granted);
            }
            let transaction = connection.transaction().await?;
            let claim = claims::claim(&transaction, &commit, self.max_bytes).await?;
            transaction.commit().await?;
            Ok(claim)
        })
    }

    fn finish<'a>(&'a self, flow: FlowId, name: &'a str, value: &'a [u8]) -> StoreFuture<'a, ()> {
        within!(self, [] connection => claims::finish(&connection, flow, name, value).await)
    }

    fn put<'a>(&'a self, state: PutRequest<'a>) -> StoreFuture<'a, ()> {
        write!(self, transaction => claims::put(&transaction, &state, &self.state_bytes, self.max_bytes))
    }

    fn get(&self, id: [u8; 32]) -> StoreFuture<'_, Option<Vec<u8>>> {
        within!(self, [] connection => {
            let select = "SELECT bytes FROM askback_states WHERE id = $1";
            match row(&connection, select, &[&&id[..]]).await? {
                Some(row) => Ok(Some(row.try_get(0)?)),
                None => Ok(None),
            }
        })
    }

    fn purge(&self, now: Millis) -> StoreFuture<'_, usize> {
        write!(self, transaction => async {
            let commits = claims::purge(&transaction, "askback_commits", now).await?;
            let states = claims::purge(&transaction, "askback_states", now).await?;
            Ok::<_, Failure>(commits + states)
        })
    }
}

impl Journal for PostgresStore {
    fn park<'a>(&'a self, call: ParkRequest<'a>) -> StoreFuture<'a, ParkOutcome> {
        let max_wait = match call.keep {
            Some(_) => NOT_REPEATED,
            None => self.database.wait(),
        };
        let keep = call.keep.map(|lease| NewLease::new(lease, call.now));
        within!(self, max_wait, [mut] connection => {
            let (in_all, max_bytes) = (&self.call_bytes, self.max_bytes);
            let check_lease = || keep.map_or(Ok(()), |keep| keep.check());
            journal::park(&mut connection, &call, in_all, max_bytes, check_lease).await
        })
    }

    fn answer<'a>(&'a self, answer: AnswerRequest<'a>) -> StoreFuture<'a, AnswerOutcome> {
        let lease = NewLease::new(answer.lease, answer.now);
        within!(self, NOT_REPEATED, [mut] connection => {
            let transaction = connection.transaction().await?;
            let outcome = journal::answer(&transaction, &answer).await?;
            if matches!(outcome, AnswerOutcome::Taken(_)) {
                lease.check()?;
            }
            transaction.commit().await?;
            Ok(outcome)
        })
    }

    fn finish<'a>(&'a self, end: FinishRequest<'a>) -> StoreFuture<'a, bool> {
        within!(self, [] connection => journal::finish(&connection, &end).await)
    }

    fn read(
        &self,
        call: CallId,
        session: SessionId,
        after: u64,
        most: usize,
    ) -> StoreFuture<'_, Option<Log>> {
        within!(self, [] connection => journal::read(&connection, (call, session), after, most).await)
    }

    fn due(&self, lease: Lease, now: Millis, most: usize) -> StoreFuture<'_, Vec<TakenCall>> {
        let new = NewLease::new(lease, now);
        within!(self, NOT_REPEATED, [mut] connection => {
            if !journal::is_due(&connection, now).await? {
                return Ok(Vec::new());
            }
            let transaction = connection.transaction().await?;
            let due = journal::due(&transaction, lease, now, most).await?;
            if !due.is_empty() {
                new.check()?;
            }
            transaction.commit().await?;
            Ok(due)
        })
    }

    fn renew<'a>(
        &'a self,
        held: &'a [(CallId, u32)],
        until: Millis,
    ) -> StoreFuture<'a, Vec<(CallId, u32)>> {
        write!(self, transaction => journal::renew(&transaction, held, until))
    }

    fn set_status<'a>(&'a self, call: CallId, epoch: u32, status: &'a [u8]) -> StoreFuture<'a, ()> {
        write!(self, transaction => journal::set_status(&transaction, (call, epoch), status))
    }

    fn task(&self, call: CallId, session: SessionId) -> StoreFuture<'_, Option<TaskState>> {
        within!(self, [] connection => journal::task(&connection, call, session).await)
    }

    fn cancel(&self, session: SessionId, request: [u8; 16]) -> StoreFuture<'_, bool> {
        within!(self, [] connection => {
            let delete = "DELETE FROM askback_calls WHERE session = $1 AND request = $2 AND NOT is_over";
            Ok(execute(&connection, delete, &[&&session.0[..], &&request[..]]).await? > 0)
        })
    }

    fn note<'a>(&'a self, session: SessionRequest, note: &'a [u8]) -> StoreFuture<'a, ()> {
        write!(self, transaction => journal::note(&transaction, &session, note, &self.session_bytes, self.max_bytes))
    }

    fn end_session(&self, session: SessionRequest) -> StoreFuture<'_, ()> {
        write!(self, transaction => journal::end_session(&transaction, &session, &self.session_bytes, self.max_bytes))
    }

    fn session(&self, session: SessionId) -> StoreFuture<'_, SessionNote> {
        within!(self, [] connection => {
            let select = "SELECT ended_at IS NOT NULL, note FROM askback_sessions WHERE id = $1";
            match row(&connection, select, &[&&session.0[..]]).await? {
                Some(row) => Ok(SessionNote {
                    is_ended: row.try_get(0)?,
                    note: row.try_get(1)?,
                }),
                None => Ok(SessionNote::default()),
            }
        })
    }

    fn ended_since(&self, since: Millis) -> StoreFuture<'_, Vec<SessionId>> {
        within!(self, [] connection => {
            let select = "SELECT id FROM askback_sessions WHERE ended_at >= $1 ORDER BY ended_at";
            let mut ended = Vec::new();
            for row in rows(&connection, select, &[&integer(since)]).await? {
                ended.push(SessionId(journal::id(row.try_get(0)?)));
            }
            Ok(ended)
        })
    }

    fn announce(&self, process: NodeId, until: Millis, now: Millis) -> StoreFuture<'_, u64> {
        let begun = Instant::now();
        within!(self, [] connection => {
            let (processes, time) = journal::announce(&connection, process, until, now).await?;
            self.compare_clocks(now, begun.elapsed(), time);
            Ok(processes)
        })
    }

    fn purge(&self, now: Millis) -> StoreFuture<'_, usize> {
        write!(self, transaction => journal::purge(&transaction, now))
    }

    fn status(&self, now: Millis) -> StoreFuture<'_, JournalStatus> {
        within!(self, [] connection => journal::status(&connection, now).await)
    }
}
