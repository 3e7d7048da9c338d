//! Forms that are built at run time.

use askback_core::{
    forms::{
        BooleanField, ChoiceField, ChoicesField, Field, FieldKind, FormSchema, FormValues,
        NumberField, TextField, TextFormat,
    },
    limits::FormLimits,
};
use serde_json::{Value, json};

use super::content;

/// Checks the JSON of a field kind, and whether the field is required.
#[track_caller]
fn check(kind: impl Into<FieldKind>, written: Value, required: bool) {
    let form = FormSchema::new([Field::new("f", kind)]);
    form.lint(&FormLimits::default()).unwrap();
    let json: Value = serde_json::from_str(&form.to_json()).unwrap();
    assert_eq!(json["properties"]["f"], written);
    assert_eq!(json["required"] == json!(["f"]), required, "{json}");
}

#[test]
fn each_kind_has_its_bounds_and_default() {
    let text = TextField::default();
    check(
        text.clone().min_length(1).max_length(9).pattern("^[A-Z]+$"),
        json!({"type": "string", "minLength": 1, "maxLength": 9, "pattern": "^[A-Z]+$"}),
        true,
    );
    check(
        text.format(TextFormat::Email)
            .with_default("ada@example.com"),
        json!({"type": "string", "format": "email", "default": "ada@example.com"}),
        false,
    );
    check(
        NumberField::integer().min(-1).max(30).with_default(7),
        json!({"type": "integer", "minimum": -1, "maximum": 30, "default": 7}),
        false,
    );
    check(
        NumberField::default().min(0.5),
        json!({"type": "number", "minimum": 0.5}),
        true,
    );
    check(
        BooleanField::default().with_default(true),
        json!({"type": "boolean", "default": true}),
        false,
    );
    check(
        ChoiceField::new(["sea", "city"]).with_default("sea"),
        json!({"type": "string", "enum": ["sea", "city"], "default": "sea"}),
        false,
    );
    check(
        ChoiceField::new([("sea", "The sea")]),
        json!({"type": "string", "oneOf": [{"const": "sea", "title": "The sea"}]}),
        true,
    );
    check(
        ChoicesField::new(vec!["a".to_owned(), "b".to_owned()])
            .min_items(1)
            .max_items(2)
            .with_default(["b"]),
        json!({"type": "array", "minItems": 1, "maxItems": 2,
            "items": {"type": "string", "enum": ["a", "b"]}, "default": ["b"]}),
        false,
    );
}

#[test]
fn a_field_says_what_it_is_and_may_be_left_out() {
    let field = Field::new("pin", TextField::default());
    assert!(field.looks_secret());
    let field = field
        .title("Pin")
        .description("Where on the map?")
        .not_secret()
        .optional();
    assert!(!field.looks_secret());
    assert_eq!(field.label(), "Pin");
    assert_eq!(field.description.as_deref(), Some("Where on the map?"));
    assert!(!field.required);
}

#[test]
fn values_are_read_by_name_and_type() {
    let values = FormValues::new(content(
        json!({"nights": 3, "extras": ["meal"], "note": null}),
    ));
    assert_eq!(values.get::<u8>("nights"), Ok(3));
    assert_eq!(values.get::<Option<String>>("note"), Ok(None));
    assert_eq!(values.chosen("extras"), Ok(vec!["meal"]));
    assert_eq!(values.chosen("more"), Ok(vec![]));
    let told = |issue: askback_core::forms::Issue| issue.to_string();
    assert_eq!(
        values.get::<bool>("nights").map_err(told),
        Err("`nights`: must be yes or no".to_owned())
    );
    assert_eq!(
        values.get::<String>("note").map_err(told),
        Err("`note`: must be given".to_owned())
    );
    assert_eq!(
        values.chosen("nights").map_err(told),
        Err("`nights`: must be a list of options".to_owned())
    );
}
