//! Vault services for the pages: intents and sealed cookies.

use askback_core::{ask::Millis, auth::Scopes};
use askback_oauth::Secret;
use zeroize::Zeroizing;

use super::account::{AccountKey, Holder};
use super::audit::{AuditEvent, AuditRecord};
use super::error::VaultError;
use super::handle::{Inner, Vault};
use super::keys::CACHED_FOR;
use super::query::AccountQuery;
use super::seal::{Place, key_of, open, seal};
use super::sql::{Change, Filter};
use super::store::{EndedVisit, IntentRoom, IntentRow, TenantKey, VaultRecord};
use crate::intents::LIFETIME;

const INTENTS: usize = 16;

/// How long the outcome of an intent is stored: one day. A call may ask for it late.
const KEPT_FOR: Millis = 86_400_000;

/// The maximum lifetime of a sealed cookie, in seconds.
pub(crate) const BROWSER_KEEPS: u64 = 3600;

/// A creation time of a key that invalidates all cookies under older keys at once.
pub(super) const COOKIES_END: Millis = 0;

/// When all cookies under a key have expired. `newer` are the creation times of newer keys: another process may have
/// sealed with the old key for as long as it cached its keys. Never, if there is no newer key.
fn cookies_end(newer: impl IntoIterator<Item = Millis>) -> Millis {
    end_of(newer, BROWSER_KEEPS * 1000)
}

/// When a key is no longer needed for cookies and intents, like [`cookies_end`].
pub(super) fn key_end(newer: impl IntoIterator<Item = Millis>) -> Millis {
    end_of(newer, LIFETIME + KEPT_FOR)
}

fn end_of(newer: impl IntoIterator<Item = Millis>, lifetime: Millis) -> Millis {
    match newer.into_iter().min() {
        None => Millis::MAX,
        Some(COOKIES_END) => 0,
        Some(made) => made.saturating_add(CACHED_FOR + lifetime),
    }
}

impl Vault {
    pub(crate) fn now(&self) -> Millis {
        self.inner.now()
    }

    /// Adds an intent, unless the user has too many. An intent with this id may exist already.
    pub(crate) async fn add_intent(&self, intent: IntentRow) -> Result<bool, VaultError> {
        let Inner {
            store, settings, ..
        } = &*self.inner;
        let now = self.now();
        let room = IntentRoom {
            open: INTENTS,
            closed: settings.closed_intents,
            at_work: now.saturating_sub(LIFETIME),
            before: now.saturating_sub(KEPT_FOR),
        };
        let intent = self.sealed_intent(intent).await?;
        let added = store.write(Change::add_intent(&intent, room, now)).await?;
        Ok(added.is_kept()
            || !store
                .list::<IntentRow>(Filter::id(intent.id))
                .await?
                .is_empty())
    }

    /// Returns the intent with this id, with its body decrypted.
    ///
    /// # Errors
    ///
    /// [`VaultError::NotAuthentic`] if its columns were not written together by a vault, or if its key was deleted.
    pub(crate) async fn intent(&self, id: [u8; 16]) -> Result<Option<IntentRow>, VaultError> {
        let found = self.inner.store.list::<IntentRow>(Filter::id(id)).await?;
        let Some(mut intent) = found.into_iter().next() else {
            return Ok(None);
        };
        let key = key_of(&intent.body).ok_or(VaultError::NotAuthentic)?;
        let key = self.inner.keys.find(None, key).await?;
        let key = key.ok_or(VaultError::NotAuthentic)?;
        intent.body = open(&key, Place::Intent(&intent), &intent.body)?.to_vec();
        // A store that returned another row would give a link to another user.
        match intent.id == id {
            true => Ok(Some(intent)),
            false => Err(VaultError::NotAuthentic),
        }
    }

    /// Replaces the previous version of an intent. Returns whether that version was still current.
    pub(crate) async fn advance_intent(
        &self,
        intent: IntentRow,
        expected: u64,
        audit: &AuditRecord,
    ) -> Result<bool, VaultError> {
        let intent = self.sealed_intent(intent).await?;
        let advanced = Change::replace(&intent, expected).audited(audit);
        Ok(self.inner.store.write(advanced).await?.is_kept())
    }

    /// Seals the body of an intent. Uses the key of the pages for every tenant, because pages read an intent before
    /// they know who opens it.
    async fn sealed_intent(&self, mut intent: IntentRow) -> Result<IntentRow, VaultError> {
        let key = self.inner.keys.newest(None).await?;
        intent.body = seal(&key, Place::Intent(&intent), &intent.body)?;
        Ok(intent)
    }

    /// Returns the id of the matching account, without its credentials.
    pub(crate) async fn account(
        &self,
        wanted: &AccountQuery,
    ) -> Result<Option<String>, VaultError> {
        let record = match self.inner.find(wanted).await {
            Ok(record) if self.inner.needs_person(&record) => return Ok(None),
            Ok(record) => record,
            Err(VaultError::NotConnected) => return Ok(None),
            Err(error) => return Err(error),
        };
        match self.inner.secret(&record).await {
            Err(VaultError::NotAuthentic) => Ok(None),
            _ => Ok(Some(record.account.account)),
        }
    }

    /// The scopes of the account that a new grant will replace, if there is exactly one candidate.
    pub(crate) async fn kept_scopes(&self, wanted: &AccountQuery) -> Result<Scopes, VaultError> {
        let records = self.inner.records(&wanted.holder, &wanted.provider).await?;
        let records = wanted.among(records)?;
        Ok(match &*records {
            [record] if self.inner.is_genuine(record).await? => record.scopes.clone(),
            _ => Scopes::new(),
        })
    }

    /// Returns the display name of the account that was just connected, and whether it matches the query. `None` if it
    /// no longer exists.
    pub(crate) async fn connected(
        &self,
        wanted: &AccountQuery,
        id: &str,
    ) -> Result<Option<(String, bool)>, VaultError> {
        let records = self.inner.records(&wanted.holder, &wanted.provider).await?;
        let is_it = |it: &VaultRecord| it.account.account == id;
        let Some(name) = records
            .iter()
            .find(|it| is_it(it))
            .map(|it| it.name.clone())
        else {
            return Ok(None);
        };
        let is_wanted = wanted.among(records)?.iter().any(is_it);
        Ok(Some((name, is_wanted)))
    }

    pub(crate) async fn name_of(&self, key: &AccountKey) -> Result<Option<String>, VaultError> {
        let record = self.inner.again(key).await?;
        Ok(record.map(|record| record.name))
    }

    /// Deletes a secret that the user entered, unless it was replaced.
    pub(crate) async fn forget_secret(
        &self,
        wanted: &AccountQuery,
        secret: &Secret,
    ) -> Result<(), VaultError> {
        let record = match self.inner.find(wanted).await {
            Err(VaultError::NotConnected) => return Ok(()),
            found => found?,
        };
        let kept = self.inner.secret(&record).await?;
        if record.is_api_key && kept.is_some_and(|kept| kept.expose() == secret.expose()) {
            let account = &record.account;
            let audit = AuditRecord::of(account, AuditEvent::TokenRejected, self.now());
            let removed = Change::remove(account).audited(&audit);
            self.inner.store.write(removed).await?;
        }
        Ok(())
    }

    pub(crate) fn line(&self, holder: &Holder, provider: &str, event: AuditEvent) -> AuditRecord {
        AuditRecord::of(&holder.account(provider, ""), event, self.now())
    }

    pub(crate) async fn append(&self, audit: &AuditRecord) -> Result<(), VaultError> {
        self.inner.append(audit).await
    }

    /// Seals a cookie value. The seal is bound to the cookie's name and valid on all machines.
    pub(crate) async fn seal_cookie(
        &self,
        name: &str,
        value: &[u8],
    ) -> Result<Vec<u8>, VaultError> {
        let key = self.inner.keys.newest(None).await?;
        seal(&key, Place::Cookie(name), value)
    }

    /// Opens a cookie value. Rejects a value under a key whose cookies have all expired: only a thief of the key can
    /// have sealed it.
    pub(crate) async fn open_cookie(
        &self,
        name: &str,
        sealed: &[u8],
    ) -> Result<Zeroizing<Vec<u8>>, VaultError> {
        let inner = &self.inner;
        let id = key_of(sealed).ok_or(VaultError::NotAuthentic)?;
        let keys = inner.keys.all_for(None, id).await?;
        let key = keys.find(id).ok_or(VaultError::NotAuthentic)?;
        let opened = open(key, Place::Cookie(name), sealed)?;
        // Another process may have just replaced the key.
        let kept = inner.store.list::<TenantKey>(Filter::tenant(None)).await?;
        if kept.first().map(|newest| newest.id) != keys.newest() {
            inner.keys.forget(None);
        }
        let place = kept.iter().position(|key| key.id == id);
        let place = place.ok_or(VaultError::NotAuthentic)?;
        let ended = cookies_end(kept[..place].iter().map(|newer| newer.made));
        match self.now() < ended {
            true => Ok(opened),
            false => Err(VaultError::NotAuthentic),
        }
    }

    /// Ends a visit, so that every copy of its cookie becomes invalid.
    pub(crate) async fn end_visit(&self, visit: [u8; 16]) -> Result<(), VaultError> {
        let now = self.now();
        let expires = now.saturating_add(BROWSER_KEEPS * 1000);
        let visit = EndedVisit { id: visit, expires };
        let ended = Change::end_visit(&visit, now);
        self.inner.store.write(ended).await.map(drop)
    }

    pub(crate) async fn has_ended(&self, visit: [u8; 16]) -> Result<bool, VaultError> {
        let ended = self
            .inner
            .store
            .list::<EndedVisit>(Filter::id(visit))
            .await?;
        Ok(!ended.is_empty())
    }
}
