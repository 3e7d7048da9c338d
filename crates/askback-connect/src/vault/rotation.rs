//! New keys in place of old ones, while the vault is in use.

use askback_core::ask::{Millis, keys::Key};

use super::aside::{COOKIES_END, cookies_end};
use super::audit::{AuditEvent, AuditRecord};
use super::credential::GrantedKind;
use super::error::VaultError;
use super::handle::{BATCH, TRIES, Vault};
use super::keys::add_key;
use super::seal::Column;
use super::store::{VaultRecord, Written};

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
            let active = inner.wrapper.active();
            let keys = inner.store.wrapped_otherwise(&active, BATCH).await?;
            if keys.is_empty() {
                return Ok(done);
            }
            for (tenant, key) in keys {
                let tenant = tenant.as_deref();
                let secret = inner.wrapper.unwrap(tenant, key.id, &key.wrapped).await?;
                let wrapped = inner.wrapper.wrap(tenant, key.id, &secret).await?;
                let store = &inner.store;
                let rewrapped = store.rewrap(tenant, key.id, &key.wrapped, &wrapped).await?;
                done += usize::from(rewrapped);
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
    /// A token that its provider is still to take back stays sealed under the key before, until the provider has heard. That
    /// may be long where it waits for others to disconnect the same account.
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
        inner.forget_keys_of(tenant);
        let newest = inner.data_keys(tenant).await?.newest().map(Key::id);
        add_key(&*inner.store, &*inner.wrapper, tenant, newest, made).await
    }

    /// Seals all records of a tenant under its newest data key, and drops the others. Returns how many records were
    /// sealed anew. Whatever is written meanwhile is sealed under the newest key, too.
    ///
    /// A key stays for as long as something is to be revoked that is sealed under it. With `None`, cookies of the pages
    /// are sealed under it, too: the key before stays until they have ended, an hour and five minutes after the newer one
    /// was made. From then on it opens none, and a sweep drops it.
    ///
    /// # Errors
    ///
    /// Those of the store and of the keys.
    pub async fn sweep(&self, tenant: Option<&str>) -> Result<usize, VaultError> {
        let inner = &self.inner;
        let mut done = 0;
        let mut idle = 0;
        loop {
            // Another process may have made a newer one, before or meanwhile.
            inner.forget_keys_of(tenant);
            let keys = inner.data_keys(tenant).await?;
            let Some(newest) = keys.newest().map(|key| key.id()) else {
                return Ok(done);
            };
            let records = inner.store.sealed_otherwise(tenant, newest, BATCH).await?;
            if records.is_empty() {
                break;
            }
            let mut resealed = 0;
            for record in &records {
                resealed += usize::from(self.reseal(record).await?);
            }
            done += resealed;
            idle = if resealed > 0 { 0 } else { idle + 1 };
            // Others were quicker with all of them, again and again.
            if idle >= TRIES {
                return Err(VaultError::Conflict);
            }
        }
        let keys = inner.store.tenant_keys(tenant).await?;
        for (place, key) in keys.iter().enumerate().skip(1) {
            let newer = keys[..place].iter().map(|newer| newer.made);
            if tenant.is_some() || inner.now() >= cookies_end(newer) {
                inner.store.drop_tenant_key(tenant, key.id).await?;
            }
        }
        Ok(done)
    }

    /// Seals a record under the newest key, and returns whether it was under another one.
    async fn reseal(&self, record: &VaultRecord) -> Result<bool, VaultError> {
        let inner = &self.inner;
        let Some(secret) = inner.secret(record).await? else {
            return Ok(false);
        };
        let kind = match record.is_api_key {
            true => GrantedKind::ApiKey(secret),
            false => GrantedKind::Tokens {
                access: secret,
                refresh: inner.opened(record, Column::Refresh).await?,
            },
        };
        let sealed = inner.sealed(&record.account, &kind).await?;
        let from = record.sealed.key;
        if sealed.key == from {
            return Ok(false);
        }
        let store = &inner.store;
        let written = store
            .reseal(&record.account, record.version, from, &sealed)
            .await?;
        if written == Written::UnknownKey {
            inner.forget_keys(&record.account);
        }
        Ok(written == Written::Kept)
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
        inner.forget_keys_of(tenant);
        deleted
    }
}
