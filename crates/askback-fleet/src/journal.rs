//! Parked calls, their answers and logs, and sessions.
//!
//! Each transaction locks the row of its call first, and several calls in the order of their ids, so transactions wait for
//! one another and never deadlock.

use askback::{
    journal::{
        AnswerOutcome, AnswerRequest, CallId, Event, FinishRequest, JournalStatus, Lease, Log,
        LogEvent, Millis, NodeId, ParkOutcome, ParkRequest, SessionId, SessionRequest, TakenCall,
        TaskState,
    },
    store::share::{self, Eviction, OVERHEAD},
};
use askback_sql::deadpool_postgres::{GenericClient, Transaction};

use crate::{
    failure::Failure,
    schema::{blob, count, execute, held, integer, row, rows},
};

fn number(count: i64) -> u64 {
    u64::try_from(count).unwrap_or(0)
}

/// An epoch, or the number of a question.
fn small(count: i64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

pub(crate) async fn park(
    transaction: &Transaction<'_>,
    request: &ParkRequest<'_>,
    max_bytes: usize,
) -> Result<ParkOutcome, Failure> {
    let call = &request.call.0[..];
    let select = "SELECT epoch, is_over, next_event, record = $2 FROM askback_calls WHERE id = $1 FOR UPDATE";
    let known = row(transaction, select, &[&call, &request.record]).await?;
    let is_known = known.is_some();
    let first_event: i64 = match known {
        Some(row) => {
            let (epoch, is_over): (i64, bool) = (row.try_get(0)?, row.try_get(1)?);
            if epoch != i64::from(request.epoch) || is_over {
                return Ok(ParkOutcome::Lost);
            }
            if row.try_get(3)? {
                return handed_over(transaction, request).await;
            }
            row.try_get(2)?
        }
        None if request.epoch == 0 => integer(request.first_event),
        None => return Ok(ParkOutcome::Lost),
    };
    let events: usize = request.events.iter().map(|it| it.message.len()).sum();
    let bytes = request.record.len() + request.status.map_or(0, <[u8]>::len) + events;
    // Only a new call counts against its owner's share: a call that continues must not be lost.
    let owner = request.owner.filter(|_| !is_known);
    let room = held(transaction, "askback_calls", owner).await?;
    share::admit_claim(room, OVERHEAD + bytes, max_bytes)?;
    let wake = request.wake.map(integer);
    let next = first_event.saturating_add(count(request.events.len()));
    let expires = integer(request.expires);
    let kept = match is_known {
        true => {
            let update = "UPDATE askback_calls SET wake = $2, next_event = $3,
                 size = size - length(record) + $4
                     - CASE WHEN $6::bytea IS NULL THEN 0 ELSE coalesce(length(status), 0) END,
                 record = $5, status = coalesce($6, status), expires = $7
             WHERE id = $1";
            let size = count(bytes);
            execute(
                transaction,
                update,
                &[
                    &call,
                    &wake,
                    &next,
                    &size,
                    &request.record,
                    &request.status,
                    &expires,
                ],
            )
            .await?
        }
        false => {
            let insert = "INSERT INTO askback_calls
                 (id, session, request, owner, epoch, wake, is_over, next_event, size, record, status, expires)
             VALUES ($1, $2, $3, $4, 0, $5, false, $6, $7, $8, $9, $10) ON CONFLICT DO NOTHING";
            let (session, digest) = (&request.session.0[..], &request.request[..]);
            let (owner, size) = (blob(request.owner.as_ref()), count(OVERHEAD + bytes));
            execute(
                transaction,
                insert,
                &[
                    &call,
                    &session,
                    &digest,
                    &owner,
                    &wake,
                    &next,
                    &size,
                    &request.record,
                    &request.status,
                    &expires,
                ],
            )
            .await?
        }
    };
    if kept == 0 {
        return Ok(ParkOutcome::Lost);
    }
    append(transaction, request.call, first_event, request.events).await?;
    for ask in request.settled {
        let ask = i64::from(*ask);
        let shrink = "UPDATE askback_calls SET size = size - coalesce(
                 (SELECT length(reply) FROM askback_answers WHERE call = $1 AND ask = $2), 0)
             WHERE id = $1";
        execute(transaction, shrink, &[&call, &ask]).await?;
        let settle = "INSERT INTO askback_answers (call, ask) VALUES ($1, $2)
             ON CONFLICT (call, ask) DO UPDATE SET reply = NULL";
        execute(transaction, settle, &[&call, &ask]).await?;
    }
    handed_over(transaction, request).await
}

/// Returns a parked call that has been answered already, unless `keep` has a lease. Otherwise sets its lease to `keep`.
async fn handed_over(
    transaction: &Transaction<'_>,
    request: &ParkRequest<'_>,
) -> Result<ParkOutcome, Failure> {
    let call = &request.call.0[..];
    if request.keep.is_none() {
        let taken = taken(transaction, request.call, false).await?;
        if let Some(taken) = taken.filter(|taken| !taken.answers.is_empty()) {
            return Ok(ParkOutcome::Answered(taken));
        }
    }
    let node = request.keep.as_ref().map(|lease| &lease.node.0[..]);
    let lease = request.keep.map(|lease| integer(lease.until));
    let update = "UPDATE askback_calls SET node = $2, lease = $3 WHERE id = $1";
    execute(transaction, update, &[&call, &node, &lease]).await?;
    Ok(ParkOutcome::Waiting)
}

async fn append(
    transaction: &Transaction<'_>,
    call: CallId,
    first: i64,
    events: &[Event],
) -> Result<(), Failure> {
    let insert = "INSERT INTO askback_events (call, number, ask, message) VALUES ($1, $2, $3, $4)";
    for (number, event) in (first..).zip(events) {
        let ask = event.ask.map(i64::from);
        execute(
            transaction,
            insert,
            &[&&call.0[..], &number, &ask, &event.message],
        )
        .await?;
    }
    Ok(())
}

pub(crate) fn id(bytes: &[u8]) -> [u8; 16] {
    // Only this program writes ids, and each has this length.
    bytes.try_into().unwrap_or_default()
}

/// Reads a call for the process that has taken it.
async fn taken(
    transaction: &Transaction<'_>,
    call: CallId,
    was_interrupted: bool,
) -> Result<Option<TakenCall>, Failure> {
    let select =
        "SELECT ask, reply FROM askback_answers WHERE call = $1 AND reply IS NOT NULL ORDER BY ask";
    let mut answers = Vec::new();
    for row in rows(transaction, select, &[&&call.0[..]]).await? {
        answers.push((small(row.try_get(0)?), row.try_get(1)?));
    }
    let select = "SELECT session, epoch, record, next_event FROM askback_calls WHERE id = $1";
    let Some(row) = row(transaction, select, &[&&call.0[..]]).await? else {
        return Ok(None);
    };
    Ok(Some(TakenCall {
        call,
        session: SessionId(id(row.try_get(0)?)),
        epoch: small(row.try_get(1)?),
        record: row.try_get(2)?,
        answers,
        next_event: number(row.try_get(3)?),
        was_interrupted,
    }))
}

/// Takes a call if no process works on it. Its row is locked.
async fn take(
    transaction: &Transaction<'_>,
    call: CallId,
    lease: Lease,
    now: Millis,
) -> Result<Option<TakenCall>, Failure> {
    let select = "SELECT node IS NOT NULL FROM askback_calls
         WHERE id = $1 AND NOT is_over AND (node IS NULL OR lease <= $2)";
    let Some(free) = row(transaction, select, &[&&call.0[..], &integer(now)]).await? else {
        return Ok(None);
    };
    let update = "UPDATE askback_calls SET node = $2, lease = $3, epoch = epoch + 1, wake = NULL WHERE id = $1";
    let (node, until) = (&lease.node.0[..], integer(lease.until));
    execute(transaction, update, &[&&call.0[..], &node, &until]).await?;
    taken(transaction, call, free.try_get(0)?).await
}

pub(crate) async fn answer(
    transaction: &Transaction<'_>,
    request: &AnswerRequest<'_>,
) -> Result<AnswerOutcome, Failure> {
    let (call, session) = (&request.call.0[..], &request.session.0[..]);
    let select = "SELECT is_over FROM askback_calls WHERE id = $1 AND session = $2 FOR UPDATE";
    match row(transaction, select, &[&call, &session]).await? {
        None => return Ok(AnswerOutcome::Unknown),
        Some(row) if row.try_get(0)? => return Ok(AnswerOutcome::Duplicate),
        Some(_) => {}
    }
    let insert =
        "INSERT INTO askback_answers (call, ask, reply) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";
    let ask = i64::from(request.ask);
    if execute(transaction, insert, &[&call, &ask, &request.reply]).await? == 0 {
        return Ok(AnswerOutcome::Duplicate);
    }
    let grow = "UPDATE askback_calls SET size = size + $2 WHERE id = $1";
    execute(transaction, grow, &[&call, &count(request.reply.len())]).await?;
    let taken = take(transaction, request.call, request.lease, request.now).await?;
    Ok(taken.map_or(AnswerOutcome::Kept, AnswerOutcome::Taken))
}

pub(crate) async fn finish(
    transaction: &Transaction<'_>,
    end: &FinishRequest<'_>,
) -> Result<bool, Failure> {
    let (call, epoch) = (&end.call.0[..], end.epoch.map(i64::from));
    let select = "SELECT next_event FROM askback_calls
         WHERE id = $1 AND epoch = coalesce($2, epoch) AND NOT is_over FOR UPDATE";
    let Some(found) = row(transaction, select, &[&call, &epoch]).await? else {
        return Ok(false);
    };
    append(transaction, end.call, found.try_get(0)?, end.events).await?;
    let bytes: usize = end.events.iter().map(|event| event.message.len()).sum();
    let update = "UPDATE askback_calls SET is_over = true, node = NULL, lease = NULL, wake = NULL,
             next_event = next_event + $2, size = size - length(record) + $3, record = '',
             expires = $4, epoch = epoch + $5
         WHERE id = $1";
    let (events, bytes) = (count(end.events.len()), count(bytes));
    let (expires, taken_away) = (integer(end.expires), i64::from(epoch.is_none()));
    execute(
        transaction,
        update,
        &[&call, &events, &bytes, &expires, &taken_away],
    )
    .await?;
    if let Some(status) = end.status {
        set_status(transaction, end.call, status).await?;
    }
    let forget = "UPDATE askback_answers SET reply = NULL WHERE call = $1";
    execute(transaction, forget, &[&call]).await?;
    Ok(true)
}

async fn set_status(
    transaction: &Transaction<'_>,
    call: CallId,
    status: &[u8],
) -> Result<(), Failure> {
    let update = "UPDATE askback_calls SET status = $2::bytea,
             size = size - coalesce(length(status), 0) + length($2::bytea)
         WHERE id = $1";
    execute(transaction, update, &[&&call.0[..], &status]).await?;
    Ok(())
}

pub(crate) async fn set_status_at_work(
    transaction: &Transaction<'_>,
    (call, epoch): (CallId, u32),
    status: &[u8],
) -> Result<(), Failure> {
    let select = "SELECT 1 FROM askback_calls
         WHERE id = $1 AND epoch = $2 AND NOT is_over AND node IS NOT NULL FOR UPDATE";
    match row(transaction, select, &[&&call.0[..], &i64::from(epoch)]).await? {
        Some(_) => set_status(transaction, call, status).await,
        None => Ok(()),
    }
}

pub(crate) async fn read(
    client: &impl GenericClient,
    (call, session): (CallId, SessionId),
    after: u64,
    most: usize,
) -> Result<Option<Log>, Failure> {
    let (call, session) = (&call.0[..], &session.0[..]);
    // The end is read before the messages: a call that is over gets no more of them.
    let select = "SELECT is_over FROM askback_calls WHERE id = $1 AND session = $2";
    let Some(found) = row(client, select, &[&call, &session]).await? else {
        return Ok(None);
    };
    let is_over: bool = found.try_get(0)?;
    let select = "SELECT number, answers.ask IS NOT NULL, message FROM askback_events AS events
         LEFT JOIN askback_answers AS answers ON answers.call = events.call AND answers.ask = events.ask
         WHERE events.call = $1 AND number > $2 ORDER BY number LIMIT $3";
    let most_and_one = count(most).saturating_add(1);
    let mut events = Vec::new();
    for row in rows(client, select, &[&call, &integer(after), &most_and_one]).await? {
        events.push(LogEvent {
            number: number(row.try_get(0)?),
            is_answered: row.try_get(1)?,
            message: row.try_get(2)?,
        });
    }
    let is_whole = events.len() <= most;
    events.truncate(most);
    Ok(Some(Log {
        events,
        is_over: is_over && is_whole,
    }))
}

const DUE: &str = "SELECT id FROM askback_calls WHERE NOT is_over AND
     (node IS NULL AND wake <= $1 OR node IS NOT NULL AND lease <= $1) LIMIT $2";

/// Whether any call has to continue. Usually none does.
pub(crate) async fn is_due(client: &impl GenericClient, now: Millis) -> Result<bool, Failure> {
    Ok(row(client, DUE, &[&integer(now), &1_i64]).await?.is_some())
}

pub(crate) async fn due(
    transaction: &Transaction<'_>,
    lease: Lease,
    now: Millis,
    most: usize,
) -> Result<Vec<TakenCall>, Failure> {
    let select = format!("{DUE} FOR UPDATE SKIP LOCKED");
    let mut all = Vec::new();
    for row in rows(transaction, &select, &[&integer(now), &count(most)]).await? {
        let call = CallId(id(row.try_get(0)?));
        all.extend(take(transaction, call, lease, now).await?);
    }
    Ok(all)
}

pub(crate) async fn renew(
    transaction: &Transaction<'_>,
    held: &[(CallId, u32)],
    until: Millis,
) -> Result<Vec<(CallId, u32)>, Failure> {
    let calls: Vec<&[u8]> = held.iter().map(|(call, _)| &call.0[..]).collect();
    let epochs: Vec<i64> = held.iter().map(|(_, epoch)| i64::from(*epoch)).collect();
    let update =
        "UPDATE askback_calls SET lease = CASE WHEN node IS NULL THEN NULL ELSE $3::bigint END
         FROM (SELECT calls.id AS mine FROM askback_calls AS calls
               JOIN unnest($1::bytea[], $2::bigint[]) AS held (call, epoch)
                   ON calls.id = held.call AND calls.epoch = held.epoch
               ORDER BY calls.id FOR UPDATE OF calls) AS found
         WHERE id = mine RETURNING id";
    let mut known = Vec::new();
    for row in rows(transaction, update, &[&calls, &epochs, &integer(until)]).await? {
        known.push(CallId(id(row.try_get(0)?)));
    }
    let lost = held.iter().filter(|(call, _)| !known.contains(call));
    Ok(lost.copied().collect())
}

pub(crate) async fn task(
    client: &impl GenericClient,
    call: CallId,
    session: SessionId,
) -> Result<Option<TaskState>, Failure> {
    let (call, session) = (&call.0[..], &session.0[..]);
    let select = "SELECT status FROM askback_calls WHERE id = $1 AND session = $2";
    let found = row(client, select, &[&call, &session]).await?;
    let status: Option<Vec<u8>> = match found {
        Some(row) => row.try_get(0)?,
        None => None,
    };
    let Some(status) = status else {
        return Ok(None);
    };
    let select = "SELECT ask FROM askback_answers WHERE call = $1";
    let mut answered = Vec::new();
    for row in rows(client, select, &[&call]).await? {
        answered.push(small(row.try_get(0)?));
    }
    Ok(Some(TaskState { status, answered }))
}

pub(crate) async fn note(
    transaction: &Transaction<'_>,
    session: &SessionRequest,
    note: &[u8],
    max_bytes: usize,
) -> Result<(), Failure> {
    let select = "SELECT ended_at IS NOT NULL FROM askback_sessions WHERE id = $1 FOR UPDATE";
    match row(transaction, select, &[&&session.session.0[..]]).await? {
        Some(row) if row.try_get(0)? => Ok(()),
        _ => keep(transaction, session, Some(note), max_bytes).await,
    }
}

pub(crate) async fn end_session(
    transaction: &Transaction<'_>,
    session: &SessionRequest,
    max_bytes: usize,
) -> Result<(), Failure> {
    let delete = "DELETE FROM askback_calls WHERE id = ANY (ARRAY
         (SELECT id FROM askback_calls WHERE session = $1 ORDER BY id FOR UPDATE))";
    execute(transaction, delete, &[&&session.session.0[..]]).await?;
    keep(transaction, session, None, max_bytes).await
}

/// Stores the note of a session, or `None` if the session has ended. Removes older notes if there
/// is no room.
async fn keep(
    transaction: &Transaction<'_>,
    session: &SessionRequest,
    note: Option<&[u8]>,
    max_bytes: usize,
) -> Result<(), Failure> {
    let (id, owner) = (&session.session.0[..], blob(session.owner.as_ref()));
    let delete = "DELETE FROM askback_sessions WHERE id = $1";
    execute(transaction, delete, &[&id]).await?;
    let size = OVERHEAD + note.map_or(0, <[u8]>::len);
    loop {
        let room = held(transaction, "askback_sessions", session.owner).await?;
        let gone = match share::admit_state(room, size, max_bytes)? {
            Eviction::None => break,
            Eviction::OfOwner => {
                let delete = "DELETE FROM askback_sessions WHERE id =
                     (SELECT id FROM askback_sessions WHERE owner = $1 ORDER BY expires LIMIT 1)";
                execute(transaction, delete, &[&owner]).await?
            }
            Eviction::OfLargest => {
                let delete = "DELETE FROM askback_sessions WHERE id =
                     (SELECT id FROM askback_sessions ORDER BY expires LIMIT 1)";
                execute(transaction, delete, &[]).await?
            }
        };
        if gone == 0 {
            break;
        }
    }
    // Another process may have stored a note meanwhile. An ended session stays ended, whatever
    // notes follow.
    let insert = "INSERT INTO askback_sessions (id, owner, size, ended_at, note, expires)
         VALUES ($1, $2, $3, $4, $5, $6)
         ON CONFLICT (id) DO UPDATE SET size = excluded.size, ended_at = excluded.ended_at,
             note = excluded.note, expires = excluded.expires
         WHERE askback_sessions.ended_at IS NULL";
    let ended_at = note.is_none().then_some(integer(session.now));
    let (size, expires) = (count(size), integer(session.expires));
    execute(
        transaction,
        insert,
        &[&id, &owner, &size, &ended_at, &note, &expires],
    )
    .await?;
    Ok(())
}

pub(crate) async fn purge(transaction: &Transaction<'_>, now: Millis) -> Result<usize, Failure> {
    let delete = "DELETE FROM askback_calls WHERE id = ANY (ARRAY
         (SELECT id FROM askback_calls WHERE expires <= $1 AND (node IS NULL OR lease <= $1)
          FOR UPDATE SKIP LOCKED))";
    let calls = execute(transaction, delete, &[&integer(now)]).await?;
    let sessions = crate::claims::purge(transaction, "askback_sessions", now).await?;
    Ok(usize::try_from(calls)
        .unwrap_or(usize::MAX)
        .saturating_add(sessions))
}

/// The number of open questions, and the bytes of all calls.
const OPEN_AND_BYTES: &str = "SELECT
    (SELECT count(*) FROM askback_events AS events
     JOIN askback_calls AS calls ON calls.id = events.call AND NOT calls.is_over
     LEFT JOIN askback_answers AS answers ON answers.call = events.call AND answers.ask = events.ask
     WHERE events.ask IS NOT NULL AND answers.ask IS NULL),
    (SELECT coalesce(sum(size), 0)::bigint FROM askback_calls)";

pub(crate) async fn status(
    client: &impl GenericClient,
    now: Millis,
) -> Result<JournalStatus, Failure> {
    let select = "SELECT node, lease, wake FROM askback_calls WHERE NOT is_over";
    let mut calls = Vec::new();
    for row in rows(client, select, &[]).await? {
        let node: Option<&[u8]> = row.try_get(0)?;
        let lease: Option<i64> = row.try_get(1)?;
        let wake: Option<i64> = row.try_get(2)?;
        let lease = node.zip(lease).map(|(node, until)| Lease {
            node: NodeId(node.try_into().unwrap_or_default()),
            until: number(until),
        });
        calls.push((lease, wake.map(number)));
    }
    let mut status = JournalStatus::of_calls(calls, now);
    if let Some(row) = row(client, OPEN_AND_BYTES, &[]).await? {
        status.open_questions = number(row.try_get(0)?);
        status.bytes = number(row.try_get(1)?);
    }
    Ok(status)
}
