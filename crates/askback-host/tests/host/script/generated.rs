use askback::{
    forms::{FormSchema, TextFormat},
    limits::FormLimits,
};
use askback_host::{
    model::{Ask, Question, Reply},
    script::Answer,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{answer, sample};
use crate::{form, safety, travel};

/// Fields that accept few values, and fields that accept many kinds of values.
const NARROW: &str = r#"
    "text": {"type": "string"},
    "long": {"type": "string", "minLength": 500},
    "short": {"type": "string", "maxLength": 3},
    "empty": {"type": "string", "maxLength": 0},
    "mail": {"type": "string", "format": "email", "minLength": 40},
    "page": {"type": "string", "format": "uri", "minLength": 60},
    "day": {"type": "string", "format": "date"},
    "time": {"type": "string", "format": "date-time"},
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
fn a_text_of_every_format_is_made_up() {
    for format in TextFormat::ALL {
        let name = format.name();
        let field = format!(r#""a": {{"type": "string", "format": "{name}"}}"#);
        let question = form("Book?", &field, r#""a""#);
        match answer("answers: [{generate: true}]", &travel(), &question) {
            Answer::Given(Reply::Form(content), _) => {
                let text = content["a"].as_str().unwrap_or_default();
                assert!(format.matches(text), "{name}: {text:?}");
            }
            other => panic!("{name}: {other:?}"),
        }
    }
}

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
    // The form checks the values.
    let others: Vec<_> = (1..200).map(made).collect();
    assert!(others.iter().all(|other| *other != first));
    assert!(first["day"].as_str().is_some_and(|day| day > "2026-03-01"));
    assert_eq!(first["small"], json!(-3));
    assert_eq!(first["agreed"], json!(true));
    for name in ["one", "some", "page"] {
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
                assert!(why.contains("`odd`: cannot generate a value"), "{why}");
            }
            other => panic!("{other:?}"),
        }
    }
    check(r#""minLength": 1000000"#);
    check(r#""pattern": "^a$""#);
    check(r#""format": "date", "maxLength": 3"#);
}

/// A field with arbitrary bounds and patterns, which may be contradictory or invalid.
fn field() -> impl Strategy<Value = Value> {
    let pattern = "[ab1(|)*+?{},\\[\\]^$.\\\\wd-]{0,16}";
    let length = prop_oneof![0..100_u64, any::<u64>()];
    let text = (
        prop::option::of(pattern),
        prop::option::of(length.clone()),
        prop::option::of(length),
    );
    let number = prop_oneof![
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from)
    ];
    let bounds = (prop::option::of(number.clone()), prop::option::of(number));
    prop_oneof![
        text.prop_map(|(pattern, least, most)| {
            json!({"type": "string", "pattern": pattern, "minLength": least, "maxLength": most})
        }),
        (bounds, any::<bool>()).prop_map(|((least, most), is_whole)| {
            let kind = if is_whole { "integer" } else { "number" };
            json!({"type": kind, "minimum": least, "maximum": most})
        }),
        (0..5_u64, prop::option::of(0..5_u64)).prop_map(|(least, most)| {
            let items = json!({"type": "string", "enum": ["a", "b", "c"]});
            json!({"type": "array", "minItems": least, "maxItems": most, "items": items})
        }),
    ]
}

proptest! {
    #![proptest_config(safety::config())]

    /// Generated values fit the form, and generation always ends.
    #[test]
    fn no_schema_is_too_much(mut field in field(), seed: u64) {
        if let Value::Object(members) = &mut field {
            members.retain(|_, value| !value.is_null());
        }
        let schema = json!({"type": "object", "properties": {"odd": field}, "required": ["odd"]});
        let schema = FormSchema::parse(schema.to_string().as_bytes(), &FormLimits::default());
        prop_assume!(schema.is_ok());
        let Ok(schema) = schema else { unreachable!("it was assumed") };
        let ask = Ask::Form { message: String::new(), schema: schema.clone() };
        let question = Question { ask, ..sample("") };
        let file = format!("answers: [{{generate: true}}]\nseed: {seed}");
        match answer(&file, &travel(), &question) {
            Answer::Given(Reply::Form(content), Some(1)) => {
                prop_assert_eq!(schema.check(&content, &FormLimits::default()), Ok(()));
                prop_assert_eq!(content.len(), 1);
            }
            Answer::Unfit { why, .. } => prop_assert!(why.contains("`odd`"), "{}", why),
            other => prop_assert!(false, "{other:?}"),
        }
    }
}
