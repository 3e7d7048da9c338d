//! Forms in revisions and clients with fewer features.

use askback_core::{
    forms::{Dialect, Field, FormSchema, lower},
    limits::FormLimits,
};
use serde_json::{Value, json};

use super::{content, field, form, form_of, optional};

const FULL: Dialect = Dialect {
    enum_names: false,
    multi_choice: true,
    numbers: true,
    text_defaults: true,
    pattern: true,
    empty_end: true,
};

/// The fewest features of any revision.
const PLAIN: Dialect = Dialect {
    enum_names: true,
    multi_choice: false,
    numbers: true,
    text_defaults: true,
    pattern: false,
    empty_end: true,
};

/// The fewest features of any client.
const TEXTS: Dialect = Dialect {
    numbers: false,
    text_defaults: false,
    empty_end: false,
    ..PLAIN
};

#[track_caller]
fn lowered(original: &FormSchema, dialect: &Dialect, expected: Value) {
    let lowered = lower(original, dialect);
    lowered.schema.lint(&FormLimits::default()).unwrap();
    let written = serde_json::to_value(&lowered.schema).unwrap();
    assert_eq!(written["properties"], expected);
    let names: Vec<_> = original
        .fields
        .iter()
        .map(|field| field.name.clone())
        .collect();
    let kept = lowered
        .schema
        .fields
        .iter()
        .map(|field| &field.name)
        .filter(|name| names.contains(name));
    assert!(kept.is_sorted_by_key(|name| names.iter().position(|n| n == name)));
    // The lowered form is read as it was written.
    assert_eq!(
        serde_json::from_str::<FormSchema>(&lowered.schema.to_json()).unwrap(),
        lowered.schema
    );
}

#[test]
fn every_kind_in_every_dialect() {
    let titles = json!([{"const": "a", "title": "A"}, {"const": "b", "title": "B"}]);
    let cases = [
        // The form, in the full dialect and in the plain one.
        (
            json!({"type": "string", "minLength": 1, "format": "uri", "default": "x:"}),
            json!({"type": "string", "minLength": 1, "format": "uri", "default": "x:"}),
        ),
        (
            json!({"type": "string", "description": "A code", "pattern": "^a", "default": "ab"}),
            json!({"type": "string", "description": "A code. Must match the pattern ^a.", "default": "ab"}),
        ),
        (
            json!({"type": "integer", "description": "Nights?", "minimum": 1, "default": 7}),
            json!({"type": "integer", "description": "Nights?", "minimum": 1, "default": 7}),
        ),
        (
            json!({"type": "boolean", "default": true}),
            json!({"type": "boolean", "default": true}),
        ),
        (
            json!({"type": "string", "enum": ["a", "b"], "default": "b"}),
            json!({"type": "string", "enum": ["a", "b"], "default": "b"}),
        ),
        (
            json!({"type": "string", "oneOf": titles, "default": "b"}),
            json!({"type": "string", "enum": ["a", "b"], "enumNames": ["A", "B"], "default": "b"}),
        ),
        (
            json!({"type": "string", "enum": ["a"], "enumNames": ["A"]}),
            json!({"type": "string", "enum": ["a"], "enumNames": ["A"]}),
        ),
    ];
    for (asked, plain) in cases {
        let form = form(json!({"f": asked}));
        lowered(&form, &FULL, json!({"f": asked}));
        lowered(&form, &PLAIN, json!({"f": plain}));
    }
    let several = json!({"type": "array", "items": {"anyOf": titles}, "default": ["a"]});
    lowered(&form(json!({"f": several})), &FULL, json!({"f": several}));
}

#[test]
fn an_option_is_not_chosen_beforehand_without_a_default() {
    lowered(
        &form(json!({"f": {"type": "array", "items": {"enum": ["a"]}}})),
        &PLAIN,
        json!({"f.a": {"type": "boolean", "title": "f: a", "description": "Choose any number.", "default": false}}),
    );
}

/// Two of three extras may be chosen.
fn extras() -> Value {
    json!({
        "type": "array",
        "title": "Extras",
        "description": "What else?",
        "items": {"anyOf": [{"const": "meal", "title": "A meal"}, {"const": "bag", "title": "A bag"},
            {"const": "bike", "title": "A bike"}]},
        "minItems": 1,
        "maxItems": 2,
        "default": ["bag"],
    })
}

#[test]
fn a_choice_of_several_becomes_a_yes_or_no_for_each_option() {
    let form = form(json!({"extras": extras()}));
    lowered(
        &form,
        &PLAIN,
        json!({
            "extras.meal": {"type": "boolean", "title": "Extras: A meal",
                "description": "What else? Choose 1 to 2.", "default": false},
            "extras.bag": {"type": "boolean", "title": "Extras: A bag", "default": true},
            "extras.bike": {"type": "boolean", "title": "Extras: A bike", "default": false},
        }),
    );
    let lowered = lower(&form, &PLAIN);
    let names: Vec<_> = lowered
        .schema
        .fields
        .iter()
        .map(|field| &field.name)
        .collect();
    assert_eq!(names, ["extras.meal", "extras.bag", "extras.bike"]);
    assert!(lowered.schema.fields.iter().all(|field| !field.required));
}

#[test]
fn the_answers_are_read_back() {
    let required = Field {
        name: "f".into(),
        ..field(extras())
    };
    let optional_some = Field {
        required: false,
        ..required.clone()
    };
    let any = optional(json!({"type": "array", "items": {"enum": ["meal", "bag"]}}));
    let any_required = Field {
        required: true,
        ..any.clone()
    };
    let check = |field: &Field, given: Value, lifted: Value, fault: Option<&str>| {
        let form = form_of([field.clone()]);
        let answer = lower(&form, &PLAIN).lift(content(given.clone()));
        assert_eq!(answer, content(lifted), "{given}");
        let issues = form.check(&answer, &FormLimits::default()).err();
        assert_eq!(
            issues.map(|issues| issues.to_string()).as_deref(),
            fault,
            "{given}"
        );
    };
    check(
        &required,
        json!({"f.bike": true, "f.bag": false}),
        json!({"f": ["bike"]}),
        None,
    );
    check(
        &required,
        json!({"f.bike": true, "f.meal": true}),
        json!({"f": ["meal", "bike"]}),
        None,
    );
    check(
        &required,
        json!({"f.bike": true, "f.meal": true, "f.bag": true}),
        json!({"f": ["meal", "bag", "bike"]}),
        Some("`f`: choose at most 2"),
    );
    check(
        &required,
        json!({}),
        json!({"f": []}),
        Some("`f`: choose at least 1"),
    );
    check(
        &required,
        json!({"f.bike": false}),
        json!({"f": []}),
        Some("`f`: choose at least 1"),
    );
    // If nothing is selected in an optional choice, the choice is missing.
    check(&optional_some, json!({"f.bike": false}), json!({}), None);
    check(&optional_some, json!({"f.bike": null}), json!({}), None);
    check(&any, json!({}), json!({}), None);
    check(&any, json!({"f.bag": false}), json!({"f": []}), None);
    check(&any_required, json!({}), json!({"f": []}), None);
    // A client may answer the original choice.
    check(
        &required,
        json!({"f": ["bag"]}),
        json!({"f": ["bag"]}),
        None,
    );
    // Invalid content is left for the check.
    check(
        &any,
        json!({"f.bag": "yes"}),
        json!({"f.bag": "yes"}),
        Some("`f.bag`: is not known"),
    );
}

#[test]
fn a_number_is_sent_as_text_if_the_client_cannot_show_numbers() {
    let check = |asked: Value, text: Value, answers: &[(Value, Value, Option<&str>)]| {
        let form = form(json!({"f": asked}));
        lowered(&form, &TEXTS, json!({"f": text}));
        let lowered = lower(&form, &TEXTS);
        for (given, lifted, fault) in answers {
            let answer = lowered.lift(content(json!({"f": given})));
            assert_eq!(answer, content(lifted.clone()), "{given}");
            let issues = form.check(&answer, &FormLimits::default()).err();
            let issues = issues.map(|issues| issues.to_string());
            assert_eq!(issues.as_deref(), *fault, "{given}");
        }
    };
    check(
        json!({"type": "integer", "title": "Nights", "minimum": 1, "maximum": 30, "default": 7}),
        json!({"type": "string", "title": "Nights", "default": "7",
            "description": "A whole number from 1 to 30. Default: 7."}),
        &[
            (json!("3"), json!({"f": 3}), None),
            (json!(" 3.0 "), json!({"f": 3}), None),
            (json!(3), json!({"f": 3}), None),
            (
                json!("31"),
                json!({"f": 31}),
                Some("`f`: must be at most 30"),
            ),
            (
                json!("3.5"),
                json!({"f": "3.5"}),
                Some("`f`: must be a whole number"),
            ),
            (
                json!("three"),
                json!({"f": "three"}),
                Some("`f`: must be a whole number"),
            ),
            (json!(" "), json!({}), Some("`f`: must be given")),
        ],
    );
    check(
        json!({"type": "number", "description": "How much?", "default": 0.5}),
        json!({"type": "string", "description": "How much? A number. Default: 0.5.", "default": "0.5"}),
        &[
            (json!("12.5"), json!({"f": 12.5}), None),
            (
                json!("1e999"),
                json!({"f": "1e999"}),
                Some("`f`: must be a number"),
            ),
        ],
    );
}

#[test]
fn a_form_ends_in_a_choice_if_an_empty_text_cannot_submit_it() {
    let check = |fields: &[Field], end: Option<&str>| {
        let form = form_of(fields.to_vec());
        let lowered = lower(&form, &TEXTS);
        lowered.schema.lint(&FormLimits::default()).unwrap();
        let names = lowered.schema.fields.iter().map(|field| &*field.name);
        let added = names.clone().find(|name| form.field(name).is_none());
        assert_eq!(added, end);
        if let Some(end) = end {
            assert_eq!(names.max(), Some(end));
            let written = serde_json::to_value(&lowered.schema).unwrap();
            let expected = json!({"type": "string", "title": "All answers", "enum": ["send"],
                "enumNames": ["Send"], "default": "send"});
            assert_eq!(written["properties"][end], expected);
            let given = content(json!({"a": "x", end: "send"}));
            assert_eq!(lowered.lift(given), content(json!({"a": "x"})));
        }
    };
    let named = |name: &str, field: Field| Field {
        name: name.into(),
        ..field
    };
    let (text, number) = (json!({"type": "string"}), json!({"type": "integer"}));
    let yes = json!({"type": "boolean"});
    let first = named("a", field(text.clone()));
    check(
        &[
            named("voucher", optional(text.clone())),
            named("name", field(text.clone())),
        ],
        Some("voucher~"),
    );
    check(
        &[first.clone(), named("é", optional(number.clone()))],
        Some("é~"),
    );
    check(&[named("b", optional(text.clone()))], Some("b~"));
    check(&[named("b", optional(text)), named("c", field(yes))], None);
    check(&[first, named("B", optional(number))], None);
}

#[test]
fn names_do_not_collide() {
    let choice = json!({"type": "array", "items": {"enum": ["b", "b-2", "b.c"]}});
    let form = form(json!({
        "a": choice,
        "a.b": {"type": "array", "items": {"enum": ["c"]}},
        "a.b-2": {"type": "string"},
    }));
    let lowered = lower(&form, &PLAIN);
    lowered.schema.lint(&FormLimits::default()).unwrap();
    let names: Vec<_> = lowered
        .schema
        .fields
        .iter()
        .map(|field| field.name.as_str())
        .collect();
    assert_eq!(names, ["a.b-3", "a.b-2-2", "a.b.c", "a.b.c-2", "a.b-2"]);
    let answer = lowered.lift(content(json!({
        "a.b-3": true, "a.b-2-2": false, "a.b.c": true, "a.b-2": "text", "a.b.c-2": true,
    })));
    assert_eq!(
        answer,
        content(json!({"a": ["b", "b.c"], "a.b": ["c"], "a.b-2": "text"}))
    );
}

#[test]
fn a_pattern_that_was_not_said_is_still_checked() {
    let form = form(json!({"f": {"type": "string", "pattern": "^a"}}));
    let answer = lower(&form, &PLAIN).lift(content(json!({"f": "b"})));
    let issues = form.check(&answer, &FormLimits::default()).unwrap_err();
    assert_eq!(issues.to_string(), "`f`: must match the pattern ^a");
}
