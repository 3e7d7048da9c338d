//! The vault itself.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use askback_core::{
    ask::{Millis, Principal, keys::KeyId},
    auth::Scopes,
    clock::Clock,
};
use askback_oauth::Secret;
use tokio::time::sleep;
use zeroize::Zeroizing;

use super::account::{AccountKey, AccountName, AccountState, Holder};
use super::audit::{AuditEntry, AuditEvent, AuditRecord};
use super::credential::{Credential, Granted, GrantedKind};
use super::error::{VaultError, entropy};
use super::keys::{DataKeys, KeyCache, KeyWrapper, add_key};
use super::renewal::{Renewer, Step, decide};
use super::seal::{Column, Place, open, seal};
use super::settings::{VaultSettings, after};
use super::sql::{Change, Filter};
use super::store::{Revocation, Sealed, TenantKey, VaultRecord, VaultStore, Written};
use super::wanted::Wanted;
use crate::clock::SystemClock;

/// Keeps the credentials of persons, and gives them to nobody else. A clone is the same vault.
#[derive(Clone)]
pub struct Vault {
    pub(super) inner: Arc<Inner>,
}

pub(super) struct Inner {
    pub(super) store: Arc<dyn VaultStore>,
    pub(super) wrapper: Arc<dyn KeyWrapper>,
    pub(super) settings: VaultSettings,
    clock: Arc<dyn Clock>,
    keys: KeyCache,
    /// When old lines of the audit were last removed.
    purged: AtomicU64,
}

/// An account that a person has connected, as it may be shown to them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectedAccount {
    /// The account.
    pub key: AccountKey,
    /// Its name for persons. Two accounts may have the same one.
    pub name: AccountName,
    /// How it is to be used.
    pub state: AccountState,
    /// Its scopes.
    pub scopes: Scopes,
    /// Since when it is connected; none while it is being revoked.
    pub connected: Option<Millis>,
    /// When it was used last, if it was: as far back as the audit goes.
    pub used: Option<Millis>,
}

/// How often something is tried that others change at the same time.
pub(super) const TRIES: usize = 8;

/// How often old lines of the audit are removed, in milliseconds: once an hour.
const PURGE_INTERVAL: Millis = 3_600_000;

/// The most records or keys that are sealed anew at a time.
pub(super) const BATCH: usize = 128;

impl Vault {
    /// Opens the vault whose records are in `store`, and whose keys are wrapped by `keys`.
    ///
    /// # Errors
    ///
    /// [`VaultError::Keys`] where the key-encryption key cannot be used, or `keys` lacks one that some tenant's key is
    /// wrapped by; [`VaultError::NotAuthentic`] where it has one that does not open what it wrapped.
    pub async fn open(
        store: Arc<dyn VaultStore>,
        keys: Arc<dyn KeyWrapper>,
        settings: VaultSettings,
    ) -> Result<Self, VaultError> {
        Self::open_with(store, keys, settings, Arc::new(SystemClock)).await
    }

    /// [`Vault::open`], with another clock.
    ///
    /// # Errors
    ///
    /// As [`Vault::open`].
    pub async fn open_with(
        store: Arc<dyn VaultStore>,
        keys: Arc<dyn KeyWrapper>,
        settings: VaultSettings,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, VaultError> {
        let secret = Zeroizing::new(entropy::<32>()?);
        let id = askback_core::ask::keys::Key::new(&secret).id();
        let wrapped = keys.wrap(None, id, &secret).await?;
        if keys.unwrap(None, id, &wrapped).await? != secret {
            return Err(VaultError::keys("it does not unwrap what it has wrapped"));
        }
        // After changes of keys that were cut off, some are wrapped by the keys before.
        let mut last = String::new();
        while let Some(TenantKey {
            tenant,
            id,
            wrapped,
            ..
        }) = store.list(Filter::next_wrapped(&last)).await?.pop()
        {
            keys.unwrap(tenant.as_deref(), id, &wrapped).await?;
            last = wrapped.kek_id;
        }
        let inner = Arc::new(Inner {
            store,
            wrapper: keys,
            settings,
            clock,
            keys: KeyCache::default(),
            purged: AtomicU64::new(0),
        });
        Ok(Self { inner })
    }

    /// Keeps what a provider gave for an account of a person, in place of what was kept for it before. Tokens that are
    /// kept no more, and those that are refused, are owed to the provider: see [`Vault::revoke_due`]. Secrets that are too
    /// large are not kept for that either.
    ///
    /// # Errors
    ///
    /// [`VaultError::Refused`] where something is too large, and those of the store.
    pub async fn put(
        &self,
        caller: &Principal,
        provider: &str,
        account: &str,
        granted: Granted,
    ) -> Result<(), VaultError> {
        let account = Holder::from(caller).account(provider, account);
        self.inner.put(account, caller, granted).await
    }

    /// Returns a credential of the caller, renewed where it ends soon.
    ///
    /// A renewal that has begun is done even if this future is dropped, so that no token is lost. It needs a runtime of
    /// tokio.
    ///
    /// # Errors
    ///
    /// [`VaultError::NotConnected`] and [`VaultError::NeedsReconnect`] where the person has to be asked, and
    /// [`VaultError::Unavailable`] where the provider gives no new token at the moment.
    pub async fn get(
        &self,
        wanted: &Wanted,
        renewer: &Arc<dyn Renewer>,
    ) -> Result<Credential, VaultError> {
        let inner = &self.inner;
        let record = inner.find(wanted).await?;
        let longest = inner.settings.jittered(inner.settings.margin, [u8::MAX; 4]);
        let at_hand = match decide(&record, inner.now(), longest) {
            Step::Use => inner.secret(&record).await.unwrap_or_default(),
            _ => None,
        };
        let (record, secret) = match at_hand {
            Some(secret) => (record, secret),
            // Whatever may be renewed is, in a task of its own.
            None => {
                let (inner, renewer) = (Arc::clone(inner), Arc::clone(renewer));
                let wanted = wanted.clone();
                let renewal = async move { inner.current(&wanted, &*renewer).await };
                let done = tokio::spawn(renewal).await;
                done.map_err(|error| VaultError::store(error.to_string()))??
            }
        };
        let mut audit = AuditRecord::of(&record.account, AuditEvent::Used, inner.now());
        audit.client = wanted.client.clone();
        inner.append(&audit).await?;
        Ok(Credential {
            account: record.account,
            name: record.name,
            secret,
            expires: record.expires,
            scopes: record.scopes,
        })
    }

    /// Returns the accounts of a person: those that are connected, and those that are still being revoked.
    ///
    /// # Errors
    ///
    /// Those of the store.
    pub async fn accounts(&self, caller: &Principal) -> Result<Vec<ConnectedAccount>, VaultError> {
        let holder = Holder::from(caller);
        let store = &self.inner.store;
        let records: Vec<VaultRecord> = store.list(Filter::of(&holder)).await?;
        let lines = |event| store.list::<AuditEntry>(Filter::of(&holder).event(event));
        let granted = lines(AuditEvent::Granted).await?;
        let used = lines(AuditEvent::Used).await?;
        let at = |lines: &[AuditEntry], account: &AccountKey| {
            let of = |line: &&AuditEntry| line.record.account.as_ref() == Some(account);
            lines.iter().rfind(of).map(|line| line.record.at)
        };
        let connected = records.into_iter().map(|record| {
            // Where the audit does not go back so far, the tokens are what is known to be there since then.
            let since = at(&granted, &record.account).unwrap_or(record.obtained);
            ConnectedAccount {
                // What was connected again was not used before.
                used: at(&used, &record.account).filter(|used| *used >= since),
                connected: Some(since),
                key: record.account,
                name: record.name,
                state: record.state,
                scopes: record.scopes,
            }
        });
        let connected: Vec<_> = connected.collect();
        let revocations = store.list::<Revocation>(Filter::of(&holder)).await?;
        let is_gone = |it: &Revocation| !connected.iter().any(|there| it.account == there.key);
        let gone = revocations.into_iter().filter(is_gone);
        let revoking: Vec<_> = gone
            .map(|revocation| ConnectedAccount {
                key: revocation.account,
                name: revocation.name,
                state: AccountState::Revoking,
                scopes: Scopes::new(),
                connected: None,
                used: None,
            })
            .collect();
        Ok([connected, revoking].concat())
    }

    /// Returns the lines of a tenant's audit after a number, at most so many.
    ///
    /// # Errors
    ///
    /// Those of the store.
    pub async fn audit(
        &self,
        tenant: Option<&str>,
        after: u64,
        most: usize,
    ) -> Result<Vec<AuditEntry>, VaultError> {
        let lines = Filter::tenant(tenant).after(after).most(most);
        self.inner.store.list(lines).await
    }

    /// Removes the lines of all audits before a moment, and returns how many there were. The vault does this by itself for
    /// lines that are older than [`VaultSettings::audit_age`].
    ///
    /// # Errors
    ///
    /// Those of the store.
    pub async fn purge_audit(&self, before: Millis) -> Result<u64, VaultError> {
        self.inner.store.purge_audit(before).await
    }
}

impl Inner {
    pub(super) fn now(&self) -> Millis {
        self.clock.now()
    }

    /// Adds a line to the audit, and removes those that are too many or too old.
    pub(super) async fn append(&self, audit: &AuditRecord) -> Result<(), VaultError> {
        let most = self.settings.audit_lines;
        self.store.append(audit, most).await?;
        let (now, purged) = (self.now(), self.purged.load(Ordering::Relaxed));
        let is_due = now >= purged.saturating_add(PURGE_INTERVAL);
        let swap = || {
            self.purged
                .compare_exchange(purged, now, Ordering::Relaxed, Ordering::Relaxed)
        };
        if is_due && swap().is_ok() {
            let age = after(0, self.settings.audit_age);
            let done = self.store.purge_audit(now.saturating_sub(age)).await;
            if let Err(error) = done {
                tracing::warn!(%error, "old lines of the vault's audit are removed later");
            }
        }
        Ok(())
    }

    async fn put(
        &self,
        account: AccountKey,
        caller: &Principal,
        granted: Granted,
    ) -> Result<(), VaultError> {
        if let Err(error) = self.check(&account, &granted) {
            let unnamed = account.unnamed();
            let nameless = Granted {
                name: None,
                ..granted
            };
            if self.check(&unnamed, &nameless).is_ok() {
                self.owe(&unnamed, &nameless).await?;
            }
            return Err(error);
        }
        let name = AccountName::from(granted.name_of(&account));
        let now = self.now();
        let mut audit = AuditRecord::of(&account, AuditEvent::Granted, now);
        audit.client = caller.client_id.clone();
        let mut pause = self.settings.poll;
        for attempt in 1..=TRIES {
            let records: Vec<VaultRecord> = self.store.list(Filter::of(&account.holder)).await?;
            let kept = records.iter().find(|record| record.account == account);
            if kept.is_none() && records.len() >= self.settings.accounts {
                self.owe(&account, &granted).await?;
                return Err(VaultError::Refused {
                    what: "the person",
                    why: "has too many accounts: disconnect one",
                });
            }
            let expected = kept.map(|record| record.version);
            let was_stale = kept.is_some_and(|it| it.state == AccountState::NeedsReconnect);
            let mut record = VaultRecord {
                account: account.clone(),
                name: name.clone(),
                version: match expected {
                    Some(version) => version + 1,
                    None => u64::from(u32::from_le_bytes(entropy()?)) << 16 | 1,
                },
                state: match was_stale {
                    true => AccountState::Reconnected {
                        until: after(now, self.settings.doubt),
                    },
                    false => AccountState::Active,
                },
                scopes: granted.scopes.clone().unwrap_or_default(),
                obtained: now,
                expires: granted.expires,
                is_api_key: matches!(granted.kind, GrantedKind::ApiKey(_)),
                sealed: self.sealed(&account, &granted.kind).await?,
                proof: Vec::new(),
                lease: None,
            };
            self.prove(&mut record).await?;
            let mut change = match expected {
                None => Change::insert(&record),
                Some(version) => Change::replace(&record, version),
            };
            if kept.is_some_and(|kept| !kept.is_api_key) {
                change = change.owing(&account, (entropy()?, now));
            }
            match self.store.write(change.audited(&audit)).await {
                // The code that they came for is redeemed, so that these tokens cannot be had again.
                Err(VaultError::Store(_)) if attempt < TRIES => {
                    sleep(self.settings.jittered(pause, entropy()?)).await;
                    pause = pause.saturating_mul(2);
                }
                Err(error) => return Err(error),
                Ok(Written::Kept) => {
                    self.give_up(&account.holder).await;
                    return Ok(());
                }
                Ok(Written::Conflict) => {}
                Ok(Written::UnknownKey) => self.forget_keys(&account),
            }
        }
        self.owe(&account, &granted).await?;
        Err(VaultError::Conflict)
    }

    /// Checks that names and secrets may be kept.
    pub(super) fn check(&self, account: &AccountKey, granted: &Granted) -> Result<(), VaultError> {
        let refused = |what, why| VaultError::Refused { what, why };
        if !account.is_fit(granted.name_of(account)) {
            return Err(refused(
                "a name of the account",
                "is too long or holds a NUL",
            ));
        }
        let most = self.settings.secret_bytes;
        if granted
            .kind
            .secrets()
            .any(|secret| secret.expose().len() > most)
        {
            return Err(refused("a secret of the provider", "is too long"));
        }
        Ok(())
    }

    /// The records of a person at a provider.
    pub(super) async fn records(
        &self,
        holder: &Holder,
        provider: &str,
    ) -> Result<Vec<VaultRecord>, VaultError> {
        self.store.list(Filter::of(holder).at(provider)).await
    }

    /// Returns the record that fits, one that is good first.
    pub(super) async fn find(&self, wanted: &Wanted) -> Result<VaultRecord, VaultError> {
        let fits = |record: &VaultRecord| {
            let mut scopes = wanted.scopes.iter();
            scopes.all(|scope| record.scopes.contains(scope))
        };
        let records = self.records(&wanted.holder, &wanted.provider).await?;
        let mut fitting = wanted.among(records)?;
        fitting.retain(fits);
        // They are in the order of their ids.
        let first = match fitting.len() {
            0 | 1 => 0,
            _ => {
                let is_good = |record: &VaultRecord| !self.needs_person(record);
                fitting.iter().position(is_good).unwrap_or_default()
            }
        };
        let found = fitting.into_iter().nth(first);
        found.ok_or(VaultError::NotConnected)
    }

    /// Whether the person has to connect an account again: they were found to, or its token has ended and nothing renews it.
    pub(super) fn needs_person(&self, record: &VaultRecord) -> bool {
        let step = decide(record, self.now(), self.settings.margin);
        matches!(step, Step::Reconnect)
    }

    /// The keys of an account's tenant, with at least one.
    pub(super) async fn sealing_keys(
        &self,
        tenant: Option<&str>,
    ) -> Result<Arc<DataKeys>, VaultError> {
        for _ in 0..TRIES {
            let keys = self.data_keys(tenant).await?;
            if keys.newest().is_some() {
                return Ok(keys);
            }
            add_key(&*self.store, &*self.wrapper, tenant, None, self.now()).await?;
            self.keys.forget(tenant);
        }
        Err(VaultError::Conflict)
    }

    pub(super) async fn data_keys(
        &self,
        tenant: Option<&str>,
    ) -> Result<Arc<DataKeys>, VaultError> {
        let (store, wrapper) = (&*self.store, &*self.wrapper);
        self.keys.keys(store, wrapper, tenant, self.now()).await
    }

    /// The keys of a tenant, for what nobody vouches for that was sealed under a key of this name.
    pub(super) async fn data_keys_with(
        &self,
        tenant: Option<&str>,
        id: KeyId,
    ) -> Result<Arc<DataKeys>, VaultError> {
        let (store, wrapper) = (&*self.store, &*self.wrapper);
        let keys = self
            .keys
            .keys_with(store, wrapper, (tenant, id), self.now());
        keys.await
    }

    /// Has the keys of an account's tenant loaded anew.
    pub(super) fn forget_keys(&self, account: &AccountKey) {
        self.forget_keys_of(account.holder.tenant.as_deref());
    }

    pub(super) fn forget_keys_of(&self, tenant: Option<&str>) {
        self.keys.forget(tenant);
    }

    /// Seals the secrets of an account under its tenant's newest key.
    pub(super) async fn sealed(
        &self,
        account: &AccountKey,
        kind: &GrantedKind,
    ) -> Result<Sealed, VaultError> {
        let keys = self.sealing_keys(account.holder.tenant.as_deref()).await?;
        let key = keys.newest().ok_or(VaultError::Conflict)?;
        let seal = |column, secret: &Secret| {
            let place = Place::Column(account, column);
            seal(key, place, secret.expose().as_bytes())
        };
        let (access, refresh) = match kind {
            GrantedKind::Tokens { access, refresh } => (
                seal(Column::Access, access)?,
                refresh.as_ref().map(|it| seal(Column::Refresh, it)),
            ),
            GrantedKind::ApiKey(secret) => (seal(Column::ApiKey, secret)?, None),
        };
        Ok(Sealed {
            key: key.id(),
            access,
            refresh: refresh.transpose()?,
        })
    }

    /// Opens the access token or the key of a record.
    pub(super) async fn secret(&self, record: &VaultRecord) -> Result<Option<Secret>, VaultError> {
        let column = match record.is_api_key {
            true => Column::ApiKey,
            false => Column::Access,
        };
        self.opened(record, column).await
    }

    /// Writes the proof of a record. Returns whether the key of its secrets is still there.
    pub(super) async fn prove(&self, record: &mut VaultRecord) -> Result<bool, VaultError> {
        let tenant = record.account.holder.tenant.as_deref();
        let Some(keys) = self.data_keys_having(tenant, record.sealed.key).await? else {
            return Ok(false);
        };
        let key = keys.find(record.sealed.key);
        let key = key.ok_or(VaultError::Conflict)?;
        record.proof = seal(key, Place::Record(record), &[])?;
        Ok(true)
    }

    /// Checks that the columns of a record were written together by a vault. Returns whether the key of its secrets is
    /// still there.
    pub(super) async fn verify(&self, record: &VaultRecord) -> Result<bool, VaultError> {
        let tenant = record.account.holder.tenant.as_deref();
        let Some(keys) = self.data_keys_having(tenant, record.sealed.key).await? else {
            return Ok(false);
        };
        let key = keys.find(record.sealed.key);
        let key = key.ok_or(VaultError::Conflict)?;
        open(key, Place::Record(record), &record.proof).map(|_| true)
    }

    /// Whether the columns of a record were written together by a vault.
    pub(super) async fn is_genuine(&self, record: &VaultRecord) -> Result<bool, VaultError> {
        match self.verify(record).await {
            Err(VaultError::NotAuthentic) => Ok(false),
            verified => verified,
        }
    }

    /// The keys of a tenant, loaded again if this one is not among them; none if it is gone.
    pub(super) async fn data_keys_having(
        &self,
        tenant: Option<&str>,
        id: KeyId,
    ) -> Result<Option<Arc<DataKeys>>, VaultError> {
        let mut keys = self.data_keys(tenant).await?;
        if keys.find(id).is_none() {
            self.keys.forget(tenant);
            keys = self.data_keys(tenant).await?;
        }
        Ok(keys.find(id).is_some().then_some(keys))
    }

    /// Opens a secret of a record, or gives nothing where its key is gone: then it is sealed under another one by now,
    /// and is to be read again.
    pub(super) async fn opened(
        &self,
        record: &VaultRecord,
        column: Column,
    ) -> Result<Option<Secret>, VaultError> {
        match self.verify(record).await? {
            true => self.unsealed(&record.account, &record.sealed, column).await,
            false => Ok(None),
        }
    }

    pub(super) async fn unsealed(
        &self,
        account: &AccountKey,
        sealed: &Sealed,
        column: Column,
    ) -> Result<Option<Secret>, VaultError> {
        let tenant = account.holder.tenant.as_deref();
        let keys = self.data_keys_having(tenant, sealed.key).await?;
        let Some(key) = keys.as_deref().and_then(|keys| keys.find(sealed.key)) else {
            return Ok(None);
        };
        let bytes = match column {
            Column::Refresh => sealed.refresh.as_deref(),
            Column::Access | Column::ApiKey => Some(&*sealed.access),
        };
        let Some(bytes) = bytes else {
            return Ok(None);
        };
        let opened = open(key, Place::Column(account, column), bytes)?;
        let text = str::from_utf8(&opened).map_err(|_| VaultError::NotAuthentic)?;
        Ok(Some(Secret::new(text)))
    }

    /// Writes down that nothing was handed out, and says why.
    pub(super) async fn refused(
        &self,
        record: &VaultRecord,
        wanted: &Wanted,
        until: Option<Millis>,
    ) -> VaultError {
        let (event, error) = match until {
            Some(until) => (
                AuditEvent::RefusedUnavailable,
                VaultError::Unavailable { until },
            ),
            None => (AuditEvent::RefusedStale, VaultError::NeedsReconnect),
        };
        self.refusal(record, wanted, event).await.unwrap_or(error)
    }

    pub(super) async fn not_authentic(&self, record: &VaultRecord, wanted: &Wanted) -> VaultError {
        let event = AuditEvent::RefusedNotAuthentic;
        let failed = self.refusal(record, wanted, event).await;
        failed.unwrap_or(VaultError::NotAuthentic)
    }

    async fn refusal(
        &self,
        record: &VaultRecord,
        wanted: &Wanted,
        event: AuditEvent,
    ) -> Option<VaultError> {
        let mut audit = AuditRecord::of(&record.account, event, self.now());
        audit.client = wanted.client.clone();
        self.append(&audit).await.err()
    }
}

impl GrantedKind {
    fn secrets(&self) -> impl Iterator<Item = &Secret> {
        let (first, second) = match self {
            Self::Tokens { access, refresh } => (access, refresh.as_ref()),
            Self::ApiKey(key) => (key, None),
        };
        [Some(first), second].into_iter().flatten()
    }
}

impl fmt::Debug for Vault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Vault").finish_non_exhaustive()
    }
}
