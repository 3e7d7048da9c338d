use std::fmt::Write as _;

use askback::limits::Limits;
use askback_host::{
    model::{Action, Ask, Desk, Event, Permission, Question},
    page::Style,
    text::{self, PeerText, Words},
    view::{self, Act, Body, FieldState, FieldView, Kind, LinkStep, Part, Reader, Text, View},
};
use serde_json::{Value, json};

use crate::{
    booking, called, form, link, listed_secrets, offering, reply_of_a_model, roots, sign_in,
    travel, vacation, with_model,
};

#[test]
fn our_words_and_text_of_a_peer_are_not_read_as_each_other() {
    let (ours, peer) = (json!({"ours": "a\u{1b}[2J"}), json!({"peer": "a\u{1b}[2J"}));
    let words: Words = serde_json::from_value(ours.clone()).expect("they are words");
    assert_eq!(words.as_str(), "a<U+001B>[2J");
    let text: PeerText = serde_json::from_value(peer.clone()).expect("it is a text");
    assert_eq!(text.raw(), "a\u{1b}[2J");
    assert!(serde_json::from_value::<Words>(peer).is_err());
    assert!(serde_json::from_value::<PeerText>(ours).is_err());
}

fn desk(questions: Vec<Question>, events: Vec<Event>) -> Desk {
    let mut desk = Desk::new(travel(), None, None, Limits::default());
    for (id, question) in (1..).zip(questions) {
        desk.update(Event::Asked(id, question));
    }
    for event in events {
        desk.update(event);
    }
    desk
}

fn seen(desk: &Desk, reader: Reader) -> View {
    let front = desk.front().expect("a question is open");
    view::view(desk.asker(), &front, reader)
}

fn fields(view: View) -> Vec<FieldView> {
    match view.body {
        Body::Form(form) | Body::Review(form) => form.fields,
        body => panic!("it is no form: {body:?}"),
    }
}

fn write(field: usize, text: &str) -> Event {
    let text = text.to_owned();
    Event::Action(Action::Write { field, text })
}

#[test]
fn the_head_says_who_asks_in_which_call_and_how_many_wait() {
    let view = seen(&desk(vec![booking(), roots()], vec![]), Reader::default());
    assert_eq!(view.kind, Kind::Form);
    assert_eq!(view.title.words.as_str(), "travel asks");
    assert_eq!(
        view.queue.expect("two wait").words.as_str(),
        "question 1 of 2"
    );
    assert_eq!(view.asker.name.as_str(), "travel");
    assert_eq!(view.asker.origin, Text::Ours("askback serve travel".into()));
    let claims = view.asker.claims.expect("it has a name of its own");
    assert_eq!(
        (claims.label.as_str(), claims.text.raw()),
        ("says it is", "Travel agency 0.1.0")
    );
    assert_eq!(
        view.call.expect("it is in a call").name.raw(),
        "book_holiday"
    );
    let message = "Flights and hotel come to 3000 USD.\nShall we book?";
    assert_eq!(view.message, [Part::Text(message.into())]);
}

#[test]
fn an_empty_reply_is_shown() {
    let mut desk = with_model(desk(vec![], vec![]));
    desk.update(Event::Asked(1, offering("auto", Vec::new())));
    desk.update(Event::Action(Action::Run(Permission::Ask)));
    desk.update(reply_of_a_model("", false));
    let Body::Reply(parts) = seen(&desk, Reader::default()).body else {
        panic!("the reply is to be reviewed");
    };
    assert_eq!(parts[1], Part::Say(Style::Dim, "(empty)".into()));
}

#[test]
fn a_field_has_its_value_and_what_is_wrong_with_it() {
    let question = form(
        "",
        r#""n": {"type": "integer", "title": "N", "maximum": 9}, "c": {"type": "string", "enum": ["a", "b"]}"#,
        r#""n""#,
    );
    #[track_caller]
    fn check(desk: &Desk, state: FieldState, text: &str, issue: Option<&str>) {
        let fields = fields(seen(desk, Reader::default()));
        let field = &fields[0];
        assert_eq!((field.state, field.text.raw()), (state, text));
        assert_eq!(field.issue.as_ref().map(Words::as_str), issue);
    }
    let after = |events| desk(vec![question.clone()], events);
    let missing = Some("needs an answer");
    check(&after(vec![]), FieldState::Empty, "", missing);
    check(&after(vec![write(0, "7")]), FieldState::Value, "7", None);
    let too_much = after(vec![write(0, "12")]);
    check(
        &too_much,
        FieldState::Written,
        "12",
        Some("must be at most 9"),
    );

    let chosen = Event::Action(Action::Choose {
        field: 1,
        option: 1,
    });
    let view = seen(&after(vec![chosen]), Reader::default());
    let choices: Vec<_> = fields(view)[1]
        .choices
        .iter()
        .map(|it| it.is_chosen)
        .collect();
    assert_eq!(choices, [false, true]);
}

#[test]
fn a_secret_is_in_no_view_unless_the_reader_wants_it() {
    let yes = Event::Action(Action::Yes);
    let mut desk = desk(vec![listed_secrets()], vec![yes, write(0, "hunter2")]);
    for step in ["filling", "review"] {
        let hidden = format!("{:?}", seen(&desk, Reader::default()));
        assert!(!hidden.contains("hunter2"), "{step}");
        let reader = Reader {
            reveals: true,
            ..Reader::default()
        };
        assert_eq!(fields(seen(&desk, reader))[0].text.raw(), r#"["hunter2"]"#);
        for field in 1..6 {
            desk.update(write(field, "x"));
        }
        desk.update(Event::Action(Action::Submit));
    }
}

#[test]
fn a_secret_of_the_schema_is_in_no_json() {
    let password = r#""type": "string", "default": "hunter2""#;
    let fields = format!(
        r#""password": {{{password}}}, "token": {{{password}, "minLength": 99}}, "pin": {{"type": "string"}}"#
    );
    let yes = Event::Action(Action::Yes);
    let asked = form("Sign in.", &fields, "");
    let mut desk = desk(vec![asked], vec![]);
    for event in [
        None,
        Some(yes),
        Some(write(2, "hunter2")),
        Some(write(1, "hunter2")),
    ] {
        if let Some(event) = event {
            desk.update(event);
        }
        let json = json!(seen(&desk, Reader::default())).to_string();
        assert!(!json.contains("hunter2"), "{json}");
    }
}

/// As `askback answer --json` prints it, with a line for each member.
#[test]
fn each_kind_of_question_is_json() {
    let fields = r#"
        "name": {"type": "string", "title": "Name", "description": "As in the passport", "default": "Ada"},
        "nights": {"type": "integer", "maximum": 9, "default": 12},
        "seat": {"type": "string", "enum": ["aisle", "window"]},
        "pets": {"type": "boolean"}
    "#;
    let ours = |ask| Question {
        ask,
        ..sign_in("https://auth.example.com/")
    };
    let retry = Ask::Retry {
        why: "the server ended".into(),
        quoted: Some("exit 1\u{9b}".into()),
        written: true,
        secret: false,
    };
    let questions = [
        form("Which room?\u{202e}", fields, r#""name", "nights""#),
        listed_secrets(),
        link("http://login.example.com:8443/a?to=https://evil.example/"),
        offering("auto", called()),
        roots(),
        vacation(false),
        sign_in("https://auth.example.com/"),
        ours(retry),
        ours(Ask::Older {
            revision: "2025-11-25",
        }),
    ];
    let mut lines = String::new();
    for question in questions {
        let events = vec![write(1, "12")];
        let Value::Object(members) = json!(seen(&desk(vec![question], events), Reader::default()))
        else {
            panic!("a view is an object");
        };
        for (name, value) in members {
            writeln!(lines, "{name}: {}", text::json(&value.to_string())).expect("it is a string");
        }
        lines.push('\n');
    }
    insta::assert_snapshot!(lines);
}

#[test]
fn a_link_says_where_it_goes_and_what_can_be_done() {
    let url = "http://login.example.com:8443/a?to=https://evil.example/";
    let mut desk = desk(vec![link(url)], vec![]);
    let view = seen(&desk, Reader::default());
    let Body::Link(link) = &view.body else {
        panic!("it is not a valid link: {:?}", view.body);
    };
    let to = &link.destination;
    assert_eq!(link.step, LinkStep::Consent);
    assert_eq!(to.site.text.raw(), "example.com");
    assert_eq!(
        &to.address.text.raw()[to.address.domain.clone()],
        "example.com"
    );
    assert_eq!(to.warnings.len(), 2);
    assert_eq!(to.leads_on[0].text.raw(), "evil.example");
    #[track_caller]
    fn check(view: &View, acts: &[Act]) {
        let possible: Vec<_> = view.actions.iter().map(|it| it.act).collect();
        assert_eq!(possible, acts);
    }
    let ways_out = [Act::Decline, Act::Cancel, Act::Help];
    check(
        &view,
        &[&[Act::Yes, Act::Copy, Act::Code][..], &ways_out].concat(),
    );
    desk.update(Event::Action(Action::Yes));
    let sure = seen(&desk, Reader::default());
    check(&sure, &[&[Act::Yes, Act::Back][..], &ways_out].concat());
    // Our own question has no server to decline it to.
    let ours = self::desk(vec![sign_in("https://auth.example.com/")], vec![]);
    let acts = [Act::Yes, Act::Copy, Act::Code, Act::Cancel, Act::Help];
    check(&seen(&ours, Reader::default()), &acts);
}

#[test]
fn a_question_for_no_person_has_its_fields_and_its_link_in_lines() {
    #[track_caller]
    fn check(question: &Question, lines: &[&str]) {
        let Body::Outline(outline) = view::outline(&travel(), question).body else {
            panic!("it is no outline");
        };
        let found: Vec<_> = outline.lines.iter().map(PeerText::raw).collect();
        assert_eq!(found, lines);
    }
    let password = form("", r#""password": {"type": "string"}"#, r#""password""#);
    check(&password, &["password: a text"]);
    let url = "https://example.com/";
    check(&link(url), &[url]);
    let refused = "ftp://example.com/";
    check(&link(refused), &[refused]);
    check(&roots(), &[]);
}
