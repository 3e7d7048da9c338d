use askback_core::ask::Millis;
use askback_sql::{Batch, BatchOutcome, Statement, Value};

use super::rows::{FromColumns, Row, values};
use super::{Change, Filter};
use crate::vault::audit::{AuditEntry, AuditRecord};
use crate::vault::error::VaultError;
use crate::vault::store::{
    IntentRow, Revocation, TenantKey, VaultRecord, VaultStore, WriteOutcome,
};

/// The maximum number of attempts to delete a tenant while other tasks add records to it.
const TRIES: usize = 8;

impl dyn VaultStore + '_ {
    /// Returns rows: records sorted by the bytes of provider and account, keys with the newest first.
    pub async fn list<R: Row>(&self, filter: Filter) -> Result<Vec<R>, VaultError> {
        self.read(filter.select::<R>()).await
    }

    /// Makes a change and adds its audit record.
    pub async fn write(&self, change: Change) -> Result<WriteOutcome, VaultError> {
        Ok(
            match self.change(change.batch(self.database().lock())).await? {
                BatchOutcome::Rows(0) => WriteOutcome::Conflict,
                BatchOutcome::Rows(_) => WriteOutcome::Kept,
                BatchOutcome::ForeignKey => WriteOutcome::UnknownKey,
            },
        )
    }

    /// Takes the revocation that has been due for the longest, postpones it to `until`, and counts an attempt.
    /// Concurrent callers never get the same one.
    pub async fn take_due(
        &self,
        now: Millis,
        until: Millis,
    ) -> Result<Option<Revocation>, VaultError> {
        let (owed, columns) = (Revocation::TABLE, Revocation::COLUMNS);
        let text = format!(
            "UPDATE {owed} SET due = ?, attempts = attempts + 1
             WHERE due <= ? AND id = (SELECT id FROM {owed} WHERE due <= ? ORDER BY due LIMIT 1)
             RETURNING {columns}"
        );
        let moments = values(&[&until, &now, &now]);
        let taken = self.read(Statement::new(text, moments)).await?;
        Ok(taken.into_iter().next())
    }

    /// Returns at most `most` surplus revocations of all users, so that the secrets of the rest take at most `bytes`
    /// bytes. Revocations with the most attempts come first, and then the ones that have been due for the longest.
    pub async fn surplus(&self, bytes: u64, most: usize) -> Result<Vec<Revocation>, VaultError> {
        let (owed, columns) = (Revocation::TABLE, Revocation::COLUMNS);
        let text = format!(
            "SELECT {columns} FROM (SELECT {columns}, SUM(LENGTH(access) + COALESCE(LENGTH(refresh), 0))
                     OVER (ORDER BY attempts, due DESC, id) AS taken FROM {owed}) AS counted
             WHERE taken > ? ORDER BY attempts DESC, due, id DESC LIMIT ?"
        );
        self.read(Statement::new(text, values(&[&bytes, &most])))
            .await
    }

    /// Deletes a tenant's keys, records, intents and revocations. Its audit stays. Returns whether there was a key.
    pub async fn delete_tenant(
        &self,
        tenant: Option<&str>,
        audit: &AuditRecord,
    ) -> Result<bool, VaultError> {
        // A record added in between protects its key. Both are deleted at the next attempt.
        for _ in 0..TRIES {
            let all = || Filter::tenant(tenant);
            let deletion = Change::of(all().delete::<TenantKey>())
                .before(all().delete::<VaultRecord>())
                .before(all().delete::<Revocation>())
                .before(Statement {
                    erases: true,
                    ..all().delete::<IntentRow>()
                })
                .audited(audit);
            match self.write(deletion).await? {
                WriteOutcome::UnknownKey => {}
                written => return Ok(written == WriteOutcome::Kept),
            }
        }
        Err(VaultError::Conflict)
    }

    /// Adds an audit record. Keeps the newest `most` records of each user and event.
    pub async fn append(&self, audit: &AuditRecord, most: usize) -> Result<(), VaultError> {
        let appended = Change::append(audit, most, self.database().lock());
        self.change(appended).await.map(drop)
    }

    /// Deletes all audit records before a time, and returns their number.
    pub async fn purge_audit(&self, before: Millis) -> Result<u64, VaultError> {
        let old = Filter::default().and("at < ?", &before);
        let deletion = Change::of(old.delete::<AuditEntry>());
        Ok(match self.change(deletion.batch(None)).await? {
            BatchOutcome::Rows(rows) => rows,
            BatchOutcome::ForeignKey => 0,
        })
    }

    pub(crate) async fn change(&self, batch: Batch) -> Result<BatchOutcome, VaultError> {
        // Tests run other tasks here.
        #[cfg(test)]
        tokio::task::yield_now().await;
        Ok(self.database().change(batch).await?)
    }

    pub(crate) async fn rows(&self, statement: Statement) -> Result<Vec<Vec<Value>>, VaultError> {
        #[cfg(test)]
        tokio::task::yield_now().await;
        Ok(self.database().rows(statement).await?)
    }

    async fn read<T: FromColumns>(&self, statement: Statement) -> Result<Vec<T>, VaultError> {
        let rows = self.rows(statement).await?;
        rows.into_iter()
            .map(|row| T::read(&mut row.into_iter()))
            .collect()
    }
}
