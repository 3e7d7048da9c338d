//! With any sequence of changes, each server gets the answers to its own questions, the question in
//! front stays, and the user's time does not count as the server's.

use std::{collections::BTreeMap, time::Duration};

use askback::{
    forms::Content,
    limits::Limits,
    protocol::{LoggingLevel, Root, Tool},
};
use askback_host::{
    ending::QuestionEnd,
    model::{
        Action, Call, Catalog, Change, Conversation, Desk, Effect, Event, Far, How, Offer,
        Permission, Presence, Question, Reply, Server,
    },
    relay::ServerId,
};
use proptest::prelude::*;

use crate::{desk, form, full::sampling, safety, sign_in, travel};

const SERVERS: usize = 3;

#[derive(Debug, Clone)]
enum Happens {
    /// Milliseconds.
    Pass(u64),
    Desk(Event),
    Called(bool),
    Far(u32),
    Ended(How),
    Chosen,
    Presence(Presence),
    Left,
    Heard,
    Listed(u8),
    Log(LoggingLevel),
    Shared(u8),
    Permission(Permission),
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
    let how = prop_oneof![
        Just(How::Done),
        Just(How::Error),
        Just(How::Failed),
        Just(How::Stopped)
    ];
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
        1 => (0u8..4).prop_map(Happens::Listed),
        1 => prop_oneof![Just(LoggingLevel::Info), Just(LoggingLevel::Error)].prop_map(Happens::Log),
        1 => (0u8..4).prop_map(Happens::Shared),
        1 => prop_oneof![Just(Permission::Ask), Just(Permission::Never)].prop_map(Happens::Permission),
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

fn catalog(tools: u8) -> Catalog {
    let tool = |number: u8| Tool {
        name: number.to_string(),
        ..Tool::default()
    };
    Catalog {
        tools: (0..tools).map(tool).collect(),
        ..Catalog::default()
    }
}

/// A server's state that the user chose or the server reported, apart from its questions.
#[derive(Debug, Clone, PartialEq, Default)]
struct Own {
    catalog: Option<Catalog>,
    log: Option<LoggingLevel>,
    shared: Option<Vec<Root>>,
    permission: Permission,
    far: Option<f64>,
}

impl Own {
    fn of(server: &Server) -> Self {
        let far = server.call().and_then(|call| call.far.as_ref());
        Self {
            catalog: server.catalog().cloned(),
            log: server.log(),
            shared: server.desk().shared().map(<[_]>::to_vec),
            permission: server.desk().permission(),
            far: far.map(|far| far.progress),
        }
    }

    /// Applies a change of this server that carries the new state.
    fn take(&mut self, change: &Change) {
        match change.clone() {
            Change::Listed(_, catalog) => self.catalog = Some(catalog),
            Change::Log(_, level) => self.log = Some(level),
            Change::Shared(_, roots) => self.shared = Some(roots),
            Change::Permission(_, permission) => self.permission = permission,
            Change::Called { .. } | Change::Ended(..) => self.far = None,
            _ => {}
        }
    }
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
        Happens::Listed(tools) => Change::Listed(server, catalog(tools)),
        Happens::Log(level) => Change::Log(server, level),
        Happens::Shared(name) => Change::Shared(server, vec![Root::new(format!("file:///{name}"))]),
        Happens::Permission(permission) => Change::Permission(server, permission),
        Happens::Entered(line) => Change::Entered(vec![format!("/{line}")]),
        Happens::Offered => Change::Offered(offers()),
    })
}

/// Records which questions were answered, and checks that each was the server's.
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
                Change::Desk(_, Event::Ended(id, QuestionEnd::Withdrawn)) if asked.get(id) == Some(&server) => Some(*id),
                _ => None,
            };
            let is_at_a_desk = matches!(change, Change::Desk(..));
            let mut own: Vec<_> = ids.iter().map(|id| Own::of(talk.server(*id))).collect();
            own[at].take(&change);
            let is_far = matches!(change, Change::Far(..));
            let happened = talk.update(change);
            prop_assert_eq!(happened.is_some(), is_at_a_desk);
            let effects = happened.map(|happened| happened.effects).unwrap_or_default();
            settle(&mut asked, server, &effects)?;
            if let Some(id) = withdrawn {
                asked.remove(&id);
            }
            // A change affects no other server.
            let owned = ids.iter().map(|id| Own::of(talk.server(*id)));
            for (other, (own, now)) in own.iter().zip(owned).enumerate() {
                // Events at its desk and progress change its own state in other ways.
                if other != at || !(is_at_a_desk || is_far) {
                    prop_assert_eq!(own, &now);
                }
            }
            // Only a server can withdraw its own question from the front.
            let front = talk.seen().front().map(|front| front.id);
            if let Some((of, id)) = seen
                && of != server
            {
                prop_assert_eq!((talk.seen_id(), front), (of, Some(id)));
            }
            // If no question is in front, no question waits.
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
    // Output during a start does not change the status, and a failed start is a separate change.
    check(&[heard, left], Presence::Connecting);
    check(&[there, heard], Presence::There);
    check(&[there, left], Presence::Gone);
    check(&[there, left, left], Presence::Gone);
    check(&[there, left, heard], Presence::There);
    check(&[there, down, left, heard], Presence::Down);
    check(&[there, down, there], Presence::There);
}

fn call_of(server: ServerId) -> Change {
    Change::Called {
        server,
        call: Call::Tool("t".to_owned()),
        line: None,
        is_repeated: false,
    }
}

#[test]
fn a_question_after_a_stopped_call_is_not_answered_for_the_user() {
    let (mut talk, ids) = conversation();
    let server = ids[0];
    let of_no_call = || Question {
        call: None,
        ..form("Sure?", "", "")
    };
    let happen = |talk: &mut Conversation, event| {
        let happened = talk.update(Change::Desk(server, event));
        happened.expect("it is at a desk").effects
    };
    let answer = || Event::Answered(Reply::Form(Content::new()));
    talk.update(call_of(server));
    happen(&mut talk, Event::Asked(1, form("Sure?", "", "")));
    happen(&mut talk, Event::Asked(2, of_no_call()));
    let answered = |id| Effect::Answer(id, Reply::Form(Content::new()));
    assert_eq!(happen(&mut talk, answer()), [answered(1)]);
    assert_eq!(happen(&mut talk, answer()), [answered(2)]);
    talk.update(Change::Ended(server, How::Stopped));
    for (id, question) in [(3, form("Sure?", "", "")), (4, of_no_call())] {
        let of_call = question.call.clone();
        assert_eq!(happen(&mut talk, Event::Asked(id, question)), []);
        let front = talk.server(server).desk().front().expect("it is shown");
        assert_eq!((front.id, &front.question.call), (id, &of_call));
        assert_eq!(happen(&mut talk, answer()), [answered(id)]);
    }
}

#[test]
fn after_a_stop_no_model_replies_by_itself_until_the_user_does_something() {
    let (mut talk, ids) = conversation();
    let server = ids[0];
    talk.ask_model("ollama/qwen3");
    talk.update(Change::Permission(server, Permission::Session));
    let mut next = 0;
    let mut runs = |talk: &mut Conversation, call: Option<Call>| {
        next += 1;
        let question = Question { call, ..sampling() };
        let asked = talk.update(Change::Desk(server, Event::Asked(next, question)));
        let effects = asked.expect("it is at a desk").effects;
        let end = Event::Ended(next, QuestionEnd::Withdrawn);
        talk.update(Change::Desk(server, end));
        effects
            .iter()
            .any(|effect| matches!(effect, Effect::Run(_)))
    };
    let named = || Some(Call::Tool("t".to_owned()));
    for go_on in [
        call_of(server),
        Change::Entered(vec!["/begin t".to_owned()]),
    ] {
        talk.update(call_of(server));
        assert!(runs(&mut talk, named()) && runs(&mut talk, None));
        talk.update(Change::Ended(server, How::Stopped));
        assert!(!runs(&mut talk, None) && runs(&mut talk, named()));
        talk.update(go_on);
        assert!(runs(&mut talk, None));
    }
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
    talk.update(Change::Desk(
        server,
        Event::Ended(1, QuestionEnd::Withdrawn),
    ));
    let mut of_a_task = form("A task?", "", "");
    of_a_task.call = Some(Call::Task {
        number: 1,
        tool: "t".to_owned(),
    });
    talk.update(Change::Desk(server, Event::Asked(3, of_a_task)));
    // A sign-in is our own question.
    let ours = sign_in("https://auth.example.com/");
    talk.update(Change::Desk(server, Event::Asked(1000, ours)));
    let call = talk.server(server).call().expect("it is under way");
    assert_eq!(call.questions, 2);
}

#[test]
fn a_line_keeps_how_its_last_call_ended_and_the_latest_is_that_of_the_last_call() {
    let (mut talk, ids) = conversation();
    let mut call = |line: Option<&str>| {
        talk.update(Change::Offered(offers()));
        talk.update(Change::Called {
            server: ids[0],
            call: Call::Tool("t".to_owned()),
            line: line.map(str::to_owned),
            is_repeated: false,
        });
        talk.update(Change::Ended(ids[0], How::Done));
        talk.update(Change::Offered(offers()));
        let last = talk
            .offers()
            .get("/call t")
            .and_then(|offer| offer.last.clone());
        let last = last.map(|last| last.as_str().to_owned());
        (last, talk.offers().latest().map(str::to_owned))
    };
    let ended = Some("0.0 s ok".to_owned());
    assert_eq!(
        call(Some("/call t")),
        (ended.clone(), Some("/call t".to_owned()))
    );
    // A call without a line also becomes the last call.
    assert_eq!(call(None), (ended, None));
}

#[test]
fn no_more_lines_are_remembered_than_there_is_room_for() {
    let (mut talk, _) = conversation();
    let lines = (0..1500).map(|line| format!("/{line}"));
    talk.update(Change::Entered(lines.collect()));
    assert_eq!(talk.history().count(), 1000);
    assert_eq!(talk.history().back(0), Some("/1499"));
    assert_eq!(talk.history().back(999), Some("/500"));
    assert_eq!(
        talk.history().find("/149"),
        Vec::from_iter((1490..1500).rev().map(|line| format!("/{line}")))
    );
}

#[test]
fn the_time_to_connect_is_that_of_the_last_time() {
    let (mut talk, ids) = conversation();
    let seconds = Duration::from_secs;
    talk.pass(seconds(2));
    talk.update(Change::Presence(ids[0], Presence::There));
    assert_eq!(talk.server(ids[0]).took(), Some(seconds(2)));
    talk.pass(seconds(60));
    talk.update(Change::Presence(ids[0], Presence::Down));
    assert_eq!(talk.server(ids[0]).took(), None);
    talk.pass(seconds(63));
    talk.update(Change::Presence(ids[0], Presence::There));
    assert_eq!(talk.server(ids[0]).took(), Some(seconds(3)));
}

#[test]
fn no_server_stays_muted() {
    let (mut talk, ids) = conversation();
    for &id in &ids {
        talk.update(Change::Desk(id, Event::Action(Action::Mute)));
    }
    assert!(talk.server(ids[0]).desk().is_muted());
    talk.update(Change::Unmuted);
    assert!(talk.servers().all(|server| !server.desk().is_muted()));
}

#[test]
fn an_answer_that_a_call_did_not_want_stays_for_the_next() {
    let (mut talk, ids) = conversation();
    let mut number = 0;
    let mut call = |is_repeated, asks: bool| {
        talk.update(Change::Called {
            server: ids[0],
            call: Call::Tool("t".to_owned()),
            line: None,
            is_repeated,
        });
        let mut answered = None;
        if asks {
            number += 1;
            let question = form("Agree?", "", "");
            let event = Event::Asked(number, question);
            let happened = talk
                .update(Change::Desk(ids[0], event))
                .expect("it is of a desk");
            let is_answer = |effect: &Effect| matches!(effect, Effect::Answer(..));
            answered = Some(happened.effects.iter().any(is_answer));
            talk.update(Change::Desk(ids[0], Event::Action(Action::Yes)));
        }
        talk.update(Change::Ended(ids[0], How::Done));
        answered
    };
    assert_eq!(call(false, true), Some(false));
    assert_eq!(call(true, false), None);
    assert_eq!(call(true, true), Some(true));
}
