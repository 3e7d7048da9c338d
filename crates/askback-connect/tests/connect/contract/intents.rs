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

/// Adds an intent if its user has fewer than `open` open ones. Two closed ones are kept, and none that expired before
/// `before`.
fn adding(intent: &IntentRow, open: usize, before: Millis, now: Millis) -> Change {
    let room = IntentRoom {
        open,
        closed: 2,
        at_work: 0,
        before,
    };
    Change::add_intent(intent, room, now)
}

fn closed(intent: &IntentRow) -> IntentRow {
    IntentRow {
        version: 2,
        is_open: false,
        ..intent.clone()
    }
}

fn replace(intent: &IntentRow) -> Change {
    Change::replace(intent, intent.version - 1).audited(&granted())
}

/// The oldest closed intents of a user are removed for newer ones.
pub(super) async fn crowded(Stores { one, other }: Stores) {
    let add = async |store: &Store, id: u8, subject: &str, end: Millis| {
        let room = IntentRoom {
            open: 9,
            closed: 2,
            at_work: NOW + 4,
            before: 0,
        };
        let added = Change::add_intent(&intent(id, subject, end), room, NOW + 20);
        store.keeps("added", added).await;
    };
    // Intent 1 is another user's. Intent 2 expired long ago. Intent 3 has expired too, but its page may still be
    // processing a payment.
    for (id, subject, end) in [(1, "bob", NOW), (2, "ada", NOW + 4), (3, "ada", NOW + 5)] {
        add(&one, id, subject, end).await;
    }
    for (id, is_closed, expected) in [
        (4, true, &[1, 2, 3, 4][..]),
        (5, false, &[1, 2, 3, 4, 5]),
        (6, true, &[1, 3, 4, 5, 6]),
        (7, true, &[1, 3, 5, 6, 7]),
        (8, false, &[1, 3, 5, 6, 7, 8]),
    ] {
        let end = NOW + 30 + Millis::from(id);
        add(&one, id, "ada", end).await;
        if is_closed {
            let row = closed(&intent(id, "ada", end));
            other.keeps("closed", replace(&row)).await;
            // The next insert makes room. It expires soon.
            add(&other, 99, "ada", NOW + 1).await;
        }
        let mut there = Vec::new();
        for id in 1..=8 {
            there.extend(other.intent(id).await.map(|it| it.id[0]));
        }
        assert_eq!(there, expected);
    }
}

/// An intent is added once, and only if the user has fewer than the limit.
pub(super) async fn added(Stores { one, other }: Stores) {
    let (first, second) = (intent(1, "ada", NOW + 10), intent(2, "ada", NOW + 20));
    let add = |intent: &IntentRow| adding(intent, 2, NOW, NOW);
    one.keeps("added", add(&first)).await;
    assert_eq!(other.intent(1).await, Some(first.clone()));
    assert_eq!(other.intent(9).await, None);
    let twice = IntentRow {
        holder: holder(None, None, "bob"),
        ..intent(1, "bob", NOW + 99)
    };
    other.refuses("added twice", add(&twice)).await;
    assert_eq!(one.intent(1).await, Some(first));
    other.keeps("one more", add(&second)).await;
    let third = intent(3, "ada", NOW + 30);
    one.refuses("one too many", add(&third)).await;
    let others = adding(&intent(4, "bob", NOW + 30), 1, NOW, NOW);
    one.keeps("another user's", others).await;

    let later = adding(&third, 2, NOW, NOW + 10);
    one.keeps("once one has ended", later).await;
    assert!(other.intent(1).await.is_some());
    other.keeps("closed", replace(&closed(&third))).await;
    let fifth = intent(5, "ada", NOW + 30);
    let later = adding(&fifth, 2, NOW + 10, NOW + 10);
    one.keeps("once one is closed", later).await;
    assert_eq!(other.intent(1).await, None, "it has ended for long");

    let busy = IntentRow {
        version: 2,
        busy_until: NOW + 12,
        ..second
    };
    one.keeps("at its provider", replace(&busy)).await;
    let sixth = |now| adding(&intent(6, "ada", NOW + 30), 2, NOW + 10, now);
    other.refuses("beside it", sixth(NOW + 11)).await;
    other.keeps("once it was cut off", sixth(NOW + 12)).await;
}

/// An intent is busy at its provider for a time.
pub(super) async fn busy(Stores { one, other }: Stores) {
    let asked = intent(1, "ada", NOW + 99);
    one.keeps("added", adding(&asked, 9, 0, NOW)).await;
    let is_busy = async |subject: &str, provider: &str, at: Millis| {
        let holder = holder(Some("t"), None, subject);
        let busy = Filter::of(&holder).at(provider).busy(at);
        !other.intents(busy).await.is_empty()
    };
    assert!(!is_busy("ada", "github", NOW).await);
    let until = |busy_until, version| IntentRow {
        version,
        busy_until,
        ..asked.clone()
    };
    one.keeps("busy", replace(&until(NOW + 10, 2))).await;
    assert_eq!(other.intent(1).await, Some(until(NOW + 10, 2)));
    for (subject, provider, at, expected) in [
        ("ada", "github", NOW + 9, true),
        ("ada", "github", NOW + 10, false),
        ("ada", "google", NOW, false),
        ("bob", "github", NOW, false),
    ] {
        let found = is_busy(subject, provider, at).await;
        assert_eq!(found, expected, "{subject} {provider}");
    }
    one.keeps("no longer", replace(&until(0, 3))).await;
    assert!(!is_busy("ada", "github", NOW).await);
}

/// A visit that ended early is remembered until the time at which it would have expired.
pub(super) async fn visits(Stores { one, other }: Stores) {
    let end = async |id: u8, expires, now| {
        let visit = EndedVisit {
            id: [id; 16],
            expires,
        };
        one.write(Change::end_visit(&visit, now)).await
    };
    let has_ended = async |id: u8| {
        let found = other.0.list::<EndedVisit>(Filter::id([id; 16])).await;
        !found.expect("a store").is_empty()
    };
    assert!(!has_ended(1).await);
    for _ in 0..2 {
        end(1, NOW + 10, NOW).await;
    }
    assert!(has_ended(1).await && !has_ended(2).await);
    end(2, NOW + 19, NOW + 9).await;
    assert!(has_ended(1).await);
    end(3, NOW + 19, NOW + 10).await;
    assert!(!has_ended(1).await && has_ended(2).await);
}

/// If many tasks change an intent at the same time, one succeeds.
pub(super) async fn advanced(stores: Stores) {
    let stores = stores.with_key().await;
    let first = adding(&intent(1, "ada", NOW), 1, 0, NOW - 1);
    stores.one.keeps("added", first).await;
    let changed = stores.at_a_time(|store, at| async move {
        let changed = IntentRow {
            version: 2,
            body: vec![at],
            ..intent(1, "bob", NOW + 99)
        };
        let outcome = store.write(replace(&changed)).await;
        outcome.is_kept().then_some(at)
    });
    let body: Vec<_> = changed.await.into_iter().flatten().collect();
    assert_eq!(body.len(), 1);
    let expected = IntentRow {
        version: 2,
        body,
        ..intent(1, "ada", NOW)
    };
    let Stores { one, other } = stores;
    assert_eq!(other.intent(1).await, Some(expected));
    assert_eq!(other.audit(0).await.len(), 1);
    one.delete_tenant().await;
    assert_eq!(other.intent(1).await, None);
}
