use std::{
    collections::{HashMap, HashSet},
    future::ready,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use askback_connect::vault::{
    AccountKey, AccountQuery, Grant, KeyWrapper, LocalKeys, RenewalError, Renewer,
    RevocationFailure, RevocationOutcome, Revoker, SqliteVault, TokenKind, Vault, VaultSettings,
    VaultStore,
};
use askback_core::{
    ask::{
        Millis, Principal,
        keys::{Key, KeyRing},
    },
    auth::Scopes,
    clock::Clock,
    future::BoxFuture,
};
use askback_oauth::Secret;
use tempfile::TempDir;
use tokio::sync::Semaphore;

#[cfg(all(unix, feature = "postgres"))]
use crate::place::Place;

pub(crate) const NOW: Millis = 1_800_000_000_000;
pub(crate) const HOUR: Millis = 3_600_000;

pub(crate) struct Hands(AtomicU64);

impl Hands {
    pub(crate) fn turn(&self, by: Millis) {
        self.0.fetch_add(by, Ordering::SeqCst);
    }
}

impl Clock for Hands {
    fn now(&self) -> Millis {
        self.0.load(Ordering::SeqCst)
    }
}

pub(crate) struct Stage {
    pub(crate) directory: TempDir,
    pub(crate) store: Arc<dyn VaultStore>,
    pub(crate) clock: Arc<Hands>,
    open: Opening,
}

/// Opens the store again, like another process.
pub(crate) type Opening = Box<dyn Fn() -> BoxFuture<'static, Arc<dyn VaultStore>> + Send + Sync>;

impl Stage {
    pub(crate) fn in_memory() -> Self {
        let store: Arc<dyn VaultStore> = Arc::new(SqliteVault::in_memory().unwrap());
        let same = Arc::clone(&store);
        let open: Opening = Box::new(move || Box::pin(ready(Arc::clone(&same))));
        Self::with(store, open, tempfile::tempdir().unwrap())
    }

    pub(crate) fn in_sqlite() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("vault.db");
        let store = move || -> Arc<dyn VaultStore> { Arc::new(SqliteVault::open(&path).unwrap()) };
        let first = store();
        Self::with(first, Box::new(move || Box::pin(ready(store()))), directory)
    }

    /// Returns `None` without PostgreSQL.
    #[cfg(all(unix, feature = "postgres"))]
    pub(crate) async fn in_postgres() -> Option<Self> {
        Some(Self::at(Arc::new(Place::new().await?)).await)
    }

    #[cfg(all(unix, feature = "postgres"))]
    pub(crate) async fn at(place: Arc<Place>) -> Self {
        let same = Arc::clone(&place);
        let open: Opening = Box::new(move || {
            let place = Arc::clone(&same);
            Box::pin(async move { place.store().await })
        });
        Self::with(open().await, open, tempfile::tempdir().unwrap())
    }

    #[cfg(not(all(unix, feature = "postgres")))]
    pub(crate) async fn in_postgres() -> Option<Self> {
        None
    }

    pub(crate) async fn all() -> Vec<Self> {
        let own = [Self::in_sqlite()];
        own.into_iter().chain(Self::in_postgres().await).collect()
    }

    fn with(store: Arc<dyn VaultStore>, open: Opening, directory: TempDir) -> Self {
        Self {
            directory,
            store,
            clock: Arc::new(Hands(AtomicU64::new(NOW))),
            open,
        }
    }

    pub(crate) async fn vault(&self) -> Vault {
        self.vault_with(Arc::new(keys(7))).await
    }

    pub(crate) async fn vault_with(&self, keys: Arc<dyn KeyWrapper>) -> Vault {
        self.vault_within(keys, |_| {}).await
    }

    pub(crate) async fn vault_within(
        &self,
        keys: Arc<dyn KeyWrapper>,
        set: impl FnOnce(&mut VaultSettings),
    ) -> Vault {
        let store = (self.open)().await;
        let mut settings = VaultSettings::default();
        settings.poll = Duration::from_millis(5);
        set(&mut settings);
        let clock = Arc::clone(&self.clock);
        let vault = Vault::open_with(store, keys, settings, clock);
        vault.await.unwrap()
    }
}

pub(crate) fn keys(byte: u8) -> LocalKeys {
    LocalKeys::new(ring(byte))
}

pub(crate) fn ring(byte: u8) -> KeyRing {
    KeyRing::new(Key::new(&[byte; 32]))
}

/// A user of a tenant, with the client that acts for them.
pub(crate) fn person(tenant: &str, subject: &str) -> Principal {
    Principal {
        tenant: Some(tenant.to_owned()),
        issuer: Some("https://login.example".to_owned()),
        subject: subject.to_owned(),
        client_id: Some("editor".to_owned()),
    }
}

pub(crate) fn ada() -> Principal {
    person("acme", "ada")
}

pub(crate) fn wanted(caller: &Principal) -> AccountQuery {
    AccountQuery::new(caller, "github")
}

pub(crate) fn tokens(number: usize) -> Grant {
    let access = Secret::new(format!("canary-access-{number}"));
    Grant::tokens(
        access,
        Some(Secret::new(format!("canary-refresh-{number}"))),
    )
}

/// A scripted provider that accepts each refresh token once.
pub(crate) struct Provider {
    /// The errors of the first renewals, in order. Later renewals succeed.
    pub(crate) renewals: Mutex<Vec<RenewalError>>,
    pub(crate) is_down: Mutex<bool>,
    /// Whether a revocation affects only the token in the request.
    pub(crate) is_single: Mutex<bool>,
    pub(crate) names_accounts: Mutex<bool>,
    /// Whether it revokes access tokens only.
    pub(crate) takes_access_alone: Mutex<bool>,
    /// Expired tokens, and the responses to their revocation.
    pub(crate) dead: Mutex<HashMap<String, RevocationOutcome>>,
    pub(crate) revoked: Mutex<Vec<(TokenKind, String)>>,
    pub(crate) requests: AtomicUsize,
    /// The scopes that it lists for new tokens.
    pub(crate) scopes: Mutex<Option<Scopes>>,
    spent: Mutex<HashSet<String>>,
    pub(crate) answers: Semaphore,
    clock: Arc<Hands>,
}

impl Provider {
    pub(crate) fn new(stage: &Stage) -> Arc<Self> {
        Arc::new(Self {
            renewals: Mutex::default(),
            is_down: Mutex::default(),
            is_single: Mutex::default(),
            names_accounts: Mutex::new(true),
            takes_access_alone: Mutex::default(),
            dead: Mutex::default(),
            revoked: Mutex::default(),
            requests: AtomicUsize::new(0),
            scopes: Mutex::default(),
            spent: Mutex::default(),
            answers: Semaphore::new(Semaphore::MAX_PERMITS),
            clock: Arc::clone(&stage.clock),
        })
    }

    /// A provider that responds only after it gets a permit.
    pub(crate) fn held(stage: &Stage) -> Arc<Self> {
        let provider = Self::new(stage);
        provider.answers.forget_permits(Semaphore::MAX_PERMITS);
        provider
    }

    pub(crate) fn requests(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }

    pub(crate) fn renewer(self: &Arc<Self>) -> Arc<dyn Renewer> {
        Arc::clone(self) as Arc<dyn Renewer>
    }
}

impl Renewer for Provider {
    fn renew<'a>(
        &'a self,
        _account: &'a AccountKey,
        refresh: &'a Secret,
    ) -> BoxFuture<'a, Result<Grant, RenewalError>> {
        Box::pin(async {
            let number = 1 + self.requests.fetch_add(1, Ordering::SeqCst);
            self.answers.acquire().await.unwrap().forget();
            let mut renewals = self.renewals.lock().unwrap();
            if !renewals.is_empty() {
                return Err(renewals.remove(0));
            }
            let mut spent = self.spent.lock().unwrap();
            if !spent.insert(refresh.expose().to_owned()) {
                return Err(RenewalError::Refused);
            }
            let granted = tokens(number).expires(self.clock.now() + HOUR);
            Ok(match self.scopes.lock().unwrap().clone() {
                Some(scopes) => granted.scopes(scopes),
                None => granted,
            })
        })
    }
}

impl Revoker for Provider {
    fn revoke<'a>(
        &'a self,
        _account: &'a AccountKey,
        token: &'a Secret,
        kind: TokenKind,
    ) -> BoxFuture<'a, Result<RevocationOutcome, RevocationFailure>> {
        Box::pin(async move {
            if *self.is_down.lock().unwrap() {
                return Err(RevocationFailure);
            }
            let token = token.expose().to_owned();
            if kind == TokenKind::Refresh && *self.takes_access_alone.lock().unwrap() {
                return Ok(RevocationOutcome::NotTaken);
            }
            let is_dead = self.dead.lock().unwrap().get(&token).copied();
            self.revoked.lock().unwrap().push((kind, token));
            Ok(is_dead.unwrap_or(RevocationOutcome::Revoked))
        })
    }

    fn names_accounts(&self, _provider: &str) -> bool {
        *self.names_accounts.lock().unwrap()
    }

    fn revokes_singly(&self, _provider: &str) -> bool {
        *self.is_single.lock().unwrap()
    }
}

pub(crate) async fn until(mut is_so: impl FnMut() -> bool) {
    let waited = async {
        while !is_so() {
            tokio::task::yield_now().await;
        }
    };
    let most = Duration::from_secs(20);
    tokio::time::timeout(most, waited)
        .await
        .expect("it comes to that");
}
