//! New keys in place of old ones, while the vault is in use.

use std::collections::HashSet;

use askback_core::ask::Millis;

use super::account::AccountKey;
use super::aside::{COOKIES_END, key_end};
use super::audit::{AuditEvent, AuditRecord};
use super::credential::Grant;
use super::error::VaultError;
use super::handle::{BATCH, TRIES, Vault};
use super::seal::Column;
use super::sql::{Change, Filter};
use super::store::{Revocation, SealedSecrets, TenantKey, VaultRecord, WriteOutcome};

/// Secrets that a sweep seals anew: an account's, or tokens that the provider is still to take back.
#[derive(Clone)]
enum SealedItem {
    Record(VaultRecord),
    Owed(Revocation),
}

impl SealedItem {
    fn parts(&self) -> (&AccountKey, &SealedSecrets, bool) {
        match self {
            Self::Record(it) => (&it.account, &it.sealed, it.is_api_key),
            Self::Owed(it) => (&it.account, &it.sealed, false),
        }
    }

    fn key(&self) -> (AccountKey, Option<[u8; 16]>) {
        match self {
            Self::Record(it) => (it.account.clone(), None),
            Self::Owed(it) => (it.account.clone(), Some(it.id)),
        }
    }
}

impl Vault {
    /// Wraps the data keys of all tenants by the active key-encryption key, and returns how many were wrapped by
    /// others. When that is done, the others are needed no more.
    ///
    /// # Errors
    ///
    /// Those of the store and of the keys.
    pub async fn rewrap(&self) -> Result<usize, VaultError> {
        let inner = &self.inner;
        let mut done = 0;
        loop {
            let active = inner.keys.wrapper.active();
            let keys = Filter::wrapped_otherwise(&active).most(BATCH);
            let keys = inner.store.list::<TenantKey>(keys).await?;
            if keys.is_empty() {
                return Ok(done);
            }
            for mut key in keys {
                let tenant = key.tenant.as_deref();
                let secret = inner
                    .keys
                    .wrapper
                    .unwrap(tenant, key.id, &key.wrapped)
                    .await?;
                let wrapped = inner.keys.wrapper.wrap(tenant, key.id, &secret).await?;
                let before = std::mem::replace(&mut key.wrapped, wrapped);
                let rewrapped = Change::replace(&key, &*before.bytes);
                done += usize::from(inner.store.write(rewrapped).await?.is_kept());
            }
        }
    }

    /// Makes a new data key for a tenant and [sweeps](Self::sweep) it.
    ///
    /// # Errors
    ///
    /// Those of the store and of the keys.
    pub async fn rotate(&self, tenant: Option<&str>) -> Result<usize, VaultError> {
        // Where somebody else was quicker, theirs is as new.
        self.add_data_key(tenant, self.inner.now()).await?;
        self.sweep(tenant).await
    }

    /// Makes a new data key for a tenant and [sweeps](Self::sweep) it, where somebody may have one of the keys before. With
    /// `None`, no cookie of the pages opens any more that is sealed under those, in any process: everybody signs in again.
    ///
    /// # Errors
    ///
    /// Those of the store and of the keys.
    pub async fn rotate_compromised(&self, tenant: Option<&str>) -> Result<usize, VaultError> {
        for _ in 0..TRIES {
            if self.add_data_key(tenant, COOKIES_END).await? {
                return self.sweep(tenant).await;
            }
        }
        Err(VaultError::Conflict)
    }

    /// Makes a new data key for a tenant, and returns whether nobody else was quicker.
    async fn add_data_key(&self, tenant: Option<&str>, made: Millis) -> Result<bool, VaultError> {
        let inner = &self.inner;
        inner.keys.forget(tenant);
        let newest = inner.keys.all(tenant).await?.newest();
        inner.keys.add(tenant, newest, made).await
    }

    /// Seals all records of a tenant and all tokens that its providers are still to take back under its newest data key, and
    /// drops the others. Returns how many of both were sealed anew. Whatever is written meanwhile is sealed under the newest
    /// key, too.
    ///
    /// What does not open is left as it is, with its key, and is told of in the log and the audit
    /// ([`AuditEvent::NotResealed`]). Once the person has connected that account again, or its tokens are owed no more, the
    /// next sweep drops the key.
    ///
    /// With `None`, cookies of the pages and intents are sealed under a key, too. The key before opens cookies for an hour and
    /// five minutes after the newer one was made. It opens intents until a sweep drops it, a day and fifteen minutes after.
    ///
    /// # Errors
    ///
    /// Those of the store and of the keys.
    pub async fn sweep(&self, tenant: Option<&str>) -> Result<usize, VaultError> {
        let inner = &self.inner;
        let mut done = 0;
        let mut idle = 0;
        let mut shut = HashSet::new();
        loop {
            // Another process may have made a newer one, before or meanwhile.
            inner.keys.forget(tenant);
            let Some(newest) = inner.keys.all(tenant).await?.newest() else {
                return Ok(done);
            };
            let some = Filter::tenant(tenant).sealed_otherwise(newest);
            let some = some.most(BATCH + shut.len());
            let records = inner.store.list(some.clone()).await?.into_iter();
            // After the records: one that is removed in between is among these.
            let owed = inner.store.list(some).await?.into_iter();
            let all = records.map(SealedItem::Record);
            let mut items: Vec<_> = all.chain(owed.map(SealedItem::Owed)).collect();
            items.retain(|it| !shut.contains(&it.key()));
            if items.is_empty() {
                break;
            }
            let mut resealed = 0;
            for item in &items {
                match self.reseal(item).await {
                    Err(VaultError::NotAuthentic) => {
                        shut.insert(item.key());
                        self.not_resealed(item).await?;
                    }
                    done => resealed += usize::from(done?),
                }
            }
            done += resealed;
            idle = if resealed > 0 { 0 } else { idle + 1 };
            if idle >= TRIES {
                inner.keys.forget(tenant);
                let keys = inner.keys.all(tenant).await?;
                items.retain(|it| keys.find(it.parts().1.key).is_none());
                // Others were quicker with all of them, again and again.
                if items.is_empty() {
                    return Err(VaultError::Conflict);
                }
                for item in &items {
                    self.not_resealed(item).await?;
                    shut.insert(item.key());
                }
                idle = 0;
            }
        }
        let keys = inner
            .store
            .list::<TenantKey>(Filter::tenant(tenant))
            .await?;
        for (place, key) in keys.iter().enumerate().skip(1) {
            let newer = keys[..place].iter().map(|newer| newer.made);
            if tenant.is_some() || inner.now() >= key_end(newer) {
                inner.store.write(Change::drop_key(tenant, key.id)).await?;
            }
        }
        Ok(done)
    }

    async fn not_resealed(&self, item: &SealedItem) -> Result<(), VaultError> {
        let (account, ..) = item.parts();
        let provider = &account.provider;
        tracing::warn!(
            provider,
            "secrets do not open, and keep their key: somebody has changed the database"
        );
        let event = AuditEvent::NotResealed;
        let audit = AuditRecord::of(account, event, self.inner.now());
        self.inner.append(&audit).await
    }

    /// Seals secrets under the newest key, and returns whether they were under another one.
    async fn reseal(&self, item: &SealedItem) -> Result<bool, VaultError> {
        let inner = &self.inner;
        let (account, sealed, is_api_key) = item.parts();
        if let SealedItem::Record(record) = item
            && !inner.verify(record).await?
        {
            return Ok(false);
        }
        let open = |column| inner.unsealed(account, sealed, column);
        let first = match is_api_key {
            true => Column::ApiKey,
            false => Column::Access,
        };
        let Some(secret) = open(first).await? else {
            return Ok(false);
        };
        let granted = match is_api_key {
            true => Grant::api_key(secret),
            false => Grant::tokens(secret, open(Column::Refresh).await?),
        };
        let anew = inner.sealed(account, &granted).await?;
        if anew.key == sealed.key {
            return Ok(false);
        }
        let change = match item.clone() {
            SealedItem::Record(mut record) => {
                record.sealed = anew;
                inner.prove(&mut record).await?;
                Change::reseal(&record, sealed)
            }
            SealedItem::Owed(mut revocation) => {
                revocation.sealed = anew;
                Change::reseal(&revocation, sealed)
            }
        };
        let written = inner.store.write(change).await?;
        if written == WriteOutcome::UnknownKey {
            inner.forget_keys(account);
        }
        Ok(written.is_kept())
    }

    /// Deletes a tenant with its keys and all its records, at once: nothing of it can be opened any more. The providers
    /// are not told; [disconnect](Self::disconnect) the accounts first where they should be. The audit stays.
    ///
    /// A backup of the database that was made before still holds the tenant's keys, wrapped.
    ///
    /// # Errors
    ///
    /// Those of the store.
    pub async fn delete_tenant(&self, tenant: Option<&str>) -> Result<bool, VaultError> {
        let inner = &self.inner;
        let audit = AuditRecord {
            at: inner.now(),
            account: None,
            tenant: tenant.map(str::to_owned),
            client: None,
            event: AuditEvent::TenantDeleted,
        };
        let deleted = inner.store.delete_tenant(tenant, &audit).await;
        inner.keys.forget(tenant);
        deleted
    }
}
