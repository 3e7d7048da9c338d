//! Arguments in headers.

use std::cell::RefCell;

use askback_core::{
    http::{
        Mismatch,
        params::{BadReason, HeaderAnnotations},
    },
    protocol::{RawObject, Schema},
};
use serde_json::{Value, json};

fn schema(schema: &Value) -> Schema {
    Schema::new(schema).expect("an object")
}

fn arguments(arguments: &str) -> RawObject {
    RawObject::from_text(arguments.into()).expect("an object")
}

/// The annotations of a schema with these properties.
fn tool(properties: Value) -> HeaderAnnotations {
    let schema = schema(&json!({"type": "object", "properties": properties}));
    HeaderAnnotations::of(&schema).expect("good annotations")
}

fn sample() -> HeaderAnnotations {
    tool(json!({
        "region": {"type": "string", "x-mcp-header": "Region"},
        "count": {"type": "integer", "x-mcp-header": "Count"},
        "flag": {"type": ["null", "boolean"], "x-mcp-header": "X-Flag"},
        "where": {"type": "object", "properties": {
            "city": {"type": "string", "x-mcp-header": "city"}}},
        "query": {"type": "string"},
    }))
}

// Shows HT-30, HT-31, HT-32, HT-33, HT-34, TO-19, TO-20, TO-21, TO-22, TO-23.
#[test]
fn annotations_are_found_or_refused() {
    #[track_caller]
    fn check(given: Value, expected: Result<&[&str], (&str, BadReason)>) {
        let found = HeaderAnnotations::of(&schema(&given));
        let names = found.as_ref().map(|found| {
            // A check looks for each header.
            let names = RefCell::new(Vec::new());
            let find = |name: &str| {
                names.borrow_mut().push(name.to_owned());
                None::<&[u8]>
            };
            found.check(find, None).expect("nothing is repeated");
            names.into_inner()
        });
        let names = names.map_err(|bad| (bad.place.as_str(), bad.reason));
        let expected = expected.map(|names| names.iter().map(ToString::to_string).collect());
        assert_eq!(names, expected, "{given}");
    }
    // One property with one annotation.
    #[track_caller]
    fn check_one(kind: Value, name: Value, expected: Result<&[&str], BadReason>) {
        let given = json!({"properties": {"a": {"type": kind, "x-mcp-header": name}}});
        check(given, expected.map_err(|reason| ("/properties/a", reason)));
    }

    check(json!({"type": "object"}), Ok(&[]));
    check_one(json!("string"), json!("Region"), Ok(&["mcp-param-region"]));
    check_one(json!("string"), json!("Method"), Ok(&["mcp-param-method"]));
    check_one(
        json!("string"),
        json!("!#$%&'*+-.^_`|~9"),
        Ok(&["mcp-param-!#$%&'*+-.^_`|~9"]),
    );
    for name in [
        "",
        "My Region",
        "Region:Primary",
        "Région",
        "Region\t1",
        "a\r\nb",
        "a\0",
        "a/b",
    ] {
        check_one(json!("string"), json!(name), Err(BadReason::Name));
    }
    for name in [json!(null), json!(1), json!(true), json!({}), json!(["a"])] {
        check_one(json!("string"), name, Err(BadReason::Name));
    }
    for kind in ["string", "integer", "boolean"] {
        check_one(json!(kind), json!("a"), Ok(&["mcp-param-a"]));
        check_one(json!([kind, "null"]), json!("a"), Ok(&["mcp-param-a"]));
    }
    for kind in [
        json!("number"),
        json!("object"),
        json!("array"),
        json!("null"),
        json!(["null"]),
        json!([]),
        json!(["string", "integer"]),
        json!(["number", "null"]),
        json!(7),
    ] {
        check_one(kind, json!("a"), Err(BadReason::Type));
    }
    check(
        json!({"properties": {"a": {"enum": ["x"], "x-mcp-header": "a"}}}),
        Err(("/properties/a", BadReason::Type)),
    );
    let one = json!({"type": "string", "x-mcp-header": "Region"});
    let other = json!({"type": "string", "x-mcp-header": "REGION"});
    for twin in [&one, &other] {
        check(
            json!({"properties": {"a": one, "b": twin}}),
            Err(("/properties/b", BadReason::Repeated)),
        );
        check(
            json!({"properties": {"a": {"properties": {"x/y": one}}, "b": twin}}),
            Err(("/properties/b", BadReason::Repeated)),
        );
    }
    check(
        json!({"properties": {"a": {"type": "object", "properties": {"b": one}}}}),
        Ok(&["mcp-param-region"]),
    );
}

// Shows HT-35, TO-25.
#[test]
fn annotations_stand_where_they_can_be_reached() {
    let one = json!({"type": "string", "x-mcp-header": "a"});
    for (given, place) in [
        (json!({"x-mcp-header": "a"}), "/"),
        (
            json!({"properties": {"l": {"type": "array", "items": one}}}),
            "/properties/l/items",
        ),
        (
            json!({"properties": {"l": {"prefixItems": [one]}}}),
            "/properties/l/prefixItems/0",
        ),
        (
            json!({"properties": {"l": {"items": {"properties": {"b": one}}}}}),
            "/properties/l/items/properties/b",
        ),
        (
            json!({"oneOf": [{"properties": {"b": one}}]}),
            "/oneOf/0/properties/b",
        ),
        (json!({"anyOf": [one]}), "/anyOf/0"),
        (
            json!({"allOf": [{}, {"properties": {"b": one}}]}),
            "/allOf/1/properties/b",
        ),
        (json!({"not": one}), "/not"),
        (json!({"if": one}), "/if"),
        (
            json!({"then": {"properties": {"b": one}}}),
            "/then/properties/b",
        ),
        (
            json!({"else": {"properties": {"b": one}}}),
            "/else/properties/b",
        ),
        (json!({"$defs": {"b": one}}), "/$defs/b"),
        (
            json!({"$defs": {"x-mcp-header": one}}),
            "/$defs/x-mcp-header",
        ),
        (
            json!({"additionalProperties": one}),
            "/additionalProperties",
        ),
        (
            json!({"patternProperties": {"^a/b~": one}}),
            "/patternProperties/^a~1b~0",
        ),
        (
            json!({"dependentSchemas": {"a": {"properties": {"b": one}}}}),
            "/dependentSchemas/a/properties/b",
        ),
        (json!({"x-other": {"deep": [one]}}), "/x-other/deep/0"),
        (
            json!({"properties": {"a": {"type": "string", "x-mcp-header": "a", "not": one}}}),
            "/properties/a/not",
        ),
    ] {
        let bad = HeaderAnnotations::of(&schema(&given)).expect_err(place);
        assert_eq!(
            (bad.place.as_str(), bad.reason),
            (place, BadReason::Place),
            "{given}"
        );
    }
    // Here `x-mcp-header` is a name or data, not an annotation.
    for given in [
        json!({"properties": {"x-mcp-header": {"type": "string"}}}),
        json!({"$defs": {"x-mcp-header": {"type": "string"}}}),
        json!({"required": ["x-mcp-header"], "default": one, "examples": [one]}),
        json!({"properties": {"a": {"const": one, "enum": [one]}, "b": true}}),
    ] {
        let found = HeaderAnnotations::of(&schema(&given));
        assert!(found.is_ok_and(|found| found.is_empty()), "{given}");
    }
    // An escape does not hide an annotation.
    let hidden = r#"{"anyOf": [{"x-mcp-heade\u0072": "a"}]}"#;
    assert!(HeaderAnnotations::of(&Schema::from_text(hidden.into()).unwrap()).is_err());
    // A schema that is too deep is rejected only if it may contain an annotation.
    let deep = |inner: &str| format!("{}{inner}{}", r#"{"not":"#.repeat(200), "}".repeat(200));
    for (inner, fine) in [("{}", true), (r#"{"x-mcp-header": "a"}"#, false)] {
        let found = HeaderAnnotations::of(&Schema::from_text(deep(inner)).unwrap());
        assert_eq!(found.is_ok(), fine);
    }
    let bad = HeaderAnnotations::of(&schema(&json!({"not": one}))).expect_err("not reachable");
    assert_eq!(
        bad.to_string(),
        "the x-mcp-header annotation of /not is not on a property reached through `properties` alone"
    );
}

// Shows HT-34, HT-39, HT-48, HT-49, HT-50, HT-56, HT-57, HT-58, TO-24.
#[test]
fn a_client_mirrors_its_arguments() {
    #[track_caller]
    fn check(given: &str, expected: &[(&str, &str)]) {
        let given = arguments(given);
        let headers = sample().headers(Some(&given));
        let mut headers: Vec<_> = headers
            .iter()
            .map(|(name, value)| (&**name, &**value))
            .collect();
        headers.sort_unstable();
        assert_eq!(headers, expected, "{given:?}");
    }
    check("{}", &[]);
    check(
        r#"{"region": "us-west1", "query": "q", "count": 42, "flag": false, "where": {"city": "", "zip": 1}}"#,
        &[
            ("mcp-param-city", ""),
            ("mcp-param-count", "42"),
            ("mcp-param-region", "us-west1"),
            ("mcp-param-x-flag", "false"),
        ],
    );
    check(r#"{"region": null, "flag": null, "where": null}"#, &[]);
    check(r#"{"where": [{"city": "Rome"}]}"#, &[]);
    check(
        r#"{"where": {"where": {"city": "Rome"}}, "city": "Rome"}"#,
        &[],
    );
    check(
        r#"{"region": " a\r\nHost: b"}"#,
        &[("mcp-param-region", "=?base64?IGENCkhvc3Q6IGI=?=")],
    );
    check(
        r#"{"region": 5, "count": "5"}"#,
        &[("mcp-param-count", "5"), ("mcp-param-region", "5")],
    );
    for (number, header) in [
        ("-7", Some("-7")),
        ("42.0", Some("42")),
        ("-0", Some("0")),
        ("9007199254740991", Some("9007199254740991")),
        ("-9007199254740991", Some("-9007199254740991")),
        ("9007199254740992", None),
        ("-9007199254740992", None),
        ("18446744073709551615", None),
        ("1e300", None),
        ("1e999", None),
        ("3.5", None),
        ("[42]", None),
        ("{}", None),
    ] {
        let expected: Vec<_> = header
            .iter()
            .map(|header| ("mcp-param-count", *header))
            .collect();
        check(&format!(r#"{{"count": {number}}}"#), &expected);
    }
    assert_eq!(sample().headers(None), []);
}

#[track_caller]
fn check(headers: &[(&str, &str)], given: &str, expected: Result<(), Mismatch>) {
    let given = arguments(given);
    let find = |name: &str| {
        let found = headers.iter().filter(move |(known, _)| *known == name);
        found.map(|(_, value)| value.as_bytes()).collect::<Vec<_>>()
    };
    assert_eq!(sample().check(find, Some(&given)), expected, "{given:?}");
}

// Shows HT-54, HT-56, HT-57, HT-58, HT-59.
#[test]
fn a_server_compares_headers_and_arguments() {
    let region = "mcp-param-region";
    let missing = |name: &'static str| Err(Mismatch::Missing(name.into()));
    let unexpected = |name: &'static str| Err(Mismatch::Unexpected(name.into()));
    check(&[], "{}", Ok(()));
    check(&[], r#"{"region": null, "query": "q"}"#, Ok(()));
    check(&[], r#"{"region": "us"}"#, missing(region));
    check(&[], r#"{"where": {"city": ""}}"#, missing("mcp-param-city"));
    check(&[(region, "")], "{}", unexpected(region));
    check(&[(region, "us")], r#"{"region": null}"#, unexpected(region));
    check(
        &[(region, "us")],
        r#"{"where": {"region": "us"}}"#,
        unexpected(region),
    );
    check(&[(region, "us")], r#"{"region": "us"}"#, Ok(()));
    check(&[(region, " us ")], r#"{"region": "us"}"#, Ok(()));
    check(&[(region, "")], r#"{"region": ""}"#, Ok(()));
    check(
        &[(region, "=?base64?dXM=?=")],
        r#"{"region": "us"}"#,
        Ok(()),
    );
    check(
        &[(region, "=?base64?w6k=?=")],
        r#"{"region": "\u00e9"}"#,
        Ok(()),
    );
    check(
        &[(region, "US")],
        r#"{"region": "us"}"#,
        Err(Mismatch::Differs(region.into())),
    );
    check(
        &[(region, "é")],
        r#"{"region": "é"}"#,
        Err(Mismatch::Invalid(region.into())),
    );
    check(
        &[(region, "=?base64?dXM?=")],
        r#"{"region": "us"}"#,
        Err(Mismatch::Invalid(region.into())),
    );
    check(
        &[(region, "us"), (region, "us")],
        r#"{"region": "us"}"#,
        Err(Mismatch::Repeated(region.into())),
    );
    // Other headers are ignored.
    check(&[("mcp-param-other", "é")], "{}", Ok(()));
    check(&[("mcp-param-x-flag", "true")], r#"{"flag": true}"#, Ok(()));
    for flag in ["True", "1", "false", ""] {
        let differs = Err(Mismatch::Differs("mcp-param-x-flag".into()));
        check(&[("mcp-param-x-flag", flag)], r#"{"flag": true}"#, differs);
    }
    assert_eq!(sample().check(|_| None, None), Ok(()));
    assert_eq!(
        sample().check(|_| Some(&b"x"[..]), None),
        unexpected("mcp-param-count")
    );
}

// Shows HT-62.
#[test]
fn whole_numbers_are_compared_as_numbers() {
    let count = "mcp-param-count";
    for (header, body) in [
        ("42", "42"),
        ("42.0", "42"),
        ("42.000", "42"),
        ("42", "42.0"),
        ("42", "4.2e1"),
        ("-7", "-7"),
        ("0", "-0"),
        ("-0", "0"),
        ("9007199254740991", "9007199254740991"),
    ] {
        check(
            &[(count, header)],
            &format!(r#"{{"count": {body}}}"#),
            Ok(()),
        );
    }
    for header in [
        "43",
        "42.5",
        "42.00000000000000000001",
        "+42",
        "42.",
        "4.2e1",
        "0x2a",
        "",
        "4 2",
        "\u{fe}42",
    ] {
        let outcome = match header.is_ascii() {
            true => Mismatch::Differs(count.into()),
            false => Mismatch::Invalid(count.into()),
        };
        check(&[(count, header)], r#"{"count": 42}"#, Err(outcome));
    }
    // A string is compared as text.
    check(
        &[(count, "42.0")],
        r#"{"count": "42"}"#,
        Err(Mismatch::Differs(count.into())),
    );
}

// Shows TO-24.
#[test]
fn what_cannot_be_mirrored_is_refused() {
    let count = "mcp-param-count";
    for body in ["9007199254740992", "3.5", "[42]", "{}", "-9007199254740993"] {
        let unfit = || Err(Mismatch::Unfit(count.into()));
        let given = format!(r#"{{"count": {body}}}"#);
        check(&[(count, body)], &given, unfit());
        check(&[], &given, unfit());
    }
    check(
        &[(count, "1")],
        r#"{"count": 1, "count": 1}"#,
        Err(Mismatch::Unfit(count.into())),
    );
    for given in [r#"{"count": 1e999}"#, r#"{"a": "x", "\ud800": 1}"#] {
        check(&[], given, Err(Mismatch::Unreadable));
    }
    // Other arguments are skipped.
    let deep = format!(r#"{{"query": {}1{}}}"#, "[".repeat(2000), "]".repeat(2000));
    check(&[], &deep, Ok(()));
    check(&[], r#"{"query": 1e999, "other": "\ud800"}"#, Ok(()));
}
