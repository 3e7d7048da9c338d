//! Revocations in statements.

use askback_core::ask::{Millis, keys::KeyId};

use super::batch::{batch, count, erasing, of_account, statement};
use super::rows::{self, bytes, name, number, optional, text};
use super::{Batch, Statement};
use crate::vault::account::{AccountKey, Holder};
use crate::vault::store::{Revocation, Sealed, Settled};

/// Makes one of the tokens that are kept for an account.
pub(super) fn owed(
    account: &AccountKey,
    revocation: Option<([u8; 16], Millis)>,
) -> Option<Statement> {
    let (id, due) = revocation?;
    Some(statement(
        "INSERT INTO askback_vault_revocations (id, tenant, issuer, subject, provider, account,
             name, key_id, access, refresh, expires, due, attempts)
         SELECT $6, tenant, issuer, subject, provider, account, name, key_id, access, refresh, expires,
             $7, 0
         FROM askback_vault_records
         WHERE tenant = $1 AND issuer = $2 AND subject = $3 AND provider = $4 AND account = $5",
        of_account(account, [bytes(&id), number(due)]),
    ))
}

/// Adds one.
pub(super) fn added(revocation: &Revocation) -> Batch {
    let mut values = of_account(
        &revocation.account,
        [bytes(&revocation.id), text(&revocation.name)],
    );
    values.extend(rows::sealed(&revocation.sealed));
    values.extend([
        optional(revocation.expires),
        number(revocation.due),
        number(revocation.attempts.into()),
        number(revocation.is_spared.into()),
    ]);
    batch(statement(
        "INSERT INTO askback_vault_revocations (tenant, issuer, subject, provider, account,
             id, name, key_id, access, refresh, expires, due, attempts, is_spared)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)",
        values,
    ))
}

/// Reads those of a person.
pub(super) fn of(holder: &Holder) -> Statement {
    statement(
        "SELECT id, tenant, issuer, subject, provider, account, name, key_id, access, refresh, expires,
             due, attempts, is_spared
         FROM askback_vault_revocations
         WHERE tenant = $1 AND issuer = $2 AND subject = $3 ORDER BY id",
        rows::holder(holder),
    )
}

/// Reads those that are too many.
pub(super) fn surplus(limit: u64, most: usize) -> Statement {
    statement(
        "SELECT id, tenant, issuer, subject, provider, account, name, key_id, access, refresh, expires,
             due, attempts, is_spared
         FROM (SELECT id, tenant, issuer, subject, provider, account, name, key_id, access, refresh,
                 expires, due, attempts, is_spared,
                 SUM(LENGTH(access) + COALESCE(LENGTH(refresh), 0))
                     OVER (ORDER BY attempts, due DESC, id) AS taken
             FROM askback_vault_revocations) AS counted
         WHERE taken > $1 ORDER BY attempts DESC, due, id DESC LIMIT $2",
        vec![number(limit), count(most)],
    )
}

/// Takes the one that has been due for the longest.
pub(super) fn taken(now: Millis, until: Millis) -> Statement {
    statement(
        "UPDATE askback_vault_revocations SET due = $2, attempts = attempts + 1
         WHERE due <= $1 AND id = (SELECT id FROM askback_vault_revocations
             WHERE due <= $1 ORDER BY due LIMIT 1)
         RETURNING id, tenant, issuer, subject, provider, account, name, key_id, access, refresh,
             expires, due, attempts, is_spared",
        vec![number(now), number(until)],
    )
}

/// Puts other tokens into one that nobody has taken since.
pub(super) fn renewed(revocation: &Revocation) -> Batch {
    let mut values = vec![
        bytes(&revocation.id),
        number(revocation.attempts.into()),
        optional(revocation.expires),
    ];
    values.extend(rows::sealed(&revocation.sealed));
    batch(erasing(
        "UPDATE askback_vault_revocations
         SET expires = $3, key_id = $4, access = $5, refresh = $6
         WHERE id = $1 AND attempts = $2",
        values,
    ))
}

/// Reads those of a tenant that are sealed under other keys.
pub(super) fn sealed_otherwise(tenant: Option<&str>, key: KeyId, most: usize) -> Statement {
    statement(
        "SELECT id, tenant, issuer, subject, provider, account, name, key_id, access, refresh, expires,
             due, attempts, is_spared
         FROM askback_vault_revocations WHERE tenant = $1 AND key_id <> $2 LIMIT $3",
        vec![name(tenant), bytes(&key.0), count(most)],
    )
}

/// Puts the same tokens, sealed under another key, into one that has them as they were. No two seals are the same, so that
/// it is enough to compare that of the access token.
pub(super) fn resealed(id: [u8; 16], from: &Sealed, sealed: &Sealed) -> Batch {
    let mut values = vec![bytes(&id), bytes(&from.key.0), bytes(&from.access)];
    values.extend(rows::sealed(sealed));
    batch(erasing(
        "UPDATE askback_vault_revocations SET key_id = $4, access = $5, refresh = $6
         WHERE id = $1 AND key_id = $2 AND access = $3",
        values,
    ))
}

/// Removes one that is done, or puts it off.
pub(super) fn settled(id: [u8; 16], settled: Settled) -> Batch {
    let put_off = |due: Millis, is_spared: bool| {
        statement(
            "UPDATE askback_vault_revocations SET due = $2, is_spared = $3 WHERE id = $1",
            vec![bytes(&id), number(due), number(is_spared.into())],
        )
    };
    batch(match settled {
        Settled::Done => erasing(
            "DELETE FROM askback_vault_revocations WHERE id = $1",
            vec![bytes(&id)],
        ),
        Settled::Again(due) => put_off(due, false),
        Settled::Spared(due) => put_off(due, true),
    })
}
