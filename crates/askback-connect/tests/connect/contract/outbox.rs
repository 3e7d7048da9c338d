use super::*;

/// The tokens of a disconnected account are queued for revocation.
pub(super) async fn removed(stores: Stores) {
    let Stores { one, other } = stores.with_record().await;
    one.keeps("disconnected", disconnection(1)).await;
    assert_eq!(other.record().await, None);
    assert_eq!(other.owed().await, [revocation(1, NOW)]);
    let bob = Filter::of(&holder(Some("t"), Some("i"), "bob"));
    assert_eq!(other.revocations(bob).await, []);

    one.refuses("disconnected twice", disconnection(2)).await;
    one.keeps("a key", insert(&record(7, 1))).await;
    one.keeps("the key is removed", removal()).await;
    assert_eq!(other.owed().await.len(), 1);
}

/// If an account is removed while others replace its record, the newest record's tokens are queued.
pub(super) async fn removed_at_a_time(stores: Stores) {
    const ROUNDS: u8 = 6;
    let stores = stores.with_key().await;
    for round in 0..ROUNDS {
        let first = insert(&record(7, 0));
        stores.one.keeps("the record", first).await;
        let done = stores.at_a_time(|store, at| async move {
            if at == 0 {
                store.keeps("removed", disconnection(round)).await;
                return None;
            }
            let put = store.write(replace(&record(8, at), 7)).await;
            put.is_kept().then_some(at)
        });
        let newest = done.await.into_iter().flatten().next().unwrap_or(0);
        assert_eq!(stores.one.record().await, None);
        let owed = stores.other.owed().await.into_iter();
        let mut owed = owed.filter(|it| it.id == [round; 16]);
        let token = owed.next().map(|it| it.sealed.access);
        assert_eq!(token, Some(sealed(KEY, newest).access));
    }
}

/// The tokens that a new grant replaces may be queued.
pub(super) async fn replaced(stores: Stores) {
    let Stores { one, other } = stores.with_record().await;
    let owing = |change: Change| change.owing(&account(), ([1; 16], NOW));
    let unread = owing(replace(&record(9, 3), 8));
    one.refuses("another version", unread).await;
    assert_eq!(other.owed().await, []);
    one.keeps("replaced", owing(replace(&record(8, 2), 7)))
        .await;
    assert_eq!(other.owed().await, [revocation(1, NOW)]);
    one.keeps("only replaced", replace(&record(9, 3), 8)).await;
    assert_eq!(other.owed().await.len(), 1);
}

/// The surplus revocations are those with the most attempts.
pub(super) async fn bounded(stores: Stores) {
    let Stores { one, other } = stores.with_key().await;
    // Each takes five bytes.
    for (id, due, attempts) in [(1, NOW, 2), (2, NOW, 0), (3, NOW + 1, 0), (4, NOW + 9, 2)] {
        let added = Revocation {
            attempts,
            ..revocation(id, due)
        };
        one.keeps("added", Change::insert(&added)).await;
    }
    for (bytes, most, ids) in [
        (20, 9, &[][..]),
        (19, 9, &[1]),
        (14, 9, &[1, 4]),
        (5, 9, &[1, 4, 2]),
        (0, 9, &[1, 4, 2, 3]),
        (0, 2, &[1, 4]),
        (u64::MAX, usize::MAX, &[]),
    ] {
        let surplus = other.0.surplus(bytes, most).await.expect("a store");
        let found: Vec<_> = surplus.iter().map(|it| it.id[0]).collect();
        assert_eq!(found, ids, "{bytes} {most}");
    }
}

/// A revocation is taken by one task at a time, until it is done.
pub(super) async fn taken(stores: Stores) {
    let stores = stores.with_key().await;
    let (one, other) = (&stores.one, &stores.other);
    for (id, due) in [(1, NOW), (2, NOW - 1), (3, NOW + 50)] {
        let added = Change::insert(&revocation(id, due));
        one.keeps("added", added).await;
    }
    let first = Revocation {
        attempts: 1,
        ..revocation(2, NOW + 30)
    };
    // The one that has been due for the longest.
    assert_eq!(other.take_due(NOW, NOW + 30).await, Some(first));
    let taken = stores.at_a_time(|store, _| async move { store.take_due(NOW, NOW + 30).await });
    let taken = taken.await.into_iter().flatten();
    assert_eq!(taken.map(|it| it.id[0]).collect::<Vec<_>>(), [1]);

    let settle = |id, settled| Change::settle([id; 16], settled);
    let audited = |change: Change| change.audited(&audit(AuditEvent::Revoked));
    let put_off = settle(1, Settlement::Again(NOW + 40));
    one.keeps("put off", audited(put_off)).await;
    let done = || audited(settle(2, Settlement::Done));
    one.keeps("done", done()).await;
    one.refuses("done twice", done()).await;
    assert_eq!(one.take_due(NOW + 39, NOW + 99).await, None);
    let again = one.take_due(NOW + 40, NOW + 99).await;
    assert_eq!(again.map(|it| (it.id[0], it.attempts)), Some((1, 2)));

    let lines = other.audit(0).await.len();
    one.keeps("without a line", settle(3, Settlement::Done))
        .await;
    let spared = settle(1, Settlement::Spared(NOW + 200));
    other.keeps("spared", spared).await;
    let waiting = async || {
        let owed = one.owed().await;
        owed.first().map(|it| (it.due, it.is_spared))
    };
    assert_eq!(waiting().await, Some((NOW + 200, true)));
    let again = one.take_due(NOW + 200, NOW + 300).await;
    assert_eq!(again.map(|it| (it.is_spared, it.attempts)), Some((true, 3)));
    let no_more = settle(1, Settlement::Again(NOW + 400));
    one.keeps("spared no more", no_more).await;
    assert_eq!(waiting().await, Some((NOW + 400, false)));
    assert_eq!(other.audit(0).await.len(), lines);
}

/// Tokens in the queue are replaced by the task that took them last.
pub(super) async fn renewed_to_revoke(stores: Stores) {
    let Stores { one, other } = stores.with_key().await;
    let endless = Revocation {
        expires: None,
        ..revocation(2, NOW + 9)
    };
    for owed in [revocation(1, NOW), endless] {
        one.keeps("added", Change::insert(&owed)).await;
    }
    let owed = one.owed().await;
    let ends: Vec<_> = owed.iter().map(|it| it.expires).collect();
    assert_eq!(ends, [Some(NOW + 3_600_000), None]);

    let taken = one.take_due(NOW, NOW + 5).await.expect("one is due");
    let renewed = |key, secret| Revocation {
        sealed: sealed(key, secret),
        expires: None,
        ..taken.clone()
    };
    let replace = |it: &Revocation| Change::replace(it, u64::from(it.attempts));
    let unknown = renewed(OTHER_KEY, 7);
    other.lacks_key("under no key", replace(&unknown)).await;
    other.keeps("other tokens", replace(&renewed(KEY, 7))).await;
    let again = Revocation {
        due: NOW + 8,
        attempts: 2,
        ..renewed(KEY, 7)
    };
    let found = one.take_due(NOW + 5, NOW + 8).await;
    assert_eq!(found.as_ref(), Some(&again));
    one.refuses("too slow", replace(&renewed(KEY, 8))).await;
    assert_eq!(other.owed().await.first(), Some(&again));
}

/// Queued tokens are resealed only if they have not changed.
pub(super) async fn resealed(stores: Stores) {
    let Stores { one, other } = stores.with_key().await;
    let without_refresh = |sealed: &SealedSecrets| SealedSecrets {
        refresh: None,
        ..sealed.clone()
    };
    let (before, anew) = (sealed(KEY, 1), sealed(OTHER_KEY, 5));
    let bare = Revocation {
        sealed: without_refresh(&before),
        ..revocation(2, NOW + 9)
    };
    let elsewhere = Revocation {
        account: holder(None, Some("i"), "ada").account("github", "ada-l"),
        ..revocation(3, NOW)
    };
    let added = Change::add_key(&key_of(None, KEY), None);
    one.keeps("a key of another tenant", added).await;
    for owed in [&revocation(1, NOW), &bare, &elsewhere] {
        one.keeps("added", Change::insert(owed)).await;
    }
    let reseal = |owed: &Revocation, from: &SealedSecrets, anew: &SealedSecrets| {
        let anew = Revocation {
            sealed: anew.clone(),
            ..owed.clone()
        };
        Change::reseal(&anew, from)
    };
    let unknown = reseal(&revocation(1, NOW), &before, &anew);
    one.lacks_key("under no key", unknown).await;
    let second = Change::add_key(&key(OTHER_KEY), Some(KEY));
    one.keeps("the second key", second).await;
    let under_others = async |key: KeyId, most: usize| {
        let there = other.revocations(of_tenant().sealed_otherwise(key).most(most));
        let mut ids: Vec<_> = there.await.iter().map(|it| it.id[0]).collect();
        ids.sort_unstable();
        ids
    };
    assert_eq!(under_others(OTHER_KEY, 9).await, [1, 2]);
    assert_eq!(under_others(OTHER_KEY, 1).await.len(), 1);
    assert!(under_others(KEY, 9).await.is_empty());

    let taken = one.take_due(NOW, NOW + 5).await.expect("one is due");
    let renewed = |key, secret| Revocation {
        sealed: sealed(key, secret),
        ..taken.clone()
    };
    let from = renewed(KEY, 7);
    let renewal = |it: &Revocation| Change::replace(it, u64::from(it.attempts));
    one.keeps("renewed", renewal(&from)).await;
    let late = reseal(&taken, &before, &anew);
    other.refuses("renewed since", late).await;
    let missing = reseal(&revocation(9, NOW), &before, &anew);
    other.refuses("one that is done", missing).await;
    let again = || reseal(&taken, &from.sealed, &anew);
    other.keeps("sealed anew", again()).await;
    other.refuses("sealed anew twice", again()).await;
    let without = without_refresh(&anew);
    let one_token = reseal(&bare, &bare.sealed, &without);
    one.keeps("without a refresh token", one_token).await;
    assert!(under_others(OTHER_KEY, 9).await.is_empty());

    let mut owed = other.owed().await;
    owed.sort_by_key(|it| it.id);
    let expected = [
        renewed(OTHER_KEY, 5),
        Revocation {
            sealed: without,
            ..bare
        },
    ];
    assert_eq!(owed, expected);
    let meanwhile = renewal(&renewed(OTHER_KEY, 8));
    one.keeps("the renewal meanwhile", meanwhile).await;
}

/// The audit records the changes and nothing else.
pub(super) async fn audited(stores: Stores) {
    let Stores { one, other } = stores.with_record().await;
    one.refuses("a second record", insert(&record(8, 2))).await;
    one.refuses("without a lease", renewal(&record(8, 2), 7, 1))
        .await;
    let nobody = holder(Some("t"), None, "nobody").account("github", "x");
    let none = Change::remove(&nobody).audited(&audit(AuditEvent::Disconnected));
    one.refuses("no record", none).await;
    let none = Change::settle([1; 16], Settlement::Done).audited(&audit(AuditEvent::Revoked));
    one.refuses("no revocation", none).await;
    let used = |at: Millis| AuditRecord {
        at: NOW + at,
        client: Some("editor".to_owned()),
        ..audit(AuditEvent::Used)
    };
    one.append(&used(5), 99).await;
    let without_tenant = AuditRecord {
        account: None,
        tenant: None,
        ..audit(AuditEvent::TenantDeleted)
    };
    one.append(&without_tenant, 99).await;

    let records = |lines: Vec<AuditEntry>| lines.into_iter().map(|it| it.record);
    let lines = other.audit(0).await;
    let expected = vec![granted(), used(5)];
    assert_eq!(records(lines.clone()).collect::<Vec<_>>(), expected);
    assert_eq!(other.lines(of_tenant().after(0).most(1)).await.len(), 1);
    assert_eq!(other.audit(lines[0].number).await, [lines[1].clone()]);

    one.append(&used(4), 99).await;
    let elsewhere = AuditRecord::of(&nobody, AuditEvent::Used, NOW);
    one.append(&elsewhere, 99).await;
    let mine = async |event| {
        let lines = other.lines(Filter::of(&account().holder).event(event));
        records(lines.await).collect::<Vec<_>>()
    };
    assert_eq!(mine(AuditEvent::Used).await, [used(5), used(4)]);
    assert_eq!(mine(AuditEvent::Revoked).await, []);
    let of_none = other.lines(Filter::tenant(None).after(0).most(9)).await;
    assert_eq!(records(of_none).collect::<Vec<_>>(), [without_tenant]);

    assert_eq!(one.purge_audit(NOW + 5).await, 4);
    assert_eq!(other.audit(0).await, [lines[1].clone()]);
    one.append(&used(5), 99).await;
    assert_eq!(other.audit(lines[1].number).await.len(), 1);
}

/// A reader that continues after a number misses no line.
pub(super) async fn followed(stores: Stores) {
    const EACH: usize = 8;
    let reader = stores.one.clone();
    let writers = tokio::spawn(async move {
        let all = stores.at_a_time(|store, _| async move {
            for _ in 0..EACH {
                store.append(&audit(AuditEvent::Used), 99).await;
            }
        });
        all.await
    });
    let (mut seen, mut last) = (0, 0);
    loop {
        // Checked before the read, so that the last read sees every write.
        let is_last = writers.is_finished();
        let lines = reader.audit(last).await;
        seen += lines.len();
        last = lines.last().map_or(last, |line| line.number);
        if is_last {
            break;
        }
        tokio::task::yield_now().await;
    }
    writers.await.expect("the writers");
    assert_eq!(seen, AT_A_TIME * EACH);
}

/// The oldest lines of a user and an event are removed for newer ones.
pub(super) async fn crowded(Stores { one, other }: Stores) {
    use AuditEvent::{Burned, Used, WrongPerson};

    let line = |subject: &str, event, at| {
        let of = holder(Some("t"), Some("i"), subject).account("github", "x");
        AuditRecord::of(&of, event, NOW + at)
    };
    let left = async || {
        let lines = other.audit(0).await.into_iter();
        lines.map(|it| it.record.at - NOW).collect::<Vec<_>>()
    };
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
        one.append(&line(subject, event, at), 2).await;
    }
    assert_eq!(left().await, [1, 2, 4, 6, 7, 8]);
    // The others are surplus as soon as fewer are kept.
    one.append(&line("ada", Used, 9), 1).await;
    assert_eq!(left().await, [1, 2, 7, 8, 9]);
}

/// Any time may be given.
pub(super) async fn any_time(stores: Stores) {
    let Stores { one, .. } = stores.with_record().await;
    let forever = leasing(7, 1, u64::MAX, u64::MAX - 1);
    one.keeps("a lease for ever", forever).await;
    let second = leasing(7, 2, u64::MAX, 0);
    one.refuses("a lease beside it", second).await;
    let never = Change::insert(&revocation(1, u64::MAX));
    one.keeps("a revocation", never).await;
    assert_eq!(one.take_due(NOW, NOW).await, None);
    let after_all = of_tenant().after(u64::MAX).most(usize::MAX);
    assert_eq!(one.lines(after_all).await, []);
    assert_eq!(one.purge_audit(0).await, 0);
}
