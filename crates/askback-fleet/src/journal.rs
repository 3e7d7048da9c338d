//! Parked calls, their answers and logs, and sessions.
//!
//! Each transaction locks the row of its call first, and several calls in the order of their ids, so transactions wait for
//! one another and never deadlock. In a statement with several parts, the other parts read the one that locks the row.
//!
//! A statement that waited for a row sees the newest row, but other tables as they were when it began. `changes` tells.

use askback::{
    journal::{
        AnswerOutcome, AnswerRequest, CallId, Event, FinishRequest, JournalStatus, Lease, Log,
        LogEvent, Millis, NodeId, ParkOutcome, ParkRequest, SessionId, SessionRequest, TakenCall,
        TaskState,
    },
    store::share::{self, OVERHEAD},
};
use askback_sql::deadpool_postgres::{GenericClient, Object, Transaction};

use crate::{
    failure::Failure,
    room::TableBytes,
    schema::{blob, count, execute, held, integer, row, rows},
};

fn number(count: i64) -> u64 {
    u64::try_from(count).unwrap_or(0)
}

/// An epoch, or the number of a question.
fn small(count: i64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// The messages of a request, as values of two columns.
fn columns(events: &[Event]) -> (Vec<Option<i64>>, Vec<&[u8]>) {
    let asks = events.iter().map(|event| event.ask.map(i64::from));
    let messages = events.iter().map(|event| &*event.message);
    (asks.collect(), messages.collect())
}

/// The bytes that a request adds to its call.
fn bytes(request: &ParkRequest<'_>) -> usize {
    let events: usize = request.events.iter().map(|it| it.message.len()).sum();
    request.record.len() + request.status.map_or(0, <[u8]>::len) + events
}

/// Parks a call. A new one without a lease takes one statement, which is one round trip. The others take a transaction,
/// which ends without effect if its client has gone: carried out later, the statement would replace a newer record, or
/// store a lease that is over. `check_lease` is called before the commit.
pub(crate) async fn park(
    client: &mut Object,
    request: &ParkRequest<'_>,
    in_all: &TableBytes,
    max_bytes: usize,
    check_lease: impl Fn() -> Result<(), Failure>,
) -> Result<ParkOutcome, Failure> {
    let size = OVERHEAD + bytes(request);
    let used = match in_all.known(size, max_bytes) {
        Some(used) => Some(used),
        None => in_all.read(client, size, max_bytes).await?,
    };
    let share = used.map(|used| share::claim_share(used, max_bytes));
    let is_new = request.epoch == 0 && share.is_some();
    if is_new && request.keep.is_none() && insert(client, request, share).await? {
        in_all.add(size);
        return Ok(ParkOutcome::Waiting);
    }
    let transaction = client.transaction().await?;
    let parked = if is_new && request.keep.is_some() && insert(&transaction, request, share).await?
    {
        Some(ParkOutcome::Waiting)
    } else if share.is_some() {
        update(&transaction, request).await?
    } else {
        None
    };
    let outcome = match parked {
        Some(outcome) => outcome,
        None => park_locked(&transaction, request, max_bytes).await?,
    };
    check_lease()?;
    transaction.commit().await?;
    in_all.add(size);
    Ok(outcome)
}

/// Parks a call that was changed meanwhile, whose request is a repetition, or for which there is perhaps no room.
async fn park_locked(
    transaction: &Transaction<'_>,
    request: &ParkRequest<'_>,
    max_bytes: usize,
) -> Result<ParkOutcome, Failure> {
    let select = "SELECT epoch, is_over, record = $2 FROM askback_calls WHERE id = $1 FOR UPDATE";
    let call = &request.call.0[..];
    let is_new = match row(transaction, select, &[&call, &request.record]).await? {
        Some(known) => {
            let (epoch, is_over): (i64, bool) = (known.try_get(0)?, known.try_get(1)?);
            if epoch != i64::from(request.epoch) || is_over {
                return Ok(ParkOutcome::Lost);
            }
            if known.try_get(2)? {
                return handed_over(transaction, request).await;
            }
            false
        }
        None if request.epoch == 0 => true,
        None => return Ok(ParkOutcome::Lost),
    };
    // Only a new call counts against its owner's share: a call that continues must not be lost.
    let owner = request.owner.filter(|_| is_new);
    let room = held(transaction, "askback_calls", owner).await?;
    share::admit_claim(room, OVERHEAD + bytes(request), max_bytes)?;
    let parked = match is_new {
        true => {
            let is_parked = insert(transaction, request, None).await?;
            is_parked.then_some(ParkOutcome::Waiting)
        }
        false => update(transaction, request).await?,
    };
    Ok(parked.unwrap_or(ParkOutcome::Lost))
}

const INSERT: &str = "
    WITH held AS (
        SELECT CASE WHEN $15::bigint IS NULL THEN 0
            ELSE (SELECT coalesce(sum(size), 0) FROM askback_calls WHERE owner = $4::bytea) END AS bytes
    ), parked AS (
        INSERT INTO askback_calls (id, session, request, owner, epoch, changes, node, lease, wake, is_over, next_event,
            size, record, status, expires)
        SELECT $1::bytea, $2::bytea, $3::bytea, $4, 0, 0, $5::bytea, $6::bigint, $7::bigint, false,
            $8::bigint + cardinality($13::bigint[]), $9::bigint, $10::bytea, $11::bytea, $12::bigint
        FROM held WHERE $15 IS NULL OR bytes <= $15
        ON CONFLICT DO NOTHING RETURNING id
    ), logged AS (
        INSERT INTO askback_events (call, number, ask, message)
        SELECT id, $8 + place - 1, ask, message
        FROM parked, unnest($13, $14::bytea[]) WITH ORDINALITY AS event (ask, message, place)
    ), settled AS (
        INSERT INTO askback_answers (call, ask) SELECT DISTINCT id, ask FROM parked, unnest($16::bigint[]) AS ask
    )
    SELECT 1 FROM parked";

/// Parks a new call, if the other calls of its owner have at most so many bytes. Returns whether it is parked.
async fn insert(
    client: &impl GenericClient,
    request: &ParkRequest<'_>,
    share: Option<usize>,
) -> Result<bool, Failure> {
    let (asks, messages) = columns(request.events);
    let parked = rows(
        client,
        INSERT,
        &[
            &&request.call.0[..],
            &&request.session.0[..],
            &&request.request[..],
            &blob(request.owner.as_ref()),
            &request.keep.as_ref().map(|lease| &lease.node.0[..]),
            &request.keep.map(|lease| integer(lease.until)),
            &request.wake.map(integer),
            &integer(request.first_event),
            &count(OVERHEAD + bytes(request)),
            &request.record,
            &request.status,
            &integer(request.expires),
            &asks,
            &messages,
            &request.owner.and(share).map(count),
            &settled(request),
        ],
    )
    .await?;
    Ok(!parked.is_empty())
}

fn settled(request: &ParkRequest<'_>) -> Vec<i64> {
    request.settled.iter().copied().map(i64::from).collect()
}

/// It changes nothing if it does not see the row's last change: then it does not see the answer of that change either.
const UPDATE: &str = "
    WITH answered AS (
        SELECT count(*) FILTER (WHERE ask <> ALL ($11::bigint[])) > 0 AS is_more,
            coalesce(sum(length(reply)) FILTER (WHERE ask = ANY ($11)), 0) AS settled
        FROM askback_answers WHERE call = $1::bytea AND reply IS NOT NULL
    ), parked AS (
        UPDATE askback_calls SET
            node = CASE WHEN is_more AND $3::bytea IS NULL THEN node ELSE $3 END,
            lease = CASE WHEN is_more AND $3 IS NULL THEN lease ELSE $4::bigint END,
            wake = $5::bigint, changes = changes + 1, next_event = next_event + cardinality($9::bigint[]),
            size = size - length(record) - settled + $6::bigint
                - CASE WHEN $8::bytea IS NULL THEN 0 ELSE coalesce(length(status), 0) END,
            record = $7::bytea, status = coalesce($8, status), expires = $12::bigint
        FROM answered
        WHERE id = $1 AND epoch = $2::bigint AND NOT is_over AND record <> $7
            AND changes = (SELECT seen.changes FROM askback_calls AS seen WHERE seen.id = $1)
        RETURNING id, next_event - cardinality($9::bigint[]) AS first, is_more
    ), logged AS (
        INSERT INTO askback_events (call, number, ask, message)
        SELECT id, first + place - 1, ask, message
        FROM parked, unnest($9, $10::bytea[]) WITH ORDINALITY AS event (ask, message, place)
    ), settled AS (
        INSERT INTO askback_answers (call, ask) SELECT DISTINCT id, ask FROM parked, unnest($11) AS ask
        ON CONFLICT (call, ask) DO UPDATE SET reply = NULL
    )
    SELECT is_more FROM parked";

/// Parks a call that this process has taken. Returns `None` if it has lost the call, if the request is a repetition, or if
/// the call was changed at the same moment.
async fn update(
    transaction: &Transaction<'_>,
    request: &ParkRequest<'_>,
) -> Result<Option<ParkOutcome>, Failure> {
    let (asks, messages) = columns(request.events);
    let parked = row(
        transaction,
        UPDATE,
        &[
            &&request.call.0[..],
            &i64::from(request.epoch),
            &request.keep.as_ref().map(|lease| &lease.node.0[..]),
            &request.keep.map(|lease| integer(lease.until)),
            &request.wake.map(integer),
            &count(bytes(request)),
            &request.record,
            &request.status,
            &asks,
            &messages,
            &settled(request),
            &integer(request.expires),
        ],
    )
    .await?;
    let Some(parked) = parked else {
        return Ok(None);
    };
    if request.keep.is_some() || !parked.try_get::<_, bool>(0)? {
        return Ok(Some(ParkOutcome::Waiting));
    }
    let taken = taken(transaction, request.call, false).await?;
    Ok(Some(taken.map_or(ParkOutcome::Lost, ParkOutcome::Answered)))
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

const ANSWER: &str = "
    WITH found AS (
        SELECT id, epoch, changes, next_event, record, is_over, node IS NOT NULL AS is_held,
            NOT is_over AND (node IS NULL OR lease <= $7::bigint) AS is_free
        FROM askback_calls WHERE id = $1::bytea AND session = $2::bytea FOR UPDATE
    ), stored AS (
        INSERT INTO askback_answers (call, ask, reply) SELECT id, $3::bigint, $4::bytea FROM found WHERE NOT is_over
        ON CONFLICT DO NOTHING RETURNING call
    ), taken AS (
        UPDATE askback_calls AS it SET size = it.size + length($4), changes = it.changes + 1,
            node = CASE WHEN is_free THEN $5::bytea ELSE it.node END,
            lease = CASE WHEN is_free THEN $6::bigint ELSE it.lease END,
            wake = CASE WHEN is_free THEN NULL ELSE it.wake END,
            epoch = it.epoch + is_free::int
        FROM stored, found WHERE it.id = stored.call AND found.id = stored.call
    )
    SELECT is_over OR NOT EXISTS (SELECT FROM stored), is_free, is_held, epoch + 1, next_event,
        CASE WHEN is_free THEN record END, asks, replies,
        changes = (SELECT seen.changes FROM askback_calls AS seen WHERE seen.id = $1)
    FROM found LEFT JOIN LATERAL (
        SELECT array_agg(ask ORDER BY ask) AS asks, array_agg(reply ORDER BY ask) AS replies
        FROM askback_answers WHERE call = found.id AND reply IS NOT NULL
    ) AS earlier ON is_free";

pub(crate) async fn answer(
    transaction: &Transaction<'_>,
    request: &AnswerRequest<'_>,
) -> Result<AnswerOutcome, Failure> {
    let found = row(
        transaction,
        ANSWER,
        &[
            &&request.call.0[..],
            &&request.session.0[..],
            &i64::from(request.ask),
            &request.reply,
            &&request.lease.node.0[..],
            &integer(request.lease.until),
            &integer(request.now),
        ],
    )
    .await?;
    let Some(found) = found else {
        return Ok(AnswerOutcome::Unknown);
    };
    if found.try_get(0)? {
        return Ok(AnswerOutcome::Duplicate);
    }
    if !found.try_get::<_, bool>(1)? {
        return Ok(AnswerOutcome::Kept);
    }
    let (was_interrupted, epoch) = (found.try_get(2)?, small(found.try_get(3)?));
    if !found.try_get::<_, bool>(8)? {
        // The call was changed at the same moment, and its other answers, too.
        let taken = taken(transaction, request.call, was_interrupted).await?;
        return Ok(taken.map_or(AnswerOutcome::Kept, AnswerOutcome::Taken));
    }
    let asks: Option<Vec<i64>> = found.try_get(6)?;
    let replies: Option<Vec<Vec<u8>>> = found.try_get(7)?;
    let asks = asks.unwrap_or_default().into_iter().map(small);
    let mut answers: Vec<_> = asks.zip(replies.unwrap_or_default()).collect();
    answers.push((request.ask, request.reply.to_vec()));
    answers.sort_by_key(|(ask, _)| *ask);
    Ok(AnswerOutcome::Taken(TakenCall {
        call: request.call,
        session: request.session,
        epoch,
        record: found.try_get(5)?,
        answers,
        next_event: number(found.try_get(4)?),
        was_interrupted,
    }))
}

const FINISH: &str = "
    WITH ended AS (
        UPDATE askback_calls SET is_over = true, node = NULL, lease = NULL, wake = NULL, changes = changes + 1,
            next_event = next_event + cardinality($6::bigint[]),
            size = size - length(record) + $4::bigint
                - CASE WHEN $5::bytea IS NULL THEN 0 ELSE coalesce(length(status), 0) END,
            record = '', status = coalesce($5, status), expires = $3::bigint,
            epoch = epoch + ($2::bigint IS NULL)::int
        WHERE id = $1::bytea AND epoch = coalesce($2, epoch) AND NOT is_over
        RETURNING id, next_event - cardinality($6::bigint[]) AS first,
            changes - 1 = (SELECT seen.changes FROM askback_calls AS seen WHERE seen.id = $1) AS saw_all
    ), logged AS (
        INSERT INTO askback_events (call, number, ask, message)
        SELECT id, first + place - 1, ask, message
        FROM ended, unnest($6, $7::bytea[]) WITH ORDINALITY AS event (ask, message, place)
    ), forgotten AS (
        UPDATE askback_answers SET reply = NULL FROM ended WHERE call = id AND reply IS NOT NULL
    )
    SELECT saw_all FROM ended";

pub(crate) async fn finish(
    client: &impl GenericClient,
    end: &FinishRequest<'_>,
) -> Result<bool, Failure> {
    let (asks, messages) = columns(end.events);
    let bytes: usize = messages.iter().chain(&end.status).map(|it| it.len()).sum();
    let ended = row(
        client,
        FINISH,
        &[
            &&end.call.0[..],
            &end.epoch.map(i64::from),
            &integer(end.expires),
            &count(bytes),
            &end.status,
            &asks,
            &messages,
        ],
    )
    .await?;
    let Some(ended) = ended else {
        return Ok(false);
    };
    if !ended.try_get::<_, bool>(0)? {
        // An answer came at the same moment.
        let forget =
            "UPDATE askback_answers SET reply = NULL WHERE call = $1 AND reply IS NOT NULL";
        execute(client, forget, &[&&end.call.0[..]]).await?;
    }
    Ok(true)
}

pub(crate) async fn set_status(
    transaction: &Transaction<'_>,
    (call, epoch): (CallId, u32),
    status: &[u8],
) -> Result<(), Failure> {
    let update = "UPDATE askback_calls SET status = $3::bytea,
             size = size - coalesce(length(status), 0) + length($3)
         WHERE id = $1 AND epoch = $2 AND NOT is_over AND node IS NOT NULL";
    let (call, epoch) = (&call.0[..], i64::from(epoch));
    execute(transaction, update, &[&call, &epoch, &status]).await?;
    Ok(())
}

pub(crate) async fn read(
    client: &impl GenericClient,
    (call, session): (CallId, SessionId),
    after: u64,
    most: usize,
) -> Result<Option<Log>, Failure> {
    let (call, session) = (&call.0[..], &session.0[..]);
    let select = "SELECT is_over, number, answers.ask IS NOT NULL, message FROM askback_calls AS calls
         LEFT JOIN LATERAL (
             SELECT number, ask, message FROM askback_events WHERE call = calls.id AND number > $3
             ORDER BY number LIMIT $4
         ) AS events ON true
         LEFT JOIN askback_answers AS answers ON answers.call = calls.id AND answers.ask = events.ask
         WHERE id = $1 AND session = $2 ORDER BY number";
    let most_and_one = count(most).saturating_add(1);
    let found = rows(
        client,
        select,
        &[&call, &session, &integer(after), &most_and_one],
    )
    .await?;
    let Some(first) = found.first() else {
        return Ok(None);
    };
    let is_over: bool = first.try_get(0)?;
    let mut events = Vec::new();
    for row in found {
        // Without messages, there is one row without a number.
        if let Some(at) = row.try_get(1)? {
            events.push(LogEvent {
                number: number(at),
                is_answered: row.try_get(2)?,
                message: row.try_get(3)?,
            });
        }
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
    in_all: &TableBytes,
    max_bytes: usize,
) -> Result<(), Failure> {
    let select = "SELECT ended_at IS NOT NULL FROM askback_sessions WHERE id = $1 FOR UPDATE";
    match row(transaction, select, &[&&session.session.0[..]]).await? {
        Some(row) if row.try_get(0)? => Ok(()),
        _ => keep(transaction, session, Some(note), in_all, max_bytes).await,
    }
}

pub(crate) async fn end_session(
    transaction: &Transaction<'_>,
    session: &SessionRequest,
    in_all: &TableBytes,
    max_bytes: usize,
) -> Result<(), Failure> {
    let delete = "DELETE FROM askback_calls WHERE id = ANY (ARRAY
         (SELECT id FROM askback_calls WHERE session = $1 ORDER BY id FOR UPDATE))";
    execute(transaction, delete, &[&&session.session.0[..]]).await?;
    keep(transaction, session, None, in_all, max_bytes).await
}

/// Stores the note of a session, or `None` if the session has ended. Removes older notes if there
/// is no room.
async fn keep(
    transaction: &Transaction<'_>,
    session: &SessionRequest,
    note: Option<&[u8]>,
    in_all: &TableBytes,
    max_bytes: usize,
) -> Result<(), Failure> {
    let (id, owner) = (&session.session.0[..], blob(session.owner.as_ref()));
    let delete = "DELETE FROM askback_sessions WHERE id = $1";
    execute(transaction, delete, &[&id]).await?;
    let size = OVERHEAD + note.map_or(0, <[u8]>::len);
    in_all
        .make_room(transaction, session.owner, size, max_bytes)
        .await?;
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

/// Notes that a process serves. Returns how many do, and the time by the clock of PostgreSQL.
pub(crate) async fn announce(
    client: &impl GenericClient,
    process: NodeId,
    until: Millis,
    now: Millis,
) -> Result<(u64, Millis), Failure> {
    // The count does not see the row that the statement writes.
    let insert = "WITH written AS (
            INSERT INTO askback_processes (id, expires) VALUES ($1, $2)
            ON CONFLICT (id) DO UPDATE SET expires = excluded.expires)
         SELECT count(*), (extract(epoch FROM clock_timestamp()) * 1000)::bigint
         FROM askback_processes WHERE expires > $3 AND id <> $1";
    let found = row(
        client,
        insert,
        &[&&process.0[..], &integer(until), &integer(now)],
    )
    .await?;
    let (others, time): (i64, i64) = match found {
        Some(row) => (row.try_get(0)?, row.try_get(1)?),
        None => (0, 0),
    };
    let unsigned = |number| u64::try_from(number).unwrap_or(0);
    Ok((unsigned(others).saturating_add(1), unsigned(time)))
}

pub(crate) async fn purge(transaction: &Transaction<'_>, now: Millis) -> Result<usize, Failure> {
    let delete = "DELETE FROM askback_calls WHERE id = ANY (ARRAY
         (SELECT id FROM askback_calls WHERE expires <= $1 AND (node IS NULL OR lease <= $1)
          FOR UPDATE SKIP LOCKED))";
    let calls = execute(transaction, delete, &[&integer(now)]).await?;
    let sessions = crate::claims::purge(transaction, "askback_sessions", now).await?;
    let processes = crate::claims::purge(transaction, "askback_processes", now).await?;
    Ok(usize::try_from(calls)
        .unwrap_or(usize::MAX)
        .saturating_add(sessions)
        .saturating_add(processes))
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
