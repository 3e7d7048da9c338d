use std::collections::BTreeSet;

use super::*;

/// Nothing is sealed under a key that does not exist.
pub(super) async fn keyed(stores: Stores) {
    let one = stores.one.clone();
    one.lacks_key("no key", insert(&record(7, 1))).await;
    let elsewhere = Change::add_key(&key_of(None, KEY), None);
    one.keeps("a key of another tenant", elsewhere).await;
    one.lacks_key("another tenant's", insert(&record(7, 1)))
        .await;
    assert_eq!(one.record().await, None);

    let Stores { other, .. } = stores.with_record().await;
    let secrets = sealed(OTHER_KEY, 2);
    let unknown = VaultRecord {
        sealed: secrets.clone(),
        ..record(8, 2)
    };
    one.lacks_key("a second record", replace(&unknown, 7)).await;
    one.keeps("a lease", leasing(7, 1, NOW + 10, NOW)).await;
    one.lacks_key("a renewal", renewal(&unknown, 7, 1)).await;
    let revocation = Revocation {
        sealed: secrets,
        ..revocation(1, NOW)
    };
    let added = Change::insert(&revocation);
    one.lacks_key("a revocation", added).await;
    let expected = VaultRecord {
        lease: Some(lease(1, NOW + 10)),
        ..record(7, 1)
    };
    assert_eq!(other.record().await, Some(expected));
}

/// A key is dropped when nothing is sealed under it.
pub(super) async fn dropped(stores: Stores) {
    let Stores { one, other } = stores.with_record().await;
    let drop_key = |key| Change::drop_key(Some("t"), key);
    one.refuses("the only key", drop_key(KEY)).await;
    let second = Change::add_key(&key(OTHER_KEY), Some(KEY));
    one.keeps("the second key", second).await;
    one.lacks_key("of a record", drop_key(KEY)).await;
    one.keeps("disconnected", disconnection(1)).await;
    one.lacks_key("of a revocation", drop_key(KEY)).await;
    let done = Change::settle([1; 16], Settlement::Done);
    one.keeps("revoked", done).await;
    one.refuses("the newest", drop_key(OTHER_KEY)).await;
    other.keeps("an unused key", drop_key(KEY)).await;
    assert_eq!(one.keys(of_tenant()).await, [key(OTHER_KEY)]);
}

/// A tenant has one newest key.
pub(super) async fn newest(stores: Stores) {
    let added = stores.at_a_time(|store, at| async move {
        let key = key(KeyId([at + 1; 8]));
        let outcome = store.write(Change::add_key(&key, None)).await;
        outcome.is_kept().then_some(key)
    });
    let added: Vec<_> = added.await.into_iter().flatten().collect();
    let [first] = &added[..] else {
        panic!("{added:?}");
    };
    let Stores { one, other } = stores;
    let (second, third) = (key(KeyId([100; 8])), key(KeyId([200; 8])));
    let after = |key: &TenantKey, newest: KeyId| Change::add_key(key, Some(newest));
    let unknown = after(&third, third.id);
    other.refuses("after one that is not there", unknown).await;
    other.keeps("the second", after(&second, first.id)).await;
    let late = after(&third, first.id);
    one.refuses("after one that is not the newest", late).await;
    assert_eq!(one.keys(of_tenant()).await, [second, first.clone()]);
    assert_eq!(one.keys(Filter::tenant(None)).await, []);
}

/// A key is rewrapped only once.
pub(super) async fn rewrapped(Stores { one, other }: Stores) {
    for tenant in [None, Some(""), Some("t")] {
        let added = Change::add_key(&key_of(tenant, KEY), None);
        one.keeps("a key", added).await;
    }
    let next = async |last: &str| other.keys(Filter::next_wrapped(last)).await;
    assert_eq!(next("").await.len(), 1, "of three that are wrapped alike");
    let others = |kek: &str, most| other.keys(Filter::wrapped_otherwise(kek).most(most));
    assert_eq!(others("kek", 9).await, []);
    let tenants = others("new", 9).await.into_iter().map(|key| key.tenant);
    let expected = [None, Some(String::new()), Some("t".to_owned())];
    assert_eq!(tenants.collect::<BTreeSet<_>>(), BTreeSet::from(expected));
    assert_eq!(others("new", 2).await.len(), 2);

    let (from, to) = (wrapped("kek", 1).bytes, wrapped("new", 9));
    let anew = TenantKey {
        wrapped: to.clone(),
        ..key(KEY)
    };
    let rewrap = |from: &[u8]| Change::replace(&anew, from);
    one.refuses("from what it is not", rewrap(&to.bytes)).await;
    one.keeps("wrapped anew", rewrap(&from)).await;
    other.refuses("wrapped anew twice", rewrap(&from)).await;
    assert_eq!(other.keys(of_tenant()).await, std::slice::from_ref(&anew));
    assert_eq!(others("new", 9).await.len(), 2);
    for (last, expected) in [("", Some("kek")), ("kek", Some("new")), ("new", None)] {
        let found = next(last).await.pop().map(|key| key.wrapped.kek_id);
        assert_eq!(found.as_deref(), expected, "after {last:?}");
    }
}

/// A deleted tenant has nothing but its audit.
pub(super) async fn deleted(stores: Stores) {
    let Stores { one, other } = stores.with_record().await;
    let owed = Change::insert(&revocation(1, NOW));
    one.keeps("a revocation", owed).await;
    let added = Change::add_key(&key_of(None, KEY), None);
    one.keeps("a key of another tenant", added).await;
    let elsewhere = VaultRecord {
        account: holder(None, Some("i"), "ada").account("github", "ada-l"),
        ..record(7, 1)
    };
    let there = Change::insert(&elsewhere);
    one.keeps("a record of another tenant", there).await;

    assert!(one.delete_tenant().await);
    assert!(!one.delete_tenant().await, "deleted twice");
    assert_eq!(other.record().await, None);
    assert_eq!(other.owed().await, []);
    assert_eq!(other.keys(of_tenant()).await, []);
    let late = insert(&record(7, 1));
    other.lacks_key("under the key that is gone", late).await;
    let lines = other.audit(0).await.into_iter();
    let events: Vec<_> = lines.map(|it| it.record.event).collect();
    assert_eq!(events, [AuditEvent::Granted, AuditEvent::TenantDeleted]);
    let kept = other.records(Filter::of(&elsewhere.account.holder)).await;
    assert_eq!(kept, [elsewhere]);
}
