//! Rules on the keys of tenants.

use std::collections::BTreeSet;

use super::*;

pub(super) async fn keyed(stores: Stores) -> Kept {
    let (one, account) = (&stores.one, account());
    let put = one.put(&record(7, 1), None, None, &granted()).await?;
    expect("a record without a key", put, Written::UnknownKey)?;
    one.add_tenant_key(None, &key(KEY), None).await?;
    let put = one.put(&record(7, 1), None, None, &granted()).await?;
    expect(
        "a record under a key of another tenant",
        put,
        Written::UnknownKey,
    )?;
    expect("records", found(one).await?, None)?;
    with_record(&stores).await?;
    let other = VaultRecord {
        sealed: sealed(OTHER_KEY, 2),
        ..record(8, 2)
    };
    let put = one.put(&other, Some(7), None, &granted()).await?;
    expect("a second record under no key", put, Written::UnknownKey)?;
    one.lease(&account, 7, lease(1, NOW + 10), NOW).await?;
    let renewal = one.renew(&other, fence(7, 1), &renewed()).await?;
    expect("a renewal under no key", renewal, Written::UnknownKey)?;
    let revocation = Revocation {
        sealed: sealed(OTHER_KEY, 2),
        ..revocation(1, NOW)
    };
    let added = one.add_revocation(&revocation).await?;
    expect("a revocation under no key", added, Written::UnknownKey)?;
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
    let only = one.drop_tenant_key(Some("t"), KEY).await?;
    expect("the only key is dropped", only, false)?;
    one.add_tenant_key(Some("t"), &key(OTHER_KEY), Some(KEY))
        .await?;
    let used = one.drop_tenant_key(Some("t"), KEY).await?;
    expect("a key of a record is dropped", used, false)?;
    one.remove(&account, Some(([1; 16], NOW)), &disconnected())
        .await?;
    let used = one.drop_tenant_key(Some("t"), KEY).await?;
    expect("a key of a revocation is dropped", used, false)?;
    let revoked = audit(AuditEvent::Revoked);
    one.settle_revocation([1; 16], Settled::Done, Some(&revoked))
        .await?;
    let newest = one.drop_tenant_key(Some("t"), OTHER_KEY).await?;
    expect("the newest key is dropped", newest, false)?;
    let unused = other.drop_tenant_key(Some("t"), KEY).await?;
    expect("an unused key is dropped", unused, true)?;
    let left = one.tenant_keys(Some("t")).await?;
    expect("the keys left", left, vec![key(OTHER_KEY)])?;
    Ok(())
}

pub(super) async fn newest(stores: Stores) -> Kept {
    let (one, other) = (&stores.one, &stores.other);
    let first = at_a_time(&stores, |store, at| async move {
        let key = key(KeyId([at + 1; 8]));
        Ok((store.add_tenant_key(Some("t"), &key, None).await?, key))
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
        .add_tenant_key(Some("t"), &third, Some(third.id))
        .await?;
    expect("a key after one that is not there", wrong, false)?;
    let second = key(KeyId([100; 8]));
    let added = other
        .add_tenant_key(Some("t"), &second, Some(first.id))
        .await?;
    expect("the second key is added", added, true)?;
    let late = one
        .add_tenant_key(Some("t"), &third, Some(first.id))
        .await?;
    expect("a key after one that is not the newest", late, false)?;
    let keys = one.tenant_keys(Some("t")).await?;
    expect("the keys, the newest first", keys, vec![second, first])?;
    let none = one.tenant_keys(None).await?;
    expect("the keys of another tenant", none, vec![])?;
    Ok(())
}

pub(super) async fn rewrapped(stores: Stores) -> Kept {
    let (one, other) = (&stores.one, &stores.other);
    for tenant in [None, Some(""), Some("t")] {
        one.add_tenant_key(tenant, &key(KEY), None).await?;
    }
    let each = other.wrapped_by_each().await?;
    expect("one key of three that are wrapped alike", each.len(), 1)?;
    let others = other.wrapped_otherwise("kek", 9).await?;
    expect("keys that are wrapped otherwise", others.len(), 0)?;
    let all = other.wrapped_otherwise("new", 9).await?;
    let tenants: BTreeSet<_> = all.into_iter().map(|(tenant, _)| tenant).collect();
    let wanted = [None, Some(String::new()), Some("t".to_owned())];
    expect(
        "tenants with keys to be wrapped anew",
        tenants,
        BTreeSet::from(wanted),
    )?;
    let few = other.wrapped_otherwise("new", 2).await?;
    expect("at most two", few.len(), 2)?;
    let (from, to) = (wrapped("kek", 1), wrapped("new", 9));
    let wrong = one.rewrap(Some("t"), KEY, &to, &to).await?;
    expect("wrapped anew from what it is not", wrong, false)?;
    let done = one.rewrap(Some("t"), KEY, &from, &to).await?;
    expect("wrapped anew", done, true)?;
    let again = other.rewrap(Some("t"), KEY, &from, &to).await?;
    expect("wrapped anew twice", again, false)?;
    let key = TenantKey {
        wrapped: to,
        ..key(KEY)
    };
    expect("the key", other.tenant_keys(Some("t")).await?, vec![key])?;
    let left = other.wrapped_otherwise("new", 9).await?;
    expect("keys left", left.len(), 2)?;
    let each = other.wrapped_by_each().await?;
    let each: Vec<_> = each
        .into_iter()
        .map(|(tenant, key)| (tenant.is_some_and(|name| name == "t"), key.wrapped))
        .collect();
    let wanted = vec![(false, from), (true, wrapped("new", 9))];
    expect("one key for each that wraps some", each, wanted)?;
    Ok(())
}

pub(super) async fn deleted(stores: Stores) -> Kept {
    with_record(&stores).await?;
    let (one, other) = (&stores.one, &stores.other);
    one.add_revocation(&revocation(1, NOW)).await?;
    one.add_tenant_key(None, &key(KEY), None).await?;
    let elsewhere = VaultRecord {
        account: holder(None, Some("i"), "ada").account("github", "ada-l"),
        ..record(7, 1)
    };
    let there = AuditRecord::of(&elsewhere.account, AuditEvent::Granted, NOW);
    one.put(&elsewhere, None, None, &there).await?;
    let line = audit(AuditEvent::TenantDeleted);
    expect("deleted", one.delete_tenant(Some("t"), &line).await?, true)?;
    expect(
        "deleted twice",
        one.delete_tenant(Some("t"), &line).await?,
        false,
    )?;
    expect("records", found(other).await?, None)?;
    let revocations = other.revocations(&account().holder).await?;
    expect("revocations", revocations, vec![])?;
    expect("keys", other.tenant_keys(Some("t")).await?, vec![])?;
    let put = other.put(&record(7, 1), None, None, &granted()).await?;
    expect(
        "a record under the key that is gone",
        put,
        Written::UnknownKey,
    )?;
    let lines = other.audit(Some("t"), 0, 9).await?;
    let events: Vec<_> = lines.iter().map(|it| it.record.event).collect();
    let wanted = vec![AuditEvent::Granted, AuditEvent::TenantDeleted];
    expect("the audit", events, wanted)?;
    let kept = other.records(&elsewhere.account.holder, None).await?;
    expect("the other tenant's record", kept, vec![elsewhere])?;
    Ok(())
}
