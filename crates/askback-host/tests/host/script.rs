//! The answers file: what it says, and what is wrong with it.

use std::{
    fs,
    path::Path,
    time::{Duration, UNIX_EPOCH},
};

use askback_core::{limits::Limits, protocol::CreateMessageParams};
use askback_host::{
    model::{Ask, Asker, By, Call, Ended, Question, Reply, Why},
    script::{Answer, Finding, Place, Script, ScriptRun, Surroundings, rule_for},
};
use serde_json::{Value, json};

use crate::{form, link, travel};

/// The time of the runs: 2026-03-01T09:30:15Z.
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

/// A run of a file that is one of answers.
fn play(file: &str) -> ScriptRun {
    let script = Script::parse(file).expect("the file is one of answers");
    ScriptRun::new(script, UNIX_EPOCH + FIRST_OF_MARCH)
}

/// The answers to questions that are asked one after the other.
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
    // Which call is in flight is not known.
    let mut nowhere = wishes();
    nowhere.call = None;
    check(FILE, &travel(), &nowhere);
    let roots = Question {
        call: None,
        key: None,
        ask: Ask::Roots,
    };
    check("answers: []", &travel(), &roots);
    // Only a rule for links consents to one.
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
    // Its own name.
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
fn rules_name_their_questions() {
    #[track_caller]
    fn check(when: &str, question: &Question, fits: bool) {
        let list = match question.ask {
            Ask::Sample(_) => "sampling",
            _ => "answers",
        };
        let file = format!("{list}: [{{when: {{{when}}}, decline: true}}]");
        let answer = answer(&file, &travel(), question);
        assert_eq!(answer != Answer::Unmatched, fits, "{when}");
    }
    let form = &form(
        "Book 7 nights for 3000 USD?",
        r#""a": {"type": "boolean"}, "b": {"type": "string"}"#,
        "",
    );
    check("message: 3000 USD", form, true);
    check("message: 3000 usd", form, false);
    // A part is read letter by letter.
    check("message: 30.. USD", form, false);
    check("message: {regex: '30.. USD'}", form, true);
    check("message: {regex: '^Book \\d+ nights'}", form, true);
    check("message: {regex: '^\\d+ nights'}", form, false);
    check("message: {regex: '(?i)BOOK'}", form, true);
    check("fields: [a]", form, true);
    check("fields: [b, a]", form, true);
    check("fields: []", form, true);
    check("fields: [a, c]", form, false);
    check(
        "fields: [a], message: USD, key: wishes, tool: book_holiday",
        form,
        true,
    );
    check("fields: [a], message: EUR", form, false);
    let link = &link("https://pay.example.com/");
    check("fields: [a]", link, false);
    check("host: pay.example.com", link, true);
    check("host: example.com", link, false);
    check("message: {regex: 'calendar\\.$'}", link, true);
    let model = &sample("Which flight?");
    check("message: {regex: '[Ff]light'}", model, true);
    check("message: {regex: 'hotel'}", model, false);
}

#[test]
fn answers_come_one_after_the_other() {
    #[track_caller]
    fn check(rules: &str, asked: &[&Question], seats: &[&str]) {
        let answers = answers(&format!("answers:\n{rules}"), "travel", asked);
        let shown = answers.iter().map(|answer| match answer {
            Answer::Given(Reply::Form(content), _) => content["seat"].as_str().unwrap_or("none"),
            Answer::Given(Reply::Link, _) => "link",
            Answer::Given(Reply::Declined { .. }, _) => "declined",
            Answer::Given(Reply::Cancelled(_), _) => "cancelled",
            Answer::Unmatched => "unmatched",
            other => panic!("{other:?}"),
        });
        assert_eq!(shown.collect::<Vec<_>>(), seats, "{rules}");
    }
    let form = &wishes();
    let other = &Question {
        key: Some("other".to_owned()),
        ..wishes()
    };
    let aisle = "accept: {confirm_booking: true, seat: aisle}";
    let window = "accept: {confirm_booking: true, seat: window}";
    let then =
        format!("  - {{when: {{key: wishes}}, {aisle}, then: [{{{window}}}, {{decline: true}}]}}");
    check(
        &then,
        &[form, other, form, form, form],
        &["aisle", "unmatched", "window", "declined", "unmatched"],
    );
    let twice = format!("  - {{{aisle}, times: 2, then: [{{{window}, times: 2}}]}}");
    check(
        &twice,
        &[form; 5],
        &["aisle", "aisle", "window", "window", "unmatched"],
    );
    let falls_through = format!("  - {{{aisle}, times: 1}}\n  - {{{window}}}");
    check(&falls_through, &[form; 3], &["aisle", "window", "window"]);
    let nth = format!("  - {{when: {{key: wishes, nth: 2}}, {aisle}}}\n  - {{{window}}}");
    check(
        &nth,
        &[other, form, other, form, form],
        &["window", "window", "window", "aisle", "window"],
    );
    // Counted whoever answers them.
    let both = format!("  - {{{window}, times: 1}}\n  - {{when: {{nth: 2}}, {aisle}}}");
    check(&both, &[form; 3], &["window", "aisle", "unmatched"]);
    // Consent to a link needs its host at each step.
    let link = &link("https://example.com/");
    let consent = "  - {decline: true, then: [{accept: true}]}";
    check(consent, &[link; 2], &["declined", "unmatched"]);
    let named = "  - {when: {host: example.com}, decline: true, then: [{accept: true}]}";
    check(named, &[link; 3], &["declined", "link", "unmatched"]);
}

#[test]
fn rules_say_how_often_they_are_asked() {
    #[track_caller]
    fn check(rules: &str, questions: &[&Question], told: &[&str], fails: bool) {
        let mut run = play(rules);
        for question in questions {
            let _ = run.answer("travel", question, &Limits::default());
        }
        let report = run.report();
        let words = report
            .findings
            .iter()
            .map(|finding| finding.words().to_string());
        assert_eq!(words.collect::<Vec<_>>(), told, "{rules}");
        assert_eq!(report.ended() == Ended::Unexpected, fails, "{rules}");
    }
    let form = wishes();
    let accepts = |asked: &str| format!("answers: [{{accept: {{confirm_booking: true}}{asked}}}]");
    check(&accepts(""), &[&form], &[], false);
    check(&accepts(""), &[], &["rule 1 answered no question"], false);
    check(&accepts(", asked: true"), &[&form, &form], &[], false);
    let never = "rule 1 answered no question; expected: 1 or more";
    check(&accepts(", asked: true"), &[], &[never], true);
    check(&accepts(", asked: 2"), &[&form, &form], &[], false);
    let once = "rule 1 answered 1 question; expected: 2";
    check(&accepts(", asked: 2"), &[&form], &[once], true);
    let thrice = "rule 1 answered 3 questions; expected: 1 to 2";
    let range = accepts(", asked: {least: 1, most: 2}");
    check(&range, &[&form, &form], &[], false);
    check(&range, &[&form, &form, &form], &[thrice], true);
    check(&accepts(", asked: {least: 0}"), &[], &[], false);
    check(&accepts(", asked: {most: 2}"), &[], &[], false);

    // A guard may stay unused; a no that is expected is none.
    check(
        "answers: [{decline: true}, {cancel: true}]",
        &[],
        &[],
        false,
    );
    check("sampling: [{decline: true}]", &[], &[], false);
    let expected = "answers: [{decline: true, expected: true}]";
    check(expected, &[], &["rule 1 answered no question"], false);
    let model = "sampling: [{reply: Yes.}]";
    check(model, &[], &["sampling rule 1 answered no question"], false);

    let unused = |is: &str| format!("{}\nunused: {is}", accepts(""));
    check(&unused("allow"), &[], &[], false);
    check(
        &unused("warn"),
        &[],
        &["rule 1 answered no question"],
        false,
    );
    check(
        &unused("error"),
        &[],
        &["rule 1 answered no question"],
        true,
    );
    check(&unused("error"), &[&form], &[], false);
    // What must be asked is no matter of taste.
    let lenient = format!("{}\nunused: allow", accepts(", asked: true"));
    check(&lenient, &[], &[never], true);
}

#[test]
fn what_must_not_be_asked_is_refused_and_found() {
    #[track_caller]
    fn check(file: &str, question: &Question, reply: Reply, place: Place) {
        let mut run = play(file);
        assert_eq!(run.report().findings, []);
        let answer = run.answer("travel", question, &Limits::default());
        assert_eq!(answer, Answer::Unwanted(reply, 1));
        let report = run.report();
        assert!(
            matches!(report.findings[..], [Finding::Miscounted { rule, times: 1, .. }] if rule == place),
            "{report:?}"
        );
        assert_eq!(report.ended(), Ended::Unexpected);
    }
    let cancelled = || Reply::Cancelled(Why::Rule { expected: false });
    let first = Place::Answers(1);
    check("answers: [{asked: false}]", &wishes(), cancelled(), first);
    check("answers: [{asked: 0}]", &wishes(), cancelled(), first);
    check(
        "answers: [{asked: false, decline: true, reason: Not here.}]",
        &wishes(),
        declined(Some("Not here.")),
        first,
    );
    let any = link("https://anywhere.example/");
    check(
        "answers: [{when: {mode: url}, asked: false}]",
        &any,
        cancelled(),
        first,
    );
    check(
        "sampling: [{asked: false}]",
        &sample("Which flight?"),
        declined(None),
        Place::Sampling(1),
    );
}

/// A form of one field of each kind.
fn kinds() -> Question {
    form(
        "Book?",
        r#"
            "text": {"type": "string"},
            "day": {"type": "string", "format": "date"},
            "time": {"type": "string", "format": "date-time"},
            "count": {"type": "integer"},
            "agreed": {"type": "boolean"},
            "room": {"type": "string", "oneOf": [
                {"const": "sea_view", "title": "With a view of the sea"}, {"const": "city", "title": "City"}
            ]},
            "extras": {"type": "array", "items": {"anyOf": [
                {"const": "car", "title": "Rental car"}, {"const": "guide", "title": "Guide, local"}
            ]}}
        "#,
        "",
    )
}

/// What a rule fills in.
fn filled(accept: &str) -> Result<Value, String> {
    match answer(
        &format!("answers: [{{accept: {accept}}}]"),
        &travel(),
        &kinds(),
    ) {
        Answer::Given(Reply::Form(content), Some(1)) => Ok(Value::Object(content)),
        Answer::Unfit { why, .. } => Err(why),
        other => panic!("{other:?}"),
    }
}

#[test]
fn values_are_read_as_a_person_writes_them() {
    #[track_caller]
    fn check(accept: &str, sent: Value) {
        assert_eq!(filled(accept), Ok(sent), "{accept}");
    }
    check("{room: sea_view}", json!({"room": "sea_view"}));
    check(
        "{room: With a view of the sea}",
        json!({"room": "sea_view"}),
    );
    check("{room: CITY}", json!({"room": "city"}));
    check(
        "{extras: [Rental car, guide]}",
        json!({"extras": ["car", "guide"]}),
    );
    check("{extras: 'Guide, local'}", json!({"extras": ["guide"]}));
    check("{extras: ['Guide, local']}", json!({"extras": ["guide"]}));
    check(
        "{count: 4, agreed: true}",
        json!({"count": 4, "agreed": true}),
    );
    check(
        "{count: '4', agreed: 'yes'}",
        json!({"count": 4, "agreed": true}),
    );
    // A text is one as it is written.
    check("{text: City}", json!({"text": "City"}));
    check("{text: 'yes'}", json!({"text": "yes"}));
    check("{text: null}", json!({}));
    assert!(filled("{room: Suite}").is_err_and(|why| why.contains("must be one of")));
    assert!(filled("{text: 4}").is_err_and(|why| why.contains("must be a text")));
    assert!(filled("{colour: red}").is_err_and(|why| why.contains("`colour`: is not known")));
}

/// The text that a rule sends whose file is in such a folder.
fn expanded(text: &str, folder: &Path) -> Result<String, String> {
    let file = format!("answers:\n  - cancel: true\n  - accept: {{text: {text}}}");
    let variable = |name: &str| match name {
        "NAME" => Some("Ada".to_owned()),
        "FILE" => Some("@notes.txt".to_owned()),
        "PATH" => Some("./windows.txt".to_owned()),
        "TAG" => Some("@@ada".to_owned()),
        "TWICE" => Some("${NAME}".to_owned()),
        _ => None,
    };
    let at = Surroundings {
        folder,
        variable: &variable,
    };
    let script = Script::parse(&file).expect("the file is one of answers");
    let mut script = script.settled(&at).map_err(|why| why.to_string())?;
    script.answers.remove(0);
    let mut run = ScriptRun::new(script, UNIX_EPOCH);
    match run.answer("travel", &kinds(), &Limits::default()) {
        Answer::Given(Reply::Form(content), _) => {
            Ok(content["text"].as_str().unwrap_or_default().to_owned())
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn texts_stand_for_variables_and_files() {
    let folder = tempfile::tempdir().expect("there is a folder for such");
    let write = |name: &str, text: &str| {
        fs::write(folder.path().join(name), text).expect("it is written");
    };
    write("notes.txt", "two\nlines ${NAME} @notes.txt\n");
    write("windows.txt", "a line\r\n");
    write("long.txt", &" ".repeat((1 << 20) + 1));
    write("bytes.txt", "");
    fs::write(folder.path().join("bytes.txt"), [0xff, 0xfe]).expect("it is written");
    let check = |text: &str, sent: &str| {
        assert_eq!(expanded(text, folder.path()).as_deref(), Ok(sent), "{text}");
    };
    check("'${NAME}'", "Ada");
    check("'Dear ${NAME}, ${NAME}!'", "Dear Ada, Ada!");
    check("'$${NAME}'", "${NAME}");
    check("'$$${NAME}'", "$${NAME}");
    check("'$5 {a} $NAME'", "$5 {a} $NAME");
    check("'@notes.txt'", "two\nlines ${NAME} @notes.txt");
    check("'@./windows.txt'", "a line");
    check("'@@ada'", "@ada");
    check("'@'", "@");
    check("ada@example.com", "ada@example.com");
    // A variable stands for its text, whatever that looks like.
    check("'${FILE}'", "@notes.txt");
    check("'${TAG}'", "@@ada");
    check("'${TWICE}'", "${NAME}");
    check("'@${PATH}'", "a line");

    let refused = |text: &str, says: &str| {
        let why = expanded(text, folder.path()).expect_err("it is refused");
        assert!(why.starts_with("rule 2: ") && why.contains(says), "{why}");
    };
    refused("'${OTHER}'", "the variable OTHER is not set");
    refused("'${NAME'", "has no `}`");
    refused("'${}'", "is not the name of a variable");
    refused("'${a b}'", "`a b` is not the name");
    refused("'@absent.txt'", "absent.txt cannot be read");
    refused("'@long.txt'", "it is larger than 1 MiB");
    refused("'@bytes.txt'", "it is not UTF-8 text");
    refused("'@.'", "cannot be read");
}

#[test]
fn all_answers_are_expanded() {
    let file = "
answers:
  - {accept: {room: '${X}', extras: ['${X}']}, then: [{decline: true, reason: '${X}'}]}
sampling:
  - {reply: '${X}'}
";
    let at = Surroundings {
        folder: Path::new(""),
        variable: &|_| Some("city".to_owned()),
    };
    let script = Script::parse(file).and_then(|script| script.settled(&at));
    let shown = format!("{script:?}");
    assert_eq!(
        (shown.matches("city").count(), shown.contains('$')),
        (4, false),
        "{shown}"
    );
}

/// Forms whose fields take few values, or values of many kinds.
const NARROW: &str = r#"
    "text": {"type": "string"},
    "long": {"type": "string", "minLength": 500},
    "short": {"type": "string", "maxLength": 3},
    "empty": {"type": "string", "maxLength": 0},
    "mail": {"type": "string", "format": "email", "minLength": 40},
    "page": {"type": "string", "format": "uri", "minLength": 60},
    "day": {"type": "string", "format": "date"},
    "time": {"type": "string", "format": "date-time"},
    "voucher": {"type": "string", "pattern": "^[A-Z]{3}-\\d{4}$"},
    "word": {"type": "string", "pattern": "^(a|bc)+$", "minLength": 10},
    "part": {"type": "string", "pattern": "\\w+@"},
    "mark": {"type": "string", "pattern": "^[^a-zA-Z0-9]$"},
    "small": {"type": "integer", "minimum": -3, "maximum": -3},
    "large": {"type": "integer", "minimum": 9007199254740993},
    "negative": {"type": "integer", "maximum": -100},
    "between": {"type": "number", "minimum": 0.001, "maximum": 0.002},
    "any": {"type": "number"},
    "agreed": {"type": "boolean"},
    "one": {"type": "string", "enum": ["a", "b", "c"]},
    "some": {"type": "array", "minItems": 2, "maxItems": 2, "items": {"type": "string", "enum": ["a", "b", "c"]}}
"#;

#[test]
fn values_that_are_made_up_fit() {
    let names: Value = serde_json::from_str(&format!("{{{NARROW}}}")).expect("it is JSON");
    let names: Vec<_> = names
        .as_object()
        .expect("it is one")
        .keys()
        .cloned()
        .collect();
    let required = format!("\"{}\"", names.join("\", \""));
    let question = form("Book?", NARROW, &required);
    let made = |seed: u64| {
        let file = format!("answers: [{{generate: true}}]\nseed: {seed}");
        match answer(&file, &travel(), &question) {
            Answer::Given(Reply::Form(content), Some(1)) => content,
            other => panic!("{other:?}"),
        }
    };
    let first = made(0);
    assert_eq!(first.len(), names.len());
    assert_eq!(first, made(0));
    // The form checks what is sent.
    let others: Vec<_> = (1..200).map(made).collect();
    assert!(others.iter().all(|other| *other != first));
    assert!(first["day"].as_str().is_some_and(|day| day > "2026-03-01"));
    assert_eq!(first["small"], json!(-3));
    assert_eq!(first["agreed"], json!(true));
    for name in ["one", "some", "voucher"] {
        assert!(
            others.iter().any(|other| other[name] != first[name]),
            "{name}"
        );
    }
}

#[test]
fn what_is_made_up_is_what_is_missing() {
    let fields = r#"
        "name": {"type": "string"}, "nights": {"type": "integer", "default": 7},
        "room": {"type": "string", "enum": ["a"]}, "note": {"type": "string"}
    "#;
    let question = form("Book?", fields, r#""name", "nights", "room""#);
    let check = |rule: &str, sent: &[(&str, Option<Value>)]| {
        let file = format!("answers: [{{{rule}}}]");
        let Answer::Given(Reply::Form(content), Some(1)) = answer(&file, &travel(), &question)
        else {
            panic!("the rule fits");
        };
        for (name, value) in sent {
            let is = content.get(*name);
            assert!(
                value
                    .as_ref()
                    .map_or(is.is_some(), |value| is == Some(value)),
                "{content:?}"
            );
        }
        assert_eq!(content.len(), sent.len(), "{content:?}");
    };
    let (nights, room) = (("nights", Some(json!(7))), ("room", Some(json!("a"))));
    check(
        "generate: true",
        &[("name", None), nights.clone(), room.clone()],
    );
    let ada = ("name", Some(json!("Ada")));
    check(
        "generate: true, accept: {name: Ada}",
        &[ada.clone(), nights.clone(), room.clone()],
    );
    check(
        "accept: {name: Ada, room: a, note: {generate: true}}",
        &[ada, nights, room, ("note", None)],
    );
}

#[test]
fn what_cannot_be_made_up_is_said() {
    #[track_caller]
    fn check(field: &str) {
        let question = form(
            "Book?",
            &format!(r#""odd": {{"type": "string", {field}}}"#),
            r#""odd""#,
        );
        match answer("answers: [{generate: true}]", &travel(), &question) {
            Answer::Unfit { rule: Some(1), why } => {
                assert!(why.contains("`odd`: no value could be made up"), "{why}");
            }
            other => panic!("{other:?}"),
        }
    }
    check(r#""minLength": 1000000"#);
    check(r#""pattern": "^a{2}$", "minLength": 3"#);
    check(r#""pattern": "^a{4000}b{4000}$""#);
    check(r#""pattern": "^x(|a){4000000000}$""#);
    check(r#""pattern": "(?=a)b""#);
    check(r#""format": "date", "maxLength": 3"#);
}

#[test]
fn dates_count_from_the_day_of_the_run() {
    #[track_caller]
    fn check(field: &str, date: &str, sent: &str) {
        let accept = format!("{{{field}: {{date: {date}}}}}");
        assert_eq!(filled(&accept), Ok(json!({field: sent})), "{date}");
    }
    check("day", "today", "2026-03-01");
    check("day", "today+14d", "2026-03-15");
    check("day", "today + 2 weeks", "2026-03-15");
    check("day", "today-1d", "2026-02-28");
    check("day", "today+1mo", "2026-04-01");
    check("day", "today-1y1d", "2025-02-28");
    check("day", "now+15h", "2026-03-02");
    check("time", "now", "2026-03-01T09:30:15Z");
    check("time", "now-2h30m", "2026-03-01T07:00:15Z");
    check("time", "today+1d", "2026-03-02T00:00:00Z");
    check("text", "today", "2026-03-01");
    check("text", "now", "2026-03-01T09:30:15Z");
    let beyond = filled("{day: {date: today+9000y}}");
    assert_eq!(beyond, Err("`day`: is beyond the calendar".to_owned()));
    assert!(filled("{count: {date: today}}").is_err_and(|why| why.contains("whole number")));
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
fn a_wrong_file_is_refused_at_its_line() {
    #[track_caller]
    fn check(file: &str, line: &str, says: &str) {
        let error = Script::parse(file)
            .expect_err("the file is wrong")
            .to_string();
        assert!(error.contains(line) && error.contains(says), "{error}");
    }
    check("answers: [", "line 2", "while parsing a flow");
    check("anwsers: []", "line 1", "unknown field `anwsers`");
    check(
        "answers:\n  - when: {tol: x}\n    cancel: true",
        "line 2",
        "unknown field `tol`",
    );
    check(
        "answers:\n  - cancel: true\n    colour: red",
        "line 3",
        "unknown field `colour`",
    );
    check(
        "answers:\n  - when: {mode: phone}\n    cancel: true",
        "line 2",
        "unknown variant `phone`",
    );
    check(
        "answers:\n  - when: {key: a}",
        "line 2",
        "a rule needs one of",
    );
    check(
        "answers:\n  - cancel: true\n  - {accept: {}, decline: true}",
        "line 3",
        "a rule needs one of",
    );
    check(
        "answers:\n  - decline: false",
        "line 2",
        "a rule needs one of",
    );
    check("answers:\n  - accept: false", "line 2", "instead");
    check(
        "answers:\n  - accept: yes please",
        "line 2",
        "true for a link",
    );
    check(
        "answers:\n  - cancel: true\n    reason: x",
        "line 2",
        "`reason` goes with",
    );
    check(
        "answers:\n  - accept: {}\n    expected: true",
        "line 2",
        "`expected` goes with",
    );
    check(
        "sampling:\n  - {reply: x, expected: true}",
        "line 2",
        "`expected` goes with",
    );
    check("answers:\n  - accept: {a: 1, a: 2}", "line 2", "duplicate");
    check(
        "sampling:\n  - when: {key: a}",
        "line 2",
        "a sampling rule needs one of",
    );
    check(
        "sampling:\n  - {when: {mode: url}, reply: x}",
        "line 2",
        "has none",
    );
    check(
        "answers:\n  - when: {mode: url}\n    accept: true",
        "line 2",
        "names the `host`",
    );
    check(
        "answers:\n  - {when: {mode: form, host: a.com}, cancel: true}",
        "line 2",
        "a form has none",
    );
    check(
        "sampling:\n  - {when: {host: a.com}, reply: x}",
        "line 2",
        "has none",
    );
    check(
        "answers:\n  - {cancel: true, times: 0}",
        "line 2",
        "expected a nonzero u64",
    );
    check(
        "answers:\n  - when: {nth: 0}\n    cancel: true",
        "line 2",
        "expected a nonzero u64",
    );
    check(
        "answers:\n  - cancel: true\n    then:\n      - when: {key: a}\n        cancel: true",
        "line 4",
        "belong to the rule",
    );
    check(
        "answers:\n  - cancel: true\n    then:\n      - times: 2",
        "line 4",
        "a rule needs one of",
    );
    check(
        "answers:\n  - when: {mode: url}\n    cancel: true\n    then: [{accept: true}]",
        "line 2",
        "names the `host`",
    );
    check(
        "answers:\n  - {asked: false, then: [{accept: true}]}",
        "line 2",
        "neither accepted",
    );
    check(
        "answers:\n  - when: {message: {regex: '('}}\n    cancel: true",
        "line 2",
        "the regex cannot be read: unclosed group",
    );
    check(
        "answers:\n  - when: {message: {pattern: a}}\n    cancel: true",
        "line 2",
        "unknown field `pattern`",
    );
    check(
        "answers:\n  - when: {message: 7}\n    cancel: true",
        "line 2",
        "or `{regex: pattern}`",
    );
    check(
        "answers:\n  - {when: {mode: url, fields: [a]}, cancel: true}",
        "line 2",
        "a link has none",
    );
    check(
        "sampling:\n  - {when: {fields: [a]}, decline: true}",
        "line 2",
        "a model is asked has none",
    );
    for date in [
        "tomorrow",
        "today14d",
        "today+",
        "today+-1d",
        "today+14",
        "now+1q",
        "",
    ] {
        let file = format!("answers:\n  - accept: {{a: {{date: '{date}'}}}}");
        check(&file, "line 2", "a date counts from `today` or `now`");
    }
    check(
        "answers:\n  - accept: {a: {b: 1}}",
        "line 2",
        "unknown field `b`",
    );
    check(
        "answers:\n  - accept: {a: {date: today, generate: true}}",
        "line 2",
        "a value that is made is",
    );
    check(
        "answers:\n  - accept: {a: {generate: false}}",
        "line 2",
        "a value that is made is",
    );
    check(
        "answers:\n  - {generate: true, decline: true}",
        "line 2",
        "a rule needs one of",
    );
    check(
        "answers:\n  - {when: {host: a.com}, generate: true}",
        "line 2",
        "a link has none",
    );
    check("seed: x", "line 1", "invalid type");
    check("unused: maybe", "line 1", "unknown variant `maybe`");
    check(
        "answers:\n  - {asked: often}",
        "line 2",
        "true, false, a number",
    );
    check(
        "answers:\n  - {asked: -1}",
        "line 2",
        "true, false, a number",
    );
    check(
        "answers:\n  - {asked: {least: 2, most: 1}, cancel: true}",
        "line 2",
        "less than `least`",
    );
    check(
        "answers:\n  - {asked: true}",
        "line 2",
        "a rule needs one of",
    );
    check(
        "answers:\n  - {asked: false, accept: {}}",
        "line 2",
        "neither accepted",
    );
    check(
        "answers:\n  - {asked: false, decline: true, expected: true}",
        "line 2",
        "neither accepted",
    );
    check(
        "sampling:\n  - {asked: 0, reply: x}",
        "line 2",
        "neither accepted",
    );
    check("roots: here", "line 1", "");
    check("- cancel: true", "line 1", "");
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

#[test]
fn a_rule_to_start_from_is_offered() {
    #[track_caller]
    fn check(question: &Question, rule: &str) {
        assert_eq!(rule_for(&travel(), question).as_deref(), Some(rule));
        Script::parse(rule).expect("the rule is one");
    }
    check(
        &wishes(),
        "answers:\n  - when: {key: wishes}\n    accept: {confirm_booking: …}",
    );
    let mut odd = form("?", r#""a: b": {"type": "string"}"#, r#""a: b""#);
    odd.key = Some("no: \"".to_owned());
    check(
        &odd,
        "answers:\n  - when: {key: \"no: \\\"\"}\n    accept: {\"a: b\": …}",
    );
    check(
        &link("https://a.com/"),
        "answers:\n  - when: {mode: url, server: travel, host: a.com, tool: connect_calendar}\n    accept: true",
    );
}

#[test]
fn the_rule_offered_for_a_link_consents_to_no_other() {
    #[track_caller]
    fn check(tool: &str, key: Option<&str>) {
        let asked = |tool: &str, key: Option<&str>| Question {
            call: Some(Call::Tool(tool.to_owned())),
            key: key.map(str::to_owned),
            ..link("https://example.com/")
        };
        let question = asked(tool, key);
        let rule = rule_for(&travel(), &question).expect("a server asks");
        let consents = |asker: &Asker, question: &Question| {
            matches!(
                answer(&rule, asker, question),
                Answer::Given(Reply::Link, _)
            )
        };
        assert!(consents(&travel(), &question), "{rule}");
        let other = Asker {
            name: "other".to_owned(),
            ..travel()
        };
        assert!(!consents(&other, &question), "{rule}");
        assert!(!consents(&travel(), &asked("other", key)), "{rule}");
        if key.is_some() {
            assert!(!consents(&travel(), &asked(tool, Some("other"))), "{rule}");
        }
    }
    check("pay", None);
    check("pay", Some("consent"));
    check("a, mode: form}", Some("b: \"{"));
    for no_text in ["null", "Null", "true", "no", "~", ""] {
        check(no_text, Some(no_text));
    }
}
