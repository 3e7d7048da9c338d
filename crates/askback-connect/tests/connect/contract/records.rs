use super::*;

/// A record is read as it was put.
pub(super) async fn read_back(stores: Stores) {
    let Stores { one, other } = stores.with_key().await;
    let states = [
        AccountState::Active,
        AccountState::CoolingDown {
            until: NOW + 5,
            failures: 3,
        },
        AccountState::Replaced { until: NOW + 6 },
        AccountState::Reconnected { until: NOW + 7 },
    ];
    let records = states.map(|state| VaultRecord {
        state,
        ..record(7, 1)
    });
    let key = VaultRecord {
        name: "Ada Lovelace / Jürgen".into(),
        state: AccountState::NeedsReconnect,
        scopes: Scopes::new(),
        expires: None,
        is_api_key: true,
        sealed: SealedSecrets {
            refresh: None,
            ..sealed(KEY, 3)
        },
        ..record(7, 3)
    };
    for (version, record) in (7..).zip(records.into_iter().chain([key])) {
        let record = VaultRecord { version, ..record };
        let change = match version {
            7 => insert(&record),
            _ => replace(&record, version - 1),
        };
        one.keeps("put", change).await;
        assert_eq!(other.record().await, Some(record));
    }
}

/// A user's records are separate from other users' records.
pub(super) async fn apart(Stores { one, other }: Stores) {
    let mut holders = Vec::new();
    for tenant in [None, Some(""), Some("t"), Some("=t")] {
        let added = Change::add_key(&key_of(tenant, KEY), None);
        one.keeps("a key", added).await;
        let issuers = [None, Some(""), Some("i"), Some("t")];
        let of = issuers.map(|issuer| ["ada", "i", "it"].map(|it| holder(tenant, issuer, it)));
        holders.extend(of.into_iter().flatten());
    }
    for holder in &holders {
        for (provider, name) in [("github", "b"), ("github", "a"), ("Gitlab", "a"), ("", "")] {
            let record = VaultRecord {
                account: holder.account(provider, name),
                ..record(7, 1)
            };
            one.keeps("put", insert(&record)).await;
        }
    }
    for holder in &holders {
        let all = other.records(Filter::of(holder)).await;
        let names = all.iter().map(|it| &it.account);
        let names: Vec<_> = names.map(|it| (&*it.provider, &*it.account)).collect();
        let expected = [("", ""), ("Gitlab", "a"), ("github", "a"), ("github", "b")];
        assert_eq!(names, expected);
        assert!(all.iter().all(|record| record.account.holder == *holder));
        for (provider, count) in [("github", 2), ("", 1)] {
            let some = other.records(Filter::of(holder).at(provider)).await;
            assert_eq!(some.len(), count, "{provider:?}");
        }
    }
}

/// An account is found with every user who has connected it.
pub(super) async fn shared(stores: Stores) {
    let Stores { one, other } = stores.with_record().await;
    let added = Change::add_key(&key_of(None, KEY), None);
    one.keeps("a key", added).await;
    for (tenant, subject, provider, account, name) in [
        (None, "bob", "github", "ada-l", "Ada L"),
        (Some("t"), "bob", "github", "bob", "Ada L"),
        (Some("t"), "bob", "google", "ada-l", "Ada L"),
        // This user's display name is the id of another account.
        (None, "mallory", "github", "m-1", "ada-l"),
    ] {
        let put = VaultRecord {
            account: holder(tenant, None, subject).account(provider, account),
            name: name.into(),
            ..record(7, 1)
        };
        one.keeps("put", insert(&put)).await;
    }
    for (id, expected) in [
        ("ada-l", &["ada", "bob"][..]),
        ("bob", &["bob"]),
        ("Ada L", &[]),
        ("ADA-L", &[]),
    ] {
        let found = other.records(Filter::anyones("github", id).most(9)).await;
        let subjects = found.into_iter().map(|it| it.account.holder.subject);
        let mut subjects: Vec<_> = subjects.collect();
        subjects.sort();
        assert_eq!(subjects, expected, "{id}");
    }
    let few = Filter::anyones("github", "ada-l").most(1);
    assert_eq!(other.records(few).await.len(), 1);
}

/// A record replaces only the expected version.
pub(super) async fn compared(stores: Stores) {
    let Stores { one, other } = stores.with_record().await;
    let next = record(8, 2);
    other.refuses("a second first record", insert(&next)).await;
    other.refuses("another version", replace(&next, 6)).await;
    assert_eq!(one.record().await, Some(record(7, 1)));

    one.keeps("a lease", leasing(7, 1, NOW + 10, NOW)).await;
    other.keeps("this version", replace(&next, 7)).await;
    assert_eq!(one.record().await, Some(next), "without a lease");

    one.keeps("removed", removal()).await;
    other
        .refuses("in place of none", replace(&record(9, 3), 8))
        .await;
}

/// If many tasks put a record at the same time, one succeeds.
pub(super) async fn put_at_a_time(stores: Stores) {
    let stores = stores.with_key().await;
    for is_first in [true, false] {
        let put = stores.at_a_time(|store, at| async move {
            let change = match is_first {
                true => insert(&record(7, at)),
                false => replace(&record(8, at), 7),
            };
            store.write(change).await
        });
        let kept = put.await.into_iter().filter(|it| it.is_kept());
        assert_eq!(kept.count(), 1);
    }
    assert_eq!(stores.one.audit(0).await.len(), 2);
}

/// A lease is given once, until it runs out.
pub(super) async fn leased(stores: Stores) {
    let Stores { one, other } = stores.with_record().await;
    one.refuses("another version", leasing(6, 1, NOW + 10, NOW))
        .await;
    one.keeps("the first", leasing(7, 1, NOW + 10, NOW)).await;
    let kept = other.record().await.and_then(|record| record.lease);
    assert_eq!(kept, Some(lease(1, NOW + 10)));
    let early = leasing(7, 2, NOW + 99, NOW + 9);
    other.refuses("while another lasts", early).await;
    let later = leasing(7, 2, NOW + 99, NOW + 10);
    other.keeps("after it", later).await;
    let nobody = holder(Some("t"), None, "nobody").account("github", "x");
    let none = Change::lease(&nobody, 7, lease(1, NOW + 10), NOW);
    one.refuses("of no record", none).await;
}

/// If many tasks ask for a lease at the same time, one gets it.
pub(super) async fn leased_at_a_time(stores: Stores) {
    let stores = stores.with_record().await;
    let leases = stores
        .at_a_time(|store, at| async move { store.write(leasing(7, at, NOW + 10, NOW)).await });
    let given = leases.await.into_iter().filter(|it| it.is_kept());
    assert_eq!(given.count(), 1);
}

/// A renewal needs the version and the lease.
pub(super) async fn fenced(stores: Stores) {
    let Stores { one, other } = stores.with_record().await;
    one.refuses("without a lease", renewal(&record(8, 2), 7, 1))
        .await;

    one.keeps("a lease", leasing(7, 1, NOW + 10, NOW)).await;
    one.refuses("another version", renewal(&record(8, 2), 6, 1))
        .await;
    let taken = leasing(7, 2, NOW + 99, NOW + 10);
    other.keeps("another's lease", taken).await;
    one.refuses("too late", renewal(&record(8, 2), 7, 1)).await;
    other.keeps("a renewal", renewal(&record(8, 3), 7, 2)).await;
    assert_eq!(one.record().await, Some(record(8, 3)), "without a lease");
    other
        .refuses("the same again", renewal(&record(8, 3), 7, 2))
        .await;

    one.keeps("a lease", leasing(8, 3, NOW + 10, NOW)).await;
    one.keeps("disconnected", removal()).await;
    one.keeps("connected again", insert(&record(8, 4))).await;
    let late = renewal(&record(9, 5), 8, 3);
    one.refuses("of the account before", late).await;
}

/// A record that is resealed keeps its version and its lease.
pub(super) async fn resealed(stores: Stores) {
    let Stores { one, other } = stores.with_record().await;
    let anew = VaultRecord {
        sealed: sealed(OTHER_KEY, 5),
        ..record(7, 5)
    };
    let before = sealed(KEY, 1);
    let reseal = |record: &VaultRecord| Change::reseal(record, &before);
    one.lacks_key("under no key", reseal(&anew)).await;

    let second = Change::add_key(&key(OTHER_KEY), Some(KEY));
    one.keeps("the second key", second).await;
    one.keeps("a lease", leasing(7, 1, NOW + 10, NOW)).await;
    let others = || of_tenant().sealed_otherwise(OTHER_KEY).most(9);
    assert_eq!(other.records(others()).await.len(), 1);
    let elsewhere = VaultRecord {
        version: 6,
        ..anew.clone()
    };
    other.refuses("another version", reseal(&elsewhere)).await;
    other.keeps("sealed anew", reseal(&anew)).await;
    other
        .refuses("a seal that is gone", reseal(&record(7, 9)))
        .await;
    let expected = VaultRecord {
        lease: Some(lease(1, NOW + 10)),
        ..anew
    };
    assert_eq!(one.record().await, Some(expected));
    assert_eq!(other.records(others()).await.len(), 0);
    let meanwhile = renewal(&record(8, 3), 7, 1);
    one.keeps("the renewal meanwhile", meanwhile).await;
}
