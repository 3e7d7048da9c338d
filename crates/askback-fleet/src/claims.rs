//! Claims of commits, and stored states.

use askback::{
    journal::{Millis, StoreError},
    store::{
        Claim, ClaimRequest, FlowId, PutRequest,
        share::{self, OVERHEAD},
    },
};
use askback_sql::deadpool_postgres::Transaction;

use crate::{
    failure::Failure,
    room::TableBytes,
    schema::{Statements, blob, count, execute, held, integer, row},
};

/// Returns the claim that is there.
async fn known(
    transaction: &impl Statements,
    commit: &ClaimRequest<'_>,
) -> Result<Option<Claim>, Failure> {
    let select = "SELECT value, lease_end > $3 FROM askback_commits WHERE flow = $1 AND name = $2";
    let flow = &commit.flow.0[..];
    let found = row(
        transaction,
        select,
        &[&flow, &commit.name.as_bytes(), &integer(commit.now)],
    )
    .await?;
    let Some(found) = found else { return Ok(None) };
    Ok(Some(match (found.try_get(0)?, found.try_get(1)?) {
        (Some(value), _) => Claim::Done(value),
        (None, true) => Claim::Busy,
        (None, false) => Claim::Abandoned,
    }))
}

/// The bytes that a claim takes.
fn size(commit: &ClaimRequest<'_>) -> usize {
    (OVERHEAD + commit.name.len()).saturating_add(commit.value_bytes)
}

/// Grants a claim in one statement. Returns `false` if it is claimed already, or if there is perhaps no room.
pub(crate) async fn grant(
    client: &impl Statements,
    commit: &ClaimRequest<'_>,
    in_all: &TableBytes,
    max_bytes: usize,
) -> Result<bool, Failure> {
    let size = size(commit);
    let used = match in_all.known(size, max_bytes) {
        Some(used) => Some(used),
        None => {
            purge(client, "askback_commits", commit.now).await?;
            in_all.read(client, size, max_bytes).await?
        }
    };
    let Some(used) = used else { return Ok(false) };
    let share = share::claim_share(used, max_bytes);
    let is_granted = insert(client, commit, Some(share)).await?;
    if is_granted {
        in_all.add(size);
    }
    Ok(is_granted)
}

/// Inserts a claim, if the others of its owner have at most so many bytes. Returns whether it is granted.
async fn insert(
    client: &impl Statements,
    commit: &ClaimRequest<'_>,
    share: Option<usize>,
) -> Result<bool, Failure> {
    let insert =
        "INSERT INTO askback_commits (flow, name, owner, lease_end, expires, size, value_bytes)
         SELECT $1, $2, $3::bytea, $4, $5, $6, $7 WHERE $8::bigint IS NULL
             OR (SELECT coalesce(sum(size), 0) FROM askback_commits WHERE owner = $3) <= $8
         ON CONFLICT DO NOTHING";
    let lease = u64::try_from(commit.lease.as_millis()).unwrap_or(u64::MAX);
    let granted = execute(
        client,
        insert,
        &[
            &&commit.flow.0[..],
            &commit.name.as_bytes(),
            &blob(commit.owner.as_ref()),
            &integer(commit.now.saturating_add(lease)),
            &integer(commit.expires),
            &count(size(commit)),
            &count(commit.value_bytes),
            &commit.owner.and(share).map(count),
        ],
    )
    .await?;
    Ok(granted > 0)
}

pub(crate) async fn claim(
    transaction: &impl Statements,
    commit: &ClaimRequest<'_>,
    max_bytes: usize,
) -> Result<Claim, Failure> {
    if let Some(claim) = known(transaction, commit).await? {
        return Ok(claim);
    }
    purge(transaction, "askback_commits", commit.now).await?;
    let room = held(transaction, "askback_commits", commit.owner).await?;
    share::admit_claim(room, size(commit), max_bytes)?;
    if insert(transaction, commit, None).await? {
        return Ok(Claim::Granted);
    }
    // Another process was granted it meanwhile.
    let claim = known(transaction, commit).await?;
    Ok(claim.unwrap_or(Claim::Busy))
}

/// Stores the value of a claim that has none, in one statement. Returns whether it did.
pub(crate) async fn settle(
    client: &impl Statements,
    flow: FlowId,
    name: &str,
    value: &[u8],
) -> Result<bool, Failure> {
    let update =
        "UPDATE askback_commits SET value = $3, size = size - value_bytes + $4, value_bytes = $4
         WHERE flow = $1 AND name = $2 AND value IS NULL AND value_bytes >= $4";
    let (flow, name) = (&flow.0[..], name.as_bytes());
    Ok(execute(client, update, &[&flow, &name, &value, &count(value.len())]).await? > 0)
}

pub(crate) async fn finish(
    transaction: &impl Statements,
    flow: FlowId,
    name: &str,
    value: &[u8],
) -> Result<(), Failure> {
    if settle(transaction, flow, name, value).await? {
        return Ok(());
    }
    let select =
        "SELECT value = $3, value_bytes FROM askback_commits WHERE flow = $1 AND name = $2";
    let (flow, name) = (&flow.0[..], name.as_bytes());
    let found = row(transaction, select, &[&flow, &name, &value]).await?;
    let found = found.ok_or(StoreError::Unclaimed)?;
    let set_aside: i64 = found.try_get(1)?;
    match found.try_get(0)? {
        Some(true) => Ok(()),
        Some(false) => Err(StoreError::Finished.into()),
        None => {
            let max_bytes = usize::try_from(set_aside).unwrap_or(0);
            Err(StoreError::TooLong { max_bytes }.into())
        }
    }
}

pub(crate) async fn put(
    transaction: &Transaction<'_>,
    state: &PutRequest<'_>,
    in_all: &TableBytes,
    max_bytes: usize,
) -> Result<(), Failure> {
    let lengthen = "UPDATE askback_states SET expires = greatest(expires, $2) WHERE id = $1";
    let (id, expires) = (&state.id[..], integer(state.expires));
    if execute(transaction, lengthen, &[&id, &expires]).await? > 0 {
        return Ok(());
    }
    purge(transaction, "askback_states", state.now).await?;
    let (owner, size) = (blob(state.owner.as_ref()), OVERHEAD + state.bytes.len());
    in_all
        .make_room(transaction, state.owner, size, max_bytes)
        .await?;
    let insert = "INSERT INTO askback_states (id, owner, expires, size, bytes) VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT (id) DO UPDATE SET expires = greatest(askback_states.expires, excluded.expires)";
    execute(
        transaction,
        insert,
        &[&id, &owner, &expires, &count(size), &state.bytes],
    )
    .await?;
    Ok(())
}

/// Removes the rows of a table that have expired, and that no other transaction works on.
pub(crate) async fn purge(
    transaction: &impl Statements,
    table: &str,
    now: Millis,
) -> Result<usize, Failure> {
    let delete = format!(
        "DELETE FROM {table} WHERE ctid = ANY (ARRAY
             (SELECT ctid FROM {table} WHERE expires <= $1 FOR UPDATE SKIP LOCKED))"
    );
    let removed = execute(transaction, &delete, &[&integer(now)]).await?;
    Ok(usize::try_from(removed).unwrap_or(usize::MAX))
}
