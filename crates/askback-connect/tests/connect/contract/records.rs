//! Rules on records and their leases.

use super::*;

pub(super) async fn read_back(stores: Stores) -> Kept {
    with_key(&stores).await?;
    let cooling = AccountState::CoolingDown {
        until: NOW + 5,
        failures: 3,
    };
    let kinds = [
        record(7, 1),
        VaultRecord {
            state: cooling,
            ..record(8, 2)
        },
        VaultRecord {
            name: "Ada Lovelace / Jürgen".into(),
            state: AccountState::NeedsReconnect,
            scopes: Scopes::new(),
            expires: None,
            is_api_key: true,
            sealed: Sealed {
                refresh: None,
                ..sealed(KEY, 3)
            },
            ..record(9, 3)
        },
    ];
    let doubted = [
        AccountState::Replaced { until: NOW + 6 },
        AccountState::Reconnected { until: NOW + 7 },
    ];
    let doubted = doubted.map(|state| VaultRecord {
        state,
        ..record(10, 4)
    });
    let mut before = None;
    for kind in kinds.into_iter().chain(doubted) {
        let put = stores.one.put(&kind, before, None, &granted()).await?;
        expect("put", put, Written::Kept)?;
        expect(
            "the record",
            found(&stores.other).await?,
            Some(kind.clone()),
        )?;
        before = Some(kind.version);
    }
    Ok(())
}

pub(super) async fn apart(stores: Stores) -> Kept {
    let tenants = [None, Some(""), Some("t"), Some("=t")];
    let mut holders = Vec::new();
    for tenant in tenants {
        stores.one.add_tenant_key(tenant, &key(KEY), None).await?;
        let issuers = [None, Some(""), Some("i"), Some("t")];
        let of = issuers.map(|issuer| ["ada", "i", "it"].map(|it| holder(tenant, issuer, it)));
        holders.extend(of.into_iter().flatten());
    }
    for holder in &holders {
        let accounts = [("github", "b"), ("github", "a"), ("Gitlab", "a"), ("", "")];
        for (provider, name) in accounts {
            let record = VaultRecord {
                account: holder.account(provider, name),
                ..record(7, 1)
            };
            let put = stores.one.put(&record, None, None, &granted()).await?;
            expect("put", put, Written::Kept)?;
        }
    }
    for holder in &holders {
        let all = stores.other.records(holder, None).await?;
        let names = all
            .iter()
            .map(|it| (&*it.account.provider, &*it.account.account));
        let wanted = vec![("", ""), ("Gitlab", "a"), ("github", "a"), ("github", "b")];
        expect("all records", names.collect::<Vec<_>>(), wanted)?;
        let others = all.iter().any(|record| record.account.holder != *holder);
        expect("a record of another person", others, false)?;
        let some = stores.other.records(holder, Some("github")).await?;
        expect("the records at one provider", some.len(), 2)?;
        let none = stores.other.records(holder, Some("")).await?;
        expect("the records at the provider without a name", none.len(), 1)?;
    }
    Ok(())
}

pub(super) async fn shared(stores: Stores) -> Kept {
    with_record(&stores).await?;
    let (one, other) = (&stores.one, &stores.other);
    one.add_tenant_key(None, &key(KEY), None).await?;
    for (tenant, subject, provider, account) in [
        (None, "bob", "github", "ada-l"),
        (Some("t"), "bob", "github", "bob"),
        (Some("t"), "bob", "google", "ada-l"),
    ] {
        let account = holder(tenant, None, subject).account(provider, account);
        let put = VaultRecord {
            account,
            ..record(7, 1)
        };
        one.put(&put, None, None, &granted()).await?;
    }
    // A person who calls themself what the id of another account is.
    let same = VaultRecord {
        account: holder(None, None, "mallory").account("github", "m-1"),
        name: "ada-l".into(),
        ..record(7, 1)
    };
    one.put(&same, None, None, &granted()).await?;
    for (id, who) in [
        ("ada-l", vec!["ada", "bob"]),
        ("bob", vec!["bob"]),
        ("Ada L", vec![]),
        ("ADA-L", vec![]),
    ] {
        let found = other.records_of("github", id, 9).await?;
        let subjects = found.into_iter().map(|it| it.account.holder.subject);
        let mut subjects: Vec<_> = subjects.collect();
        subjects.sort();
        let who: Vec<_> = who.into_iter().map(str::to_owned).collect();
        expect("who has the account", subjects, who)?;
    }
    let few = other.records_of("github", "ada-l", 1).await?;
    expect("at most one", few.len(), 1)
}

pub(super) async fn compared(stores: Stores) -> Kept {
    with_record(&stores).await?;
    let (one, other) = (&stores.one, &stores.other);
    let put = other.put(&record(8, 2), None, None, &granted()).await?;
    expect("a second first record", put, Written::Conflict)?;
    let put = other.put(&record(8, 2), Some(6), None, &granted()).await?;
    expect("a record for another version", put, Written::Conflict)?;
    expect("the record", found(one).await?, Some(record(7, 1)))?;
    one.lease(&account(), 7, lease(1, NOW + 10), NOW).await?;
    let put = other.put(&record(8, 2), Some(7), None, &granted()).await?;
    expect("a record for this version", put, Written::Kept)?;
    expect(
        "the record, without a lease",
        found(one).await?,
        Some(record(8, 2)),
    )?;
    one.remove(&account(), None, &disconnected()).await?;
    let put = other.put(&record(9, 3), Some(8), None, &granted()).await?;
    expect("a record in place of none", put, Written::Conflict)?;
    Ok(())
}

pub(super) async fn put_at_a_time(stores: Stores) -> Kept {
    with_key(&stores).await?;
    for expected in [None, Some(7)] {
        let put = at_a_time(&stores, |store, at| async move {
            let version = 7 + u64::from(expected.is_some());
            store
                .put(&record(version, at), expected, None, &granted())
                .await
        });
        let kept = put.await?.into_iter().filter(|it| *it == Written::Kept);
        expect("how many were kept", kept.count(), 1)?;
    }
    let lines = stores.one.audit(Some("t"), 0, 100).await?;
    expect("lines of the audit", lines.len(), 2)?;
    Ok(())
}

pub(super) async fn leased(stores: Stores) -> Kept {
    with_record(&stores).await?;
    let (one, other, account) = (&stores.one, &stores.other, account());
    let wrong = one.lease(&account, 6, lease(1, NOW + 10), NOW).await?;
    expect("a lease of another version", wrong, false)?;
    let first = one.lease(&account, 7, lease(1, NOW + 10), NOW).await?;
    expect("the first lease", first, true)?;
    let kept = found(other).await?.and_then(|record| record.lease);
    expect("the lease of the record", kept, Some(lease(1, NOW + 10)))?;
    let second = other
        .lease(&account, 7, lease(2, NOW + 99), NOW + 9)
        .await?;
    expect("a lease while another lasts", second, false)?;
    let later = other
        .lease(&account, 7, lease(2, NOW + 99), NOW + 10)
        .await?;
    expect("a lease after it", later, true)?;
    let missing = holder(Some("t"), None, "nobody").account("github", "x");
    let none = one.lease(&missing, 7, lease(1, NOW + 10), NOW).await?;
    expect("a lease of no record", none, false)?;
    Ok(())
}

pub(super) async fn leased_at_a_time(stores: Stores) -> Kept {
    with_record(&stores).await?;
    let leases = at_a_time(&stores, |store, at| async move {
        store.lease(&account(), 7, lease(at, NOW + 10), NOW).await
    });
    let given = leases.await?.into_iter().filter(|given| *given);
    expect("how many were given", given.count(), 1)?;
    Ok(())
}

pub(super) async fn fenced(stores: Stores) -> Kept {
    with_record(&stores).await?;
    let (one, other, account) = (&stores.one, &stores.other, account());
    let unleased = one.renew(&record(8, 2), fence(7, 1), &renewed()).await?;
    expect("a renewal without a lease", unleased, Written::Conflict)?;
    one.lease(&account, 7, lease(1, NOW + 10), NOW).await?;
    let wrong = one.renew(&record(8, 2), fence(6, 1), &renewed()).await?;
    expect("a renewal of another version", wrong, Written::Conflict)?;
    other
        .lease(&account, 7, lease(2, NOW + 99), NOW + 10)
        .await?;
    let late = one.renew(&record(8, 2), fence(7, 1), &renewed()).await?;
    expect(
        "a renewal after its lease was taken",
        late,
        Written::Conflict,
    )?;
    let mine = other.renew(&record(8, 3), fence(7, 2), &renewed()).await?;
    expect("a renewal", mine, Written::Kept)?;
    expect(
        "the record, without a lease",
        found(one).await?,
        Some(record(8, 3)),
    )?;
    let again = other.renew(&record(8, 3), fence(7, 2), &renewed()).await?;
    expect("the same renewal again", again, Written::Conflict)?;
    one.lease(&account, 8, lease(3, NOW + 10), NOW).await?;
    one.remove(&account, None, &disconnected()).await?;
    one.put(&record(8, 4), None, None, &granted()).await?;
    let gone = one.renew(&record(9, 5), fence(8, 3), &renewed()).await?;
    expect(
        "a renewal after the account was connected again",
        gone,
        Written::Conflict,
    )?;
    Ok(())
}

pub(super) async fn resealed(stores: Stores) -> Kept {
    with_record(&stores).await?;
    let (one, other, account) = (&stores.one, &stores.other, account());
    let anew = VaultRecord {
        sealed: sealed(OTHER_KEY, 5),
        ..record(7, 5)
    };
    let unknown = one.reseal(&anew, KEY).await?;
    expect(
        "under a key that is not there",
        unknown,
        Written::UnknownKey,
    )?;
    one.add_tenant_key(Some("t"), &key(OTHER_KEY), Some(KEY))
        .await?;
    one.lease(&account, 7, lease(1, NOW + 10), NOW).await?;
    let there = other.sealed_otherwise(Some("t"), OTHER_KEY, 9).await?;
    expect("records under other keys", there.len(), 1)?;
    let elsewhere = VaultRecord {
        version: 6,
        ..anew.clone()
    };
    let wrong = other.reseal(&elsewhere, KEY).await?;
    expect("another version", wrong, Written::Conflict)?;
    let done = other.reseal(&anew, KEY).await?;
    expect("sealed anew", done, Written::Kept)?;
    let again = other.reseal(&record(7, 9), KEY).await?;
    expect(
        "sealed anew from a key that it no longer has",
        again,
        Written::Conflict,
    )?;
    let wanted = VaultRecord {
        lease: Some(lease(1, NOW + 10)),
        ..anew
    };
    expect("the record", found(one).await?, Some(wanted))?;
    let there = other.sealed_otherwise(Some("t"), OTHER_KEY, 9).await?;
    expect("records under other keys, then", there.len(), 0)?;
    let renewed = one.renew(&record(8, 3), fence(7, 1), &renewed()).await?;
    expect("the renewal meanwhile", renewed, Written::Kept)?;
    Ok(())
}
