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
            sealed: SealedSecrets {
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
        let put = stores
            .one
            .write(put(&kind, before).audited(&granted()))
            .await?;
        expect("put", put, WriteOutcome::Kept)?;
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
        stores
            .one
            .write(Change::add_key(&key_of(tenant, KEY), None))
            .await?;
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
            let put = stores
                .one
                .write(Change::insert(&record).audited(&granted()))
                .await?;
            expect("put", put, WriteOutcome::Kept)?;
        }
    }
    for holder in &holders {
        let all = stores.other.list::<VaultRecord>(Filter::of(holder)).await?;
        let names = all
            .iter()
            .map(|it| (&*it.account.provider, &*it.account.account));
        let wanted = vec![("", ""), ("Gitlab", "a"), ("github", "a"), ("github", "b")];
        expect("all records", names.collect::<Vec<_>>(), wanted)?;
        let others = all.iter().any(|record| record.account.holder != *holder);
        expect("a record of another person", others, false)?;
        let some = stores
            .other
            .list::<VaultRecord>(Filter::of(holder).at("github"))
            .await?;
        expect("the records at one provider", some.len(), 2)?;
        let none = stores
            .other
            .list::<VaultRecord>(Filter::of(holder).at(""))
            .await?;
        expect("the records at the provider without a name", none.len(), 1)?;
    }
    Ok(())
}

pub(super) async fn shared(stores: Stores) -> Kept {
    with_record(&stores).await?;
    let (one, other) = (&stores.one, &stores.other);
    one.write(Change::add_key(&key_of(None, KEY), None)).await?;
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
        one.write(Change::insert(&put).audited(&granted())).await?;
    }
    // This user's display name is the id of another account.
    let same = VaultRecord {
        account: holder(None, None, "mallory").account("github", "m-1"),
        name: "ada-l".into(),
        ..record(7, 1)
    };
    one.write(Change::insert(&same).audited(&granted())).await?;
    for (id, who) in [
        ("ada-l", vec!["ada", "bob"]),
        ("bob", vec!["bob"]),
        ("Ada L", vec![]),
        ("ADA-L", vec![]),
    ] {
        let found = other
            .list::<VaultRecord>(Filter::anyones("github", id).most(9))
            .await?;
        let subjects = found.into_iter().map(|it| it.account.holder.subject);
        let mut subjects: Vec<_> = subjects.collect();
        subjects.sort();
        let who: Vec<_> = who.into_iter().map(str::to_owned).collect();
        expect("who has the account", subjects, who)?;
    }
    let few = other
        .list::<VaultRecord>(Filter::anyones("github", "ada-l").most(1))
        .await?;
    expect("at most one", few.len(), 1)
}

pub(super) async fn compared(stores: Stores) -> Kept {
    with_record(&stores).await?;
    let (one, other) = (&stores.one, &stores.other);
    let put = other
        .write(Change::insert(&record(8, 2)).audited(&granted()))
        .await?;
    expect("a second first record", put, WriteOutcome::Conflict)?;
    let put = other
        .write(Change::replace(&record(8, 2), 6).audited(&granted()))
        .await?;
    expect("a record for another version", put, WriteOutcome::Conflict)?;
    expect("the record", found(one).await?, Some(record(7, 1)))?;
    one.write(Change::lease(&account(), 7, lease(1, NOW + 10), NOW))
        .await?;
    let put = other
        .write(Change::replace(&record(8, 2), 7).audited(&granted()))
        .await?;
    expect("a record for this version", put, WriteOutcome::Kept)?;
    expect(
        "the record, without a lease",
        found(one).await?,
        Some(record(8, 2)),
    )?;
    one.write(Change::remove(&account()).audited(&disconnected()))
        .await?;
    let put = other
        .write(Change::replace(&record(9, 3), 8).audited(&granted()))
        .await?;
    expect("a record in place of none", put, WriteOutcome::Conflict)?;
    Ok(())
}

pub(super) async fn put_at_a_time(stores: Stores) -> Kept {
    with_key(&stores).await?;
    for expected in [None, Some(7)] {
        let put = at_a_time(&stores, |store, at| async move {
            let version = 7 + u64::from(expected.is_some());
            store
                .write(put(&record(version, at), expected).audited(&granted()))
                .await
        });
        let kept = put
            .await?
            .into_iter()
            .filter(|it| *it == WriteOutcome::Kept);
        expect("how many were kept", kept.count(), 1)?;
    }
    let lines = stores
        .one
        .list::<AuditEntry>(Filter::tenant(Some("t")).after(0).most(100))
        .await?;
    expect("lines of the audit", lines.len(), 2)?;
    Ok(())
}

pub(super) async fn leased(stores: Stores) -> Kept {
    with_record(&stores).await?;
    let (one, other, account) = (&stores.one, &stores.other, account());
    let wrong = one
        .write(Change::lease(&account, 6, lease(1, NOW + 10), NOW))
        .await?
        .is_kept();
    expect("a lease of another version", wrong, false)?;
    let first = one
        .write(Change::lease(&account, 7, lease(1, NOW + 10), NOW))
        .await?
        .is_kept();
    expect("the first lease", first, true)?;
    let kept = found(other).await?.and_then(|record| record.lease);
    expect("the lease of the record", kept, Some(lease(1, NOW + 10)))?;
    let second = other
        .write(Change::lease(&account, 7, lease(2, NOW + 99), NOW + 9))
        .await?
        .is_kept();
    expect("a lease while another lasts", second, false)?;
    let later = other
        .write(Change::lease(&account, 7, lease(2, NOW + 99), NOW + 10))
        .await?
        .is_kept();
    expect("a lease after it", later, true)?;
    let missing = holder(Some("t"), None, "nobody").account("github", "x");
    let none = one
        .write(Change::lease(&missing, 7, lease(1, NOW + 10), NOW))
        .await?
        .is_kept();
    expect("a lease of no record", none, false)?;
    Ok(())
}

pub(super) async fn leased_at_a_time(stores: Stores) -> Kept {
    with_record(&stores).await?;
    let leases = at_a_time(&stores, |store, at| async move {
        store
            .write(Change::lease(&account(), 7, lease(at, NOW + 10), NOW))
            .await
    });
    let given = leases.await?.into_iter().filter(|it| it.is_kept());
    expect("how many were given", given.count(), 1)?;
    Ok(())
}

pub(super) async fn fenced(stores: Stores) -> Kept {
    with_record(&stores).await?;
    let (one, other, account) = (&stores.one, &stores.other, account());
    let unleased = one.write(renewal(&record(8, 2), 7, 1)).await?;
    expect(
        "a renewal without a lease",
        unleased,
        WriteOutcome::Conflict,
    )?;
    one.write(Change::lease(&account, 7, lease(1, NOW + 10), NOW))
        .await?;
    let wrong = one.write(renewal(&record(8, 2), 6, 1)).await?;
    expect(
        "a renewal of another version",
        wrong,
        WriteOutcome::Conflict,
    )?;
    other
        .write(Change::lease(&account, 7, lease(2, NOW + 99), NOW + 10))
        .await?;
    let late = one.write(renewal(&record(8, 2), 7, 1)).await?;
    expect(
        "a renewal after its lease was taken",
        late,
        WriteOutcome::Conflict,
    )?;
    let mine = other.write(renewal(&record(8, 3), 7, 2)).await?;
    expect("a renewal", mine, WriteOutcome::Kept)?;
    expect(
        "the record, without a lease",
        found(one).await?,
        Some(record(8, 3)),
    )?;
    let again = other.write(renewal(&record(8, 3), 7, 2)).await?;
    expect("the same renewal again", again, WriteOutcome::Conflict)?;
    one.write(Change::lease(&account, 8, lease(3, NOW + 10), NOW))
        .await?;
    one.write(Change::remove(&account).audited(&disconnected()))
        .await?;
    one.write(Change::insert(&record(8, 4)).audited(&granted()))
        .await?;
    let gone = one.write(renewal(&record(9, 5), 8, 3)).await?;
    expect(
        "a renewal after the account was connected again",
        gone,
        WriteOutcome::Conflict,
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
    let unknown = one.write(Change::reseal(&anew, &sealed(KEY, 1))).await?;
    expect(
        "under a key that is not there",
        unknown,
        WriteOutcome::UnknownKey,
    )?;
    one.write(Change::add_key(&key(OTHER_KEY), Some(KEY)))
        .await?;
    one.write(Change::lease(&account, 7, lease(1, NOW + 10), NOW))
        .await?;
    let there = other
        .list::<VaultRecord>(
            Filter::tenant(Some("t"))
                .sealed_otherwise(OTHER_KEY)
                .most(9),
        )
        .await?;
    expect("records under other keys", there.len(), 1)?;
    let elsewhere = VaultRecord {
        version: 6,
        ..anew.clone()
    };
    let wrong = other
        .write(Change::reseal(&elsewhere, &sealed(KEY, 1)))
        .await?;
    expect("another version", wrong, WriteOutcome::Conflict)?;
    let done = other.write(Change::reseal(&anew, &sealed(KEY, 1))).await?;
    expect("sealed anew", done, WriteOutcome::Kept)?;
    let again = other
        .write(Change::reseal(&record(7, 9), &sealed(KEY, 1)))
        .await?;
    expect(
        "sealed anew from a key that it no longer has",
        again,
        WriteOutcome::Conflict,
    )?;
    let wanted = VaultRecord {
        lease: Some(lease(1, NOW + 10)),
        ..anew
    };
    expect("the record", found(one).await?, Some(wanted))?;
    let there = other
        .list::<VaultRecord>(
            Filter::tenant(Some("t"))
                .sealed_otherwise(OTHER_KEY)
                .most(9),
        )
        .await?;
    expect("records under other keys, then", there.len(), 0)?;
    let renewed = one.write(renewal(&record(8, 3), 7, 1)).await?;
    expect("the renewal meanwhile", renewed, WriteOutcome::Kept)?;
    Ok(())
}
