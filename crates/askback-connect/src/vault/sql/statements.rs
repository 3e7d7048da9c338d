//! The contract in statements.

use askback_core::ask::{Millis, keys::KeyId};

use super::batch::{appended, batch, count, erasing, of_account, statement, turn};
use super::rows::{self, Row, bytes, name, number, text};
use super::{Batch, Changed, Database, Statement};
use super::{intents, outbox};
use crate::vault::account::{AccountKey, Holder};
use crate::vault::audit::{AuditEntry, AuditEvent, AuditRecord};
use crate::vault::error::VaultError;
use crate::vault::store::{
    Fence, IntentRoom, IntentRow, Lease, Revocation, Sealed, Settled, TenantKey, VaultFuture,
    VaultRecord, VaultStore, Wrapped, Written,
};

async fn written(database: &impl Database, batch: Batch) -> Result<Written, VaultError> {
    Ok(match database.change(batch).await? {
        Changed::Rows(0) => Written::Conflict,
        Changed::Rows(_) => Written::Kept,
        Changed::ForeignKey => Written::UnknownKey,
    })
}

async fn changed(database: &impl Database, batch: Batch) -> Result<bool, VaultError> {
    Ok(matches!(database.change(batch).await?, Changed::Rows(1..)))
}

async fn read<T>(
    database: &impl Database,
    statement: Statement,
    read: impl Fn(Row) -> Result<T, VaultError>,
) -> Result<Vec<T>, VaultError> {
    let rows = database.rows(statement).await?;
    rows.into_iter().map(|row| read(Row::new(row))).collect()
}

impl<D: Database> VaultStore for D {
    fn records<'a>(
        &'a self,
        holder: &'a Holder,
        provider: Option<&'a str>,
    ) -> VaultFuture<'a, Vec<VaultRecord>> {
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
        Box::pin(read(self, select, Row::record))
    }

    fn records_of<'a>(
        &'a self,
        provider: &'a str,
        account: &'a str,
        most: usize,
    ) -> VaultFuture<'a, Vec<VaultRecord>> {
        let select = statement(
            "SELECT tenant, issuer, subject, provider, account, name, version, state, until, failures,
                 scopes, obtained, expires, is_api_key, key_id, access, refresh, proof, lease, lease_until
             FROM askback_vault_records
             WHERE provider = $1 AND account = $2 LIMIT $3",
            vec![text(provider), text(account), count(most)],
        );
        Box::pin(read(self, select, Row::record))
    }

    fn put<'a>(
        &'a self,
        record: &'a VaultRecord,
        expected: Option<u64>,
        revocation: Option<([u8; 16], Millis)>,
        audit: &'a AuditRecord,
    ) -> VaultFuture<'a, Written> {
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
        let batch = batch(put).maybe_before(owed).audited::<D>(audit);
        Box::pin(written(self, batch))
    }

    fn lease<'a>(
        &'a self,
        account: &'a AccountKey,
        version: u64,
        lease: Lease,
        now: Millis,
    ) -> VaultFuture<'a, bool> {
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
        Box::pin(changed(self, batch(update)))
    }

    fn renew<'a>(
        &'a self,
        record: &'a VaultRecord,
        fence: Fence,
        audit: &'a AuditRecord,
    ) -> VaultFuture<'a, Written> {
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
        Box::pin(written(self, batch(update).audited::<D>(audit)))
    }

    fn reseal<'a>(&'a self, record: &'a VaultRecord, from: KeyId) -> VaultFuture<'a, Written> {
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
        Box::pin(written(self, batch(update)))
    }

    fn sealed_otherwise<'a>(
        &'a self,
        tenant: Option<&'a str>,
        key: KeyId,
        most: usize,
    ) -> VaultFuture<'a, Vec<VaultRecord>> {
        let select = statement(
            "SELECT tenant, issuer, subject, provider, account, name, version, state, until, failures,
                 scopes, obtained, expires, is_api_key, key_id, access, refresh, proof, lease, lease_until
             FROM askback_vault_records WHERE tenant = $1 AND key_id <> $2 LIMIT $3",
            vec![name(tenant), bytes(&key.0), count(most)],
        );
        Box::pin(read(self, select, Row::record))
    }

    fn remove<'a>(
        &'a self,
        account: &'a AccountKey,
        revocation: Option<([u8; 16], Millis)>,
        audit: &'a AuditRecord,
    ) -> VaultFuture<'a, bool> {
        let delete = erasing(
            "DELETE FROM askback_vault_records
             WHERE tenant = $1 AND issuer = $2 AND subject = $3 AND provider = $4
                 AND account = $5",
            of_account(account, []),
        );
        let batch = batch(delete).maybe_before(outbox::owed(account, revocation));
        Box::pin(changed(self, batch.audited::<D>(audit)))
    }

    fn add_revocation<'a>(&'a self, revocation: &'a Revocation) -> VaultFuture<'a, Written> {
        Box::pin(written(self, outbox::added(revocation)))
    }

    fn revocations<'a>(&'a self, holder: &'a Holder) -> VaultFuture<'a, Vec<Revocation>> {
        Box::pin(read(self, outbox::of(holder), Row::revocation))
    }

    fn surplus_revocations(&self, bytes: u64, most: usize) -> VaultFuture<'_, Vec<Revocation>> {
        Box::pin(read(self, outbox::surplus(bytes, most), Row::revocation))
    }

    fn take_revocation(&self, now: Millis, until: Millis) -> VaultFuture<'_, Option<Revocation>> {
        Box::pin(async move {
            let taken = read(self, outbox::taken(now, until), Row::revocation).await?;
            Ok(taken.into_iter().next())
        })
    }

    fn renew_revocation<'a>(&'a self, revocation: &'a Revocation) -> VaultFuture<'a, Written> {
        Box::pin(written(self, outbox::renewed(revocation)))
    }

    fn revocations_sealed_otherwise<'a>(
        &'a self,
        tenant: Option<&'a str>,
        key: KeyId,
        most: usize,
    ) -> VaultFuture<'a, Vec<Revocation>> {
        let select = outbox::sealed_otherwise(tenant, key, most);
        Box::pin(read(self, select, Row::revocation))
    }

    fn reseal_revocation<'a>(
        &'a self,
        id: [u8; 16],
        from: &'a Sealed,
        sealed: &'a Sealed,
    ) -> VaultFuture<'a, Written> {
        Box::pin(written(self, outbox::resealed(id, from, sealed)))
    }

    fn settle_revocation<'a>(
        &'a self,
        id: [u8; 16],
        settled: Settled,
        audit: Option<&'a AuditRecord>,
    ) -> VaultFuture<'a, bool> {
        let mut settled = outbox::settled(id, settled);
        if let Some(audit) = audit {
            settled = settled.audited::<D>(audit);
        }
        Box::pin(changed(self, settled))
    }

    fn tenant_keys<'a>(&'a self, tenant: Option<&'a str>) -> VaultFuture<'a, Vec<TenantKey>> {
        let select = statement(
            "SELECT tenant, id, kek_id, wrapped, made FROM askback_vault_keys
             WHERE tenant = $1 ORDER BY number DESC",
            vec![name(tenant)],
        );
        Box::pin(read(self, select, |row| Ok(row.key()?.1)))
    }

    fn add_tenant_key<'a>(
        &'a self,
        tenant: Option<&'a str>,
        key: &'a TenantKey,
        newest: Option<KeyId>,
    ) -> VaultFuture<'a, bool> {
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
        Box::pin(changed(self, batch(insert)))
    }

    fn wrapped_otherwise<'a>(
        &'a self,
        kek_id: &'a str,
        most: usize,
    ) -> VaultFuture<'a, Vec<(Option<String>, TenantKey)>> {
        let select = statement(
            "SELECT tenant, id, kek_id, wrapped, made FROM askback_vault_keys
             WHERE kek_id <> $1 ORDER BY tenant, number LIMIT $2",
            vec![text(kek_id), count(most)],
        );
        Box::pin(read(self, select, Row::key))
    }

    fn wrapped_by_each(&self) -> VaultFuture<'_, Vec<(Option<String>, TenantKey)>> {
        let select = statement(
            "SELECT tenant, id, kek_id, wrapped, made FROM (
                 SELECT tenant, id, kek_id, wrapped, made,
                     ROW_NUMBER() OVER (PARTITION BY kek_id ORDER BY tenant, number) AS place
                 FROM askback_vault_keys
             ) AS placed WHERE place = 1 ORDER BY kek_id",
            Vec::new(),
        );
        Box::pin(read(self, select, Row::key))
    }

    fn rewrap<'a>(
        &'a self,
        tenant: Option<&'a str>,
        key: KeyId,
        from: &'a Wrapped,
        to: &'a Wrapped,
    ) -> VaultFuture<'a, bool> {
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
        Box::pin(changed(self, batch(update)))
    }

    fn drop_tenant_key<'a>(&'a self, tenant: Option<&'a str>, key: KeyId) -> VaultFuture<'a, bool> {
        let delete = erasing(
            "DELETE FROM askback_vault_keys WHERE tenant = $1 AND id = $2 AND number <
                 (SELECT max(number) FROM askback_vault_keys WHERE tenant = $1)",
            vec![name(tenant), bytes(&key.0)],
        );
        Box::pin(changed(self, batch(delete)))
    }

    fn delete_tenant<'a>(
        &'a self,
        tenant: Option<&'a str>,
        audit: &'a AuditRecord,
    ) -> VaultFuture<'a, bool> {
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
            .audited::<D>(audit)
        };
        Box::pin(async move {
            // A record that is put in between keeps its key: it goes at the next try.
            for _ in 0..TRIES {
                match self.change(deletion()).await? {
                    Changed::Rows(rows) => return Ok(rows > 0),
                    Changed::ForeignKey => {}
                }
            }
            Err(VaultError::Conflict)
        })
    }

    fn add_intent<'a>(
        &'a self,
        intent: &'a IntentRow,
        room: IntentRoom,
        now: Millis,
    ) -> VaultFuture<'a, bool> {
        let added = intents::added(intent, room, now);
        Box::pin(changed(self, added))
    }

    fn is_busy<'a>(
        &'a self,
        holder: &'a Holder,
        provider: &'a str,
        now: Millis,
    ) -> VaultFuture<'a, bool> {
        let busy = intents::busy(holder, provider, now);
        Box::pin(async move { Ok(!self.rows(busy).await?.is_empty()) })
    }

    fn intent(&self, id: [u8; 16]) -> VaultFuture<'_, Option<IntentRow>> {
        Box::pin(async move {
            let found = read(self, intents::of_id(id), Row::intent).await?;
            Ok(found.into_iter().next())
        })
    }

    fn advance_intent<'a>(
        &'a self,
        intent: &'a IntentRow,
        expected: u64,
        audit: &'a AuditRecord,
    ) -> VaultFuture<'a, bool> {
        let advanced = intents::advanced::<D>(intent, expected, audit);
        Box::pin(changed(self, advanced))
    }

    fn end_visit(&self, visit: [u8; 16], expires: Millis, now: Millis) -> VaultFuture<'_, ()> {
        let ended = intents::visit_ended(visit, expires, now);
        Box::pin(async move { changed(self, ended).await.map(drop) })
    }

    fn has_ended(&self, visit: [u8; 16]) -> VaultFuture<'_, bool> {
        let select = statement(
            "SELECT id FROM askback_vault_ended_visits WHERE id = $1",
            vec![bytes(&visit)],
        );
        Box::pin(async move { Ok(!self.rows(select).await?.is_empty()) })
    }

    fn append<'a>(&'a self, audit: &'a AuditRecord, most: usize) -> VaultFuture<'a, ()> {
        // The turn decides, so that each later statement sees the lines of those whose turn came before.
        let mut appended = match turn::<D>(audit) {
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
        Box::pin(async move { changed(self, appended).await.map(drop) })
    }

    fn audit<'a>(
        &'a self,
        tenant: Option<&'a str>,
        after: u64,
        most: usize,
    ) -> VaultFuture<'a, Vec<AuditEntry>> {
        let select = statement(
            "SELECT number, at, tenant, issuer, subject, provider, account, client, event
             FROM askback_vault_audit WHERE tenant = $1 AND number > $2 ORDER BY number LIMIT $3",
            vec![name(tenant), number(after), count(most)],
        );
        Box::pin(read(self, select, Row::audit))
    }

    fn latest<'a>(
        &'a self,
        holder: &'a Holder,
        event: AuditEvent,
    ) -> VaultFuture<'a, Vec<AuditRecord>> {
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
        Box::pin(async move {
            let lines = read(self, select, Row::audit).await?;
            Ok(lines.into_iter().map(|line| line.record).collect())
        })
    }

    fn purge_audit(&self, before: Millis) -> VaultFuture<'_, u64> {
        let delete = batch(erasing(
            "DELETE FROM askback_vault_audit WHERE at < $1",
            vec![number(before)],
        ));
        Box::pin(async move {
            Ok(match self.change(delete).await? {
                Changed::Rows(rows) => rows,
                Changed::ForeignKey => 0,
            })
        })
    }
}

/// How often a tenant is deleted while others put records into it.
const TRIES: usize = 8;
