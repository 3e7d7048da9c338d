//! Bugs that other implementations had with forms.

use askback_core::{
    forms::{Content, FieldKind, Form, FormField, FormSchema},
    limits::FormLimits,
};
use serde_json::json;

use super::{content, field};

/// A confirmation counted as given although its box was not checked.
#[test]
fn a_form_sent_with_the_box_unticked_is_not_a_yes() {
    let form: FormSchema = serde_json::from_value(json!({"type": "object",
        "properties": {"confirm": {"type": "boolean", "default": false}}, "required": ["confirm"]}))
    .unwrap();
    let answer = content(json!({"confirm": false}));
    form.check(&answer, &FormLimits::default()).unwrap();
    assert_eq!(bool::read(answer.get("confirm")), Ok(false));
    assert_eq!(bool::read(None), Err("must be given".into()));
}

/// The answer 3 became 3.0.
#[test]
fn an_integer_answer_stays_an_integer() {
    let answer: Content = serde_json::from_str(r#"{"f":3}"#).unwrap();
    let form = super::form_of([field(json!({"type": "integer"}))]);
    let answer = form.with_defaults(answer);
    assert_eq!(serde_json::to_string(&answer).unwrap(), r#"{"f":3}"#);
    assert_eq!(u8::read(answer.get("f")), Ok(3));
    assert_eq!(
        field(json!({"type": "integer"}))
            .parse("3")
            .unwrap()
            .to_string(),
        "3"
    );
}

/// A single choice was read as plain text and lost its options.
#[test]
fn a_single_choice_is_not_read_as_a_text() {
    for schema in [
        json!({"type": "string", "enum": ["a", "b"]}),
        json!({"type": "string", "oneOf": [{"const": "a", "title": "A"}, {"const": "b", "title": "B"}]}),
        json!({"type": "string", "enum": ["a", "b"], "enumNames": ["A", "B"]}),
    ] {
        let FieldKind::Choice(choice) = field(schema).kind else {
            panic!("not a choice");
        };
        assert_eq!(choice.options.len(), 2);
    }
}

/// An unreadable field was dropped although `required` still named it.
#[test]
fn a_required_name_without_a_field_is_refused() {
    let schema = r#"{"type":"object","properties":{},"required":["gone"]}"#;
    let error = FormSchema::parse(schema.as_bytes(), &FormLimits::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the form requires `gone`, which is not one of its fields"
    );
}

/// The fields were sorted by name.
#[test]
fn fields_are_not_sorted() {
    let schema = r#"{"type":"object","properties":{"b":{"type":"string"},"a":{"type":"string"}}}"#;
    let form: FormSchema = serde_json::from_str(schema).unwrap();
    assert_eq!(form.to_json(), schema);
}

/// A choice of several titled options could not be read.
#[test]
fn a_titled_choice_of_several_is_read() {
    let schema = json!({"type": "array", "items": {"anyOf": [{"const": "a", "title": "A"}]}});
    let FieldKind::Choices(choices) = field(schema).kind else {
        panic!("not a choice of several");
    };
    assert_eq!(choices.options[0].label(), "A");
}

/// A request without a form was answered as an empty form; an empty form must be explicit.
#[test]
fn the_empty_form_is_one_confirmation() {
    assert_eq!(
        <() as Form>::schema().to_json(),
        r#"{"type":"object","properties":{}}"#
    );
    <() as Form>::read(&Content::new()).unwrap();
}
