use super::*;

fn intent(id: u8, subject: &str, expires: Millis) -> IntentRow {
    IntentRow {
        id: [id; 16],
        holder: holder(Some("t"), None, subject),
        provider: "github".to_owned(),
        expires,
        busy_until: 0,
        version: 1,
        is_open: true,
        body: vec![id, 0, 255],
    }
}

async fn found_intent(
    store: &Arc<dyn VaultStore>,
    id: [u8; 16],
) -> Result<Option<IntentRow>, VaultError> {
    store
        .list(Filter::id(id))
        .await
        .map(|mut found| found.pop())
}

/// Room for this many open intents of a user and two closed ones.
fn room(open: usize, before: Millis) -> IntentRoom {
    IntentRoom {
        open,
        closed: 2,
        at_work: 0,
        before,
    }
}

pub(super) async fn crowded(stores: Stores) -> Kept {
    let (one, other) = (&stores.one, &stores.other);
    let add = async |store: &Arc<dyn VaultStore>, id: u8, subject: &str, end: Millis| {
        let room = IntentRoom {
            at_work: NOW + 4,
            ..room(9, 0)
        };
        let added = Change::add_intent(&intent(id, subject, end), room, NOW + 20);
        store.write(added).await.map(WriteOutcome::is_kept)
    };
    // Another user's; closed; expired long ago; processing a payment; still open.
    for (id, subject, end) in [(1, "bob", NOW), (2, "ada", NOW + 4), (3, "ada", NOW + 5)] {
        expect("added", add(one, id, subject, end).await?, true)?;
    }
    for (id, closed, left) in [
        (4, true, &[1, 2, 3, 4][..]),
        (5, false, &[1, 2, 3, 4, 5]),
        (6, true, &[1, 3, 4, 5, 6]),
        (7, true, &[1, 3, 5, 6, 7]),
        (8, false, &[1, 3, 5, 6, 7, 8]),
    ] {
        let end = NOW + 30 + Millis::from(id);
        expect("added", add(one, id, "ada", end).await?, true)?;
        if closed {
            let mut row = intent(id, "ada", end);
            (row.version, row.is_open) = (2, false);
            other
                .write(Change::replace(&row, 1).audited(&granted()))
                .await?;
            // The next insert makes room. It expires soon.
            expect("added", add(other, 99, "ada", NOW + 1).await?, true)?;
        }
        let mut there = Vec::new();
        for id in 1..=8 {
            there.extend(found_intent(other, [id; 16]).await?.map(|it| it.id[0]));
        }
        expect("the intents", &*there, left)?;
    }
    Ok(())
}

pub(super) async fn added(stores: Stores) -> Kept {
    let (one, other) = (&stores.one, &stores.other);
    let (first, second) = (intent(1, "ada", NOW + 10), intent(2, "ada", NOW + 20));
    expect(
        "added",
        one.write(Change::add_intent(&first, room(2, NOW), NOW))
            .await?
            .is_kept(),
        true,
    )?;
    let found = found_intent(other, first.id).await?;
    expect("the intent", found, Some(first.clone()))?;
    expect("no intent", found_intent(other, [9; 16]).await?, None)?;
    let twice = IntentRow {
        holder: holder(None, None, "bob"),
        ..intent(1, "bob", NOW + 99)
    };
    expect(
        "added twice",
        other
            .write(Change::add_intent(&twice, room(2, NOW), NOW))
            .await?
            .is_kept(),
        false,
    )?;
    let kept = found_intent(one, first.id).await?;
    expect("the intent still", kept, Some(first))?;
    expect(
        "one more",
        other
            .write(Change::add_intent(&second, room(2, NOW), NOW))
            .await?
            .is_kept(),
        true,
    )?;
    let third = intent(3, "ada", NOW + 30);
    expect(
        "one too many",
        one.write(Change::add_intent(&third, room(2, NOW), NOW))
            .await?
            .is_kept(),
        false,
    )?;
    let others = intent(4, "bob", NOW + 30);
    expect(
        "of another",
        one.write(Change::add_intent(&others, room(1, NOW), NOW))
            .await?
            .is_kept(),
        true,
    )?;
    let later = one
        .write(Change::add_intent(&third, room(2, NOW), NOW + 10))
        .await?
        .is_kept();
    expect("once one has ended", later, true)?;
    let ended = found_intent(other, [1; 16]).await?.is_some();
    expect("the one that has ended is known", ended, true)?;
    let mut closed = intent(3, "ada", NOW + 30);
    (closed.version, closed.is_open) = (2, false);
    other
        .write(Change::replace(&closed, 1).audited(&granted()))
        .await?;
    let fifth = intent(5, "ada", NOW + 30);
    let has_room = one
        .write(Change::add_intent(&fifth, room(2, NOW + 10), NOW + 10))
        .await?
        .is_kept();
    expect("once one is closed", has_room, true)?;
    let ended = found_intent(other, [1; 16]).await?;
    expect("the one that has ended for long", ended, None)?;
    let mut busy = second;
    (busy.version, busy.busy_until) = (2, NOW + 12);
    one.write(Change::replace(&busy, 1).audited(&granted()))
        .await?;
    let sixth = intent(6, "ada", NOW + 30);
    for (at, wanted) in [(NOW + 11, false), (NOW + 12, true)] {
        let has_room = other
            .write(Change::add_intent(&sixth, room(2, NOW + 10), at))
            .await?
            .is_kept();
        expect("once one was cut off", has_room, wanted)?;
    }
    Ok(())
}

pub(super) async fn busy(stores: Stores) -> Kept {
    let (one, other) = (&stores.one, &stores.other);
    let mut asked = intent(1, "ada", NOW + 99);
    one.write(Change::add_intent(&asked, room(9, 0), NOW))
        .await?;
    let is_busy = async |subject: &str, provider: &str, at: Millis| {
        let holder = holder(Some("t"), None, subject);
        let busy = Filter::of(&holder).at(provider).busy(at);
        other
            .list::<IntentRow>(busy)
            .await
            .map(|found| !found.is_empty())
    };
    expect(
        "busy from the start",
        is_busy("ada", "github", NOW).await?,
        false,
    )?;
    (asked.version, asked.busy_until) = (2, NOW + 10);
    one.write(Change::replace(&asked, 1).audited(&granted()))
        .await?;
    let found = found_intent(other, asked.id).await?;
    expect("the intent", found, Some(asked.clone()))?;
    for (subject, provider, at, wanted) in [
        ("ada", "github", NOW + 9, true),
        ("ada", "github", NOW + 10, false),
        ("ada", "google", NOW, false),
        ("bob", "github", NOW, false),
    ] {
        let busy = is_busy(subject, provider, at).await?;
        expect("whether it is busy", busy, wanted)?;
    }
    (asked.version, asked.busy_until) = (3, 0);
    one.write(Change::replace(&asked, 2).audited(&granted()))
        .await?;
    expect(
        "busy at the end",
        is_busy("ada", "github", NOW).await?,
        false,
    )
}

async fn has_ended(store: &Arc<dyn VaultStore>, visit: [u8; 16]) -> Result<bool, VaultError> {
    let found = store.list::<EndedVisit>(Filter::id(visit)).await?;
    Ok(!found.is_empty())
}

pub(super) async fn visits(stores: Stores) -> Kept {
    let (one, other) = (&stores.one, &stores.other);
    let [first, second, third] = [[1; 16], [2; 16], [3; 16]];
    expect("ended from the start", has_ended(one, first).await?, false)?;
    one.write(Change::end_visit(
        &EndedVisit {
            id: first,
            expires: NOW + 10,
        },
        NOW,
    ))
    .await?;
    one.write(Change::end_visit(
        &EndedVisit {
            id: first,
            expires: NOW + 10,
        },
        NOW,
    ))
    .await?;
    expect("ended", has_ended(other, first).await?, true)?;
    expect("another", has_ended(other, second).await?, false)?;
    one.write(Change::end_visit(
        &EndedVisit {
            id: second,
            expires: NOW + 19,
        },
        NOW + 9,
    ))
    .await?;
    expect("ended still", has_ended(other, first).await?, true)?;
    one.write(Change::end_visit(
        &EndedVisit {
            id: third,
            expires: NOW + 19,
        },
        NOW + 10,
    ))
    .await?;
    expect("ended for long", has_ended(other, first).await?, false)?;
    expect("the other", has_ended(other, second).await?, true)
}

pub(super) async fn advanced(stores: Stores) -> Kept {
    with_key(&stores).await?;
    stores
        .one
        .write(Change::add_intent(
            &intent(1, "ada", NOW),
            room(1, 0),
            NOW - 1,
        ))
        .await?;
    let changed = at_a_time(&stores, |store, at| async move {
        let mut changed = intent(1, "bob", NOW + 99);
        (changed.version, changed.body) = (2, vec![at]);
        let changed = store
            .write(Change::replace(&changed, 1).audited(&granted()))
            .await?
            .is_kept();
        Ok(changed.then_some(at))
    });
    let changed: Vec<_> = changed.await?.into_iter().flatten().collect();
    expect("how many did", changed.len(), 1)?;
    let wanted = IntentRow {
        version: 2,
        body: changed,
        ..intent(1, "ada", NOW)
    };
    let found = found_intent(&stores.other, [1; 16]).await?;
    expect("the intent", found, Some(wanted))?;
    let lines = stores
        .other
        .list::<AuditEntry>(Filter::tenant(Some("t")).after(0).most(9))
        .await?;
    expect("the lines of the audit", lines.len(), 1)?;
    let deleted = audit(AuditEvent::TenantDeleted);
    stores.one.delete_tenant(Some("t"), &deleted).await?;
    let gone = found_intent(&stores.other, [1; 16]).await?;
    expect("the intent of a deleted tenant", gone, None)?;
    Ok(())
}
