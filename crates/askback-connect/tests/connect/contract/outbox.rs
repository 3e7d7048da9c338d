use super::*;

pub(super) async fn removed(stores: Stores) -> Kept {
    with_record(&stores).await?;
    let (one, other, account) = (&stores.one, &stores.other, account());
    let gone = one
        .write(
            Change::remove(&account)
                .owing(&account, ([1; 16], NOW))
                .audited(&disconnected()),
        )
        .await?
        .is_kept();
    expect("a record was there", gone, true)?;
    expect("the record", found(other).await?, None)?;
    let kept = other
        .list::<Revocation>(Filter::of(&account.holder))
        .await?;
    expect("the revocations", kept, vec![revocation(1, NOW)])?;
    let nobody = holder(Some("t"), Some("i"), "bob");
    let none = other.list::<Revocation>(Filter::of(&nobody)).await?;
    expect("the revocations of another person", none, vec![])?;
    let gone = one
        .write(
            Change::remove(&account)
                .owing(&account, ([2; 16], NOW))
                .audited(&disconnected()),
        )
        .await?
        .is_kept();
    expect("a record was there twice", gone, false)?;
    one.write(Change::insert(&record(7, 1)).audited(&granted()))
        .await?;
    let gone = one
        .write(Change::remove(&account).audited(&disconnected()))
        .await?
        .is_kept();
    expect("a key was there", gone, true)?;
    let kept = other
        .list::<Revocation>(Filter::of(&account.holder))
        .await?;
    expect("how many revocations", kept.len(), 1)?;
    Ok(())
}

pub(super) async fn removed_at_a_time(stores: Stores) -> Kept {
    const ROUNDS: u8 = 6;
    with_key(&stores).await?;
    for round in 0..ROUNDS {
        stores
            .one
            .write(Change::insert(&record(7, 0)).audited(&granted()))
            .await?;
        let done = at_a_time(&stores, |store, at| async move {
            if at == 0 {
                store
                    .write(
                        Change::remove(&account())
                            .owing(&account(), ([round; 16], NOW))
                            .audited(&disconnected()),
                    )
                    .await?;
                return Ok(None);
            }
            let put = store
                .write(Change::replace(&record(8, at), 7).audited(&granted()))
                .await?;
            Ok((put == WriteOutcome::Kept).then_some(at))
        });
        let newest = done.await?.into_iter().flatten().next().unwrap_or(0);
        expect("the record", found(&stores.one).await?, None)?;
        let kept = stores
            .other
            .list::<Revocation>(Filter::of(&account().holder))
            .await?;
        let kept = kept.into_iter().find(|it| it.id == [round; 16]);
        let kept = kept.map(|it| it.sealed.access);
        expect(
            "the token to be revoked",
            kept,
            Some(sealed(KEY, newest).access),
        )?;
    }
    Ok(())
}

pub(super) async fn replaced(stores: Stores) -> Kept {
    with_record(&stores).await?;
    let (one, other) = (&stores.one, &stores.other);
    let owed = ([1; 16], NOW);
    let put = one
        .write(
            Change::replace(&record(9, 3), 8)
                .owing(&account(), owed)
                .audited(&granted()),
        )
        .await?;
    expect("in place of another version", put, WriteOutcome::Conflict)?;
    let kept = other
        .list::<Revocation>(Filter::of(&account().holder))
        .await?;
    expect("revocations of what was not replaced", kept, vec![])?;
    let put = one
        .write(
            Change::replace(&record(8, 2), 7)
                .owing(&account(), owed)
                .audited(&granted()),
        )
        .await?;
    expect("replaced", put, WriteOutcome::Kept)?;
    let kept = other
        .list::<Revocation>(Filter::of(&account().holder))
        .await?;
    expect("the tokens before", kept, vec![revocation(1, NOW)])?;
    let put = one
        .write(Change::replace(&record(9, 3), 8).audited(&granted()))
        .await?;
    expect("replaced by the way", put, WriteOutcome::Kept)?;
    let kept = other
        .list::<Revocation>(Filter::of(&account().holder))
        .await?;
    expect("how many revocations", kept.len(), 1)
}

pub(super) async fn bounded(stores: Stores) -> Kept {
    with_key(&stores).await?;
    let (one, other) = (&stores.one, &stores.other);
    // Each takes five bytes.
    for (id, due, attempts) in [(1, NOW, 2), (2, NOW, 0), (3, NOW + 1, 0), (4, NOW + 9, 2)] {
        let added = Revocation {
            attempts,
            ..revocation(id, due)
        };
        one.write(Change::insert(&added)).await?;
    }
    for (bytes, most, ids) in [
        (20, 9, vec![]),
        (19, 9, vec![1]),
        (14, 9, vec![1, 4]),
        (5, 9, vec![1, 4, 2]),
        (0, 9, vec![1, 4, 2, 3]),
        (0, 2, vec![1, 4]),
        (u64::MAX, usize::MAX, vec![]),
    ] {
        let surplus = other.surplus(bytes, most).await?;
        let found: Vec<_> = surplus.iter().map(|it| it.id[0]).collect();
        expect("those that are too many", found, ids)?;
    }
    Ok(())
}

pub(super) async fn taken(stores: Stores) -> Kept {
    with_key(&stores).await?;
    let (one, other) = (&stores.one, &stores.other);
    for (id, due) in [(1, NOW), (2, NOW - 1), (3, NOW + 50)] {
        let added = one.write(Change::insert(&revocation(id, due))).await?;
        expect("added", added, WriteOutcome::Kept)?;
    }
    let first = other.take_due(NOW, NOW + 30).await?;
    let wanted = Revocation {
        attempts: 1,
        ..revocation(2, NOW + 30)
    };
    expect(
        "the one that has been due for the longest",
        first,
        Some(wanted),
    )?;
    let taken = at_a_time(&stores, |store, _| async move {
        store.take_due(NOW, NOW + 30).await
    });
    let taken = taken.await?.into_iter().flatten();
    let ids = taken.map(|it| it.id[0]).collect::<Vec<_>>();
    expect("the others, at a time", ids, vec![1])?;
    let (failed, revoked) = (
        audit(AuditEvent::RevocationFailed),
        audit(AuditEvent::Revoked),
    );
    let again = one
        .write(Change::settle([1; 16], Settlement::Again(NOW + 40)).audited(&failed))
        .await?
        .is_kept();
    expect("put off", again, true)?;
    let done = one
        .write(Change::settle([2; 16], Settlement::Done).audited(&revoked))
        .await?
        .is_kept();
    expect("done", done, true)?;
    let twice = one
        .write(Change::settle([2; 16], Settlement::Done).audited(&revoked))
        .await?
        .is_kept();
    expect("done twice", twice, false)?;
    let early = one.take_due(NOW + 39, NOW + 99).await?;
    expect("taken early", early, None)?;
    let second = one.take_due(NOW + 40, NOW + 99).await?;
    let attempts = second.map(|it| (it.id[0], it.attempts));
    expect("taken again", attempts, Some((1, 2)))?;
    let lines = other
        .list::<AuditEntry>(Filter::tenant(Some("t")).after(0).most(9))
        .await?
        .len();
    let done = one
        .write(Change::settle([3; 16], Settlement::Done))
        .await?
        .is_kept();
    expect("done without a line", done, true)?;
    let spared = other
        .write(Change::settle([1; 16], Settlement::Spared(NOW + 200)))
        .await?
        .is_kept();
    expect("spared", spared, true)?;
    let kept = one
        .list::<Revocation>(Filter::of(&account().holder))
        .await?;
    let kept = kept.iter().map(|it| (it.due, it.is_spared)).next();
    expect("the one that is spared", kept, Some((NOW + 200, true)))?;
    let again = one.take_due(NOW + 200, NOW + 300).await?;
    let looked_at = again.map(|it| (it.is_spared, it.attempts));
    expect("looked at again", looked_at, Some((true, 3)))?;
    one.write(Change::settle([1; 16], Settlement::Again(NOW + 400)))
        .await?;
    let kept = other
        .list::<Revocation>(Filter::of(&account().holder))
        .await?;
    let kept = kept.iter().map(|it| (it.due, it.is_spared)).next();
    expect(
        "the one that is spared no more",
        kept,
        Some((NOW + 400, false)),
    )?;
    let now = other
        .list::<AuditEntry>(Filter::tenant(Some("t")).after(0).most(9))
        .await?
        .len();
    expect("lines of the audit", now, lines)
}

pub(super) async fn renewed_to_revoke(stores: Stores) -> Kept {
    with_key(&stores).await?;
    let (one, other) = (&stores.one, &stores.other);
    one.write(Change::insert(&revocation(1, NOW))).await?;
    one.write(Change::insert(&Revocation {
        expires: None,
        ..revocation(2, NOW + 9)
    }))
    .await?;
    let theirs = one
        .list::<Revocation>(Filter::of(&account().holder))
        .await?;
    let ends: Vec<_> = theirs.iter().map(|it| it.expires).collect();
    expect("when they end", ends, vec![Some(NOW + 3_600_000), None])?;
    let Some(taken) = one.take_due(NOW, NOW + 5).await? else {
        return Err(Instead("nothing was taken".to_owned()));
    };
    let renewed = Revocation {
        sealed: sealed(KEY, 7),
        expires: None,
        ..taken
    };
    let nowhere = Revocation {
        sealed: sealed(OTHER_KEY, 7),
        ..renewed.clone()
    };
    let written = other
        .write(Change::replace(&nowhere, u64::from(nowhere.attempts)))
        .await?;
    expect("tokens under no key", written, WriteOutcome::UnknownKey)?;
    let written = other
        .write(Change::replace(&renewed, u64::from(renewed.attempts)))
        .await?;
    expect("other tokens", written, WriteOutcome::Kept)?;
    let again = one.take_due(NOW + 5, NOW + 8).await?;
    let wanted = Revocation {
        due: NOW + 8,
        attempts: 2,
        ..renewed.clone()
    };
    expect("taken again", again, Some(wanted.clone()))?;
    let late = Revocation {
        sealed: sealed(KEY, 8),
        ..renewed
    };
    let written = one
        .write(Change::replace(&late, u64::from(late.attempts)))
        .await?;
    expect(
        "tokens of whoever was too slow",
        written,
        WriteOutcome::Conflict,
    )?;
    let theirs = other
        .list::<Revocation>(Filter::of(&account().holder))
        .await?;
    expect("the tokens", theirs.first(), Some(&wanted))
}

/// Reseals the tokens of a revocation, if their seals are still those in `from`.
fn reseal(owed: &Revocation, from: &SealedSecrets, anew: &SealedSecrets) -> Change {
    let anew = Revocation {
        sealed: anew.clone(),
        ..owed.clone()
    };
    Change::reseal(&anew, from)
}

pub(super) async fn resealed(stores: Stores) -> Kept {
    with_key(&stores).await?;
    let (one, other) = (&stores.one, &stores.other);
    let (before, anew) = (sealed(KEY, 1), sealed(OTHER_KEY, 5));
    let bare = Revocation {
        sealed: SealedSecrets {
            refresh: None,
            ..before.clone()
        },
        ..revocation(2, NOW + 9)
    };
    one.write(Change::insert(&revocation(1, NOW))).await?;
    one.write(Change::insert(&bare)).await?;
    let elsewhere = Revocation {
        account: holder(None, Some("i"), "ada").account("github", "ada-l"),
        ..revocation(3, NOW)
    };
    one.write(Change::add_key(&key_of(None, KEY), None)).await?;
    one.write(Change::insert(&elsewhere)).await?;
    let unknown = one
        .write(reseal(&revocation(1, NOW), &before, &anew))
        .await?;
    expect(
        "under a key that is not there",
        unknown,
        WriteOutcome::UnknownKey,
    )?;
    one.write(Change::add_key(&key(OTHER_KEY), Some(KEY)))
        .await?;
    let ids = async |key: KeyId, most: usize| -> Result<_, VaultError> {
        let there =
            other.list::<Revocation>(Filter::tenant(Some("t")).sealed_otherwise(key).most(most));
        let mut ids: Vec<_> = there.await?.iter().map(|it| it.id[0]).collect();
        ids.sort_unstable();
        Ok(ids)
    };
    expect("under other keys", ids(OTHER_KEY, 9).await?, vec![1, 2])?;
    expect("at most one", ids(OTHER_KEY, 1).await?.len(), 1)?;
    expect("under no other key", ids(KEY, 9).await?, vec![])?;
    let Some(taken) = one.take_due(NOW, NOW + 5).await? else {
        return Err(Instead("nothing was taken".to_owned()));
    };
    let renewed = Revocation {
        sealed: sealed(KEY, 7),
        ..taken.clone()
    };
    one.write(Change::replace(&renewed, u64::from(renewed.attempts)))
        .await?;
    let late = other.write(reseal(&taken, &before, &anew)).await?;
    expect(
        "tokens that were renewed since",
        late,
        WriteOutcome::Conflict,
    )?;
    let missing = other
        .write(reseal(&revocation(9, NOW), &before, &anew))
        .await?;
    expect("a revocation that is done", missing, WriteOutcome::Conflict)?;
    let from = renewed.sealed.clone();
    let done = other.write(reseal(&taken, &from, &anew)).await?;
    expect("sealed anew", done, WriteOutcome::Kept)?;
    let again = other.write(reseal(&taken, &from, &anew)).await?;
    expect("sealed anew twice", again, WriteOutcome::Conflict)?;
    let without = SealedSecrets {
        refresh: None,
        ..anew.clone()
    };
    let done = one.write(reseal(&bare, &bare.sealed, &without));
    expect(
        "one without a refresh token",
        done.await?,
        WriteOutcome::Kept,
    )?;
    expect("under other keys, then", ids(OTHER_KEY, 9).await?, vec![])?;
    let mut theirs = other
        .list::<Revocation>(Filter::of(&account().holder))
        .await?;
    theirs.sort_by_key(|it| it.id);
    let wanted = [
        Revocation {
            sealed: anew,
            ..renewed.clone()
        },
        Revocation {
            sealed: without,
            ..bare
        },
    ];
    expect("the revocations", theirs, wanted.to_vec())?;
    let renewed = Revocation {
        sealed: sealed(OTHER_KEY, 8),
        ..renewed
    };
    let written = one
        .write(Change::replace(&renewed, u64::from(renewed.attempts)))
        .await?;
    expect(
        "renewed by whoever had taken it",
        written,
        WriteOutcome::Kept,
    )
}

pub(super) async fn audited(stores: Stores) -> Kept {
    with_record(&stores).await?;
    let (one, other) = (&stores.one, &stores.other);
    one.write(Change::insert(&record(8, 2)).audited(&granted()))
        .await?;
    one.write(renewal(&record(8, 2), 7, 1)).await?;
    let nobody = holder(Some("t"), None, "nobody").account("github", "x");
    one.write(Change::remove(&nobody).audited(&disconnected()))
        .await?;
    let revoked = audit(AuditEvent::Revoked);
    one.write(Change::settle([1; 16], Settlement::Done).audited(&revoked))
        .await?;
    let used = AuditRecord {
        at: NOW + 5,
        client: Some("editor".to_owned()),
        ..audit(AuditEvent::Used)
    };
    one.append(&used, 99).await?;
    let of_tenant = AuditRecord {
        account: None,
        tenant: None,
        ..audit(AuditEvent::TenantDeleted)
    };
    one.append(&of_tenant, 99).await?;
    let lines = other
        .list::<AuditEntry>(Filter::tenant(Some("t")).after(0).most(9))
        .await?;
    let records: Vec<_> = lines.iter().map(|line| line.record.clone()).collect();
    expect("the lines", records, vec![granted(), used.clone()])?;
    expect(
        "one line",
        other
            .list::<AuditEntry>(Filter::tenant(Some("t")).after(0).most(1))
            .await?
            .len(),
        1,
    )?;
    let after = other
        .list::<AuditEntry>(Filter::tenant(Some("t")).after(lines[0].number).most(9))
        .await?;
    expect("the lines after the first", after, vec![lines[1].clone()])?;
    let again = AuditRecord {
        at: NOW + 4,
        ..used.clone()
    };
    one.append(&again, 99).await?;
    let elsewhere = holder(Some("t"), None, "nobody").account("github", "x");
    let elsewhere = AuditRecord::of(&elsewhere, AuditEvent::Used, NOW);
    one.append(&elsewhere, 99).await?;
    let mine = |event| Filter::of(&account().holder).event(event);
    let used_lines: Vec<AuditEntry> = other.list(mine(AuditEvent::Used)).await?;
    let used_lines: Vec<_> = used_lines.into_iter().map(|it| it.record).collect();
    expect(
        "the lines of an account",
        used_lines,
        vec![used.clone(), again],
    )?;
    let never: Vec<AuditEntry> = other.list(mine(AuditEvent::Revoked)).await?;
    expect("the lines of what never was", never, Vec::new())?;
    let none = other
        .list::<AuditEntry>(Filter::tenant(None).after(0).most(9))
        .await?;
    let of: Vec<_> = none.into_iter().map(|line| line.record).collect();
    expect("the lines of nobody's tenant", of, vec![of_tenant])?;
    expect("purged", one.purge_audit(NOW + 5).await?, 4)?;
    let left = other
        .list::<AuditEntry>(Filter::tenant(Some("t")).after(0).most(9))
        .await?;
    expect("the lines left", left, vec![lines[1].clone()])?;
    one.append(&used, 99).await?;
    let later = other
        .list::<AuditEntry>(Filter::tenant(Some("t")).after(lines[1].number).most(9))
        .await?;
    expect("numbers go on", later.len(), 1)?;
    Ok(())
}

pub(super) async fn followed(stores: Stores) -> Kept {
    const EACH: usize = 8;
    let reader = Arc::clone(&stores.one);
    let writers = tokio::spawn(async move {
        let all = at_a_time(&stores, |store, _| async move {
            for _ in 0..EACH {
                store.append(&audit(AuditEvent::Used), 99).await?;
            }
            Ok(())
        });
        all.await.map(drop)
    });
    let (mut seen, mut last) = (0, 0);
    loop {
        // Checked before the read, so that the last read sees every write.
        let is_last = writers.is_finished();
        let lines = reader
            .list::<AuditEntry>(Filter::tenant(Some("t")).after(last).most(usize::MAX))
            .await?;
        seen += lines.len();
        last = lines.last().map_or(last, |line| line.number);
        if is_last {
            break;
        }
        tokio::task::yield_now().await;
    }
    writers.await.map_err(VaultError::store)??;
    expect("the lines that were seen", seen, AT_A_TIME * EACH)
}

pub(super) async fn crowded(stores: Stores) -> Kept {
    let (one, other) = (&stores.one, &stores.other);
    let line = |subject: &str, event, at| {
        let of = holder(Some("t"), Some("i"), subject).account("github", "x");
        AuditRecord::of(&of, event, NOW + at)
    };
    use AuditEvent::{Burned, Used, WrongPerson};
    // Other users' records and frequent events do not displace rare ones.
    for (subject, event, at) in [
        ("ada", WrongPerson, 1),
        ("bob", Used, 2),
        ("ada", Used, 3),
        ("ada", Used, 4),
        ("eve", Burned, 5),
        ("ada", Used, 6),
        ("eve", Burned, 7),
        ("eve", Burned, 8),
    ] {
        one.append(&line(subject, event, at), 2).await?;
    }
    let left = other
        .list::<AuditEntry>(Filter::tenant(Some("t")).after(0).most(99))
        .await?;
    let left: Vec<_> = left.iter().map(|it| it.record.at - NOW).collect();
    expect("the lines left", left, vec![1, 2, 4, 6, 7, 8])?;
    // The others are surplus as soon as fewer are kept.
    one.append(&line("ada", Used, 9), 1).await?;
    let left = other
        .list::<AuditEntry>(Filter::tenant(Some("t")).after(0).most(99))
        .await?;
    let left: Vec<_> = left.iter().map(|it| it.record.at - NOW).collect();
    expect("the lines left then", left, vec![1, 2, 7, 8, 9])
}

pub(super) async fn any_time(stores: Stores) -> Kept {
    with_record(&stores).await?;
    let (one, account) = (&stores.one, account());
    let first = one
        .write(Change::lease(&account, 7, lease(1, u64::MAX), u64::MAX - 1))
        .await?
        .is_kept();
    expect("a lease for ever", first, true)?;
    let second = one
        .write(Change::lease(&account, 7, lease(2, u64::MAX), 0))
        .await?
        .is_kept();
    expect("a lease beside it", second, false)?;
    one.write(Change::insert(&revocation(1, u64::MAX))).await?;
    expect("taken before its time", one.take_due(NOW, NOW).await?, None)?;
    let lines = one
        .list::<AuditEntry>(Filter::tenant(Some("t")).after(u64::MAX).most(usize::MAX))
        .await?;
    expect("lines after all", lines, vec![])?;
    expect("purged", one.purge_audit(0).await?, 0)?;
    Ok(())
}
