//! Whatever happens to the servers of a conversation, each answer is that of its own question, what the person
//! looks at stays before them, and a server is not charged with the time of the person.

use std::{collections::BTreeMap, time::Duration};

use askback_core::{
    limits::Limits,
    protocol::{LoggingLevel, Root},
};
use askback_host::{
    model::{
        Call, Catalog, Change, Conversation, Desk, Effect, Ended, Event, Far, Folders, How,
        Presence, Server, Stance,
    },
    offer::Offer,
    relay::ServerId,
};
use proptest::prelude::*;

use crate::{desk, form, safety, travel};

/// How many servers there are.
const SERVERS: usize = 3;

/// Something that happens, to one of the servers.
#[derive(Debug, Clone)]
enum Happens {
    /// So many milliseconds pass.
    Pass(u64),
    /// Something happens at its desk.
    Desk(Event),
    Called(bool),
    Far(u32),
    Ended(How),
    Chosen,
    Presence(Presence),
    Left,
    Heard,
    Listed,
    Log,
    Shared,
    Stance(Stance),
    Entered(u8),
    Offered,
}

fn happens() -> impl Strategy<Value = Happens> {
    let presence = prop_oneof![
        1 => Just(Presence::Connecting),
        3 => Just(Presence::There),
        1 => Just(Presence::Down),
        1 => Just(Presence::Absent),
    ];
    let how = prop_oneof![Just(How::Done), Just(How::Error), Just(How::Failed)];
    prop_oneof![
        8 => (0u64..5000).prop_map(Happens::Pass),
        24 => desk::event().prop_map(Happens::Desk),
        3 => any::<bool>().prop_map(Happens::Called),
        2 => (0u32..9).prop_map(Happens::Far),
        2 => how.prop_map(Happens::Ended),
        2 => Just(Happens::Chosen),
        2 => presence.prop_map(Happens::Presence),
        1 => Just(Happens::Left),
        1 => Just(Happens::Heard),
        1 => Just(Happens::Listed),
        1 => Just(Happens::Log),
        1 => Just(Happens::Shared),
        1 => Just(Happens::Stance(Stance::Person)),
        1 => (0u8..4).prop_map(Happens::Entered),
        1 => Just(Happens::Offered),
    ]
}

fn conversation() -> (Conversation, Vec<ServerId>) {
    let server = || Server::new(Desk::new(travel(), None, None, Limits::default()));
    let mut talk = Conversation::new(server());
    let mut ids = vec![ServerId::FIRST];
    ids.extend((1..SERVERS).map(|_| talk.add(server())));
    (talk, ids)
}

fn offers() -> Vec<Offer> {
    let line = |line: &str| Offer {
        line: line.to_owned(),
        ..Offer::default()
    };
    vec![line("/call t"), line("/tools")]
}

fn change(server: ServerId, happens: Happens, number: &mut u64) -> Option<Change> {
    Some(match happens {
        Happens::Pass(_) => return None,
        Happens::Desk(Event::Asked(_, question)) => {
            *number += 1;
            Change::Desk(server, Event::Asked(*number, question))
        }
        Happens::Desk(event) => Change::Desk(server, event),
        Happens::Called(is_repeated) => Change::Called {
            server,
            call: Call::Tool("t".to_owned()),
            line: Some("/call t".to_owned()),
            is_repeated,
        },
        Happens::Far(progress) => Change::Far(
            server,
            Far {
                progress: progress.into(),
                total: None,
                message: None,
            },
        ),
        Happens::Ended(how) => Change::Ended(server, how),
        Happens::Chosen => Change::Chosen(server),
        Happens::Presence(presence) => Change::Presence(server, presence),
        Happens::Left => Change::Left(server),
        Happens::Heard => Change::Heard(server),
        Happens::Listed => Change::Listed(server, Catalog::default()),
        Happens::Log => Change::Log(server, LoggingLevel::Info),
        Happens::Shared => Change::Shared(server, Folders::default(), vec![Root::new("file:///a")]),
        Happens::Stance(stance) => Change::Stance(server, stance),
        Happens::Entered(line) => Change::Entered(vec![format!("/{line}")]),
        Happens::Offered => Change::Offered(offers()),
    })
}

/// Takes note of the questions that came and went: whose each is.
fn settle(
    asked: &mut BTreeMap<u64, ServerId>,
    server: ServerId,
    effects: &[Effect],
) -> Result<(), TestCaseError> {
    for effect in effects {
        if let Effect::Answer(id, _) = effect {
            let of = asked.remove(id);
            prop_assert_eq!(of, Some(server), "{} was answered twice, or elsewhere", id);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(safety::config())]

    #[test]
    fn each_question_is_answered_at_its_server_and_the_person_pays_for_their_own_time(
        story in proptest::collection::vec((0..SERVERS, happens()), 0..80)
    ) {
        let (mut talk, ids) = conversation();
        let (mut now, mut number) = (Duration::ZERO, 0);
        let mut asked = BTreeMap::new();
        let mut began = [None; SERVERS];
        for (at, happens) in story {
            let server = ids[at];
            let front = talk.seen().front().map(|front| front.id);
            let seen = front.map(|id| (talk.seen_id(), id));
            let worked = talk.under_way().map(|(_, worked)| worked);
            let answering = talk.answering();
            if let Happens::Pass(millis) = happens {
                now += Duration::from_millis(millis);
                talk.pass(now);
                let passed = Duration::from_millis(millis);
                match seen {
                    Some(_) => {
                        prop_assert_eq!(talk.answering(), answering + passed);
                        prop_assert_eq!(talk.under_way().map(|(_, worked)| worked), worked);
                    }
                    None => {
                        prop_assert_eq!(talk.answering(), answering);
                        let later = worked.map(|worked| worked + passed);
                        prop_assert_eq!(talk.under_way().map(|(_, worked)| worked), later);
                    }
                }
                continue;
            }
            let is_begun = matches!(happens, Happens::Called(_));
            let is_ended = matches!(happens, Happens::Ended(_));
            let Some(change) = change(server, happens, &mut number) else { continue };
            if let Change::Desk(_, Event::Asked(id, _)) = &change {
                asked.insert(*id, server);
            }
            let withdrawn = match &change {
                Change::Desk(_, Event::Withdrawn(id)) if asked.get(id) == Some(&server) => Some(*id),
                _ => None,
            };
            let is_at_a_desk = matches!(change, Change::Desk(..));
            let happened = talk.update(change);
            prop_assert_eq!(happened.is_some(), is_at_a_desk);
            let effects = happened.map(|happened| happened.effects).unwrap_or_default();
            settle(&mut asked, server, &effects)?;
            if let Some(id) = withdrawn {
                asked.remove(&id);
            }
            // What the person looks at is taken away by its own server alone.
            let front = talk.seen().front().map(|front| front.id);
            if let Some((of, id)) = seen
                && of != server
            {
                prop_assert_eq!((talk.seen_id(), front), (of, Some(id)));
            }
            // A question waits nowhere unseen while nothing is in front.
            let waits = talk.servers().any(|server| server.desk().front().is_some());
            prop_assert_eq!(front.is_some(), waits);
            if is_begun {
                began[at] = Some((now, talk.answering()));
            }
            if is_ended {
                prop_assert!(talk.server(server).call().is_none());
                if let (Some((then, before)), Some(offer)) = (began[at].take(), talk.offers().get("/call t")) {
                    let took = now - then - (talk.answering() - before);
                    let last = offer.last.as_ref().map(|last| last.as_str().to_owned());
                    let begins = format!("{}.{} s ", took.as_secs(), took.subsec_millis() / 100);
                    prop_assert!(last.is_some_and(|last| last.starts_with(&begins)));
                }
            }
            for server in talk.servers() {
                let Some(call) = server.call() else { continue };
                for round in &call.rounds {
                    prop_assert!(round.ended.is_some() || asked.contains_key(&round.id));
                }
            }
            let lines: Vec<_> = (0..talk.history().count()).map(|back| talk.history().back(back)).collect();
            prop_assert!(lines.windows(2).all(|pair| pair[0] != pair[1]));
        }
    }
}

#[test]
fn a_server_comes_and_goes() {
    #[track_caller]
    fn check(changes: &[fn(ServerId) -> Change], expected: Presence) {
        let (mut talk, ids) = conversation();
        for change in changes {
            talk.update(change(ids[1]));
        }
        assert_eq!(talk.server(ids[1]).presence(), expected);
        assert_eq!(talk.server(ids[0]).presence(), Presence::Connecting);
    }
    let there: fn(_) -> _ = |server| Change::Presence(server, Presence::There);
    let down: fn(_) -> _ = |server| Change::Presence(server, Presence::Down);
    let (left, heard): (fn(_) -> _, fn(_) -> _) = (Change::Left, Change::Heard);
    check(&[], Presence::Connecting);
    // What it says as it starts, and where that fails, is told of otherwise.
    check(&[heard, left], Presence::Connecting);
    check(&[there, heard], Presence::There);
    check(&[there, left], Presence::Gone);
    check(&[there, left, left], Presence::Gone);
    check(&[there, left, heard], Presence::There);
    check(&[there, down, left, heard], Presence::Down);
    check(&[there, down, there], Presence::There);
}

#[test]
fn a_call_counts_what_was_asked_in_it() {
    let (mut talk, ids) = conversation();
    let server = ids[1];
    let called = |is_repeated| Change::Called {
        server,
        call: Call::Tool("t".to_owned()),
        line: None,
        is_repeated,
    };
    talk.update(called(false));
    talk.update(Change::Desk(server, Event::Asked(1, form("Why?", "", ""))));
    talk.update(Change::Desk(server, Event::Asked(2, form("And?", "", ""))));
    talk.update(Change::Desk(server, Event::Withdrawn(1)));
    let mut of_a_task = form("A task?", "", "");
    of_a_task.call = Some(Call::Task {
        number: 1,
        tool: "t".to_owned(),
    });
    talk.update(Change::Desk(server, Event::Asked(3, of_a_task)));
    let rounds: Vec<_> = talk
        .server(server)
        .call()
        .expect("it is under way")
        .rounds
        .clone();
    let rounds: Vec<_> = rounds.iter().map(|round| (round.id, round.ended)).collect();
    assert_eq!(rounds, [(1, Some(Ended::Unanswered)), (2, None)]);
    // A server may ask more often than is kept.
    for id in 4..100 {
        talk.update(Change::Desk(
            server,
            Event::Asked(id, form("More?", "", "")),
        ));
    }
    let call = talk.server(server).call().expect("it is under way");
    assert_eq!((call.rounds.len(), call.rounds.len() + call.more), (32, 98));
}
