//! The rules of [`VaultStore`], checked on each store.

mod intents;
mod outbox;
mod records;
mod tenants;

use std::{fmt, future::Future, pin::Pin, sync::Arc};

use askback_connect::vault::{
    AccountKey, AccountState, AuditEntry, AuditEvent, AuditRecord, Change, EndedVisit, Filter,
    Holder, IntentRoom, IntentRow, Lease, Revocation, SealedSecrets, Settlement, SqliteVault,
    TenantKey, VaultError, VaultRecord, VaultStore, WrappedKey, WriteOutcome,
};
use askback_core::{
    ask::{Millis, keys::KeyId},
    auth::Scopes,
};
use tokio::task::JoinSet;

/// Checks the rules on a store. `create` makes an empty store and returns a function that opens it. It is opened twice,
/// as if by two processes.
async fn check<C, O>(create: C)
where
    C: AsyncFn() -> O,
    O: AsyncFn() -> Arc<dyn VaultStore>,
{
    let mut broken = Vec::new();
    for (rule, check) in RULES {
        let open = create().await;
        let stores = Stores {
            one: open().await,
            other: open().await,
        };
        if let Err(Instead(how)) = check(stores).await {
            broken.push(format!("{rule}: {how}"));
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn records_in_memory_keep_the_contract() {
    check(async || {
        let store: Arc<dyn VaultStore> = Arc::new(SqliteVault::in_memory().unwrap());
        async move || Arc::clone(&store)
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn records_in_sqlite_keep_the_contract() {
    let directory = tempfile::tempdir().unwrap();
    let made = std::cell::Cell::new(0);
    check(async || {
        made.set(made.get() + 1);
        let path = directory.path().join(format!("{}.db", made.get()));
        async move || {
            let store: Arc<dyn VaultStore> = Arc::new(SqliteVault::open(&path).unwrap());
            store
        }
    })
    .await;
}

#[cfg(all(unix, feature = "postgres"))]
#[tokio::test(flavor = "multi_thread")]
async fn records_in_postgresql_keep_the_contract() {
    use crate::place::Place;
    if Place::new().await.is_none() {
        return;
    }
    check(async || {
        let place = Place::new().await.expect("there was one before");
        async move || place.store().await
    })
    .await;
}

struct Stores {
    one: Arc<dyn VaultStore>,
    other: Arc<dyn VaultStore>,
}

type Kept = Result<(), Instead>;

struct Instead(String);

impl From<VaultError> for Instead {
    fn from(error: VaultError) -> Self {
        Self(error.to_string())
    }
}

type Rule = fn(Stores) -> Pin<Box<dyn Future<Output = Kept> + Send>>;

const RULES: &[(&str, Rule)] = &[
    ("a record is read as it was put", |stores| {
        Box::pin(records::read_back(stores))
    }),
    ("a person's records are theirs alone", |stores| {
        Box::pin(records::apart(stores))
    }),
    (
        "an account is found with whoever has connected it",
        |stores| Box::pin(records::shared(stores)),
    ),
    (
        "a record is put in place of the version expected",
        |stores| Box::pin(records::compared(stores)),
    ),
    ("of many who put at the same time one does", |stores| {
        Box::pin(records::put_at_a_time(stores))
    }),
    ("a lease is given once, until it runs out", |stores| {
        Box::pin(records::leased(stores))
    }),
    ("of many leases at the same time one is given", |stores| {
        Box::pin(records::leased_at_a_time(stores))
    }),
    ("a renewal needs the version and the lease", |stores| {
        Box::pin(records::fenced(stores))
    }),
    (
        "what is sealed anew keeps its version and its lease",
        |stores| Box::pin(records::resealed(stores)),
    ),
    (
        "nothing is sealed under a key that is not there",
        |stores| Box::pin(tenants::keyed(stores)),
    ),
    (
        "a key is dropped when nothing is sealed under it",
        |stores| Box::pin(tenants::dropped(stores)),
    ),
    ("a tenant has one newest key", |stores| {
        Box::pin(tenants::newest(stores))
    }),
    ("a key is wrapped anew once", |stores| {
        Box::pin(tenants::rewrapped(stores))
    }),
    ("what is removed is to be revoked", |stores| {
        Box::pin(outbox::removed(stores))
    }),
    ("what is replaced may be to be revoked", |stores| {
        Box::pin(outbox::replaced(stores))
    }),
    (
        "the revocations that are too many are those tried most",
        |stores| Box::pin(outbox::bounded(stores)),
    ),
    (
        "of what is removed and put at the same time, the newest is to be revoked",
        |stores| Box::pin(outbox::removed_at_a_time(stores)),
    ),
    (
        "a revocation is taken by one at a time, until it is done",
        |stores| Box::pin(outbox::taken(stores)),
    ),
    (
        "tokens to be revoked are replaced by whoever took them last",
        |stores| Box::pin(outbox::renewed_to_revoke(stores)),
    ),
    (
        "tokens to be revoked are sealed anew while they are the same",
        |stores| Box::pin(outbox::resealed(stores)),
    ),
    ("a deleted tenant has nothing but its audit", |stores| {
        Box::pin(tenants::deleted(stores))
    }),
    (
        "the audit tells of what was changed and of nothing else",
        |stores| Box::pin(outbox::audited(stores)),
    ),
    ("an intent is added once, to so many", |stores| {
        Box::pin(intents::added(stores))
    }),
    ("the oldest closed intents of a person give way", |stores| {
        Box::pin(intents::crowded(stores))
    }),
    ("an intent is busy at its provider for a time", |stores| {
        Box::pin(intents::busy(stores))
    }),
    ("a visit is ended for as long as it is noted", |stores| {
        Box::pin(intents::visits(stores))
    }),
    ("of many who change an intent one does", |stores| {
        Box::pin(intents::advanced(stores))
    }),
    ("who goes on reading the audit misses no line", |stores| {
        Box::pin(outbox::followed(stores))
    }),
    (
        "the oldest lines of a person and an event give way",
        |stores| Box::pin(outbox::crowded(stores)),
    ),
    ("any moment may be given", |stores| {
        Box::pin(outbox::any_time(stores))
    }),
];

const NOW: Millis = 1_800_000_000_000;
const KEY: KeyId = KeyId([1; 8]);
const OTHER_KEY: KeyId = KeyId([2; 8]);
const AT_A_TIME: usize = 8;

fn holder(tenant: Option<&str>, issuer: Option<&str>, subject: &str) -> Holder {
    Holder {
        tenant: tenant.map(str::to_owned),
        issuer: issuer.map(str::to_owned),
        subject: subject.to_owned(),
    }
}

fn account() -> AccountKey {
    holder(Some("t"), Some("i"), "ada").account("github", "ada-l")
}

fn key(id: KeyId) -> TenantKey {
    key_of(Some("t"), id)
}

fn key_of(tenant: Option<&str>, id: KeyId) -> TenantKey {
    TenantKey {
        tenant: tenant.map(str::to_owned),
        id,
        wrapped: wrapped("kek", id.0[0]),
        made: NOW + Millis::from(id.0[0]),
    }
}

fn wrapped(kek_id: &str, byte: u8) -> WrappedKey {
    WrappedKey {
        kek_id: kek_id.to_owned(),
        bytes: vec![byte, 0, 255],
    }
}

fn record(version: u64, secret: u8) -> VaultRecord {
    VaultRecord {
        account: account(),
        name: "Ada L".into(),
        version,
        state: AccountState::Active,
        scopes: Scopes::parse("gist repo").unwrap_or_default(),
        obtained: NOW,
        expires: Some(NOW + 3_600_000),
        is_api_key: false,
        sealed: sealed(KEY, secret),
        proof: vec![secret, 2, 255],
        lease: None,
    }
}

fn sealed(key: KeyId, secret: u8) -> SealedSecrets {
    SealedSecrets {
        key,
        access: vec![secret, 0, 255],
        refresh: Some(vec![secret, 1]),
    }
}

fn lease(id: u8, until: Millis) -> Lease {
    Lease {
        id: [id; 16],
        until,
    }
}

/// Replaces the version `before` of a record, or adds it.
fn put(record: &VaultRecord, before: Option<u64>) -> Change {
    match before {
        None => Change::insert(record),
        Some(version) => Change::replace(record, version),
    }
}

/// Replaces this version of a record, under this lease.
fn renewal(record: &VaultRecord, version: u64, lease: u8) -> Change {
    let change = Change::replace(record, version).leased([lease; 16]);
    change.audited(&renewed())
}

fn audit(event: AuditEvent) -> AuditRecord {
    AuditRecord::of(&account(), event, NOW)
}

fn granted() -> AuditRecord {
    audit(AuditEvent::Granted)
}

fn renewed() -> AuditRecord {
    audit(AuditEvent::Renewed)
}

fn disconnected() -> AuditRecord {
    audit(AuditEvent::Disconnected)
}

fn expect<T: PartialEq + fmt::Debug>(what: &str, got: T, want: T) -> Kept {
    match got == want {
        true => Ok(()),
        false => Err(Instead(format!("{what}: {got:?}, not {want:?}"))),
    }
}

async fn with_key(stores: &Stores) -> Result<(), VaultError> {
    stores
        .one
        .write(Change::add_key(&key(KEY), None))
        .await
        .map(drop)
}

async fn with_record(stores: &Stores) -> Result<(), VaultError> {
    with_key(stores).await?;
    stores
        .one
        .write(Change::insert(&record(7, 1)).audited(&granted()))
        .await
        .map(drop)
}

async fn found(store: &Arc<dyn VaultStore>) -> Result<Option<VaultRecord>, VaultError> {
    let account = account();
    let records = store
        .list::<VaultRecord>(Filter::of(&account.holder).at(&account.provider))
        .await?;
    Ok(records.into_iter().find(|record| record.account == account))
}

/// Runs operations concurrently, half of them on each store, and returns the results.
async fn at_a_time<F, T>(
    stores: &Stores,
    work: impl Fn(Arc<dyn VaultStore>, u8) -> F,
) -> Result<Vec<T>, VaultError>
where
    F: Future<Output = Result<T, VaultError>> + Send + 'static,
    T: Send + 'static,
{
    let mut tasks = JoinSet::new();
    for (at, store) in [&stores.one, &stores.other]
        .iter()
        .cycle()
        .take(AT_A_TIME)
        .enumerate()
    {
        tasks.spawn(work(Arc::clone(store), at as u8));
    }
    let mut done = Vec::new();
    while let Some(result) = tasks.join_next().await {
        done.push(result.map_err(VaultError::store)??);
    }
    Ok(done)
}

fn revocation(id: u8, due: Millis) -> Revocation {
    Revocation {
        id: [id; 16],
        account: account(),
        name: "Ada L".into(),
        sealed: sealed(KEY, 1),
        expires: Some(NOW + 3_600_000),
        due,
        attempts: 0,
        is_spared: false,
    }
}
