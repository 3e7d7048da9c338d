use std::collections::BTreeSet;

use super::*;

pub(super) async fn keyed(stores: Stores) -> Kept {
    let (one, account) = (&stores.one, account());
    let put = one
        .write(Change::insert(&record(7, 1)).audited(&granted()))
        .await?;
    expect("a record without a key", put, WriteOutcome::UnknownKey)?;
    one.write(Change::add_key(&key_of(None, KEY), None)).await?;
    let put = one
        .write(Change::insert(&record(7, 1)).audited(&granted()))
        .await?;
    expect(
        "a record under a key of another tenant",
        put,
        WriteOutcome::UnknownKey,
    )?;
    expect("records", found(one).await?, None)?;
    with_record(&stores).await?;
    let other = VaultRecord {
        sealed: sealed(OTHER_KEY, 2),
        ..record(8, 2)
    };
    let put = one
        .write(Change::replace(&other, 7).audited(&granted()))
        .await?;
    expect(
        "a second record under no key",
        put,
        WriteOutcome::UnknownKey,
    )?;
    one.write(Change::lease(&account, 7, lease(1, NOW + 10), NOW))
        .await?;
    let renewal = one.write(renewal(&other, 7, 1)).await?;
    expect("a renewal under no key", renewal, WriteOutcome::UnknownKey)?;
    let revocation = Revocation {
        sealed: sealed(OTHER_KEY, 2),
        ..revocation(1, NOW)
    };
    let added = one.write(Change::insert(&revocation)).await?;
    expect("a revocation under no key", added, WriteOutcome::UnknownKey)?;
    let wanted = VaultRecord {
        lease: Some(lease(1, NOW + 10)),
        ..record(7, 1)
    };
    expect("the record", found(&stores.other).await?, Some(wanted))?;
    Ok(())
}

pub(super) async fn dropped(stores: Stores) -> Kept {
    with_record(&stores).await?;
    let (one, other, account) = (&stores.one, &stores.other, account());
    let only = one.write(Change::drop_key(Some("t"), KEY)).await?.is_kept();
    expect("the only key is dropped", only, false)?;
    one.write(Change::add_key(&key(OTHER_KEY), Some(KEY)))
        .await?;
    let used = one.write(Change::drop_key(Some("t"), KEY)).await?.is_kept();
    expect("a key of a record is dropped", used, false)?;
    one.write(
        Change::remove(&account)
            .owing(&account, ([1; 16], NOW))
            .audited(&disconnected()),
    )
    .await?;
    let used = one.write(Change::drop_key(Some("t"), KEY)).await?.is_kept();
    expect("a key of a revocation is dropped", used, false)?;
    let revoked = audit(AuditEvent::Revoked);
    one.write(Change::settle([1; 16], Settlement::Done).audited(&revoked))
        .await?;
    let newest = one
        .write(Change::drop_key(Some("t"), OTHER_KEY))
        .await?
        .is_kept();
    expect("the newest key is dropped", newest, false)?;
    let unused = other
        .write(Change::drop_key(Some("t"), KEY))
        .await?
        .is_kept();
    expect("an unused key is dropped", unused, true)?;
    let left = one.list::<TenantKey>(Filter::tenant(Some("t"))).await?;
    expect("the keys left", left, vec![key(OTHER_KEY)])?;
    Ok(())
}

pub(super) async fn newest(stores: Stores) -> Kept {
    let (one, other) = (&stores.one, &stores.other);
    let first = at_a_time(&stores, |store, at| async move {
        let key = key(KeyId([at + 1; 8]));
        Ok((
            store.write(Change::add_key(&key, None)).await?.is_kept(),
            key,
        ))
    });
    let added: Vec<_> = first
        .await?
        .into_iter()
        .filter(|(added, _)| *added)
        .collect();
    expect("how many first keys were added", added.len(), 1)?;
    let first = added[0].1.clone();
    let third = key(KeyId([200; 8]));
    let wrong = other
        .write(Change::add_key(&third, Some(third.id)))
        .await?
        .is_kept();
    expect("a key after one that is not there", wrong, false)?;
    let second = key(KeyId([100; 8]));
    let added = other
        .write(Change::add_key(&second, Some(first.id)))
        .await?
        .is_kept();
    expect("the second key is added", added, true)?;
    let late = one
        .write(Change::add_key(&third, Some(first.id)))
        .await?
        .is_kept();
    expect("a key after one that is not the newest", late, false)?;
    let keys = one.list::<TenantKey>(Filter::tenant(Some("t"))).await?;
    expect("the keys, the newest first", keys, vec![second, first])?;
    let none = one.list::<TenantKey>(Filter::tenant(None)).await?;
    expect("the keys of another tenant", none, vec![])?;
    Ok(())
}

pub(super) async fn rewrapped(stores: Stores) -> Kept {
    let (one, other) = (&stores.one, &stores.other);
    for tenant in [None, Some(""), Some("t")] {
        one.write(Change::add_key(&key_of(tenant, KEY), None))
            .await?;
    }
    let next = async |last: &str| other.list::<TenantKey>(Filter::next_wrapped(last)).await;
    let first = next("").await?.len();
    expect("one key of three that are wrapped alike", first, 1)?;
    let others = other
        .list::<TenantKey>(Filter::wrapped_otherwise("kek").most(9))
        .await?;
    expect("keys that are wrapped otherwise", others.len(), 0)?;
    let all = other
        .list::<TenantKey>(Filter::wrapped_otherwise("new").most(9))
        .await?;
    let tenants: BTreeSet<_> = all.into_iter().map(|key| key.tenant).collect();
    let wanted = [None, Some(String::new()), Some("t".to_owned())];
    expect(
        "tenants with keys to be wrapped anew",
        tenants,
        BTreeSet::from(wanted),
    )?;
    let few = other
        .list::<TenantKey>(Filter::wrapped_otherwise("new").most(2))
        .await?;
    expect("at most two", few.len(), 2)?;
    let (from, to) = (wrapped("kek", 1), wrapped("new", 9));
    let anew = TenantKey {
        wrapped: to.clone(),
        ..key(KEY)
    };
    let wrong = one
        .write(Change::replace(&anew, &*to.bytes))
        .await?
        .is_kept();
    expect("wrapped anew from what it is not", wrong, false)?;
    let done = one
        .write(Change::replace(&anew, &*from.bytes))
        .await?
        .is_kept();
    expect("wrapped anew", done, true)?;
    let again = other
        .write(Change::replace(&anew, &*from.bytes))
        .await?
        .is_kept();
    expect("wrapped anew twice", again, false)?;
    let keys = other.list::<TenantKey>(Filter::tenant(Some("t"))).await?;
    expect("the key", keys, vec![anew])?;
    let left = other
        .list::<TenantKey>(Filter::wrapped_otherwise("new").most(9))
        .await?;
    expect("keys left", left.len(), 2)?;
    for (last, wanted) in [("", Some("kek")), ("kek", Some("new")), ("new", None)] {
        let found = next(last).await?.pop().map(|key| key.wrapped.kek_id);
        expect(
            "a key of the next that wraps some",
            found.as_deref(),
            wanted,
        )?;
    }
    Ok(())
}

pub(super) async fn deleted(stores: Stores) -> Kept {
    with_record(&stores).await?;
    let (one, other) = (&stores.one, &stores.other);
    one.write(Change::insert(&revocation(1, NOW))).await?;
    one.write(Change::add_key(&key_of(None, KEY), None)).await?;
    let elsewhere = VaultRecord {
        account: holder(None, Some("i"), "ada").account("github", "ada-l"),
        ..record(7, 1)
    };
    let there = AuditRecord::of(&elsewhere.account, AuditEvent::Granted, NOW);
    one.write(Change::insert(&elsewhere).audited(&there))
        .await?;
    let line = audit(AuditEvent::TenantDeleted);
    expect("deleted", one.delete_tenant(Some("t"), &line).await?, true)?;
    expect(
        "deleted twice",
        one.delete_tenant(Some("t"), &line).await?,
        false,
    )?;
    expect("records", found(other).await?, None)?;
    let revocations = other
        .list::<Revocation>(Filter::of(&account().holder))
        .await?;
    expect("revocations", revocations, vec![])?;
    expect(
        "keys",
        other.list::<TenantKey>(Filter::tenant(Some("t"))).await?,
        vec![],
    )?;
    let put = other
        .write(Change::insert(&record(7, 1)).audited(&granted()))
        .await?;
    expect(
        "a record under the key that is gone",
        put,
        WriteOutcome::UnknownKey,
    )?;
    let lines = other
        .list::<AuditEntry>(Filter::tenant(Some("t")).after(0).most(9))
        .await?;
    let events: Vec<_> = lines.iter().map(|it| it.record.event).collect();
    let wanted = vec![AuditEvent::Granted, AuditEvent::TenantDeleted];
    expect("the audit", events, wanted)?;
    let kept = other
        .list::<VaultRecord>(Filter::of(&elsewhere.account.holder))
        .await?;
    expect("the other tenant's record", kept, vec![elsewhere])?;
    Ok(())
}
