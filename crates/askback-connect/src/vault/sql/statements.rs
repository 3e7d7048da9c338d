//! The contract in statements.

use askback_core::ask::{Millis, keys::KeyId};

use super::batch::{appended, batch, count, erasing, of_account, statement, turn_of};
use super::rows::{self, Row, bytes, name, number, text};
use super::{Batch, Changed, Statement};
use super::{intents, outbox};
use crate::vault::account::{AccountKey, Holder};
use crate::vault::audit::{AuditEntry, AuditEvent, AuditRecord};
use crate::vault::error::VaultError;
use crate::vault::store::{
    Fence, IntentRoom, IntentRow, Lease, Revocation, Sealed, Settled, TenantKey, VaultRecord,
    VaultStore, Wrapped, Written,
};

async fn written(database: &(dyn VaultStore + '_), batch: Batch) -> Result<Written, VaultError> {
    Ok(match database.change(batch).await? {
        Changed::Rows(0) => Written::Conflict,
        Changed::Rows(_) => Written::Kept,
        Changed::ForeignKey => Written::UnknownKey,
    })
}

async fn changed(database: &(dyn VaultStore + '_), batch: Batch) -> Result<bool, VaultError> {
    Ok(matches!(database.change(batch).await?, Changed::Rows(1..)))
}

async fn read<T>(
    database: &(dyn VaultStore + '_),
    statement: Statement,
    read: impl Fn(Row) -> Result<T, VaultError>,
) -> Result<Vec<T>, VaultError> {
    let rows = database.rows(statement).await?;
    rows.into_iter().map(|row| read(Row::new(row))).collect()
}

impl dyn VaultStore + '_ {
    /// Returns the records of a person, at one provider or at all of them, in the order of the bytes of providers and
    /// accounts.
    pub async fn records(
        &self,
        holder: &Holder,
        provider: Option<&str>,
    ) -> Result<Vec<VaultRecord>, VaultError> {
        let mut values = rows::holder(holder);
        values.push(provider.map_or(text(""), text));
        values.push(number(provider.is_none().into()));
        let select = statement(
            "SELECT tenant, issuer, subject, provider, account, name, version, state, until, failures,
                 scopes, obtained, expires, is_api_key, key_id, access, refresh, proof, lease, lease_until
             FROM askback_vault_records
             WHERE tenant = $1 AND issuer = $2 AND subject = $3 AND (provider = $4 OR $5 = 1)
             ORDER BY provider, account",
            values,
        );
        read(self, select, Row::record).await
    }

    /// Returns the records of an account at a provider, from all users and tenants; at most so many. Names do not count,
    /// because users choose them.
    pub async fn records_of(
        &self,
        provider: &str,
        account: &str,
        most: usize,
    ) -> Result<Vec<VaultRecord>, VaultError> {
        let select = statement(
            "SELECT tenant, issuer, subject, provider, account, name, version, state, until, failures,
                 scopes, obtained, expires, is_api_key, key_id, access, refresh, proof, lease, lease_until
             FROM askback_vault_records
             WHERE provider = $1 AND account = $2 LIMIT $3",
            vec![text(provider), text(account), count(most)],
        );
        read(self, select, Row::record).await
    }

    /// Puts a record in place of the one that has the version `expected`, or where there is none. The record's version
    /// must differ from that. What was leased is so no longer. With a revocation, the tokens that it takes the place of
    /// become one of that id, which is due `at` once, as with `remove`.
    pub async fn put(
        &self,
        record: &VaultRecord,
        expected: Option<u64>,
        revocation: Option<([u8; 16], Millis)>,
        audit: &AuditRecord,
    ) -> Result<Written, VaultError> {
        let mut values = rows::record(record);
        let owed = outbox::owed(&record.account, revocation);
        let put = match expected {
            None => statement(
                "INSERT INTO askback_vault_records (tenant, issuer, subject, provider, account,
                     name, version, state, until, failures, scopes, obtained, expires,
                     is_api_key, key_id, access, refresh, proof)
                 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16,
                     $17, $18)
                 ON CONFLICT (tenant, issuer, subject, provider, account) DO NOTHING",
                values,
            ),
            Some(version) => {
                values.push(number(version));
                erasing(
                    "UPDATE askback_vault_records SET name = $6, version = $7, state = $8, until = $9,
                         failures = $10, scopes = $11, obtained = $12, expires = $13,
                         is_api_key = $14, key_id = $15, access = $16, refresh = $17, proof = $18,
                         lease = NULL, lease_until = NULL
                     WHERE tenant = $1 AND issuer = $2 AND subject = $3 AND provider = $4
                         AND account = $5 AND version = $19",
                    values,
                )
            }
        };
        let batch = batch(put).maybe_before(owed).audited(self.turn(), audit);
        written(self, batch).await
    }

    /// Leases a record that has this version, unless a lease of it lasts beyond `now`. Returns whether it did.
    pub async fn lease(
        &self,
        account: &AccountKey,
        version: u64,
        lease: Lease,
        now: Millis,
    ) -> Result<bool, VaultError> {
        let values = [
            number(version),
            bytes(&lease.id),
            number(lease.until),
            number(now),
        ];
        let update = statement(
            "UPDATE askback_vault_records SET lease = $7, lease_until = $8
             WHERE tenant = $1 AND issuer = $2 AND subject = $3 AND provider = $4
                 AND account = $5 AND version = $6 AND (lease IS NULL OR lease_until <= $9)",
            of_account(account, values),
        );
        changed(self, batch(update)).await
    }

    /// Puts a record in place of the one that has the version and the lease of `fence`, and ends the lease.
    /// [`Written::Conflict`] where that is no longer so. A lease that has run out and that nobody else has taken is
    /// still one.
    pub async fn renew(
        &self,
        record: &VaultRecord,
        fence: Fence,
        audit: &AuditRecord,
    ) -> Result<Written, VaultError> {
        let mut values = rows::record(record);
        values.extend([number(fence.version), bytes(&fence.lease)]);
        let update = erasing(
            "UPDATE askback_vault_records SET name = $6, version = $7, state = $8, until = $9,
                 failures = $10, scopes = $11, obtained = $12, expires = $13,
                 is_api_key = $14, key_id = $15, access = $16, refresh = $17, proof = $18,
                 lease = NULL, lease_until = NULL
             WHERE tenant = $1 AND issuer = $2 AND subject = $3 AND provider = $4
                 AND account = $5 AND version = $19 AND lease = $20",
            values,
        );
        written(self, batch(update).audited(self.turn(), audit)).await
    }

    /// Writes the secrets and the proof of a record, sealed under another key, if the kept record has the same version and
    /// is sealed under `from`; [`Written::Conflict`] otherwise. The lease stays: a renewal at the same time goes on.
    pub async fn reseal(&self, record: &VaultRecord, from: KeyId) -> Result<Written, VaultError> {
        let mut values = of_account(
            &record.account,
            [number(record.version), bytes(&from.0), bytes(&record.proof)],
        );
        values.extend(rows::sealed(&record.sealed));
        let update = erasing(
            "UPDATE askback_vault_records SET proof = $8, key_id = $9, access = $10, refresh = $11
             WHERE tenant = $1 AND issuer = $2 AND subject = $3 AND provider = $4
                 AND account = $5 AND version = $6 AND key_id = $7",
            values,
        );
        written(self, batch(update)).await
    }

    /// Returns records of a tenant that are sealed under other keys than this one, at most so many.
    pub async fn sealed_otherwise(
        &self,
        tenant: Option<&str>,
        key: KeyId,
        most: usize,
    ) -> Result<Vec<VaultRecord>, VaultError> {
        let select = statement(
            "SELECT tenant, issuer, subject, provider, account, name, version, state, until, failures,
                 scopes, obtained, expires, is_api_key, key_id, access, refresh, proof, lease, lease_until
             FROM askback_vault_records WHERE tenant = $1 AND key_id <> $2 LIMIT $3",
            vec![name(tenant), bytes(&key.0), count(most)],
        );
        read(self, select, Row::record).await
    }

    /// Removes a record. With a revocation, its tokens become one of that id, which is due `at` once. Returns whether
    /// there was a record.
    pub async fn remove(
        &self,
        account: &AccountKey,
        revocation: Option<([u8; 16], Millis)>,
        audit: &AuditRecord,
    ) -> Result<bool, VaultError> {
        let delete = erasing(
            "DELETE FROM askback_vault_records
             WHERE tenant = $1 AND issuer = $2 AND subject = $3 AND provider = $4
                 AND account = $5",
            of_account(account, []),
        );
        let batch = batch(delete).maybe_before(outbox::owed(account, revocation));
        changed(self, batch.audited(self.turn(), audit)).await
    }

    /// Adds tokens that the provider is to be told to revoke.
    pub async fn add_revocation(&self, revocation: &Revocation) -> Result<Written, VaultError> {
        written(self, outbox::added(revocation)).await
    }

    /// Returns the revocations of a person that are not done.
    pub async fn revocations(&self, holder: &Holder) -> Result<Vec<Revocation>, VaultError> {
        read(self, outbox::of(holder), Row::revocation).await
    }

    /// Returns revocations, of anybody, that are too many where the secrets of all others take at most so many bytes: those
    /// that were tried most often first, and of these those that have been due for the longest; at most so many.
    pub async fn surplus_revocations(
        &self,
        bytes: u64,
        most: usize,
    ) -> Result<Vec<Revocation>, VaultError> {
        read(self, outbox::surplus(bytes, most), Row::revocation).await
    }

    /// Takes the revocation that has been due for the longest: it is due again at `until`, and counts one attempt more.
    /// Of many who take at the same time, no two are given the same one.
    pub async fn take_revocation(
        &self,
        now: Millis,
        until: Millis,
    ) -> Result<Option<Revocation>, VaultError> {
        let taken = read(self, outbox::taken(now, until), Row::revocation).await?;
        Ok(taken.into_iter().next())
    }

    /// Puts the tokens of a revocation, and their end, in place of those that it had. [`Written::Conflict`] where it was taken
    /// since: its number of attempts is another one.
    pub async fn renew_revocation(&self, revocation: &Revocation) -> Result<Written, VaultError> {
        written(self, outbox::renewed(revocation)).await
    }

    /// Returns revocations of a tenant whose tokens are sealed under other keys than this one, at most so many.
    pub async fn revocations_sealed_otherwise(
        &self,
        tenant: Option<&str>,
        key: KeyId,
        most: usize,
    ) -> Result<Vec<Revocation>, VaultError> {
        let select = outbox::sealed_otherwise(tenant, key, most);
        read(self, select, Row::revocation).await
    }

    /// Puts the same tokens, sealed under another key, into a revocation that has them sealed as in `from` still.
    /// [`Written::Conflict`] where it does not, or is done.
    pub async fn reseal_revocation(
        &self,
        id: [u8; 16],
        from: &Sealed,
        sealed: &Sealed,
    ) -> Result<Written, VaultError> {
        written(self, outbox::resealed(id, from, sealed)).await
    }

    /// Removes a revocation that is done, or puts it off until a moment. Returns whether it was there.
    pub async fn settle_revocation(
        &self,
        id: [u8; 16],
        settled: Settled,
        audit: Option<&AuditRecord>,
    ) -> Result<bool, VaultError> {
        let mut settled = outbox::settled(id, settled);
        if let Some(audit) = audit {
            settled = settled.audited(self.turn(), audit);
        }
        changed(self, settled).await
    }

    /// Returns the keys of a tenant, the newest first.
    pub async fn tenant_keys(&self, tenant: Option<&str>) -> Result<Vec<TenantKey>, VaultError> {
        let select = statement(
            "SELECT tenant, id, kek_id, wrapped, made FROM askback_vault_keys
             WHERE tenant = $1 ORDER BY number DESC",
            vec![name(tenant)],
        );
        read(self, select, |row| Ok(row.key()?.1)).await
    }

    /// Adds a key to a tenant whose newest key is `newest`. Returns whether it still was.
    pub async fn add_tenant_key(
        &self,
        tenant: Option<&str>,
        key: &TenantKey,
        newest: Option<KeyId>,
    ) -> Result<bool, VaultError> {
        let mut values = vec![
            name(tenant),
            bytes(&key.id.0),
            text(&key.wrapped.kek_id),
            bytes(&key.wrapped.bytes),
            number(key.made),
        ];
        // Two that are added at a time have the same number, of which one is refused.
        let insert = match newest {
            None => statement(
                "INSERT INTO askback_vault_keys (tenant, number, id, kek_id, wrapped, made)
                 SELECT $1, 1, $2, $3, $4, $5
                 WHERE NOT EXISTS (SELECT 1 FROM askback_vault_keys WHERE tenant = $1)
                 ON CONFLICT (tenant, number) DO NOTHING",
                values,
            ),
            Some(newest) => {
                values.push(bytes(&newest.0));
                statement(
                    "INSERT INTO askback_vault_keys (tenant, number, id, kek_id, wrapped, made)
                     SELECT $1, number + 1, $2, $3, $4, $5 FROM askback_vault_keys
                     WHERE tenant = $1 AND id = $6 AND number =
                         (SELECT max(number) FROM askback_vault_keys WHERE tenant = $1)
                     ON CONFLICT (tenant, number) DO NOTHING",
                    values,
                )
            }
        };
        changed(self, batch(insert)).await
    }

    /// Returns keys of any tenants that are wrapped by another key than this one, at most so many.
    pub async fn wrapped_otherwise(
        &self,
        kek_id: &str,
        most: usize,
    ) -> Result<Vec<(Option<String>, TenantKey)>, VaultError> {
        let select = statement(
            "SELECT tenant, id, kek_id, wrapped, made FROM askback_vault_keys
             WHERE kek_id <> $1 ORDER BY tenant, number LIMIT $2",
            vec![text(kek_id), count(most)],
        );
        read(self, select, Row::key).await
    }

    /// Returns one key, of any tenant, for each key-encryption key that some are wrapped by, in the order of its names.
    pub async fn wrapped_by_each(&self) -> Result<Vec<(Option<String>, TenantKey)>, VaultError> {
        let select = statement(
            "SELECT tenant, id, kek_id, wrapped, made FROM (
                 SELECT tenant, id, kek_id, wrapped, made,
                     ROW_NUMBER() OVER (PARTITION BY kek_id ORDER BY tenant, number) AS place
                 FROM askback_vault_keys
             ) AS placed WHERE place = 1 ORDER BY kek_id",
            Vec::new(),
        );
        read(self, select, Row::key).await
    }

    /// Puts another wrapping in place of `from`. Returns whether the key still was wrapped so.
    pub async fn rewrap(
        &self,
        tenant: Option<&str>,
        key: KeyId,
        from: &Wrapped,
        to: &Wrapped,
    ) -> Result<bool, VaultError> {
        let update = erasing(
            "UPDATE askback_vault_keys SET kek_id = $5, wrapped = $6
             WHERE tenant = $1 AND id = $2 AND kek_id = $3 AND wrapped = $4",
            vec![
                name(tenant),
                bytes(&key.0),
                text(&from.kek_id),
                bytes(&from.bytes),
                text(&to.kek_id),
                bytes(&to.bytes),
            ],
        );
        changed(self, batch(update)).await
    }

    /// Drops a tenant's key, unless it is the newest or something is sealed under it. Returns whether it did.
    pub async fn drop_tenant_key(
        &self,
        tenant: Option<&str>,
        key: KeyId,
    ) -> Result<bool, VaultError> {
        let delete = erasing(
            "DELETE FROM askback_vault_keys WHERE tenant = $1 AND id = $2 AND number <
                 (SELECT max(number) FROM askback_vault_keys WHERE tenant = $1)",
            vec![name(tenant), bytes(&key.0)],
        );
        changed(self, batch(delete)).await
    }

    /// Deletes the keys, the records, the intents and the revocations of a tenant. Its audit stays. Returns whether there was a key.
    pub async fn delete_tenant(
        &self,
        tenant: Option<&str>,
        audit: &AuditRecord,
    ) -> Result<bool, VaultError> {
        let of_tenant = move |text| erasing(text, vec![name(tenant)]);
        let deletion = move || {
            batch(of_tenant(
                "DELETE FROM askback_vault_keys WHERE tenant = $1",
            ))
            .before(of_tenant(
                "DELETE FROM askback_vault_records WHERE tenant = $1",
            ))
            .before(of_tenant(
                "DELETE FROM askback_vault_revocations WHERE tenant = $1",
            ))
            .before(of_tenant(
                "DELETE FROM askback_vault_intents WHERE tenant = $1",
            ))
            .audited(self.turn(), audit)
        };
        // A record that is put in between keeps its key: it goes at the next try.
        for _ in 0..TRIES {
            match self.change(deletion()).await? {
                Changed::Rows(rows) => return Ok(rows > 0),
                Changed::ForeignKey => {}
            }
        }
        Err(VaultError::Conflict)
    }

    /// Adds an intent whose id is not there, if the person has fewer than `room.open` that are open and end after `now`.
    /// Returns whether it did. One that was busy and is not done is not counted: its process is gone.
    ///
    /// Then it removes what [`IntentRoom`] has no room for.
    pub async fn add_intent(
        &self,
        intent: &IntentRow,
        room: IntentRoom,
        now: Millis,
    ) -> Result<bool, VaultError> {
        let added = intents::added(intent, room, now);
        changed(self, added).await
    }

    /// Whether an intent of a person is busy at a provider at this time.
    pub async fn is_busy(
        &self,
        holder: &Holder,
        provider: &str,
        now: Millis,
    ) -> Result<bool, VaultError> {
        let busy = intents::busy(holder, provider, now);
        Ok(!self.rows(busy).await?.is_empty())
    }

    /// Returns the intent of this id, ended or not.
    pub async fn intent(&self, id: [u8; 16]) -> Result<Option<IntentRow>, VaultError> {
        let found = read(self, intents::of_id(id), Row::intent).await?;
        Ok(found.into_iter().next())
    }

    /// Puts an intent in place of the one that has its id and the version `expected`. Its person, its provider and its end
    /// stay.
    /// Returns whether there was one.
    pub async fn advance_intent(
        &self,
        intent: &IntentRow,
        expected: u64,
        audit: &AuditRecord,
    ) -> Result<bool, VaultError> {
        let advanced = intents::advanced(intent, expected, self.turn(), audit);
        changed(self, advanced).await
    }

    /// Notes a visit of the pages that ended before its time, until the moment `expires`, and forgets those whose moment had
    /// come at `now`.
    pub async fn end_visit(
        &self,
        visit: [u8; 16],
        expires: Millis,
        now: Millis,
    ) -> Result<(), VaultError> {
        let ended = intents::visit_ended(visit, expires, now);
        changed(self, ended).await.map(drop)
    }

    /// Whether a visit is noted as ended.
    pub async fn has_ended(&self, visit: [u8; 16]) -> Result<bool, VaultError> {
        let select = statement(
            "SELECT id FROM askback_vault_ended_visits WHERE id = $1",
            vec![bytes(&visit)],
        );
        Ok(!self.rows(select).await?.is_empty())
    }

    /// Adds a line to the audit. Of the lines about the same person, it keeps the newest `most` of each event.
    pub async fn append(&self, audit: &AuditRecord, most: usize) -> Result<(), VaultError> {
        // The turn decides, so that each later statement sees the lines of those whose turn came before.
        let mut appended = match turn_of(self.turn(), audit) {
            Some(turn) => batch(turn).then(appended(audit)),
            None => batch(appended(audit)),
        };
        if let Some(holder) = audit.holder() {
            let mut values = rows::holder(holder);
            values.push(count(most));
            appended = appended.then(statement(
                "DELETE FROM askback_vault_audit WHERE number IN (SELECT number FROM (
                     SELECT number, ROW_NUMBER() OVER (PARTITION BY event ORDER BY number DESC) AS place
                     FROM askback_vault_audit WHERE tenant = $1 AND issuer = $2 AND subject = $3
                 ) AS placed WHERE place > $4)",
                values,
            ));
        }
        changed(self, appended).await.map(drop)
    }

    /// Returns the lines of a tenant's audit after a number, at most so many. Lines appear in the order of their
    /// numbers: no line is added before one that was returned.
    pub async fn audit(
        &self,
        tenant: Option<&str>,
        after: u64,
        most: usize,
    ) -> Result<Vec<AuditEntry>, VaultError> {
        let select = statement(
            "SELECT number, at, tenant, issuer, subject, provider, account, client, event
             FROM askback_vault_audit WHERE tenant = $1 AND number > $2 ORDER BY number LIMIT $3",
            vec![name(tenant), number(after), count(most)],
        );
        read(self, select, Row::audit).await
    }

    /// Returns the last line of the audit about each account of a person with this event.
    pub async fn latest(
        &self,
        holder: &Holder,
        event: AuditEvent,
    ) -> Result<Vec<AuditRecord>, VaultError> {
        let mut values = rows::holder(holder);
        values.push(rows::text(event.name()));
        let select = statement(
            "SELECT number, at, tenant, issuer, subject, provider, account, client, event
             FROM askback_vault_audit WHERE number IN (
                 SELECT max(number) FROM askback_vault_audit
                 WHERE tenant = $1 AND issuer = $2 AND subject = $3 AND event = $4 GROUP BY provider, account
             )",
            values,
        );
        let lines = read(self, select, Row::audit).await?;
        Ok(lines.into_iter().map(|line| line.record).collect())
    }

    /// Removes the lines of all audits before a moment, and returns how many there were.
    pub async fn purge_audit(&self, before: Millis) -> Result<u64, VaultError> {
        let delete = batch(erasing(
            "DELETE FROM askback_vault_audit WHERE at < $1",
            vec![number(before)],
        ));
        Ok(match self.change(delete).await? {
            Changed::Rows(rows) => rows,
            Changed::ForeignKey => 0,
        })
    }
}

/// How often a tenant is deleted while others put records into it.
const TRIES: usize = 8;
