//! A journal in SQLite. Its tables are in `store/sqlite.rs`.

use std::time::Duration;

use super::{
    AnswerOutcome, AnswerRequest, Bus, CallId, Event, FinishRequest, HeardHints, Journal,
    JournalStatus, Lease, Log, LogEvent, Millis, NodeId, Owner, ParkOutcome, ParkRequest,
    SessionId, SessionNote, SessionRequest, StoreError, StoreFuture, TakenCall, TaskState, Topic,
};
use crate::store::{
    SqliteStore,
    rusqlite::{self, Connection, OptionalExtension, Row, Transaction, named_params, params},
    share::{self, Eviction, OVERHEAD},
    sqlite::{Table, blob, count, find, integer},
};

/// An owned [`ParkRequest`]: the store's thread may outlive the caller's request.
struct OwnParkRequest {
    call: CallId,
    session: SessionId,
    request: [u8; 16],
    owner: Option<Owner>,
    epoch: u32,
    record: Vec<u8>,
    status: Option<Vec<u8>>,
    settled: Vec<u32>,
    events: Vec<Event>,
    first_event: u64,
    wake: Option<Millis>,
    keep: Option<Lease>,
    expires: Millis,
}

impl OwnParkRequest {
    fn of(request: &ParkRequest<'_>) -> Self {
        Self {
            call: request.call,
            session: request.session,
            request: request.request,
            owner: request.owner,
            epoch: request.epoch,
            record: request.record.to_vec(),
            status: request.status.map(<[u8]>::to_vec),
            settled: request.settled.to_vec(),
            events: request.events.to_vec(),
            first_event: request.first_event,
            wake: request.wake,
            keep: request.keep,
            expires: request.expires,
        }
    }

    fn park(
        &self,
        transaction: &Transaction<'_>,
        max_bytes: usize,
    ) -> Result<ParkOutcome, StoreError> {
        let known: Option<(u32, bool, i64, bool)> = transaction
            .query_row(
                "SELECT epoch, is_over, next_event, record = ?2 FROM askback_calls WHERE id = ?1",
                params![self.call.0, self.record],
                |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)),
            )
            .optional()?;
        let is_known = known.is_some();
        let first_event = match known {
            Some((epoch, false, _, true)) if epoch == self.epoch => {
                return self.hand_over(transaction);
            }
            Some((epoch, false, next_event, false)) if epoch == self.epoch => next_event,
            None if self.epoch == 0 => integer(self.first_event),
            Some(_) | None => return Ok(ParkOutcome::Lost),
        };
        let events: usize = self.events.iter().map(|event| event.message.len()).sum();
        let status = self.status.as_ref().map_or(0, Vec::len);
        let size = OVERHEAD + self.record.len() + status + events;
        // The owner's share limits new calls only: a running call is never lost for lack of room.
        let owner = self.owner.filter(|_| !is_known);
        let held = Table::Calls.held(transaction, owner)?;
        share::admit_claim(held, size, max_bytes)?;
        transaction.execute(
            "INSERT INTO askback_calls
                 (id, session, request, owner, epoch, wake, is_over, next_event, size, record, status, expires)
             VALUES (:id, :session, :request, :owner, 0, :wake, 0, :next, :size, :record, :status, :expires)
             ON CONFLICT DO UPDATE SET wake = excluded.wake, next_event = excluded.next_event,
                 size = size - length(record) + excluded.size - :overhead
                     - iif(excluded.status IS NULL, 0, ifnull(length(status), 0)),
                 record = excluded.record, status = ifnull(excluded.status, status),
                 expires = excluded.expires",
            named_params! {
                ":id": self.call.0,
                ":session": self.session.0,
                ":request": self.request,
                ":owner": blob(self.owner.as_ref()),
                ":wake": self.wake.map(integer),
                ":next": first_event.saturating_add(count(self.events.len())),
                ":size": count(size),
                ":overhead": count(OVERHEAD),
                ":record": self.record,
                ":status": self.status,
                ":expires": integer(self.expires),
            },
        )?;
        append(transaction, self.call, first_event, &self.events)?;
        for ask in &self.settled {
            transaction.execute(
                "UPDATE askback_calls SET size = size - ifnull(
                     (SELECT length(reply) FROM askback_answers WHERE call = ?1 AND ask = ?2), 0)
                 WHERE id = ?1",
                params![self.call.0, ask],
            )?;
            transaction.execute(
                "INSERT INTO askback_answers (call, ask) VALUES (?1, ?2)
                 ON CONFLICT DO UPDATE SET reply = NULL",
                params![self.call.0, ask],
            )?;
        }
        self.hand_over(transaction)
    }

    /// Returns a parked call that has been answered already, unless `keep` has a lease. Otherwise sets its lease to `keep`.
    fn hand_over(&self, transaction: &Transaction<'_>) -> Result<ParkOutcome, StoreError> {
        if self.keep.is_none() {
            let taken = taken(transaction, self.call, false)?;
            if !taken.answers.is_empty() {
                return Ok(ParkOutcome::Answered(taken));
            }
        }
        transaction.execute(
            "UPDATE askback_calls SET node = ?2, lease = ?3 WHERE id = ?1",
            params![
                self.call.0,
                self.keep.map(|lease| lease.node.0),
                self.keep.map(|lease| integer(lease.until)),
            ],
        )?;
        Ok(ParkOutcome::Waiting)
    }
}

fn number(count: i64) -> u64 {
    u64::try_from(count).unwrap_or(0)
}

fn append(
    transaction: &Transaction<'_>,
    call: CallId,
    first: i64,
    events: &[Event],
) -> Result<(), StoreError> {
    for (number, event) in (first..).zip(events) {
        transaction.execute(
            "INSERT INTO askback_events (call, number, ask, message) VALUES (?1, ?2, ?3, ?4)",
            params![call.0, number, event.ask, event.message],
        )?;
    }
    Ok(())
}

fn taken(
    transaction: &Transaction<'_>,
    call: CallId,
    was_interrupted: bool,
) -> Result<TakenCall, StoreError> {
    let mut select = transaction.prepare(
        "SELECT ask, reply FROM askback_answers WHERE call = ?1 AND reply IS NOT NULL ORDER BY ask",
    )?;
    let answers = select.query_map([call.0], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let answers = answers.collect::<Result<_, _>>()?;
    let taken = transaction.query_row(
        "SELECT session, epoch, record, next_event FROM askback_calls WHERE id = ?1",
        [call.0],
        |row| {
            Ok(TakenCall {
                call,
                session: SessionId(row.get(0)?),
                epoch: row.get(1)?,
                record: row.get(2)?,
                answers,
                next_event: number(row.get(3)?),
                was_interrupted,
            })
        },
    )?;
    Ok(taken)
}

fn take(
    transaction: &Transaction<'_>,
    call: CallId,
    lease: Lease,
    now: Millis,
) -> Result<Option<TakenCall>, StoreError> {
    let was_interrupted: Option<bool> = find(
        transaction,
        "SELECT node IS NOT NULL FROM askback_calls
             WHERE id = ?1 AND is_over = 0 AND (node IS NULL OR lease <= ?2)",
        params![call.0, integer(now)],
    )?;
    let Some(was_interrupted) = was_interrupted else {
        return Ok(None);
    };
    transaction.execute(
        "UPDATE askback_calls SET node = ?2, lease = ?3, epoch = epoch + 1, wake = NULL WHERE id = ?1",
        params![call.0, lease.node.0, integer(lease.until)],
    )?;
    taken(transaction, call, was_interrupted).map(Some)
}

fn answer(
    transaction: &Transaction<'_>,
    (call, session, ask): (CallId, SessionId, u32),
    reply: &[u8],
    lease: Lease,
    now: Millis,
) -> Result<AnswerOutcome, StoreError> {
    let is_over: Option<bool> = find(
        transaction,
        "SELECT is_over FROM askback_calls WHERE id = ?1 AND session = ?2",
        params![call.0, session.0],
    )?;
    match is_over {
        None => return Ok(AnswerOutcome::Unknown),
        Some(true) => return Ok(AnswerOutcome::Duplicate),
        Some(false) => {}
    }
    let kept = transaction.execute(
        "INSERT INTO askback_answers (call, ask, reply) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING",
        params![call.0, ask, reply],
    )?;
    if kept == 0 {
        return Ok(AnswerOutcome::Duplicate);
    }
    transaction.execute(
        "UPDATE askback_calls SET size = size + ?2 WHERE id = ?1",
        params![call.0, count(reply.len())],
    )?;
    let taken = take(transaction, call, lease, now)?;
    Ok(taken.map_or(AnswerOutcome::Kept, AnswerOutcome::Taken))
}

fn finish(
    transaction: &Transaction<'_>,
    (call, epoch): (CallId, Option<u32>),
    events: &[Event],
    status: Option<&[u8]>,
    expires: Millis,
) -> Result<bool, StoreError> {
    let next: Option<i64> = find(
        transaction,
        "SELECT next_event FROM askback_calls
             WHERE id = ?1 AND epoch = ifnull(?2, epoch) AND is_over = 0",
        params![call.0, epoch],
    )?;
    let Some(next) = next else {
        return Ok(false);
    };
    append(transaction, call, next, events)?;
    let bytes: usize = events.iter().map(|event| event.message.len()).sum();
    transaction.execute(
        "UPDATE askback_calls SET is_over = 1, node = NULL, lease = NULL, wake = NULL,
             next_event = next_event + ?2, size = size - length(record) + ?3, record = x'',
             expires = ?4, epoch = epoch + ?5
         WHERE id = ?1",
        params![
            call.0,
            count(events.len()),
            count(bytes),
            integer(expires),
            epoch.is_none(),
        ],
    )?;
    if let Some(status) = status {
        set_status(transaction, call, status)?;
    }
    transaction.execute(
        "UPDATE askback_answers SET reply = NULL WHERE call = ?1",
        [call.0],
    )?;
    Ok(true)
}

fn set_status(
    transaction: &Transaction<'_>,
    call: CallId,
    status: &[u8],
) -> Result<(), StoreError> {
    transaction.execute(
        "UPDATE askback_calls SET status = ?2, size = size - ifnull(length(status), 0) + length(?2)
         WHERE id = ?1",
        params![call.0, status],
    )?;
    Ok(())
}

/// Stores a note about a session, or that it has ended, and removes older notes if there is no room.
fn keep(
    transaction: &Transaction<'_>,
    session: &SessionRequest,
    note: Option<&[u8]>,
    max_bytes: usize,
) -> Result<(), StoreError> {
    transaction.execute(
        "DELETE FROM askback_sessions WHERE id = ?1",
        [session.session.0],
    )?;
    let size = OVERHEAD + note.map_or(0, <[u8]>::len);
    loop {
        let held = Table::Sessions.held(transaction, session.owner)?;
        let gone = match share::admit_state(held, size, max_bytes)? {
            Eviction::None => break,
            Eviction::OfOwner => transaction.execute(
                "DELETE FROM askback_sessions WHERE id =
                     (SELECT id FROM askback_sessions WHERE owner = ?1 ORDER BY expires LIMIT 1)",
                [blob(session.owner.as_ref())],
            )?,
            Eviction::OfLargest => transaction.execute(
                "DELETE FROM askback_sessions WHERE id =
                     (SELECT id FROM askback_sessions ORDER BY expires LIMIT 1)",
                [],
            )?,
        };
        if gone == 0 {
            break;
        }
    }
    transaction.execute(
        "INSERT INTO askback_sessions (id, owner, size, ended_at, note, expires)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        params![
            session.session.0,
            blob(session.owner.as_ref()),
            count(size),
            note.is_none().then_some(integer(session.now)),
            note,
            integer(session.expires),
        ],
    )?;
    Ok(())
}

fn log_event(row: &Row<'_>) -> rusqlite::Result<LogEvent> {
    Ok(LogEvent {
        number: number(row.get(0)?),
        is_answered: row.get(1)?,
        message: row.get(2)?,
    })
}

/// How many hints are kept for slower readers.
const MAX_HINTS_KEPT: usize = 1024;

/// The interval at which hints of other processes are polled.
const LOOK: Duration = Duration::from_millis(250);

fn hints_after(connection: &Connection, after: Option<u64>) -> Result<HeardHints, StoreError> {
    let (first, last): (i64, i64) = connection.query_row(
        "SELECT ifnull(min(id), 1), ifnull(max(id), 0) FROM askback_hints",
        [],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )?;
    let after = after.map_or(last, integer);
    let mut select = connection.prepare(
        "SELECT session, hint FROM askback_hints WHERE id > ?1 AND id <= ?2 ORDER BY id",
    )?;
    let hints = select.query_map([after, last], |row| {
        let session: Option<[u8; 16]> = row.get(0)?;
        let topic = session.map_or(Topic::Changed, |session| Topic::Session(SessionId(session)));
        Ok((topic, row.get(1)?))
    })?;
    Ok(HeardHints {
        hints: hints.collect::<Result<_, _>>()?,
        cursor: number(last.max(after)),
        has_gap: after < first - 1,
    })
}

impl Bus for SqliteStore {
    fn publish(&self, topic: Topic, hint: &[u8]) {
        let session = match topic {
            Topic::Call(_) => return,
            Topic::Session(SessionId(session)) => Some(session),
            Topic::Changed => None,
        };
        let hint = hint.to_vec();
        self.begin(move |connection| {
            let connection = connection.transaction()?;
            connection.execute(
                "INSERT INTO askback_hints (session, hint) VALUES (?1, ?2)",
                params![session, hint],
            )?;
            connection.execute(
                "DELETE FROM askback_hints WHERE id <= ?1",
                [connection.last_insert_rowid() - count(MAX_HINTS_KEPT)],
            )?;
            connection.commit()?;
            Ok(())
        });
    }

    fn hear(&self, after: Option<u64>) -> StoreFuture<'_, HeardHints> {
        Box::pin(async move {
            loop {
                let heard = self.run(move |connection| hints_after(connection, after));
                let heard = heard.await?;
                if after != Some(heard.cursor) {
                    return Ok(heard);
                }
                tokio::time::sleep(LOOK).await;
            }
        })
    }

    fn passes_calls(&self) -> bool {
        false
    }
}

impl Journal for SqliteStore {
    fn park<'a>(&'a self, call: ParkRequest<'a>) -> StoreFuture<'a, ParkOutcome> {
        let (request, max_bytes) = (OwnParkRequest::of(&call), self.max_bytes());
        Box::pin(self.write(move |transaction| request.park(transaction, max_bytes)))
    }

    fn answer<'a>(&'a self, request: AnswerRequest<'a>) -> StoreFuture<'a, AnswerOutcome> {
        let AnswerRequest {
            call,
            session,
            ask,
            reply,
            lease,
            now,
        } = request;
        let reply = reply.to_vec();
        Box::pin(self.write(move |transaction| {
            answer(transaction, (call, session, ask), &reply, lease, now)
        }))
    }

    fn finish<'a>(&'a self, end: FinishRequest<'a>) -> StoreFuture<'a, bool> {
        let FinishRequest {
            call,
            epoch,
            events,
            status,
            expires,
        } = end;
        let (events, status) = (events.to_vec(), status.map(<[u8]>::to_vec));
        Box::pin(self.write(move |transaction| {
            let status = status.as_deref();
            finish(transaction, (call, epoch), &events, status, expires)
        }))
    }

    fn read(
        &self,
        call: CallId,
        session: SessionId,
        after: u64,
        most: usize,
    ) -> StoreFuture<'_, Option<Log>> {
        Box::pin(self.run(move |connection| {
            let transaction = connection.transaction()?;
            let is_over: Option<bool> = find(
                &transaction,
                "SELECT is_over FROM askback_calls WHERE id = ?1 AND session = ?2",
                params![call.0, session.0],
            )?;
            let Some(is_over) = is_over else {
                return Ok(None);
            };
            let mut select = transaction.prepare(
                "SELECT number, answers.ask IS NOT NULL, message FROM askback_events AS events
                 LEFT JOIN askback_answers AS answers
                     ON answers.call = events.call AND answers.ask = events.ask
                 WHERE events.call = ?1 AND number > ?2 ORDER BY number LIMIT ?3",
            )?;
            let most_and_one = count(most).saturating_add(1);
            let after = integer(after);
            let events = select.query_map(params![call.0, after, most_and_one], log_event)?;
            let mut events = events.collect::<Result<Vec<_>, _>>()?;
            let is_whole = events.len() <= most;
            events.truncate(most);
            Ok(Some(Log {
                events,
                is_over: is_over && is_whole,
            }))
        }))
    }

    fn due(&self, lease: Lease, now: Millis, most: usize) -> StoreFuture<'_, Vec<TakenCall>> {
        Box::pin(async move {
            // A write transaction would delay other processes, and usually no call is due.
            let due = self.run(move |connection| {
                let mut select = connection.prepare(
                    "SELECT id FROM askback_calls WHERE is_over = 0 AND
                         (node IS NULL AND wake <= ?1 OR node IS NOT NULL AND lease <= ?1)
                     LIMIT ?2",
                )?;
                let due = select.query_map(params![integer(now), count(most)], |row| {
                    row.get(0).map(CallId)
                })?;
                Ok(due.collect::<Result<Vec<_>, _>>()?)
            });
            let due = due.await?;
            if due.is_empty() {
                return Ok(Vec::new());
            }
            self.write(move |transaction| {
                let mut all = Vec::new();
                for call in due {
                    // Another process may have taken it or parked it again in the meantime.
                    let is_due: bool = transaction.query_row(
                        "SELECT count(*) > 0 FROM askback_calls WHERE id = ?1 AND
                             (node IS NULL AND wake <= ?2 OR node IS NOT NULL AND lease <= ?2)",
                        params![call.0, integer(now)],
                        |row| row.get(0),
                    )?;
                    if is_due {
                        all.extend(take(transaction, call, lease, now)?);
                    }
                }
                Ok(all)
            })
            .await
        })
    }

    fn renew<'a>(
        &'a self,
        held: &'a [(CallId, u32)],
        until: Millis,
    ) -> StoreFuture<'a, Vec<(CallId, u32)>> {
        let held = held.to_vec();
        Box::pin(self.write(move |transaction| {
            let mut lost = Vec::new();
            for (call, epoch) in held {
                let known = transaction.execute(
                    "UPDATE askback_calls SET lease = iif(node IS NULL, NULL, ?3)
                     WHERE id = ?1 AND epoch = ?2",
                    params![call.0, epoch, integer(until)],
                )?;
                if known == 0 {
                    lost.push((call, epoch));
                }
            }
            Ok(lost)
        }))
    }

    fn set_status<'a>(&'a self, call: CallId, epoch: u32, status: &'a [u8]) -> StoreFuture<'a, ()> {
        let status = status.to_vec();
        Box::pin(self.write(move |transaction| {
            let is_its: bool = transaction.query_row(
                "SELECT count(*) > 0 FROM askback_calls
                 WHERE id = ?1 AND epoch = ?2 AND is_over = 0 AND node IS NOT NULL",
                params![call.0, epoch],
                |row| row.get(0),
            )?;
            match is_its {
                true => set_status(transaction, call, &status),
                false => Ok(()),
            }
        }))
    }

    fn task(&self, call: CallId, session: SessionId) -> StoreFuture<'_, Option<TaskState>> {
        Box::pin(self.run(move |connection| {
            let transaction = connection.transaction()?;
            let status: Option<Option<Vec<u8>>> = find(
                &transaction,
                "SELECT status FROM askback_calls WHERE id = ?1 AND session = ?2",
                params![call.0, session.0],
            )?;
            let Some(status) = status.flatten() else {
                return Ok(None);
            };
            let mut select =
                transaction.prepare("SELECT ask FROM askback_answers WHERE call = ?1")?;
            let answered = select.query_map([call.0], |row| row.get(0))?;
            let answered = answered.collect::<Result<_, _>>()?;
            Ok(Some(TaskState { status, answered }))
        }))
    }

    fn cancel(&self, session: SessionId, request: [u8; 16]) -> StoreFuture<'_, bool> {
        Box::pin(self.write(move |transaction| {
            let gone = transaction.execute(
                "DELETE FROM askback_calls WHERE session = ?1 AND request = ?2 AND is_over = 0",
                params![session.0, request],
            )?;
            Ok(gone > 0)
        }))
    }

    fn note<'a>(&'a self, session: SessionRequest, note: &'a [u8]) -> StoreFuture<'a, ()> {
        let (note, max_bytes) = (note.to_vec(), self.max_bytes());
        Box::pin(self.write(move |transaction| {
            let is_ended: Option<bool> = find(
                transaction,
                "SELECT ended_at IS NOT NULL FROM askback_sessions WHERE id = ?1",
                [session.session.0],
            )?;
            match is_ended {
                Some(true) => Ok(()),
                _ => keep(transaction, &session, Some(&note), max_bytes),
            }
        }))
    }

    fn end_session(&self, session: SessionRequest) -> StoreFuture<'_, ()> {
        let max_bytes = self.max_bytes();
        Box::pin(self.write(move |transaction| {
            transaction.execute(
                "DELETE FROM askback_calls WHERE session = ?1",
                [session.session.0],
            )?;
            keep(transaction, &session, None, max_bytes)
        }))
    }

    fn session(&self, session: SessionId) -> StoreFuture<'_, SessionNote> {
        Box::pin(self.run(move |connection| {
            let note = connection
                .query_row(
                    "SELECT ended_at IS NOT NULL, note FROM askback_sessions WHERE id = ?1",
                    [session.0],
                    |row| {
                        Ok(SessionNote {
                            is_ended: row.get(0)?,
                            note: row.get(1)?,
                        })
                    },
                )
                .optional()?;
            Ok(note.unwrap_or_default())
        }))
    }

    fn ended_since(&self, since: Millis) -> StoreFuture<'_, Vec<SessionId>> {
        Box::pin(self.run(move |connection| {
            let mut select = connection.prepare(
                "SELECT id FROM askback_sessions WHERE ended_at >= ?1 ORDER BY ended_at",
            )?;
            let ended = select.query_map([integer(since)], |row| row.get(0).map(SessionId))?;
            Ok(ended.collect::<Result<_, _>>()?)
        }))
    }

    fn announce(&self, process: NodeId, until: Millis, now: Millis) -> StoreFuture<'_, u64> {
        Box::pin(self.write(move |transaction| {
            transaction.execute(
                "INSERT INTO askback_processes (id, expires) VALUES (?1, ?2)
                 ON CONFLICT (id) DO UPDATE SET expires = excluded.expires",
                (process.0, integer(until)),
            )?;
            let others: i64 = transaction.query_row(
                "SELECT count(*) FROM askback_processes WHERE expires > ?1 AND id <> ?2",
                (integer(now), process.0),
                |row| row.get(0),
            )?;
            Ok(number(others) + 1)
        }))
    }

    fn purge(&self, now: Millis) -> StoreFuture<'_, usize> {
        Box::pin(self.write(move |transaction| {
            let calls = Table::Calls.purge(transaction, now)?;
            let sessions = Table::Sessions.purge(transaction, now)?;
            let processes = Table::Processes.purge(transaction, now)?;
            Ok(calls + sessions + processes)
        }))
    }

    fn status(&self, now: Millis) -> StoreFuture<'_, JournalStatus> {
        Box::pin(self.run(move |connection| {
            let transaction = connection.transaction()?;
            let mut select = transaction
                .prepare("SELECT node, lease, wake FROM askback_calls WHERE is_over = 0")?;
            let calls = select.query_map([], |row| {
                let lease: Option<i64> = row.get(1)?;
                let node: Option<[u8; 8]> = row.get(0)?;
                let lease = node.zip(lease).map(|(node, until)| Lease {
                    node: NodeId(node),
                    until: number(until),
                });
                let wake: Option<i64> = row.get(2)?;
                Ok((lease, wake.map(number)))
            })?;
            let calls = calls.collect::<Result<Vec<_>, _>>()?;
            let mut status = JournalStatus::of_calls(calls, now);
            let (questions, bytes) = transaction.query_row(OPEN_AND_BYTES, [], |row| {
                Ok((number(row.get(0)?), number(row.get(1)?)))
            })?;
            (status.open_questions, status.bytes) = (questions, bytes);
            Ok(status)
        }))
    }
}

const OPEN_AND_BYTES: &str = "SELECT
    (SELECT count(*) FROM askback_events AS events
     JOIN askback_calls AS calls ON calls.id = events.call AND calls.is_over = 0
     LEFT JOIN askback_answers AS answers ON answers.call = events.call AND answers.ask = events.ask
     WHERE events.ask IS NOT NULL AND answers.ask IS NULL),
    (SELECT ifnull(sum(size), 0) FROM askback_calls)";
