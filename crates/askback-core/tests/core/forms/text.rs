//! Values read from typed text.

use askback_core::{
    forms::{Field, FormSchema},
    limits::FormLimits,
};
use serde_json::{Value, json};

use super::{content, field, form_of, optional};

#[track_caller]
fn check(schema: Value, cases: &[(&str, Result<Value, &str>)]) {
    let field = field(schema);
    for (text, expected) in cases {
        let read = field.parse(text).map_err(|issue| issue.message);
        assert_eq!(read, expected.clone().map_err(String::from), "{text:?}");
    }
}

#[test]
fn a_text_is_read_as_it_stands() {
    check(
        json!({"type": "string"}),
        &[
            ("42", Ok(json!("42"))),
            ("true", Ok(json!("true"))),
            (" a ", Ok(json!(" a "))),
            ("", Ok(json!(""))),
        ],
    );
    check(
        json!({"type": "string", "format": "date"}),
        &[(" 2026-06-15 ", Ok(json!("2026-06-15")))],
    );
}

#[test]
fn a_number_is_read_as_a_number() {
    const WHOLE: Result<Value, &str> = Err("must be a whole number");
    const LARGE: Result<Value, &str> = Err("is too large to be sent exactly");
    check(
        json!({"type": "integer"}),
        &[
            ("42", Ok(json!(42))),
            (" -7 ", Ok(json!(-7))),
            ("+7", Ok(json!(7))),
            ("3.0", Ok(json!(3))),
            ("-1e3", Ok(json!(-1000))),
            ("18446744073709551615", Ok(json!(u64::MAX))),
            ("9007199254740993", Ok(json!(9007199254740993_u64))),
            // The number would be rounded.
            ("18446744073709551616", LARGE),
            ("9007199254740993.0", LARGE),
            ("-1e19", LARGE),
            ("3.5", WHOLE),
            ("seven", WHOLE),
            ("", WHOLE),
            ("0x10", WHOLE),
            ("1,000", WHOLE),
            ("inf", WHOLE),
        ],
    );
    const NUMBER: Result<Value, &str> = Err("must be a number");
    check(
        json!({"type": "number"}),
        &[
            ("0.5", Ok(json!(0.5))),
            ("7", Ok(json!(7))),
            ("1e3", Ok(json!(1000.0))),
            ("NaN", NUMBER),
            ("1e999", NUMBER),
            ("x", NUMBER),
        ],
    );
}

#[test]
fn a_yes_or_no_is_read_from_words() {
    let mut cases = Vec::new();
    for yes in ["yes", "y", "true", "TRUE", " Yes "] {
        cases.push((yes, Ok(json!(true))));
    }
    for no in ["no", "N", "False"] {
        cases.push((no, Ok(json!(false))));
    }
    for neither in ["", "maybe", "1", "yes!"] {
        cases.push((neither, Err("must be yes or no")));
    }
    check(json!({"type": "boolean"}), &cases);
}

#[test]
fn a_choice_is_read_by_value_or_title() {
    let unknown = Err("must be one of sea, city, SEA, x");
    check(
        json!({"type": "string", "oneOf": [
            {"const": "sea", "title": "Sea view"}, {"const": "city", "title": "City"},
            {"const": "SEA", "title": "Other"}, {"const": "x", "title": "city"}]}),
        &[
            ("sea", Ok(json!("sea"))),
            ("SEA", Ok(json!("SEA"))),
            ("sea view", Ok(json!("sea"))),
            (" OTHER ", Ok(json!("SEA"))),
            ("city", Ok(json!("city"))),
            // Each of these could mean two options.
            ("Sea", unknown.clone()),
            ("City", unknown.clone()),
            ("", unknown.clone()),
            ("1", unknown),
        ],
    );
}

#[test]
fn several_options_are_separated_by_commas() {
    check(
        json!({"type": "array", "items": {"anyOf": [
            {"const": "a", "title": "Bed"}, {"const": "b", "title": "Bed, large"},
            {"const": "c,d", "title": "Sea"}]}}),
        &[
            ("a", Ok(json!(["a"]))),
            ("sea , bed", Ok(json!(["c,d", "a"]))),
            ("Bed, large, a", Ok(json!(["b", "a"]))),
            ("c,d,b", Ok(json!(["c,d", "b"]))),
            ("", Ok(json!([]))),
            (" , a,", Ok(json!(["a"]))),
            ("a, a, a, a", Err("choose at most 3")),
            ("a, z", Err("choose from a, b, c,d")),
        ],
    );
}

#[test]
fn strings_are_read_by_the_form() {
    let form = form_of([
        Field {
            name: "destination".into(),
            ..field(json!({"type": "string", "minLength": 2}))
        },
        Field {
            name: "days".into(),
            ..field(json!({"type": "integer", "maximum": 30}))
        },
        Field {
            name: "budget".into(),
            ..optional(json!({"type": "number"}))
        },
        Field {
            name: "interests".into(),
            ..optional(json!({"type": "array", "items": {"enum": ["art", "food"]}}))
        },
        Field {
            name: "note".into(),
            ..optional(json!({"type": "string"}))
        },
    ]);
    let check = |strings: &[(&str, &str)], expected: Result<Value, &str>| {
        let read = form.parse_strings(strings.iter().copied(), &FormLimits::default());
        let read = read.map_err(|issues| issues.to_string());
        assert_eq!(
            read,
            expected.map(content).map_err(String::from),
            "{strings:?}"
        );
    };
    check(
        &[
            ("destination", "42"),
            ("days", "7"),
            ("budget", ""),
            ("interests", "food,art"),
            ("note", ""),
        ],
        Ok(json!({"destination": "42", "days": 7, "interests": ["food", "art"], "note": ""})),
    );
    check(&[("destination", "Rome")], Err("`days`: must be given"));
    check(
        &[("destination", "Rome"), ("days", "")],
        Err("`days`: must be given"),
    );
    check(
        &[("destination", "R"), ("days", "seven"), ("colour", "red")],
        Err(
            "`destination`: needs 1 more character; `days`: must be a whole number; `colour`: is not known",
        ),
    );
    check(
        &[("destination", "Rome"), ("days", "31")],
        Err("`days`: must be at most 30"),
    );
}

#[test]
fn what_is_shown_can_be_typed_back() {
    for (schema, value) in [
        (json!({"type": "boolean"}), json!(true)),
        (json!({"type": "boolean"}), json!(false)),
        (json!({"type": "integer"}), json!(-3)),
        (json!({"type": "number"}), json!(0.1)),
        (json!({"type": "string"}), json!("a, b")),
        (
            json!({"type": "string", "oneOf": [{"const": "s", "title": "Sea"}]}),
            json!("s"),
        ),
        (
            json!({"type": "array", "items": {"anyOf": [{"const": "s", "title": "Sea, wide"}, {"const": "t", "title": "T"}]}}),
            json!(["t", "s"]),
        ),
    ] {
        let field = field(schema);
        assert_eq!(field.parse(&field.show(&value)).unwrap(), value);
    }
}

fn argument(schema: Value) -> Field {
    let schema = json!({"type": "object", "properties": {"f": schema}});
    let limits = FormLimits::default();
    let form = FormSchema::parse_arguments(schema.to_string().as_bytes(), &limits).unwrap();
    form.fields.into_iter().next().unwrap()
}

#[test]
fn json_is_read_as_it_was_written() {
    #[track_caller]
    fn check(schema: Value, hint: &str, cases: &[(&str, Result<Value, &str>)]) {
        let field = argument(schema);
        assert_eq!(field.hint(), hint);
        for (text, expected) in cases {
            let read = field.parse(text).and_then(|value| {
                field.check(&value, &FormLimits::default())?;
                assert_eq!(field.parse(&field.show(&value)), Ok(value.clone()));
                Ok(value)
            });
            let read = read.map_err(|issue| issue.message);
            assert_eq!(read, expected.clone().map_err(String::from), "{text:?}");
        }
    }
    check(
        json!({"type": "object"}),
        "an object, as JSON",
        &[
            (r#" {"a": [1, "x"]} "#, Ok(json!({"a": [1, "x"]}))),
            (
                r#"{"id": 18446744073709551615}"#,
                Ok(json!({"id": u64::MAX})),
            ),
            (
                r#"{"id": "99999999999999999999"}"#,
                Ok(json!({"id": "99999999999999999999"})),
            ),
            (
                r#"{"q": "\\\"", "x": 1e400}"#,
                Err("is not JSON from character 24 on"),
            ),
            (
                r#"{"q": "\\\"", "id": 18446744073709551616}"#,
                Err("18446744073709551616 is too large to be sent exactly"),
            ),
            ("[1]", Err("must be an object")),
            ("{", Err("is not JSON from character 1 on")),
        ],
    );
    check(
        json!({"type": ["string", "array"]}),
        "a text or a list, as JSON",
        &[
            ("plain", Ok(json!("plain"))),
            (r#""quoted""#, Ok(json!("quoted"))),
            ("[1]", Ok(json!([1]))),
            ("7", Err("must be a text or a list")),
        ],
    );
    check(
        json!({"enum": [1, "x"]}),
        "a value, as JSON",
        &[
            ("1", Ok(json!(1))),
            (r#""x""#, Ok(json!("x"))),
            ("2", Err("must be one of the values in its schema")),
        ],
    );
}
