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

/// Sealed secrets: of an account, or of a pending revocation.
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
    /// Wraps all tenants' data keys with the active key-encryption key, and returns how many had another one. After
    /// that, the other key-encryption keys are not needed any more.
    ///
    /// # Errors
    ///
    /// If the store or the keys fail.
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

    /// Creates a new data key for a tenant and [sweeps](Self::sweep) it.
    ///
    /// # Errors
    ///
    /// If the store or the keys fail.
    pub async fn rotate(&self, tenant: Option<&str>) -> Result<usize, VaultError> {
        // If another process was faster, its key is just as new.
        self.add_data_key(tenant, self.inner.now()).await?;
        self.sweep(tenant).await
    }

    /// Creates a new data key for a tenant and [sweeps](Self::sweep) it, because an older key may have leaked. With
    /// `None`, this invalidates the pages' cookies under older keys in all processes, so every user has to sign in
    /// again.
    ///
    /// # Errors
    ///
    /// If the store or the keys fail.
    pub async fn rotate_compromised(&self, tenant: Option<&str>) -> Result<usize, VaultError> {
        for _ in 0..TRIES {
            if self.add_data_key(tenant, COOKIES_END).await? {
                return self.sweep(tenant).await;
            }
        }
        Err(VaultError::Conflict)
    }

    /// Creates a new data key for a tenant. Returns whether no other process was faster.
    async fn add_data_key(&self, tenant: Option<&str>, made: Millis) -> Result<bool, VaultError> {
        let inner = &self.inner;
        inner.keys.forget(tenant);
        let newest = inner.keys.all(tenant).await?.newest();
        inner.keys.add(tenant, newest, made).await
    }

    /// Reseals all records and pending revocations of a tenant under its newest data key, and deletes the older keys.
    /// Returns how many were resealed. Concurrent writes use the newest key too.
    ///
    /// Secrets with an invalid seal are left unchanged, and their key is kept. They are reported in the log and in the
    /// audit ([`AuditEvent::NotResealed`]). Once the user has connected the account again, or the revocation has ended,
    /// the next sweep deletes the key.
    ///
    /// With `None`, the key also seals the pages' cookies and intents. The old key opens cookies for an hour and five
    /// minutes after the new one was created. It opens intents until a sweep deletes it, a day and fifteen minutes
    /// after.
    ///
    /// # Errors
    ///
    /// If the store or the keys fail.
    pub async fn sweep(&self, tenant: Option<&str>) -> Result<usize, VaultError> {
        let inner = &self.inner;
        let mut done = 0;
        let mut idle = 0;
        let mut shut = HashSet::new();
        loop {
            // Another process may have created a newer key.
            inner.keys.forget(tenant);
            let Some(newest) = inner.keys.all(tenant).await?.newest() else {
                return Ok(done);
            };
            let some = Filter::tenant(tenant).sealed_otherwise(newest);
            let some = some.most(BATCH + shut.len());
            let records = inner.store.list(some.clone()).await?.into_iter();
            // Listed after the records, because a record that is deleted in between becomes a revocation.
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
                // Other processes were faster with all of them, several times.
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

    /// Seals secrets under the newest key. Returns whether they had another one.
    async fn reseal(&self, item: &SealedItem) -> Result<bool, VaultError> {
        let inner = &self.inner;
        let (account, sealed, is_api_key) = item.parts();
        if let SealedItem::Record(record) = item
            && !inner.verify(record).await?
        {
            return Ok(false);
        }
        let open = |column| inner.unsealed(account, sealed, column);
        let Some(secret) = open(Column::of_secret(is_api_key)).await? else {
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

    /// Deletes a tenant with its keys and all its records at once, so that no secret can be opened any more. Does not
    /// revoke tokens: [disconnect](Self::disconnect) the accounts first if you want that. The audit stays.
    ///
    /// An older backup of the database still contains the tenant's wrapped keys.
    ///
    /// # Errors
    ///
    /// If the store fails.
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
