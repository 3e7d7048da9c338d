//! Values that are made up.

use askback_host::{model::Reply, script::Answer};
use serde_json::{Value, json};

use super::answer;
use crate::{form, travel};

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
