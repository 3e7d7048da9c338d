//! The services of the vault to the pages: intents, and values that a browser keeps.

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

/// How long it is known how an intent ended, in milliseconds: a day. A call may come back late for it.
const KEPT_FOR: Millis = 86_400_000;

/// The longest that a browser keeps what was sealed for it, in seconds.
pub(crate) const BROWSER_KEEPS: u64 = 3600;

/// The time at which a key is said to have been made, where the cookies under all keys before it end at once.
pub(super) const COOKIES_END: Millis = 0;

/// The time at which all cookies under a key have ended, where newer ones were made at these times: another process may
/// have gone on sealing under it for as long as it kept its keys. It is never where there is no newer one.
fn cookies_end(newer: impl IntoIterator<Item = Millis>) -> Millis {
    end_of(newer, BROWSER_KEEPS * 1000)
}

/// The time at which a key is needed no more for cookies and intents, as [`cookies_end`].
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

    /// Adds an intent, unless the person has too many. One of this id may be there already.
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

    /// Returns the intent of this id, with its body opened.
    ///
    /// # Errors
    ///
    /// [`VaultError::NotAuthentic`] if its columns were not written together by a vault, or its key is gone.
    pub(crate) async fn intent(&self, id: [u8; 16]) -> Result<Option<IntentRow>, VaultError> {
        let found = self.inner.store.list::<IntentRow>(Filter::id(id)).await?;
        let Some(mut intent) = found.into_iter().next() else {
            return Ok(None);
        };
        let key = key_of(&intent.body).ok_or(VaultError::NotAuthentic)?;
        let key = self.inner.keys.find(None, key).await?;
        let key = key.ok_or(VaultError::NotAuthentic)?;
        intent.body = open(&key, Place::Intent(&intent), &intent.body)?.to_vec();
        // A store that gives another row gives a link to another person.
        match intent.id == id {
            true => Ok(Some(intent)),
            false => Err(VaultError::NotAuthentic),
        }
    }

    /// Puts an intent in place of its version before, and returns whether that was still there.
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

    /// Seals the body of an intent. The key is the one of the pages, whichever tenant the person has: pages read an intent
    /// before they know who opens it.
    async fn sealed_intent(&self, mut intent: IntentRow) -> Result<IntentRow, VaultError> {
        let key = self.inner.keys.newest(None).await?;
        intent.body = seal(&key, Place::Intent(&intent), &intent.body)?;
        Ok(intent)
    }

    /// The id of the account that has what is wanted, if there is one, without handing it out.
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

    /// The scopes of the account that a new grant would take the place of, where there is one alone that it can be.
    pub(crate) async fn kept_scopes(&self, wanted: &AccountQuery) -> Result<Scopes, VaultError> {
        let records = self.inner.records(&wanted.holder, &wanted.provider).await?;
        let records = wanted.among(records)?;
        Ok(match &*records {
            [record] if self.inner.is_genuine(record).await? => record.scopes.clone(),
            _ => Scopes::new(),
        })
    }

    /// Returns the name for persons of the account of this id, which was connected, and whether it is one that is wanted;
    /// none where it is there no more.
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

    /// Returns the name for persons of an account that was connected, where it is there.
    pub(crate) async fn name_of(&self, key: &AccountKey) -> Result<Option<String>, VaultError> {
        let record = self.inner.again(key).await?;
        Ok(record.map(|record| record.name))
    }

    /// Keeps a secret that the person entered no more, if it is still that one.
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

    /// Seals a value that a browser keeps under a name. It opens under no other name, on any machine.
    pub(crate) async fn seal_cookie(
        &self,
        name: &str,
        value: &[u8],
    ) -> Result<Vec<u8>, VaultError> {
        let key = self.inner.keys.newest(None).await?;
        seal(&key, Place::Cookie(name), value)
    }

    /// Opens a value that a browser kept under a name. One under a key whose cookies have all ended is somebody else's,
    /// who has that key, whether or not it has been dropped.
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
        // Another process may have replaced the key just now.
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

    /// Ends a visit of a browser, wherever its cookie is by now.
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
