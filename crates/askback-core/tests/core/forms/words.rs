//! The texts that user interfaces show for a field.

use serde_json::{Value, json};

use super::field;

#[track_caller]
fn hint(schema: Value, expected: &str) {
    assert_eq!(field(schema).hint(), expected);
}

#[test]
fn hints() {
    hint(json!({"type": "string"}), "a text");
    hint(json!({"type": "string", "minLength": 0}), "a text");
    hint(
        json!({"type": "string", "minLength": 1}),
        "a text, at least 1 character",
    );
    hint(
        json!({"type": "string", "maxLength": 100}),
        "a text, at most 100 characters",
    );
    hint(
        json!({"type": "string", "minLength": 1, "maxLength": 100}),
        "a text, 1 to 100 characters",
    );
    hint(
        json!({"type": "string", "minLength": 3, "maxLength": 3}),
        "a text, exactly 3 characters",
    );
    hint(
        json!({"type": "string", "pattern": "^a"}),
        "a text, matching ^a",
    );
    hint(
        json!({"type": "string", "format": "email"}),
        "a mail address such as ada@example.com",
    );
    hint(
        json!({"type": "string", "format": "date"}),
        "a date such as 2026-06-15",
    );
    hint(
        json!({"type": "integer", "minimum": 1, "maximum": 30}),
        "a whole number from 1 to 30",
    );
    hint(
        json!({"type": "integer", "minimum": 1, "maximum": u32::MAX}),
        "a whole number of at least 1",
    );
    hint(
        json!({"type": "number", "maximum": 0.5}),
        "a number of at most 0.5",
    );
    hint(json!({"type": "number"}), "a number");
    hint(json!({"type": "boolean"}), "yes or no");
    hint(json!({"type": "string", "enum": ["a"]}), "choose one");
    let several = |min: Value, max: Value| {
        let mut schema = json!({"type": "array", "items": {"enum": ["a", "b", "c"]}});
        schema["minItems"] = min;
        schema["maxItems"] = max;
        schema
            .as_object_mut()
            .unwrap()
            .retain(|_, value| !value.is_null());
        schema
    };
    hint(several(json!(null), json!(null)), "choose any number");
    hint(several(json!(0), json!(null)), "choose any number");
    hint(several(json!(1), json!(null)), "choose at least 1");
    hint(several(json!(null), json!(2)), "choose at most 2");
    hint(several(json!(1), json!(2)), "choose 1 to 2");
    hint(several(json!(2), json!(2)), "choose exactly 2");
}

#[test]
fn labels() {
    assert_eq!(field(json!({"type": "string"})).label(), "f");
    assert_eq!(
        field(json!({"type": "string", "title": "Full name"})).label(),
        "Full name"
    );
}

#[test]
fn a_whole_number_has_no_fraction_however_it_came() {
    let field = field(json!({"type": "integer", "minimum": 1.0, "maximum": 30.0, "default": 4.0}));
    assert_eq!(field.hint(), "a whole number from 1 to 30");
    let default = field.default_value().expect("it has a default");
    assert_eq!(field.show(&default), "4");
    assert_eq!(default.to_string(), "4");
    assert_eq!(field.show(&json!(-7.0)), "-7");
    assert_eq!(field.show(&json!(u64::MAX)), "18446744073709551615");
    let field = self::field(json!({"type": "number", "default": 4.0}));
    assert_eq!(field.default_value(), Some(json!(4.0)));
    assert_eq!(field.show(&json!(4.0)), "4");
    assert_eq!(field.show(&json!(4.5)), "4.5");
    assert_eq!(field.show(&json!(1e300)), "1e+300");
}
