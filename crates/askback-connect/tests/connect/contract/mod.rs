//! The rules of [`VaultStore`], checked on each store.

mod intents;
mod outbox;
mod records;
mod tenants;

use std::{future::Future, sync::Arc};

use askback_connect::vault::{
    AccountKey, AccountState, AuditEntry, AuditEvent, AuditRecord, Change, EndedVisit, Filter,
    Holder, IntentRoom, IntentRow, Lease, Revocation, SealedSecrets, Settlement, SqliteVault,
    TenantKey, VaultRecord, VaultStore, WrappedKey, WriteOutcome,
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
    macro_rules! check_each {
        ($($rule:path,)*) => {$({
            let open = create().await;
            let (one, other) = (Store(open().await), Store(open().await));
            $rule(Stores { one, other }).await;
        })*};
    }
    check_each! {
        records::read_back, records::apart, records::shared, records::compared, records::put_at_a_time,
        records::leased, records::leased_at_a_time, records::fenced, records::resealed,
        tenants::keyed, tenants::dropped, tenants::newest, tenants::rewrapped, tenants::deleted,
        outbox::removed, outbox::removed_at_a_time, outbox::replaced, outbox::bounded, outbox::taken,
        outbox::renewed_to_revoke, outbox::resealed, outbox::audited, outbox::followed, outbox::crowded,
        outbox::any_time,
        intents::added, intents::crowded, intents::busy, intents::visits, intents::advanced,
    }
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
    one: Store,
    other: Store,
}

/// A store that does not fail.
#[derive(Clone)]
struct Store(Arc<dyn VaultStore>);

impl Store {
    async fn write(&self, change: Change) -> WriteOutcome {
        self.0.write(change).await.expect("a store")
    }

    /// Makes a change that the store keeps.
    async fn keeps(&self, what: &str, change: Change) {
        assert_eq!(self.write(change).await, WriteOutcome::Kept, "{what}");
    }

    /// Makes a change of something that has changed in the meantime or does not exist.
    async fn refuses(&self, what: &str, change: Change) {
        assert_eq!(self.write(change).await, WriteOutcome::Conflict, "{what}");
    }

    /// Makes a change with secrets under a key that does not exist.
    async fn lacks_key(&self, what: &str, change: Change) {
        assert_eq!(self.write(change).await, WriteOutcome::UnknownKey, "{what}");
    }

    async fn records(&self, filter: Filter) -> Vec<VaultRecord> {
        self.0.list(filter).await.expect("a store")
    }

    /// The record of [`account`].
    async fn record(&self) -> Option<VaultRecord> {
        let account = account();
        let all = self.records(Filter::of(&account.holder).at(&account.provider));
        all.await.into_iter().find(|it| it.account == account)
    }

    async fn revocations(&self, filter: Filter) -> Vec<Revocation> {
        self.0.list(filter).await.expect("a store")
    }

    /// The revocations of the user of [`account`].
    async fn owed(&self) -> Vec<Revocation> {
        self.revocations(Filter::of(&account().holder)).await
    }

    async fn take_due(&self, now: Millis, until: Millis) -> Option<Revocation> {
        self.0.take_due(now, until).await.expect("a store")
    }

    async fn keys(&self, filter: Filter) -> Vec<TenantKey> {
        self.0.list(filter).await.expect("a store")
    }

    async fn intents(&self, filter: Filter) -> Vec<IntentRow> {
        self.0.list(filter).await.expect("a store")
    }

    async fn intent(&self, id: u8) -> Option<IntentRow> {
        self.intents(Filter::id([id; 16])).await.pop()
    }

    async fn lines(&self, filter: Filter) -> Vec<AuditEntry> {
        self.0.list(filter).await.expect("a store")
    }

    /// The audit of the tenant of [`account`] after a number.
    async fn audit(&self, after: u64) -> Vec<AuditEntry> {
        self.lines(of_tenant().after(after).most(999)).await
    }

    async fn append(&self, line: &AuditRecord, most: usize) {
        self.0.append(line, most).await.expect("a store");
    }

    async fn purge_audit(&self, before: Millis) -> u64 {
        self.0.purge_audit(before).await.expect("a store")
    }

    async fn delete_tenant(&self) -> bool {
        let line = audit(AuditEvent::TenantDeleted);
        let deleted = self.0.delete_tenant(Some("t"), &line).await;
        deleted.expect("a store")
    }
}

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

fn of_tenant() -> Filter {
    Filter::tenant(Some("t"))
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

fn audit(event: AuditEvent) -> AuditRecord {
    AuditRecord::of(&account(), event, NOW)
}

fn granted() -> AuditRecord {
    audit(AuditEvent::Granted)
}

fn insert(record: &VaultRecord) -> Change {
    Change::insert(record).audited(&granted())
}

/// Replaces the version `before` of a record.
fn replace(record: &VaultRecord, before: u64) -> Change {
    Change::replace(record, before).audited(&granted())
}

/// Replaces this version of a record, under this lease.
fn renewal(record: &VaultRecord, version: u64, lease: u8) -> Change {
    let change = Change::replace(record, version).leased([lease; 16]);
    change.audited(&audit(AuditEvent::Renewed))
}

/// Leases the record of [`account`] at this version.
fn leasing(version: u64, id: u8, until: Millis, now: Millis) -> Change {
    Change::lease(&account(), version, lease(id, until), now)
}

/// Deletes the record of [`account`].
fn removal() -> Change {
    Change::remove(&account()).audited(&audit(AuditEvent::Disconnected))
}

/// Deletes the record of [`account`], and queues its tokens under this id.
fn disconnection(id: u8) -> Change {
    removal().owing(&account(), ([id; 16], NOW))
}

impl Stores {
    async fn with_key(self) -> Self {
        let first = Change::add_key(&key(KEY), None);
        self.one.keeps("the first key", first).await;
        self
    }

    /// Adds the first version of [`account`]'s record.
    async fn with_record(self) -> Self {
        let stores = self.with_key().await;
        stores.one.keeps("the record", insert(&record(7, 1))).await;
        stores
    }

    /// Runs operations concurrently, half of them on each store, and returns the results.
    async fn at_a_time<F, T>(&self, work: impl Fn(Store, u8) -> F) -> Vec<T>
    where
        F: Future<Output = T> + Send + 'static,
        T: Send + 'static,
    {
        let mut tasks = JoinSet::new();
        let stores = [&self.one, &self.other].into_iter().cycle();
        for (at, store) in stores.take(AT_A_TIME).enumerate() {
            tasks.spawn(work(store.clone(), at as u8));
        }
        tasks.join_all().await
    }
}
