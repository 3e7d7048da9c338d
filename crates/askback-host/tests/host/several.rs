//! Questions of several servers at one front end: which one is in front, and who gets the answer.

use std::{
    cell::RefCell,
    rc::Rc,
    task::{Context, Poll},
    time::{Duration, SystemTime},
};

use askback::{
    client::{CallId, CallTarget, Event, HostQuestion},
    limits::Limits,
    protocol::{ElicitFormParams, Root},
    transport::WireEvent,
    witness::Renderer,
};
use askback_host::{
    host::Host,
    leaf::{Did, Leaf, LinkOpening},
    model::{
        Action, Ask, Asker, By, Cause, Change, Conversation, Desk, EventOutcome, Origin,
        Permission, Reply, WorstEnd,
    },
    page::{Look, Page},
    relay::{Relay, ServerId},
    remarks::{Remark, Remarks, StderrMode},
    text::{Words, given},
    wire::{MessageSelection, SharedWire, Wire},
};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::form;

const LOOK: Look = Look {
    columns: 80,
    styled: false,
};

/// A user who waits for a number of questions, then answers each and records it. Some messages make
/// the user mute the server, press Ctrl-C, or look at the messages first.
struct Person {
    awaited: usize,
    seen: Rc<RefCell<Vec<String>>>,
    page: Page,
}

impl Leaf for Person {
    fn poll_did(&mut self, talk: &Conversation, _: &mut Context<'_>) -> Poll<Did> {
        let desk = talk.seen();
        let Some(front) = desk.front().filter(|_| self.awaited == 0) else {
            return Poll::Pending;
        };
        let message = front.question.ask.message().unwrap_or_default();
        let seen = format!("{} {message}", desk.asker().name);
        let is_new = !self.seen.borrow().contains(&seen);
        self.seen.borrow_mut().push(seen.clone());
        Poll::Ready(match message {
            "no more" => Did::Action(vec![Action::Mute]),
            "stop" => Did::Interrupt,
            "look" if is_new => Did::Wire(MessageSelection::Last),
            _ => Did::Answered(Reply::Declined {
                by: By::Person,
                reason: Some(seen),
            }),
        })
    }

    fn happened(&mut self, _: &Desk, happened: &EventOutcome) {
        if matches!(happened.cause, Cause::Server | Cause::Gone) {
            self.awaited = self.awaited.saturating_sub(1);
        }
    }

    fn remark(&mut self, desk: &Desk, remark: Remark) -> Option<Remark> {
        let name = given(&desk.asker().name).short();
        Remarks::put(&mut self.page, &name, remark);
        None
    }

    fn tell(&mut self, _: Words) {}

    fn open(&mut self, _: &str) -> LinkOpening {
        LinkOpening::Started
    }

    fn show(&mut self, _: &Conversation, _: Option<&Words>) {}

    fn page(&mut self) -> &mut Page {
        &mut self.page
    }

    fn renderer(&self) -> Renderer {
        Renderer::Lines
    }

    fn is_person(&self) -> bool {
        true
    }
}

fn desk(name: &str) -> Desk {
    let asker = Asker {
        name: name.to_owned(),
        reached: Origin::Typed(name.to_owned()),
        claims: None,
    };
    Desk::new(asker, None, None, Limits::default())
}

fn asked(message: &str) -> HostQuestion<ElicitFormParams> {
    let Ask::Form { message, schema } = form(message, r#""x": {"type": "string"}"#, "").ask else {
        unreachable!("it is a form");
    };
    HostQuestion {
        server: None,
        call: None,
        target: None,
        key: None,
        request: ElicitFormParams {
            message,
            requested_schema: schema.into(),
            ..ElicitFormParams::default()
        },
        retried: false,
    }
}

/// Creates a host with the servers `a` and `b`, and a user who waits for `awaited` questions.
fn two(awaited: usize) -> (Host, Relay, Relay, Rc<RefCell<Vec<String>>>) {
    let limits = Limits::default();
    let seen = Rc::new(RefCell::new(Vec::new()));
    let person = Person {
        awaited,
        seen: Rc::clone(&seen),
        page: Page::new(LOOK),
    };
    let (relay, arrivals) = Relay::new();
    let mut host = Host::new(desk("a"), Box::new(person), arrivals, &limits);
    let other = host.add(desk("b"));
    let other = relay.of(other);
    (host, relay, other, seen)
}

/// Asks several servers at once. Checks the order in which the user saw the questions, and that
/// each question got its own answer or was cancelled unseen.
#[track_caller]
fn check(questions: &[(&str, &str)], expected: &[&str]) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime.expect("the runtime starts");
    let (answers, seen) = runtime.block_on(async {
        let (mut host, a, b, seen) = two(questions.len());
        let mut asking = JoinSet::new();
        for &(server, message) in questions {
            let relay = if server == "a" { &a } else { &b };
            let filling = relay.clone().fill(asked(message));
            let of = format!("{server} {message}");
            asking.spawn(async move { (of, filling.await) });
        }
        let answers = host.attend(asking.join_all()).await;
        (answers.expect("nobody interrupts"), seen.take())
    });
    assert_eq!(seen, expected);
    assert_eq!(answers.len(), questions.len());
    for (of, answer) in answers {
        let answer = json!(answer.expect("it is one"));
        let is_refused = of.ends_with("no more") || !expected.contains(&&*of);
        let because = match is_refused {
            true => Value::Null,
            false => json!(of),
        };
        assert_eq!(answer["_meta"]["dev.askback/reason"], because, "{of}");
    }
}

#[test]
fn the_oldest_question_of_all_servers_is_in_front() {
    check(&[("a", "1"), ("b", "1")], &["a 1", "b 1"]);
    check(&[("b", "1"), ("a", "1")], &["b 1", "a 1"]);
    check(
        &[("a", "1"), ("b", "1"), ("a", "2"), ("b", "2")],
        &["a 1", "b 1", "a 2", "b 2"],
    );
    check(
        &[("a", "1"), ("a", "2"), ("b", "1")],
        &["a 1", "a 2", "b 1"],
    );
}

#[test]
fn a_muted_server_does_not_mute_the_others() {
    check(
        &[("a", "no more"), ("b", "1"), ("a", "2"), ("b", "2")],
        &["a no more", "b 1", "b 2"],
    );
}

#[test]
fn ctrl_c_stops_the_call_at_the_next_question_of_it() {
    /// Checks whether Ctrl-C stops the call of `a` at any of these questions, each in a call or
    /// not.
    #[track_caller]
    fn check(questions: &[(&str, bool)], is_stopped: bool) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        let runtime = runtime.expect("the runtime starts");
        runtime.block_on(async {
            let (mut host, a, b, _) = two(questions.len());
            host.change(Change::Chosen(ServerId::default()));
            let mut asking = JoinSet::new();
            for &(server, in_call) in questions {
                let relay = if server == "a" { &a } else { &b };
                let target = in_call.then(|| CallTarget::Tool("t".to_owned()));
                let question = HostQuestion {
                    target,
                    ..asked("stop")
                };
                asking.spawn(relay.clone().fill(question));
            }
            let attended = host.attend(asking.join_all()).await;
            assert_eq!(attended.is_err(), is_stopped, "{questions:?}");
        });
    }
    check(&[("a", true), ("a", true)], true);
    check(&[("a", true)], false);
    check(&[("a", true), ("b", true)], false);
    check(&[("b", true), ("b", true)], false);
    check(&[("a", false), ("a", false)], false);
    check(&[("a", true), ("b", true), ("a", true)], false);
}

#[tokio::test]
async fn progress_without_words_names_its_server() {
    let (mut host, _relay, other, _) = two(0);
    other.event(Event::Progress {
        call: CallId(1),
        target: None,
        progress: 1.0,
        total: Some(4.0),
        message: None,
    });
    assert_eq!(host.attend(async {}).await, Ok(()));
    assert_eq!(host.page().take().to_string(), "b: 1 of 4\n");
}

#[tokio::test]
async fn a_server_has_permissions_folders_and_remarks_of_its_own() {
    let (mut host, relay, other, _) = two(0);
    let b = host.chosen();
    host.permit(Permission::Session).expect("nobody keeps it");
    host.change(Change::Shared(host.chosen(), vec![Root::new("file:///b")]));
    assert_eq!(host.desk().asker().name, "b");
    host.change(Change::Chosen(ServerId::default()));
    assert_eq!(host.desk().asker().name, "a");
    assert_eq!(host.desk().permission(), Permission::Ask);
    assert_eq!(host.desk().shared(), None);
    host.change(Change::Chosen(b));
    assert_eq!(host.desk().permission(), Permission::Session);

    // Each server has its own limit of remarks.
    for server in [ServerId::default(), b] {
        host.change(Change::Chosen(server));
        host.show_stderr(StderrMode::Always);
    }
    let most = Limits::default().host.remarks;
    for line in 0..=most {
        relay.event(Event::ServerStderr(line.to_string()));
        other.event(Event::ServerStderr(line.to_string()));
    }
    assert_eq!(host.attend(async {}).await, Ok(()));
    host.end();
    let told = host.page().take().to_string();
    let lines = told.lines().filter(|line| line.contains("stderr "));
    assert_eq!(lines.count(), usize::try_from(most).unwrap() * 2, "{told}");
    for name in ["a", "b"] {
        // No line of one server is attributed to the other.
        let named = told
            .lines()
            .filter(|line| line.starts_with(&format!("{name}: stderr |")));
        assert_eq!(named.count(), usize::try_from(most).unwrap(), "{told}");
        let left_out = format!("{name} said more at once than is shown; lines left out: 1");
        assert_eq!(told.matches(&left_out).count(), 1, "{told}");
    }
}

#[tokio::test]
async fn a_withdrawn_question_is_no_longer_in_front() {
    let (mut host, relay, other, seen) = two(3);
    let both = async {
        let mut first = Box::pin(relay.fill(asked("1")));
        let second = other.fill(asked("1"));
        tokio::select! {
            biased;
            _ = &mut first => unreachable!("the person waits for the other"),
            () = std::future::ready(()) => {}
        }
        let back = async {
            tokio::task::yield_now().await;
            drop(first);
        };
        tokio::join!(second, back).0
    };
    let answer = host.attend(both).await.expect("nobody interrupts");
    let answer = json!(answer.expect("it is one"));
    assert_eq!(answer["_meta"]["dev.askback/reason"], "b 1");
    assert_eq!(seen.take(), ["b 1"]);
    assert_eq!(host.desk().ended(), WorstEnd::Refused);
    assert_eq!(host.ended(), WorstEnd::Unanswered);
}

#[tokio::test]
async fn a_form_of_ours_stays_in_front_when_another_server_asks() {
    let (mut host, _relay, other, seen) = two(2);
    host.change(Change::Chosen(ServerId::default()));
    let asking = tokio::spawn(other.fill(asked("1")));
    assert_eq!(host.fill(form("Ours", "", ""), None).await, None);
    let answer = host.attend(asking).await.expect("nobody interrupts");
    let answer = json!(answer.expect("it ran").expect("it is one"));
    assert_eq!(answer["_meta"]["dev.askback/reason"], "b 1");
    assert_eq!(seen.take(), ["a Ours", "b 1"]);
}

#[tokio::test]
async fn messages_at_a_question_have_its_servers_name_as_a_heading() {
    let (mut host, _relay, other, seen) = two(1);
    let wire = SharedWire::new(Wire::new(SystemTime::UNIX_EPOCH, 1 << 20));
    let ping = WireEvent::Sent(br#"{"id":1,"method":"ping"}"#);
    assert!(wire.take(&ping, Duration::ZERO).is_some());
    host.showing_wire(wire);
    host.change(Change::Chosen(ServerId::default()));
    let answer = host.attend(other.fill(asked("look"))).await;
    answer.expect("nobody interrupts").expect("it is one");
    assert_eq!(seen.take(), ["b look", "b look"]);
    let told = host.page().take().to_string();
    assert!(
        told.starts_with("Messages of b\n   1    0.000    24 B → | ping\n"),
        "{told}"
    );
}
