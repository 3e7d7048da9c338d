//! Claims of commits, and stored states.

use askback::{
    journal::{Millis, StoreError},
    store::{
        Claim, ClaimRequest, FlowId, PutRequest,
        share::{self, Eviction, OVERHEAD},
    },
};
use askback_sql::deadpool_postgres::Transaction;

use crate::{
    failure::Failure,
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

pub(crate) async fn claim(
    transaction: &impl Statements,
    commit: &ClaimRequest<'_>,
    max_bytes: usize,
) -> Result<Claim, Failure> {
    if let Some(claim) = known(transaction, commit).await? {
        return Ok(claim);
    }
    purge(transaction, "askback_commits", commit.now).await?;
    let size = (OVERHEAD + commit.name.len()).saturating_add(commit.value_bytes);
    let room = held(transaction, "askback_commits", commit.owner).await?;
    share::admit_claim(room, size, max_bytes)?;
    let lease = u64::try_from(commit.lease.as_millis()).unwrap_or(u64::MAX);
    let granted = execute(
        transaction,
        "INSERT INTO askback_commits (flow, name, owner, lease_end, expires, size, value_bytes)
         VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING",
        &[
            &&commit.flow.0[..],
            &commit.name.as_bytes(),
            &blob(commit.owner.as_ref()),
            &integer(commit.now.saturating_add(lease)),
            &integer(commit.expires),
            &count(size),
            &count(commit.value_bytes),
        ],
    )
    .await?;
    if granted > 0 {
        return Ok(Claim::Granted);
    }
    // Another process was granted it meanwhile.
    let claim = known(transaction, commit).await?;
    Ok(claim.unwrap_or(Claim::Busy))
}

pub(crate) async fn finish(
    transaction: &impl Statements,
    flow: FlowId,
    name: &str,
    value: &[u8],
) -> Result<(), Failure> {
    let select = "SELECT value = $3, value_bytes FROM askback_commits WHERE flow = $1 AND name = $2 FOR UPDATE";
    let (flow, name) = (&flow.0[..], name.as_bytes());
    let found = row(transaction, select, &[&flow, &name, &value]).await?;
    let found = found.ok_or(StoreError::Unclaimed)?;
    let set_aside: i64 = found.try_get(1)?;
    match found.try_get(0)? {
        Some(true) => return Ok(()),
        Some(false) => return Err(StoreError::Finished.into()),
        None => {}
    }
    if count(value.len()) > set_aside {
        let max_bytes = usize::try_from(set_aside).unwrap_or(0);
        return Err(StoreError::TooLong { max_bytes }.into());
    }
    let update =
        "UPDATE askback_commits SET value = $3, size = size - value_bytes + $4, value_bytes = $4
         WHERE flow = $1 AND name = $2";
    execute(
        transaction,
        update,
        &[&flow, &name, &value, &count(value.len())],
    )
    .await?;
    Ok(())
}

pub(crate) async fn put(
    transaction: &Transaction<'_>,
    state: &PutRequest<'_>,
    max_bytes: usize,
) -> Result<(), Failure> {
    let lengthen = "UPDATE askback_states SET expires = greatest(expires, $2) WHERE id = $1";
    let (id, expires) = (&state.id[..], integer(state.expires));
    if execute(transaction, lengthen, &[&id, &expires]).await? > 0 {
        return Ok(());
    }
    purge(transaction, "askback_states", state.now).await?;
    let (owner, size) = (blob(state.owner.as_ref()), OVERHEAD + state.bytes.len());
    loop {
        let room = held(transaction, "askback_states", state.owner).await?;
        let gone = match share::admit_state(room, size, max_bytes)? {
            Eviction::None => break,
            Eviction::OfOwner => {
                let delete = "DELETE FROM askback_states WHERE id =
                     (SELECT id FROM askback_states WHERE owner = $1 ORDER BY expires LIMIT 1)";
                execute(transaction, delete, &[&owner]).await?
            }
            Eviction::OfLargest => {
                let delete = "DELETE FROM askback_states WHERE id =
                     (SELECT id FROM askback_states WHERE owner =
                         (SELECT owner FROM askback_states GROUP BY owner ORDER BY sum(size) DESC LIMIT 1)
                      ORDER BY expires LIMIT 1)";
                execute(transaction, delete, &[]).await?
            }
        };
        if gone == 0 {
            break;
        }
    }
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
