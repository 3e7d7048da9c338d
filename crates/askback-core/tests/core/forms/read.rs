//! A `requestedSchema` read from JSON and written back.

use askback_core::{
    forms::{FieldKind, FormSchema},
    limits::Limits,
};
use serde_json::{Value, json};

/// Reads a form whose only field is `f`, expects the refusal.
#[track_caller]
fn refused(field: Value, expected: &str) {
    let schema = json!({"type": "object", "properties": {"f": field}});
    refused_text(&schema.to_string(), &format!("field `f`: {expected}"));
}

#[track_caller]
fn refused_text(schema: &str, expected: &str) {
    let error = FormSchema::parse(schema.as_bytes(), &Limits::default()).unwrap_err();
    assert_eq!(error.to_string(), expected, "{schema}");
}

/// Reads a form whose only field is `f`, expects the same JSON back.
#[track_caller]
fn kept(field: Value) -> FieldKind {
    let schema = json!({"type": "object", "properties": {"f": field}, "required": ["f"]});
    let form = FormSchema::parse(schema.to_string().as_bytes(), &Limits::default()).unwrap();
    assert_eq!(serde_json::to_value(&form).unwrap(), schema);
    assert_eq!(form, serde_json::from_value(schema).unwrap());
    form.fields.into_iter().next().unwrap().kind
}

#[test]
fn every_kind_is_written_as_it_was_read() {
    kept(json!({"type": "string"}));
    kept(json!({"type": "string", "title": "T", "description": "D"}));
    kept(
        json!({"type": "string", "minLength": 1, "maxLength": 9, "pattern": "^a", "default": "ab"}),
    );
    for format in ["email", "uri", "date", "date-time"] {
        kept(json!({"type": "string", "format": format}));
    }
    kept(json!({"type": "number", "minimum": 0.5, "maximum": 3, "default": 1.25}));
    kept(json!({"type": "integer", "minimum": -1, "maximum": u64::MAX, "default": 3}));
    kept(json!({"type": "boolean"}));
    kept(json!({"type": "boolean", "default": false}));
    kept(json!({"type": "string", "enum": ["a", "b"], "default": "a"}));
    kept(json!({"type": "string", "enum": ["a", "b"], "enumNames": ["A", "B"]}));
    kept(json!({"type": "string", "oneOf": [{"const": "a", "title": "A"}], "default": "a"}));
    kept(
        json!({"type": "array", "items": {"type": "string", "enum": ["a", "b"]},
        "minItems": 1, "maxItems": 2, "default": ["b", "a"]}),
    );
    kept(json!({"type": "array", "items": {"anyOf": [{"const": "a", "title": "A"}]}}));
}

#[test]
fn the_order_of_the_fields_is_kept() {
    let json = r#"{"$schema":"s","type":"object","properties":{"z":{"type":"string"},"a":{"type":"boolean"},"m":{"type":"integer"}},"required":["m","z"]}"#;
    let form = FormSchema::parse(json.as_bytes(), &Limits::default()).unwrap();
    let names: Vec<_> = form.fields.iter().map(|field| &field.name).collect();
    assert_eq!(names, ["z", "a", "m"]);
    assert_eq!(form.to_json(), json.replace(r#"["m","z"]"#, r#"["z","m"]"#));
}

#[test]
fn what_a_form_cannot_ask_is_refused_with_the_field_and_the_reason() {
    refused(
        json!({"type": "object"}),
        "an object cannot be asked in a form",
    );
    refused(
        json!({"type": "array", "items": {"type": "object"}}),
        "a list of objects cannot be asked in a form",
    );
    refused(json!(true), "its schema must be an object");
    refused(
        json!({"type": "string", "format": "uuid"}),
        "the format `uuid` is none of email, uri, date and date-time",
    );
}

#[test]
fn names_given_twice_are_refused() {
    refused_text(
        r#"{"type":"object","properties":{"f":{"type":"string"},"f":{"type":"boolean"}}}"#,
        "field `f`: is given twice",
    );
    refused_text(
        r#"{"type":"object","properties":{"f":{"type":"string","title":"a","title":"b"}}}"#,
        "field `f`: gives `title` twice",
    );
}
