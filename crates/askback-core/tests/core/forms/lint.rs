//! Contradictory forms are rejected.

use askback_core::{
    forms::{Field, FormSchema},
    limits::FormLimits,
};
use serde_json::{Value, json};

use super::{field, form, form_of};

#[track_caller]
fn fine(schema: Value) {
    form(json!({"f": schema}))
        .lint(&FormLimits::default())
        .unwrap();
}

#[track_caller]
fn faulty(schema: Value, expected: &str) {
    told(&form(json!({"f": schema})), &format!("`f`: {expected}"));
}

#[track_caller]
fn told(form: &FormSchema, expected: &str) {
    let issues = form.lint(&FormLimits::default()).unwrap_err();
    assert_eq!(issues.to_string(), expected);
}

#[test]
fn bounds_are_in_order() {
    fine(json!({"type": "string", "minLength": 2, "maxLength": 2}));
    faulty(
        json!({"type": "string", "minLength": 3, "maxLength": 2}),
        "can be no text of 3 to 2 characters",
    );
    fine(json!({"type": "integer", "minimum": 1, "maximum": 1.0}));
    faulty(
        json!({"type": "number", "minimum": 1.5, "maximum": 1}),
        "can be no number from 1.5 to 1",
    );
    faulty(
        json!({"type": "integer", "minimum": 0.5}),
        "is a whole number and so is not bounded by 0.5",
    );
    let options = json!({"enum": ["a", "b"]});
    fine(json!({"type": "array", "items": options, "minItems": 2, "maxItems": 9}));
    faulty(
        json!({"type": "array", "items": options, "minItems": 3}),
        "wants 3 chosen where 2 can be",
    );
    faulty(
        json!({"type": "array", "items": options, "minItems": 2, "maxItems": 1}),
        "wants 2 chosen where 1 can be",
    );
}

#[test]
fn options_are_distinct_and_either_all_or_none_have_titles() {
    faulty(json!({"type": "string", "enum": []}), "has no options");
    faulty(
        json!({"type": "array", "items": {"anyOf": []}}),
        "has no options",
    );
    faulty(
        json!({"type": "string", "enum": [""]}),
        "has an option without a value",
    );
    faulty(
        json!({"type": "string", "enum": ["a", "b", "a"]}),
        "has the option `a` twice",
    );
    faulty(
        json!({"type": "string", "oneOf": [{"const": "a", "title": "A"}, {"const": "b"}]}),
        "has titles for some of its options only",
    );
}

#[test]
fn a_default_answers_its_own_field() {
    fine(json!({"type": "string", "format": "date", "default": "2026-06-15"}));
    faulty(
        json!({"type": "string", "format": "date", "default": "tomorrow"}),
        "has a default that does not fit: must be a date such as 2026-06-15",
    );
    faulty(
        json!({"type": "string", "pattern": "^a", "default": "b"}),
        "has a default that does not fit: must match the pattern ^a",
    );
    fine(json!({"type": "integer", "default": 3.0}));
    faulty(
        json!({"type": "integer", "default": 3.5}),
        "has a default that does not fit: must be a whole number",
    );
    faulty(
        json!({"type": "string", "enum": ["a"], "default": "b"}),
        "has a default that does not fit: must be one of a",
    );
    faulty(
        json!({"type": "array", "items": {"enum": ["a", "b"]}, "maxItems": 1, "default": ["a", "b"]}),
        "has a default that does not fit: choose at most 1",
    );
}

#[test]
fn patterns_can_be_checked() {
    fine(json!({"type": "string", "pattern": r"^\p{Lu}[\w-]{2,}$"}));
    faulty(
        json!({"type": "string", "pattern": "(?=a)"}),
        "has a pattern that cannot be checked: look-around, including look-ahead and look-behind, is not supported",
    );
    faulty(
        json!({"type": "string", "pattern": "a".repeat(257)}),
        "has a pattern that cannot be checked: it is longer than 256 bytes",
    );
}

#[test]
fn fields_have_names_of_their_own() {
    let text = || field(json!({"type": "string"}));
    told(&form_of([text(), text()]), "`f`: is asked twice");
    told(
        &form_of([Field {
            name: String::new(),
            ..text()
        }]),
        "a field must have a name",
    );
}

#[test]
fn the_form_is_within_the_limits() {
    let text = |name: String| Field {
        name,
        ..field(json!({"type": "string"}))
    };
    told(
        &form_of((0..65).map(|n| text(n.to_string()))),
        "has more than 64 fields",
    );
    let long = Field {
        description: Some("d".repeat(40_000)),
        ..text("f".into())
    };
    told(&form_of([long]), "is longer than 32768 bytes");
    let mut annotated = form(json!({}));
    annotated.annotations.insert("required".into(), json!([]));
    told(&annotated, "has an annotation `required`, which is its own");
}
