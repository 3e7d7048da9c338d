//! Reads a `requestedSchema` from JSON and writes it back.

use askback_core::{
    forms::{Content, FieldKind, FormSchema, JsonField, NumberField, Opt, TextFormat},
    limits::{FormLimits, Limits},
};
use serde_json::{Value, json};

use super::field;

/// Checks that a form with the single field `f` is written back unchanged.
#[track_caller]
fn kept(field: Value) {
    let schema = json!({"type": "object", "properties": {"f": field}, "required": ["f"]});
    let form = FormSchema::parse(schema.to_string().as_bytes(), &FormLimits::default()).unwrap();
    assert_eq!(serde_json::to_value(&form).unwrap(), schema);
    assert_eq!(form, serde_json::from_value(schema).unwrap());
    form.lint(&FormLimits::default()).unwrap();
}

/// Checks the error for a form with the single field `f`.
#[track_caller]
fn refused(field: Value, expected: &str) {
    let schema = json!({"type": "object", "properties": {"f": field}});
    refused_text(&schema.to_string(), &format!("field `f`: {expected}"));
}

#[track_caller]
fn refused_text(schema: &str, expected: &str) {
    let error = FormSchema::parse(schema.as_bytes(), &FormLimits::default()).unwrap_err();
    assert_eq!(error.to_string(), expected, "{schema}");
}

#[test]
fn every_kind_is_written_as_it_was_read() {
    kept(json!({"type": "string"}));
    kept(json!({"type": "string", "title": "T", "description": "D"}));
    kept(
        json!({"type": "string", "minLength": 1, "maxLength": 9, "pattern": "^a", "default": "ab"}),
    );
    for format in TextFormat::ALL {
        kept(json!({"type": "string", "format": format.name()}));
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
    let form = FormSchema::parse(json.as_bytes(), &FormLimits::default()).unwrap();
    let names: Vec<_> = form.fields.iter().map(|field| &field.name).collect();
    assert_eq!(names, ["z", "a", "m"]);
    assert_eq!(form.to_json(), json.replace(r#"["m","z"]"#, r#"["z","m"]"#));
}

#[test]
fn other_keywords_at_the_root_are_kept() {
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Contact",
        "additionalProperties": false,
        "type": "object",
        "properties": {"f": {"type": "string", "examples": ["x"], "x-order": 3}},
    });
    let form: FormSchema = serde_json::from_value(schema.clone()).unwrap();
    assert_eq!(form.annotations.len(), 3);
    let written = serde_json::to_value(&form).unwrap();
    assert_eq!(written["title"], "Contact");
    assert_eq!(written["additionalProperties"], false);
    // Other members of a field are dropped.
    assert_eq!(written["properties"], json!({"f": {"type": "string"}}));
}

#[test]
fn what_other_writers_do_is_read() {
    let titled = |title: &str| {
        FieldKind::Choice(askback_core::forms::ChoiceField {
            options: vec![Opt {
                value: "a".into(),
                title: Some(title.into()),
            }],
            ..Default::default()
        })
    };
    // `anyOf` for one choice, `oneOf` for several, null as "no default", counts as floats.
    let any_of =
        json!({"type": "string", "anyOf": [{"const": "a", "title": "A"}], "default": null});
    assert_eq!(field(any_of).kind, titled("A"));
    let FieldKind::Choices(choices) = field(json!({"type": "array", "minItems": 1.0,
        "items": {"oneOf": [{"const": "a", "title": "A"}, {"const": "b"}]}}))
    .kind
    else {
        panic!("not a choice of several");
    };
    assert_eq!(choices.min_items, Some(1));
    assert_eq!(choices.options[1].label(), "b");
    // Without fields or `properties`, a form is a confirmation.
    for schema in [
        json!({"type": "object"}),
        json!({"type": "object", "properties": {}}),
    ] {
        assert_eq!(
            serde_json::from_value::<FormSchema>(schema).unwrap(),
            FormSchema::default()
        );
    }
}

#[test]
fn integers_stay_integers() {
    let FieldKind::Number(NumberField {
        integer, default, ..
    }) = field(json!({"type": "integer", "default": 3})).kind
    else {
        panic!("not a number");
    };
    assert!(integer);
    assert_eq!(default.unwrap().to_string(), "3");
}

#[test]
fn a_form_is_read_through_a_buffer_too() {
    #[derive(serde::Deserialize)]
    #[serde(tag = "mode", rename_all = "lowercase")]
    enum Params {
        Form { requested: FormSchema },
    }
    let json = r#"{"requested":{"type":"object","properties":{"b":{"type":"string"},"a":{"type":"number","maximum":1.5}}},"mode":"form"}"#;
    let Params::Form { requested } = serde_json::from_str(json).unwrap();
    assert_eq!(requested.fields[0].name, "b");
}

#[test]
fn what_a_form_cannot_ask_is_refused_with_the_field_and_the_reason() {
    const LIST: &str = "a list can be asked in a form only as a choice of options";
    refused(
        json!({"type": "object", "properties": {}}),
        "an object cannot be asked in a form",
    );
    refused(json!({"type": "array"}), LIST);
    refused(json!({"type": "array", "items": true}), LIST);
    refused(json!({"type": "array", "items": {"type": "string"}}), LIST);
    refused(json!({"type": "array", "items": {"type": "integer"}}), LIST);
    refused(
        json!({"type": "array", "items": {"type": "object"}}),
        "a list of objects cannot be asked in a form",
    );
    refused(
        json!({"type": "null"}),
        "nothing but null can be answered to it",
    );
    refused(json!({"type": "uuid"}), "`uuid` is not a type");
    refused(
        json!({"type": ["string", "null"]}),
        "its `type` must be one name",
    );
    refused(
        json!({"$ref": "#/$defs/Seat"}),
        "a reference (`$ref`) cannot be asked in a form",
    );
    refused(
        json!({"anyOf": [{"type": "string"}, {"type": "null"}]}),
        "it has no `type`",
    );
    for schema in [
        json!(true),
        json!(1),
        json!(-1),
        json!(1.5),
        json!("s"),
        json!(null),
        json!([{}]),
    ] {
        refused(schema, "its schema must be an object");
    }
}

#[test]
fn keywords_of_the_wrong_type_are_refused() {
    refused(
        json!({"type": "string", "title": 1}),
        "`title` must be a text",
    );
    refused(
        json!({"type": "string", "minLength": "1"}),
        "`minLength` must be a number",
    );
    refused(
        json!({"type": "string", "minLength": -1}),
        "`minLength` must be a whole number from 0 on",
    );
    refused(
        json!({"type": "string", "maxLength": 1.5}),
        "`maxLength` must be a whole number from 0 on",
    );
    refused(
        json!({"type": "string", "pattern": {}}),
        "`pattern` must be a text",
    );
    refused(
        json!({"type": "string", "format": "uuid"}),
        "the format `uuid` is none of email, uri, date and date-time",
    );
    refused(
        json!({"type": "string", "default": 1}),
        "its `default` must be a text",
    );
    refused(
        json!({"type": "integer", "default": "7"}),
        "its `default` must be a number",
    );
    refused(
        json!({"type": "number", "minimum": "0"}),
        "`minimum` must be a number",
    );
    refused(
        json!({"type": "boolean", "default": "no"}),
        "its `default` must be true or false",
    );
    refused(
        json!({"type": "string", "enum": "a"}),
        "`enum` must be a list of texts",
    );
    refused(
        json!({"type": "string", "enum": [1]}),
        "`enum` must hold texts only",
    );
    refused(
        json!({"type": "string", "enum": ["a", "b"], "enumNames": ["A"]}),
        "`enumNames` has 1 names for 2 options",
    );
    refused(
        json!({"type": "string", "enum": ["a"], "default": ["a"]}),
        "its `default` must be one of the options",
    );
    refused(
        json!({"type": "string", "oneOf": {}}),
        "its options must be a list",
    );
    refused(
        json!({"type": "string", "oneOf": ["a"]}),
        "each option must have a text as its `const`",
    );
    refused(
        json!({"type": "string", "oneOf": [{"const": 1}]}),
        "each option must have a text as its `const`",
    );
    refused(
        json!({"type": "string", "oneOf": [{"const": "a", "title": 1}]}),
        "the title of option `a` must be a text",
    );
    refused(
        json!({"type": "string", "enum": ["a"], "oneOf": []}),
        "its options are given twice",
    );
    refused(
        json!({"type": "array", "items": {"enum": ["a"]}, "default": "a"}),
        "its `default` must be a list of options",
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
    refused_text(
        r#"{"type":"object","type":"object","properties":{}}"#,
        "the form gives `type` twice",
    );
    refused_text(
        r#"{"type":"object","x":1,"x":2}"#,
        "the form gives `x` twice",
    );
    let twice = r#"{"type":"object","properties":{},"properties":{}}"#;
    assert!(FormSchema::parse(twice.as_bytes(), &FormLimits::default()).is_err());
}

#[test]
fn the_whole_form_is_refused_with_a_reason() {
    refused_text(r#"{"properties":{}}"#, "the form must be of type `object`");
    refused_text(r#"{"type":"array"}"#, "the form must be of type `object`");
    refused_text(
        r#"{"type":"object","properties":{},"required":["x"]}"#,
        "the form requires `x`, which is not one of its fields",
    );
    refused_text(
        r#"{"type":"object","required":"x"}"#,
        "the form has a `required` that is not a list of texts",
    );
    for broken in ["", "{", "[]", "1", r#"{"type":"object","properties":[]}"#] {
        let error = FormSchema::parse(broken.as_bytes(), &FormLimits::default()).unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("the form is not the JSON of a schema: "),
            "{error}"
        );
    }
}

#[test]
fn the_limits_hold() {
    let mut limits = Limits::default();
    limits.forms.fields = 2;
    limits.forms.options = 2;
    limits.forms.bytes = 200;
    let check = |schema: Value, expected: Option<&str>| {
        let read = FormSchema::parse(schema.to_string().as_bytes(), &limits.forms);
        let error = read.err().map(|error| error.to_string());
        assert_eq!(error.as_deref(), expected, "{schema}");
    };
    let text = json!({"type": "string"});
    check(
        json!({"type": "object", "properties": {"a": text, "b": text}}),
        None,
    );
    check(
        json!({"type": "object", "properties": {"a": text, "b": text, "c": text}}),
        Some("the form has more than 2 fields"),
    );
    check(
        json!({"type": "object", "properties": {"a": {"type": "string", "enum": ["1", "2", "3"]}}}),
        Some("field `a`: has more than 2 options"),
    );
    check(
        json!({"type": "object", "title": "t".repeat(200)}),
        Some("the form is longer than 200 bytes"),
    );
}

/// The name, kind and `required` flag of each argument.
fn arguments(schema: &Value) -> Vec<(String, &'static str, bool)> {
    let limits = FormLimits::default();
    let form = FormSchema::parse_arguments(schema.to_string().as_bytes(), &limits).unwrap();
    let shown = form.fields.into_iter().map(|field| {
        let kind = match field.kind {
            FieldKind::Text(_) => "text",
            FieldKind::Number(NumberField { integer: true, .. }) => "integer",
            FieldKind::Choice(_) => "choice",
            FieldKind::Choices(_) => "choices",
            FieldKind::Json(_) => "json",
            _ => "other",
        };
        (field.name, kind, field.required)
    });
    shown.collect()
}

#[test]
fn an_argument_that_is_no_field_of_a_form_is_json() {
    #[track_caller]
    fn check(argument: Value, required: &[&str], kind: &str) {
        let schema = json!({
            "type": "object",
            "properties": {"a": {"type": "string"}, "b": argument},
            "required": required,
        });
        let is_required = required.contains(&"b");
        let expected = [
            ("a".to_owned(), "text", false),
            ("b".to_owned(), kind, is_required),
        ];
        assert_eq!(arguments(&schema), expected, "{schema}");
    }
    let nothing = json!({"type": "null"});
    check(json!({"type": "object", "properties": {}}), &[], "json");
    check(
        json!({"type": "array", "items": {"type": "string"}}),
        &["b"],
        "json",
    );
    check(
        json!({"type": "array", "items": {"type": "string", "enum": ["x"]}}),
        &[],
        "choices",
    );
    check(json!({"$ref": "#/$defs/b"}), &[], "json");
    check(json!(true), &[], "json");
    check(
        json!({"type": "string", "enum": vec!["x"; 1025]}),
        &[],
        "json",
    );
    check(
        json!({"type": "string", "format": "uri-reference"}),
        &[],
        "text",
    );
    // An optional argument need not be nullable.
    check(
        json!({"type": ["integer", "null"], "default": null}),
        &[],
        "integer",
    );
    check(json!({"type": ["string", "integer"]}), &[], "json");
    check(
        json!({"anyOf": [{"type": "string"}, nothing], "title": "B"}),
        &[],
        "text",
    );
    check(json!({"anyOf": [nothing, {"type": "object"}]}), &[], "json");
    check(
        json!({"anyOf": [{"type": "string"}, nothing]}),
        &["b"],
        "json",
    );
    let undescribed = json!({"type": "object", "required": ["x"]});
    assert_eq!(arguments(&undescribed), [("x".to_owned(), "json", true)]);
    // Server forms are not affected.
    refused(
        json!({"type": ["string", "null"]}),
        "its `type` must be one name",
    );
}

#[test]
fn references_are_replaced_by_their_definitions() {
    /// Checks how an argument is read: its kind, and its schema if it is a JSON field.
    #[track_caller]
    fn check(argument: &Value, kind: &str, schema: Option<Value>) {
        let whole = json!({
            "type": "object",
            "properties": {"a": argument},
            "$defs": {
                "Kind": {"type": "string", "enum": ["pie", "soup"], "title": "Kind"},
                "Item": {"type": "object", "properties": {"kind": {"$ref": "#/$defs/Kind"}}},
                "Loop": {"type": "object", "properties": {"next": {"$ref": "#/$defs/Loop"}}},
                "Many": {"enum": vec![1; 2000]},
            },
            "definitions": {"Old": {"type": "integer"}},
        });
        assert_eq!(arguments(&whole)[0].1, kind, "{argument}");
        let limits = FormLimits::default();
        let form = FormSchema::parse_arguments(whole.to_string().as_bytes(), &limits).unwrap();
        if let (FieldKind::Json(json), Some(schema)) = (&form.fields[0].kind, schema) {
            assert_eq!(Value::Object(json.schema.clone()), schema, "{argument}");
        }
    }
    let refer = |name: &str| json!({"$ref": name});
    check(&refer("#/$defs/Kind"), "choice", None);
    check(&refer("#/definitions/Old"), "integer", None);
    let kind = json!({"type": "string", "enum": ["pie", "soup"]});
    let item = json!({"type": "object", "properties": {"kind": kind}});
    check(
        &json!({"type": "array", "items": {"$ref": "#/$defs/Item"}}),
        "json",
        Some(json!({"type": "array", "items": item})),
    );
    // Keywords next to a reference count.
    check(
        &json!({"$ref": "#/$defs/Item", "default": {}}),
        "json",
        Some(json!({"type": "object", "default": {}, "properties": {"kind": kind}})),
    );
    let mut round = refer("#/$defs/Loop");
    for _ in 0..8 {
        round = json!({"type": "object", "properties": {"next": round}});
    }
    check(&refer("#/$defs/Loop"), "json", Some(round));
    for elsewhere in ["#/$defs/Absent", "https://a.example/", "#", "#/$defs/Many"] {
        check(&refer(elsewhere), "json", Some(refer(elsewhere)));
    }
}

#[test]
fn members_come_in_the_order_of_their_names() {
    /// The names of the fields, each with the names of its parent objects.
    fn names(json: &JsonField, object: &Content, limits: &FormLimits) -> Vec<String> {
        let fields = json.members(object, limits).unwrap().into_iter();
        let names = fields.flat_map(|field| match &field.kind {
            FieldKind::Json(inner) if inner.schema.contains_key("properties") => {
                let inside = names(inner, &inner.schema, limits).into_iter();
                inside
                    .map(|name| format!("{}.{name}", field.name))
                    .collect()
            }
            _ => vec![field.name],
        });
        names.collect()
    }
    #[track_caller]
    fn check(schema: &str, expected: &str) {
        let limits = FormLimits::default();
        let form = FormSchema::parse_arguments(schema.as_bytes(), &limits).unwrap();
        let FieldKind::Json(json) = &form.fields[0].kind else {
            panic!("{schema} has no object");
        };
        assert_eq!(names(json, &json.schema, &limits).join(" "), expected);
    }
    check(
        r#"{"type": "object", "properties": {"from": {"type": "object", "properties": {
            "zip": {"type": "string"}, "town": {"type": "string"}, "area": {"type": "string"}
        }}}}"#,
        "area town zip",
    );
    // Required but undescribed arguments come last.
    check(
        r##"{"type": "object", "properties": {"from": {"$ref": "#/$defs/Address"}}, "$defs": {
            "Address": {"type": "object", "required": ["age"], "properties": {
                "zip": {"type": "string"}, "at": {"$ref": "#/$defs/Place"}
            }},
            "Place": {"type": "object", "properties": {"long": {"type": "number"}, "lat": {"type": "number"}}}
        }}"##,
        "at.lat at.long zip age",
    );
}

#[test]
fn a_form_that_comes_may_be_as_long_as_arguments() {
    let most = FormLimits::default().schema_bytes;
    let form = |value: Value| json!({"type": "object", "properties": {"f": value}});
    let check = |schema: Value, is_read: bool| {
        let read = serde_json::from_value::<FormSchema>(schema);
        let error = read.err().map(|error| error.to_string());
        let expected = (!is_read).then(|| format!("the form is longer than {most} bytes"));
        assert_eq!(error, expected);
    };
    let said = |length| form(json!({"type": "string", "description": "a".repeat(length)}));
    check(said(most - 100), true);
    check(said(most), false);
    let listed = |count| form(json!({"type": "string", "enum": vec!["a"; count]}));
    check(listed(most / 4), true);
    check(listed(most / 3), false);
    let deep = |length| form(json!({"type": "object", "properties": {"a".repeat(length): {}}}));
    check(deep(most - 100), true);
    check(deep(most), false);
}

/// Some schema generators write null for absent keywords, at the root and in a field.
#[test]
fn a_keyword_that_is_null_is_absent() {
    let whole = json!({
        "type": "object",
        "properties": {
            "text": {"type": "string", "title": "T", "description": "D", "format": "email",
                     "minLength": 1, "maxLength": 9, "pattern": "x", "default": "x"},
            "number": {"type": "number", "minimum": 1, "maximum": 9, "default": 2},
            "choice": {"type": "string", "oneOf": [{"const": "a", "title": "A"}], "default": "a"},
            "choices": {"type": "array", "items": {"type": "string", "enum": ["a"]},
                        "minItems": 0, "maxItems": 1, "default": ["a"]},
        },
        "required": ["text"],
    });
    let read = |schema: &serde_json::Value| {
        let read = FormSchema::parse(schema.to_string().as_bytes(), &FormLimits::default());
        read.map(|form| (form.fields, form.annotations))
    };
    for place in [
        "",
        "/properties/text",
        "/properties/number",
        "/properties/choice",
        "/properties/choices",
        "/properties/choices/items",
        "/properties/choice/oneOf/0",
    ] {
        let object = whole.pointer(place).and_then(serde_json::Value::as_object);
        for keyword in object.expect("an object").keys() {
            let at = |schema: &mut serde_json::Value, value: Option<serde_json::Value>| {
                let object = schema
                    .pointer_mut(place)
                    .and_then(serde_json::Value::as_object_mut);
                let object = object.expect("an object");
                match value {
                    Some(value) => object.insert(keyword.clone(), value),
                    None => object.remove(keyword),
                };
            };
            let (mut null, mut absent) = (whole.clone(), whole.clone());
            at(&mut null, Some(json!(null)));
            at(&mut absent, None);
            assert_eq!(read(&null), read(&absent), "{keyword} at {place:?}");
        }
    }
}
