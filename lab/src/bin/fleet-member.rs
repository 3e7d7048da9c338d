//! `fleet-member DATABASE ISSUER TOKEN_ENDPOINT NOW`: one of the processes that share a vault, controlled by a test.
//! The database is an SQLite file or a PostgreSQL connection string. The clock shows `NOW` until the test advances it.
//!
//! It reads one command per line from stdin: `call COUNT` makes this many concurrent calls that need the token of one
//! account, `turn MILLISECONDS` advances the clock, `waits` reports as soon as calls wait for another process's
//! renewal, and `hold asking` or `hold given` makes a renewal hang: before the provider is asked, or after it has
//! answered. Events are printed to stdout.

use std::{
    env,
    error::Error,
    io::{Write as _, stdin, stdout},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use askback::{
    BoxFuture,
    keys::{Key, KeyRing},
};
use askback_connect::{
    providers::{Providers, ThirdParty},
    vault::{
        AccountKey, Grant, LocalKeys, PostgresSettings, PostgresVault, RenewalError, Renewer,
        SqliteVault, Vault, VaultError, VaultSettings, VaultStore,
    },
};
use askback_core::{ask::Millis, clock::Clock, limits::Limits};
use askback_oauth::{Fetcher, Provider, Reach, RegisteredClient, Route, Secret};
use lab::fleet::{CLIENT, CLIENT_SECRET, KEY, LASTS, PROVIDER, wanted};
use tokio::runtime::Runtime;

type Result<T, E = Box<dyn Error + Send + Sync>> = std::result::Result<T, E>;

/// The time limit for everything, in real time.
const PATIENCE: Duration = Duration::from_secs(60);

/// A call that does not wait reads the clock at most this often.
const LOOKS: u64 = 64;

/// A clock that is set by hand, and counts how often it is read.
struct Hands {
    now: AtomicU64,
    looks: AtomicU64,
}

impl Clock for Hands {
    fn now(&self) -> Millis {
        self.looks.fetch_add(1, Ordering::SeqCst);
        self.now.load(Ordering::SeqCst)
    }
}

/// The third party, whose tokens expire by the vault's clock.
struct Held {
    providers: Providers,
    clock: Arc<Hands>,
    /// Where a renewal hangs.
    place: Mutex<String>,
}

impl Held {
    async fn pass(&self, place: &str) {
        let is_held = *self.place.lock().unwrap_or_else(PoisonError::into_inner) == place;
        say(place);
        if is_held {
            std::future::pending::<()>().await;
        }
    }
}

impl Renewer for Held {
    fn renew<'a>(
        &'a self,
        account: &'a AccountKey,
        refresh: &'a Secret,
    ) -> BoxFuture<'a, Result<Grant, RenewalError>> {
        Box::pin(async move {
            self.pass("asking").await;
            let granted = self.providers.renew(account, refresh).await?;
            self.pass("given").await;
            Ok(granted.expires(self.clock.now.load(Ordering::SeqCst) + LASTS))
        })
    }
}

fn main() -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let arguments: Vec<_> = env::args().skip(1).collect();
    let [database, issuer, token_endpoint, now] = &arguments[..] else {
        return Err("usage: fleet-member DATABASE ISSUER TOKEN_ENDPOINT NOW".into());
    };
    let clock = Arc::new(Hands {
        now: AtomicU64::new(now.parse()?),
        looks: AtomicU64::new(0),
    });
    let vault = runtime.block_on(vault(database, Arc::clone(&clock)))?;
    let renewer = Arc::new(Held {
        providers: providers(issuer, token_endpoint)?,
        clock: Arc::clone(&clock),
        place: Mutex::default(),
    });
    say("ready");
    let mut calls = 0;
    for line in stdin().lines() {
        let line = line?;
        match line.split_once(' ').unwrap_or((&line, "")) {
            ("call", count) => {
                calls = count.parse()?;
                clock.looks.store(0, Ordering::SeqCst);
                call(&runtime, calls, &vault, &renewer);
            }
            ("turn", by) => {
                clock.now.fetch_add(by.parse()?, Ordering::SeqCst);
                say("turned");
            }
            ("hold", place) => {
                let mut held = renewer.place.lock().unwrap_or_else(PoisonError::into_inner);
                place.clone_into(&mut held);
            }
            ("waits", "") => {
                // A waiting call polls the record, and reads the clock each time.
                while clock.looks.load(Ordering::SeqCst) <= calls * LOOKS {
                    std::thread::yield_now();
                }
                say("waits");
            }
            _ => return Err(format!("nobody knows how to {line:?}").into()),
        }
    }
    Ok(())
}

fn call(runtime: &Runtime, calls: u64, vault: &Vault, renewer: &Arc<Held>) {
    for _ in 0..calls {
        let (vault, renewer) = (vault.clone(), Arc::clone(renewer) as Arc<dyn Renewer>);
        runtime.spawn(async move {
            match vault.get(&wanted(), &renewer).await {
                Ok(credential) => say(&format!("token {}", credential.secret.expose())),
                Err(VaultError::Unavailable { .. }) => say("unavailable"),
                Err(VaultError::NeedsReconnect) => say("reconnect"),
                Err(error) => say(&format!("failed {error}")),
            }
        });
    }
}

async fn vault(database: &str, clock: Arc<Hands>) -> Result<Vault> {
    let store: Arc<dyn VaultStore> = if database.starts_with("host=") {
        let mut settings = PostgresSettings::new(Secret::new(database));
        settings.wait = PATIENCE;
        Arc::new(PostgresVault::connect(settings).await?)
    } else {
        Arc::new(SqliteVault::open(database)?)
    };
    let keys = Arc::new(LocalKeys::new(KeyRing::new(Key::new(&KEY))));
    let mut settings = VaultSettings::default();
    settings.poll = Duration::from_millis(5);
    settings.request = PATIENCE;
    Ok(Vault::open_with(store, keys, settings, clock).await?)
}

fn providers(issuer: &str, token_endpoint: &str) -> Result<Providers> {
    let mut limits = Limits::default();
    limits.sign_in.document_fetch = PATIENCE;
    let fetcher = Fetcher::new(Reach::anywhere(), &Route::Direct, &limits)?;
    let provider = Provider::new(issuer, issuer, token_endpoint)?;
    let provider = provider.client_methods(["client_secret_post"]);
    let client = RegisteredClient::new(CLIENT).with_secret(Secret::new(CLIENT_SECRET));
    let party = ThirdParty::oauth(PROVIDER, "Airline", provider, client)?;
    Ok(Providers::new(fetcher).with(party)?)
}

fn say(line: &str) {
    // The test may be over and its pipe closed.
    let _ = writeln!(stdout().lock(), "{line}");
}
