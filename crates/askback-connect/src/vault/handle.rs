use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use askback::SystemClock;
use askback_core::{
    ask::{Millis, Principal, keys::Key},
    auth::Scopes,
    clock::Clock,
};
use askback_oauth::Secret;
use tokio::time::sleep;
use zeroize::Zeroizing;

use super::account::{AccountKey, AccountState, Holder};
use super::audit::{AuditEntry, AuditEvent, AuditRecord};
use super::credential::{Credential, Grant};
use super::error::{VaultError, entropy};
use super::keys::{KeyCache, KeyWrapper};
use super::query::AccountQuery;
use super::renewal::{Renewer, Step, decide};
use super::seal::{Column, Place, open, seal};
use super::settings::{VaultSettings, after};
use super::sql::{Change, Filter};
use super::store::{Revocation, SealedSecrets, TenantKey, VaultRecord, VaultStore, WriteOutcome};
use askback_core::debug_only;

/// Stores the credentials of users, and gives them only to their owner. Clones share one vault.
#[derive(Clone)]
pub struct Vault {
    pub(super) inner: Arc<Inner>,
}

pub(super) struct Inner {
    pub(super) store: Arc<dyn VaultStore>,
    pub(super) settings: VaultSettings,
    clock: Arc<dyn Clock>,
    pub(super) keys: KeyCache,
    purged: AtomicU64,
}

/// A connected account, as it may be shown to its user.
#[derive(Clone, PartialEq, Eq)]
pub struct Account {
    /// The account.
    pub key: AccountKey,
    /// Its display name, which is not unique.
    pub name: String,
    /// Whether it is usable.
    pub state: AccountState,
    /// Its scopes.
    pub scopes: Scopes,
    /// When it was connected. `None` while it is being revoked.
    pub connected: Option<Millis>,
    /// When it was last used, if the audit records a use.
    pub used: Option<Millis>,
}

/// How many times a change is retried after a concurrent change.
pub(super) const TRIES: u32 = 8;

/// The interval between deletions of old audit records, in milliseconds.
const PURGE_INTERVAL: Millis = 3_600_000;

/// The maximum number of records or keys that are resealed at a time.
pub(super) const BATCH: usize = 128;

impl Vault {
    /// Opens the vault with the records in `store` and the key-encryption keys in `keys`.
    ///
    /// # Errors
    ///
    /// [`VaultError::Keys`] if the key-encryption key is unusable, or if `keys` lacks one that wraps a tenant's key.
    /// [`VaultError::NotAuthentic`] if a key in it does not open what it wrapped.
    pub async fn open(
        store: Arc<dyn VaultStore>,
        keys: Arc<dyn KeyWrapper>,
        settings: VaultSettings,
    ) -> Result<Self, VaultError> {
        Self::open_with(store, keys, settings, Arc::new(SystemClock)).await
    }

    /// [`Vault::open`] with another clock.
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
        let id = Key::new(&secret).id();
        let wrapped = keys.wrap(None, id, &secret).await?;
        if keys.unwrap(None, id, &wrapped).await? != secret {
            return Err(VaultError::keys("it does not unwrap what it has wrapped"));
        }
        // After an interrupted change of keys, some tenants' keys are wrapped by old ones.
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
            keys: KeyCache::new(Arc::clone(&store), keys, Arc::clone(&clock)),
            store,
            settings,
            clock,
            purged: AtomicU64::new(0),
        });
        Ok(Self { inner })
    }

    /// Stores what a provider issued for a user's account, replacing any earlier grant. Replaced tokens, and tokens
    /// that are refused, are queued for revocation: see [`Vault::revoke_due`]. Secrets that are too large are not even
    /// queued.
    ///
    /// # Errors
    ///
    /// [`VaultError::Refused`] if a value is too large. Also if the store fails.
    pub async fn put(
        &self,
        caller: &Principal,
        provider: &str,
        account: &str,
        granted: Grant,
    ) -> Result<(), VaultError> {
        let account = Holder::from(caller).account(provider, account);
        self.inner.put(account, caller, granted).await
    }

    /// Returns a credential of the caller, renewed if it is about to expire.
    ///
    /// A renewal is completed even if this future is dropped, so that no token is lost. Requires a tokio runtime.
    ///
    /// # Errors
    ///
    /// [`VaultError::NotConnected`] and [`VaultError::NeedsReconnect`] if the user has to be asked, and
    /// [`VaultError::Unavailable`] if the provider issues no new token now.
    pub async fn get(
        &self,
        wanted: &AccountQuery,
        renewer: &Arc<dyn Renewer>,
    ) -> Result<Credential, VaultError> {
        let inner = &self.inner;
        let (renewer, query) = (Arc::clone(renewer), wanted.clone());
        let current = Arc::clone(inner);
        let current = async move { current.current(&query, &*renewer).await };
        let (record, secret) = completed(current).await?;
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

    /// Returns a user's accounts: the connected ones, and those still being revoked.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn accounts(&self, caller: &Principal) -> Result<Vec<Account>, VaultError> {
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
            // If the audit does not go back that far, use the time of the tokens.
            let since = at(&granted, &record.account).unwrap_or(record.obtained);
            Account {
                // A use before the last connect does not count.
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
            .map(|revocation| Account {
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

    /// Returns at most `most` audit records of a tenant after a number.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn audit(
        &self,
        tenant: Option<&str>,
        after: u64,
        most: usize,
    ) -> Result<Vec<AuditEntry>, VaultError> {
        let lines = Filter::tenant(tenant).after(after).most(most);
        self.inner.store.list(lines).await
    }

    /// Deletes all audit records before a time, and returns their number. The vault itself deletes records older than
    /// [`VaultSettings::audit_age`].
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn purge_audit(&self, before: Millis) -> Result<u64, VaultError> {
        self.inner.store.purge_audit(before).await
    }
}

impl Inner {
    pub(super) fn now(&self) -> Millis {
        self.clock.now()
    }

    /// Adds an audit record, and deletes those that are too many or too old.
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
        granted: Grant,
    ) -> Result<(), VaultError> {
        if let Err(error) = self.check(&account, &granted) {
            let unnamed = account.unnamed();
            let nameless = Grant {
                name: None,
                ..granted
            };
            if self.check(&unnamed, &nameless).is_ok() {
                self.owe(&unnamed, &nameless).await?;
            }
            return Err(error);
        }
        let name = granted.name_of(&account).to_owned();
        let now = self.now();
        let mut audit = AuditRecord::of(&account, AuditEvent::Granted, now);
        audit.client = caller.client_id.clone();
        let mut tries = 0;
        while tries < TRIES {
            let records: Vec<VaultRecord> = self.store.list(Filter::of(&account.holder)).await?;
            let kept = records.iter().find(|record| record.account == account);
            if kept.is_none() && records.len() >= self.settings.accounts {
                self.owe(&account, &granted).await?;
                return Err(VaultError::Refused {
                    what: "the person",
                    why: "has too many accounts: disconnect one",
                });
            }
            let was_stale = kept.is_some_and(|it| it.state == AccountState::NeedsReconnect);
            let mut record = VaultRecord {
                account: account.clone(),
                name: name.clone(),
                version: match kept {
                    Some(kept) => kept.version + 1,
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
                is_api_key: granted.is_api_key,
                sealed: self.sealed(&account, &granted).await?,
                proof: Vec::new(),
                lease: None,
            };
            self.prove(&mut record).await?;
            let mut change = match kept {
                None => Change::insert(&record),
                Some(kept) => Change::replace(&record, kept.version),
            };
            if kept.is_some_and(|kept| !kept.is_api_key) {
                change = change.owing(&account, (entropy()?, now));
            }
            let written = self.store.write(change.audited(&audit)).await;
            if let Some(WriteOutcome::Kept) =
                self.unless_again(&mut tries, &account, written).await?
            {
                self.give_up(&account.holder).await;
                return Ok(());
            }
        }
        self.owe(&account, &granted).await?;
        Err(VaultError::Conflict)
    }

    pub(super) fn check(&self, account: &AccountKey, granted: &Grant) -> Result<(), VaultError> {
        let refused = |what, why| VaultError::Refused { what, why };
        if !account.is_fit(granted.name_of(account)) {
            return Err(refused(
                "a name of the account",
                "is too long or holds a NUL",
            ));
        }
        let most = self.settings.secret_bytes;
        let mut secrets = [Some(&granted.secret), granted.refresh.as_ref()].into_iter();
        if secrets.any(|it| it.is_some_and(|secret| secret.expose().len() > most)) {
            return Err(refused("a secret of the provider", "is too long"));
        }
        Ok(())
    }

    pub(super) async fn records(
        &self,
        holder: &Holder,
        provider: &str,
    ) -> Result<Vec<VaultRecord>, VaultError> {
        self.store.list(Filter::of(holder).at(provider)).await
    }

    /// Returns the matching record, preferring a usable one.
    pub(super) async fn find(&self, wanted: &AccountQuery) -> Result<VaultRecord, VaultError> {
        let fits = |record: &VaultRecord| {
            let mut scopes = wanted.scopes.iter();
            scopes.all(|scope| record.scopes.contains(scope))
        };
        let records = self.records(&wanted.holder, &wanted.provider).await?;
        let mut fitting = wanted.among(records)?;
        fitting.retain(fits);
        // Sorted by id.
        let is_good = |record: &VaultRecord| !self.needs_person(record);
        let first = fitting.iter().position(is_good).unwrap_or_default();
        let found = fitting.into_iter().nth(first);
        found.ok_or(VaultError::NotConnected)
    }

    /// Whether the user has to connect the account again: it is marked so, or its token has expired and cannot be
    /// renewed.
    pub(super) fn needs_person(&self, record: &VaultRecord) -> bool {
        let step = decide(record, self.now(), self.settings.margin);
        matches!(step, Step::Reconnect)
    }

    /// Handles the result of a write that must not be lost, such as tokens whose code is redeemed. Returns `None` if
    /// the caller should try again: the database failed, which this waits for, or the key was deleted, and the keys are
    /// reloaded.
    pub(super) async fn unless_again(
        &self,
        tries: &mut u32,
        account: &AccountKey,
        written: Result<WriteOutcome, VaultError>,
    ) -> Result<Option<WriteOutcome>, VaultError> {
        *tries += 1;
        match written {
            Ok(WriteOutcome::UnknownKey) if *tries >= TRIES => Err(VaultError::Conflict),
            Ok(WriteOutcome::UnknownKey) => {
                self.forget_keys(account);
                Ok(None)
            }
            Err(VaultError::Store(_)) if *tries < TRIES => {
                let pause = self.settings.poll.saturating_mul(1 << (*tries - 1));
                sleep(self.settings.jittered(pause, entropy()?)).await;
                Ok(None)
            }
            written => written.map(Some),
        }
    }

    pub(super) fn forget_keys(&self, account: &AccountKey) {
        self.keys.forget(account.holder.tenant.as_deref());
    }

    /// Seals an account's secrets under its tenant's newest key.
    pub(super) async fn sealed(
        &self,
        account: &AccountKey,
        granted: &Grant,
    ) -> Result<SealedSecrets, VaultError> {
        let key = self.keys.newest(account.holder.tenant.as_deref()).await?;
        let seal = |column, secret: &Secret| {
            let place = Place::Column(account, column);
            seal(&key, place, secret.expose().as_bytes())
        };
        let first = Column::of_secret(granted.is_api_key);
        let refresh = granted.refresh.as_ref();
        Ok(SealedSecrets {
            key: key.id(),
            access: seal(first, &granted.secret)?,
            refresh: refresh.map(|it| seal(Column::Refresh, it)).transpose()?,
        })
    }

    pub(super) async fn secret(&self, record: &VaultRecord) -> Result<Option<Secret>, VaultError> {
        let column = Column::of_secret(record.is_api_key);
        self.opened(record, column).await
    }

    /// Writes the proof of a record. Returns whether the key of its secrets still exists.
    pub(super) async fn prove(&self, record: &mut VaultRecord) -> Result<bool, VaultError> {
        let Some(key) = self.key_of(&record.account, &record.sealed).await? else {
            return Ok(false);
        };
        record.proof = seal(&key, Place::Record(record), &[])?;
        Ok(true)
    }

    /// Checks that the columns of a record were written together by a vault. Returns whether the key of its secrets
    /// still exists.
    pub(super) async fn verify(&self, record: &VaultRecord) -> Result<bool, VaultError> {
        match self.key_of(&record.account, &record.sealed).await? {
            Some(key) => open(&key, Place::Record(record), &record.proof).map(|_| true),
            None => Ok(false),
        }
    }

    async fn key_of(
        &self,
        account: &AccountKey,
        sealed: &SealedSecrets,
    ) -> Result<Option<Arc<Key>>, VaultError> {
        let tenant = account.holder.tenant.as_deref();
        self.keys.find(tenant, sealed.key).await
    }

    /// Whether the columns of a record were written together by a vault.
    pub(super) async fn is_genuine(&self, record: &VaultRecord) -> Result<bool, VaultError> {
        match self.verify(record).await {
            Err(VaultError::NotAuthentic) => Ok(false),
            verified => verified,
        }
    }

    /// Opens a secret of a record. Returns `None` if its key was deleted: the secret has been resealed, and the record
    /// must be read again.
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
        sealed: &SealedSecrets,
        column: Column,
    ) -> Result<Option<Secret>, VaultError> {
        let Some(key) = self.key_of(account, sealed).await? else {
            return Ok(None);
        };
        let bytes = match column {
            Column::Refresh => sealed.refresh.as_deref(),
            Column::Access | Column::ApiKey => Some(&*sealed.access),
        };
        let Some(bytes) = bytes else {
            return Ok(None);
        };
        let opened = open(&key, Place::Column(account, column), bytes)?;
        let text = str::from_utf8(&opened).map_err(|_| VaultError::NotAuthentic)?;
        Ok(Some(Secret::new(text)))
    }

    /// Records that no credential was handed out, and returns the reason.
    pub(super) async fn refused(
        &self,
        record: &VaultRecord,
        wanted: &AccountQuery,
        error: VaultError,
    ) -> VaultError {
        let event = match error {
            VaultError::Unavailable { .. } => AuditEvent::RefusedUnavailable,
            VaultError::NeedsReconnect => AuditEvent::RefusedStale,
            _ => AuditEvent::RefusedNotAuthentic,
        };
        let mut audit = AuditRecord::of(&record.account, event, self.now());
        audit.client = wanted.client.clone();
        self.append(&audit).await.err().unwrap_or(error)
    }
}

/// Completes the work even if the caller is dropped, so that no new token is lost.
pub(super) async fn completed<T: Send + 'static>(
    work: impl Future<Output = Result<T, VaultError>> + Send + 'static,
) -> Result<T, VaultError> {
    let done = tokio::spawn(work).await;
    done.map_err(|error| VaultError::store(error.to_string()))?
}

debug_only! {
    Vault {}
    Account { key, state, scopes, connected, used }
}
