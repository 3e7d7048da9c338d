//! What the vault does with the rows.

use askback_core::ask::Millis;
use askback_sql::{Batch, BatchOutcome, Statement, Value};

use super::rows::{FromColumns, Row, values};
use super::{Change, Filter};
use crate::vault::audit::{AuditEntry, AuditRecord};
use crate::vault::error::VaultError;
use crate::vault::store::{
    IntentRow, Revocation, TenantKey, VaultRecord, VaultStore, WriteOutcome,
};

/// How often a tenant is deleted while others put records into it.
const TRIES: usize = 8;

impl dyn VaultStore + '_ {
    /// Returns rows: records in the order of the bytes of providers and accounts, keys with the newest first.
    pub async fn list<R: Row>(&self, filter: Filter) -> Result<Vec<R>, VaultError> {
        self.read(filter.select::<R>()).await
    }

    /// Makes a change, with its line of the audit.
    pub async fn write(&self, change: Change) -> Result<WriteOutcome, VaultError> {
        Ok(
            match self.change(change.batch(self.database().lock())).await? {
                BatchOutcome::Rows(0) => WriteOutcome::Conflict,
                BatchOutcome::Rows(_) => WriteOutcome::Kept,
                BatchOutcome::ForeignKey => WriteOutcome::UnknownKey,
            },
        )
    }

    /// Takes the revocation that has been due for the longest: it is due again at `until`, and counts one attempt more.
    /// Of many who take at the same time, no two are given the same one.
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

    /// Returns at most so many revocations, of anybody, that are too many if the secrets of all others take at most so
    /// many bytes: those that were tried most often first, and of these those that have been due for the longest.
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

    /// Deletes the keys, the records, the intents and the revocations of a tenant. Its audit stays. Returns whether there
    /// was a key.
    pub async fn delete_tenant(
        &self,
        tenant: Option<&str>,
        audit: &AuditRecord,
    ) -> Result<bool, VaultError> {
        // A record that is put in between keeps its key: it goes at the next try.
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

    /// Adds a line to the audit. Of the lines about the same person, it keeps the newest `most` of each event.
    pub async fn append(&self, audit: &AuditRecord, most: usize) -> Result<(), VaultError> {
        let appended = Change::append(audit, most, self.database().lock());
        self.change(appended).await.map(drop)
    }

    /// Removes the lines of all audits before a moment, and returns how many there were.
    pub async fn purge_audit(&self, before: Millis) -> Result<u64, VaultError> {
        let old = Filter::default().and("at < ?", &before);
        let deletion = Change::of(old.delete::<AuditEntry>());
        Ok(match self.change(deletion.batch(None)).await? {
            BatchOutcome::Rows(rows) => rows,
            BatchOutcome::ForeignKey => 0,
        })
    }

    pub(crate) async fn change(&self, batch: Batch) -> Result<BatchOutcome, VaultError> {
        // Tests let other tasks run in between.
        #[cfg(test)]
        crate::vault::pause::pause_once().await;
        Ok(self.database().change(batch).await?)
    }

    pub(crate) async fn rows(&self, statement: Statement) -> Result<Vec<Vec<Value>>, VaultError> {
        #[cfg(test)]
        crate::vault::pause::pause_once().await;
        Ok(self.database().rows(statement).await?)
    }

    async fn read<T: FromColumns>(&self, statement: Statement) -> Result<Vec<T>, VaultError> {
        let rows = self.rows(statement).await?;
        rows.into_iter()
            .map(|row| T::read(&mut row.into_iter()))
            .collect()
    }
}
