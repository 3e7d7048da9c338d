mod expanded;
mod guide;
mod offered;
mod refused;
mod rules;
mod values;

use std::{
    fs,
    time::{Duration, UNIX_EPOCH},
};

use askback::{limits::Limits, protocol::CreateMessageParams};
use askback_host::{
    model::{Ask, Asker, By, Call, Question, Reply, Why},
    script::{Answer, Script, ScriptRun},
};
use serde_json::{Value, json};

use crate::{form, link, travel};

/// 2026-03-01T09:30:15Z.
const FIRST_OF_MARCH: Duration = Duration::from_secs(1_772_357_415);

const FILE: &str = r#"
answers:
  - when: {tool: book_holiday, key: wishes}   # the first question
    accept: {confirm_booking: true, seat: aisle}
  - when: {key: contact, server: travel}
    accept: {name: Ada Lovelace, email: ada@example.com}
  - when: {message: insurance}
    decline: true
    reason: I have one.
  - when: {prompt: plan_vacation}
    cancel: true
  - when: {tool: connect_calendar, mode: url, host: example.com}
    accept: true
  - when: {mode: url}
    decline: true
sampling:
  - when: {message: flight}
    reply: "Take the 08:10."
  - decline: true
roots: ["."]
"#;

fn wishes() -> Question {
    form(
        "Book?",
        r#"
            "confirm_booking": {"type": "boolean"},
            "seat": {"type": "string", "enum": ["window", "aisle"]},
            "insurance": {"type": "boolean", "default": false}
        "#,
        r#""confirm_booking", "insurance""#,
    )
}

fn answer(file: &str, asker: &Asker, question: &Question) -> Answer {
    let answers = answers(file, &asker.name, &[question]);
    answers.into_iter().next().expect("one was asked")
}

fn play(file: &str) -> ScriptRun {
    let script = Script::parse(file).expect("the file is one of answers");
    ScriptRun::new(script, UNIX_EPOCH + FIRST_OF_MARCH)
}

fn answers(file: &str, server: &str, questions: &[&Question]) -> Vec<Answer> {
    let mut run = play(file);
    let limits = Limits::default();
    let answer = |question: &&Question| run.answer(server, question, &limits);
    questions.iter().map(answer).collect()
}

fn sample(text: &str) -> Question {
    Question {
        call: None,
        key: None,
        ask: Ask::Sample(Box::new(CreateMessageParams::new(text, 100))),
    }
}

fn declined(reason: Option<&str>) -> Reply {
    Reply::Declined {
        by: By::Rule { expected: false },
        reason: reason.map(str::to_owned),
    }
}

#[test]
fn rules_answer() {
    #[track_caller]
    fn check(question: &Question, reply: Reply, rule: usize) {
        assert_eq!(
            answer(FILE, &travel(), question),
            Answer::Given(reply, Some(rule))
        );
    }
    let content = |value: Value| match value {
        Value::Object(content) => Reply::Form(content),
        _ => unreachable!("the cases are objects"),
    };
    let booked = json!({"confirm_booking": true, "seat": "aisle", "insurance": false});
    check(&wishes(), content(booked), 1);

    let mut contact = form(
        "Who?",
        r#""name": {"type": "string"}, "email": {"type": "string", "format": "email"}"#,
        r#""name", "email""#,
    );
    contact.key = Some("contact".to_owned());
    let ada = json!({"name": "Ada Lovelace", "email": "ada@example.com"});
    check(&contact, content(ada), 2);

    let mut insurance = form("Some insurance?", "", "");
    insurance.key = None;
    check(&insurance, declined(Some("I have one.")), 3);

    let mut plan = form("Where to?", "", "");
    plan.call = Some(Call::Prompt("plan_vacation".to_owned()));
    check(&plan, Reply::Cancelled(Why::Rule { expected: false }), 4);

    check(&link("https://example.com/"), Reply::Link, 5);
    let mut elsewhere = link("https://example.com/");
    elsewhere.call = None;
    check(&elsewhere, declined(None), 6);

    check(
        &sample("Which flight?"),
        Reply::Text("Take the 08:10.".to_owned()),
        1,
    );
    check(&sample("Which hotel?"), declined(None), 2);
}

#[test]
fn a_question_may_go_unanswered() {
    #[track_caller]
    fn check(file: &str, asker: &Asker, question: &Question) {
        assert_eq!(answer(file, asker, question), Answer::Unmatched);
    }
    let mut unknown = wishes();
    unknown.key = Some("other".to_owned());
    check(FILE, &travel(), &unknown);
    // The call is not known.
    let mut nowhere = wishes();
    nowhere.call = None;
    check(FILE, &travel(), &nowhere);
    let roots = Question {
        call: None,
        key: None,
        ask: Ask::Roots,
    };
    check("answers: []", &travel(), &roots);
    // Only a rule for links can accept a link.
    check(
        "answers: [{accept: true}]",
        &travel(),
        &link("https://example.com/"),
    );
    check(
        "answers: [{when: {mode: form}, decline: true}]",
        &travel(),
        &link("https://a.com/"),
    );
    check(
        "answers: [{when: {mode: url}, decline: true}]",
        &travel(),
        &wishes(),
    );
}

#[test]
fn a_server_is_known_by_the_name_it_was_given() {
    #[track_caller]
    fn check(server: &str, fits: bool) {
        let asker = travel();
        let file = format!("answers: [{{when: {{server: {server}}}, cancel: true}}]");
        let answer = answer(&file, &asker, &wishes());
        assert_eq!(answer != Answer::Unmatched, fits);
    }
    check("travel", true);
    check("other", false);
    // The server's own name.
    check("travel-agency", false);
    check("Travel agency", false);
}

#[test]
fn an_answer_is_checked_by_the_form() {
    #[track_caller]
    fn check(accept: &str, says: &str) {
        let file = format!("answers: [{{accept: {accept}}}]");
        match answer(&file, &travel(), &wishes()) {
            Answer::Unfit { rule: Some(1), why } => assert!(why.contains(says), "{why}"),
            other => panic!("{other:?}"),
        }
    }
    check(
        "{confirm_booking: 1}",
        "`confirm_booking`: must be yes or no",
    );
    check("{seat: aisle}", "`confirm_booking`: must be given");
    check(
        "{confirm_booking: true, seat: middle}",
        "`seat`: must be one of window, aisle",
    );
    check(
        "{confirm_booking: true, colour: red}",
        "`colour`: is not known",
    );
    check("true", "`confirm_booking`: must be given");
}

#[test]
fn links_are_judged_whatever_the_rule_says() {
    let answer = answer(FILE, &travel(), &link("https://good.com@evil.com/"));
    let Answer::Given(Reply::Declined { by, reason }, None) = answer else {
        panic!("{answer:?}");
    };
    assert_eq!(by, By::Policy);
    assert!(reason.is_some_and(|reason| reason.contains("names a user")));
}

// Shows RO-05, RO-13.
#[test]
fn roots_must_be_there() {
    let roots = Question {
        call: None,
        key: None,
        ask: Ask::Roots,
    };
    let here = answer("roots: [.]", &travel(), &roots);
    assert!(matches!(here, Answer::Given(Reply::Roots(roots), None) if roots.len() == 1));
    let none = answer("roots: []", &travel(), &roots);
    assert_eq!(none, Answer::Given(Reply::Roots(Vec::new()), None));
    let absent = answer("roots: [./not/there]", &travel(), &roots);
    assert!(
        matches!(absent, Answer::Unfit { rule: None, .. }),
        "{absent:?}"
    );
}

#[test]
fn json_is_read_too() {
    let file = "{\n\t\"answers\": [{\"when\": {\"key\": \"wishes\"}, \"accept\": {\"confirm_booking\": false}}]\n}";
    let Answer::Given(Reply::Form(content), Some(1)) = answer(file, &travel(), &wishes()) else {
        panic!("the rule fits");
    };
    assert_eq!(content["confirm_booking"], json!(false));
}

#[test]
fn a_file_of_an_editor_on_windows_is_read() {
    let file = "\u{feff}unused: allow\r\nanswers:\r\n  - cancel: true\r\n    tims: 1\r\n";
    let error = Script::parse(file).expect_err("a mistake").to_string();
    let told = "answers[0]: `tims` is not known here: did you mean `times`? at line 4 column 5";
    assert_eq!(error, told);
    assert!(Script::parse(&file.replace("tims", "times")).is_ok());
}

#[test]
fn a_file_without_end_is_refused() {
    let folder = tempfile::tempdir().expect("there is a folder for such");
    let file = folder.path().join("answers.yaml");
    let load = |spaces: usize| {
        fs::write(&file, format!("roots: []{}", " ".repeat(spaces))).expect("it is written");
        Script::load(&file).map_err(|error| error.to_string())
    };
    assert!(load(10).is_ok());
    let refused = load(1 << 20).expect_err("it is too large");
    assert!(refused.contains("it is larger than 1 MiB"), "{refused}");
}
