//! Answers checked against their form.

use askback_core::{
    forms::Field,
    limits::{FormLimits, Limits},
};
use serde_json::{Value, json};

use super::{content, field, form, form_of, optional};

/// Checks one value of a field against the expected error, if any.
#[track_caller]
fn check(field: &Field, value: Value, expected: Option<&str>) {
    let issue = field.check(&value, &FormLimits::default()).err();
    let message = issue.as_ref().map(|issue| issue.message.as_str());
    assert_eq!(message, expected, "{value} for {field:?}");
    assert!(issue.is_none_or(|issue| issue.path == "f"));
}

#[track_caller]
fn check_all(schema: Value, cases: &[(Value, Option<&str>)]) {
    let field = field(schema);
    for (value, expected) in cases {
        check(&field, value.clone(), *expected);
    }
}

#[test]
fn a_text() {
    check_all(
        json!({"type": "string", "minLength": 2, "maxLength": 4}),
        &[
            (json!("ab"), None),
            (json!("abcd"), None),
            (json!(""), Some("must not be empty")),
            (json!("a"), Some("needs 1 more character")),
            (json!("abcde"), Some("is 1 character too long")),
            (json!("abcdefg"), Some("is 3 characters too long")),
            (json!(12), Some("must be a text")),
            (json!(["ab"]), Some("must be a text")),
            // Lengths are in scalar values, not in bytes or grapheme clusters.
            (json!("äöüß"), None),
            (json!("👩‍👩‍👧"), Some("is 1 character too long")),
        ],
    );
    check(
        &field(json!({"type": "string", "minLength": 3})),
        json!("a"),
        Some("needs 2 more characters"),
    );
    check(
        &field(json!({"type": "string", "minLength": 0})),
        json!(""),
        None,
    );
}

#[test]
fn a_mail_address() {
    const WANTED: Option<&str> = Some("must be a mail address such as ada@example.com");
    let field = field(json!({"type": "string", "format": "email"}));
    for good in [
        "ada@example.com",
        "a.b+c@x-y.example",
        "o'neil@localhost",
        "a@1.2",
        "A_B@EXAMPLE.ORG",
    ] {
        check(&field, json!(good), None);
    }
    let long = format!("{}@example.com", "a".repeat(65));
    for bad in [
        "",
        "ada",
        "@",
        "ada@",
        "@example.com",
        "ada@@example.com",
        "ada@example..com",
        "a b@c.de",
        "a..b@c.de",
        ".a@c.de",
        "a.@c.de",
        "ada@-a.de",
        "ada@a-.de",
        "ada@exämple.com",
        "Ada <ada@example.com>",
        "ada@example.com ",
        "ada@example.com\n",
        &long,
    ] {
        check(&field, json!(bad), WANTED);
    }
}

#[test]
fn an_address() {
    const WANTED: Option<&str> = Some("must be an address such as https://example.com/page");
    let field = field(json!({"type": "string", "format": "uri"}));
    for good in [
        "https://example.com/a?b#c",
        "urn:isbn:0451450523",
        "mailto:ada@example.com",
        "http://[::1]:80/",
        "file:///tmp",
        "x:",
    ] {
        check(&field, json!(good), None);
    }
    for bad in [
        "",
        "example.com",
        "//example.com",
        "/a",
        "https://exa mple.com",
        "http://a/%zz",
        "http://[::1",
        "1a:b",
        "https://ex\u{e4}mple.com",
    ] {
        check(&field, json!(bad), WANTED);
    }
}

#[test]
fn a_date() {
    const WANTED: Option<&str> = Some("must be a date such as 2026-06-15");
    let field = field(json!({"type": "string", "format": "date"}));
    for good in ["2026-06-15", "2024-02-29", "0001-01-01", "9999-12-31"] {
        check(&field, json!(good), None);
    }
    for bad in [
        "",
        "2026-6-15",
        "20260615",
        "2026-02-29",
        "2026-13-01",
        "2026-00-10",
        "2026-06-31",
        "2026-06-15T00:00:00Z",
        "15.06.2026",
        "+002026-06-15",
        "2026\u{2010}06-15",
        " 2026-06-15",
    ] {
        check(&field, json!(bad), WANTED);
    }
}

#[test]
fn a_date_and_time() {
    const WANTED: Option<&str> = Some("must be a date and time such as 2026-06-15T09:30:00Z");
    let field = field(json!({"type": "string", "format": "date-time"}));
    for good in [
        "2026-06-15T09:30:00Z",
        "2026-06-15t09:30:00z",
        "2026-06-15T09:30:00.123456789012+02:00",
        "2026-06-15T09:30:00-23:59",
        "2016-12-31T23:59:60Z",
        "2017-01-01T01:59:60+02:00",
        "9999-12-31T23:59:59Z",
    ] {
        check(&field, json!(good), None);
    }
    for bad in [
        "",
        "2026-06-15",
        "2026-06-15 09:30:00Z",
        "2026-06-15T09:30Z",
        "2026-06-15T09:30:00",
        "2026-06-15T24:00:00Z",
        "2026-06-15T09:60:00Z",
        "2026-06-15T09:30:61Z",
        "2026-06-15T09:30:60Z",
        "2026-06-15T09:30:00.Z",
        "2026-06-15T09:30:00+0200",
        "2026-06-15T09:30:00+24:00",
        "2026-06-15T09:30:00+02:60",
        "2026-06-15T09:30:00Z[UTC]",
        "2026-02-30T09:30:00Z",
        "2026-06-15T09:30:00ZZ",
        "2026-06-15T09:30:00\u{e4}",
        "2026-06-1\u{e4}T09:30:00Z",
    ] {
        check(&field, json!(bad), WANTED);
    }
}

#[test]
fn a_pattern() {
    check_all(
        json!({"type": "string", "pattern": "^[A-Z]{3}$"}),
        &[
            (json!("TRV"), None),
            (json!("trv"), Some("must match the pattern ^[A-Z]{3}$")),
            (json!("TRV\n"), Some("must match the pattern ^[A-Z]{3}$")),
        ],
    );
    // Without anchors the pattern may match anywhere.
    check(
        &field(json!({"type": "string", "pattern": "b"})),
        json!("abc"),
        None,
    );
    // A pattern that needs backtracking is not checked here.
    check(
        &field(json!({"type": "string", "pattern": r"(a)\1"})),
        json!("b"),
        None,
    );
}

#[test]
fn a_number() {
    check_all(
        json!({"type": "number", "minimum": 0.5, "maximum": 10}),
        &[
            (json!(0.5), None),
            (json!(10), None),
            (json!(10.0), None),
            (json!(0.4), Some("must be at least 0.5")),
            (json!(0), Some("must be at least 0.5")),
            (json!(10.000001), Some("must be at most 10")),
            (json!("5"), Some("must be a number")),
            (json!(true), Some("must be a number")),
        ],
    );
}

#[test]
fn a_whole_number() {
    check_all(
        json!({"type": "integer", "minimum": 18, "maximum": 30}),
        &[
            (json!(18), None),
            (json!(18.0), None),
            (json!(17), Some("must be at least 18")),
            (json!(17.0), Some("must be at least 18")),
            (json!(31), Some("must be at most 30")),
            (json!(18.5), Some("must be a whole number")),
            (json!("18"), Some("must be a whole number")),
        ],
    );
}

#[test]
fn numbers_beyond_doubles_are_compared_exactly() {
    const EXACT: u64 = 1 << 53;
    let field = field(json!({"type": "integer", "maximum": EXACT}));
    check(&field, json!(EXACT), None);
    check(
        &field,
        json!(EXACT + 1),
        Some("must be at most 9007199254740992"),
    );
    let field = super::field(json!({"type": "integer", "minimum": i64::MIN, "maximum": u64::MAX}));
    check(&field, json!(u64::MAX), None);
    check(&field, json!(i64::MIN), None);
    check(
        &field,
        json!(1.8446744073709552e19),
        Some("must be at most 18446744073709551615"),
    );
    check(
        &field,
        json!(-1e300),
        Some("must be at least -9223372036854775808"),
    );
    let field = super::field(json!({"type": "number", "minimum": -2.5}));
    check(&field, json!(-3), Some("must be at least -2.5"));
    check(&field, json!(-2), None);
    let field = super::field(json!({"type": "number", "minimum": 0}));
    check(&field, json!(-0.0), None);
}

#[test]
fn a_yes_or_no() {
    check_all(
        json!({"type": "boolean"}),
        &[
            (json!(true), None),
            (json!(false), None),
            (json!("true"), Some("must be yes or no")),
            (json!(1), Some("must be yes or no")),
        ],
    );
}

#[test]
fn a_choice() {
    const WANTED: Option<&str> = Some("must be one of window, aisle");
    for schema in [
        json!({"type": "string", "enum": ["window", "aisle"]}),
        json!({"type": "string", "enum": ["window", "aisle"], "enumNames": ["Window", "Aisle"]}),
        json!({"type": "string", "oneOf": [{"const": "window", "title": "Window"},
            {"const": "aisle", "title": "Aisle"}]}),
    ] {
        check_all(
            schema,
            &[
                (json!("aisle"), None),
                (json!("Aisle"), WANTED),
                (json!(""), WANTED),
                (json!(["aisle"]), WANTED),
            ],
        );
    }
    let many: Vec<_> = (0..30).map(|n| n.to_string()).collect();
    check(
        &field(json!({"type": "string", "enum": many})),
        json!("30"),
        Some("must be one of 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, …"),
    );
}

#[test]
fn a_choice_of_several() {
    check_all(
        json!({"type": "array", "items": {"type": "string", "enum": ["a", "b", "c"]},
            "minItems": 1, "maxItems": 2}),
        &[
            (json!(["a"]), None),
            (json!(["c", "a"]), None),
            (json!([]), Some("choose at least 1")),
            (json!(["a", "b", "c"]), Some("choose at most 2")),
            (json!(["a", "x"]), Some("choose from a, b, c")),
            (json!(["a", 1]), Some("choose from a, b, c")),
            (json!(["a", "a"]), Some("has `a` twice")),
            (json!("a"), Some("must be a list of options")),
        ],
    );
    let unbounded = field(json!({"type": "array", "items": {"enum": ["a", "b"]}}));
    check(&unbounded, json!([]), None);
    check(&unbounded, json!(["a", "b", "a"]), Some("choose at most 2"));
}

#[test]
fn a_whole_answer() {
    let form = form_of([
        Field {
            name: "name".into(),
            ..field(json!({"type": "string", "minLength": 1}))
        },
        Field {
            name: "age".into(),
            ..optional(json!({"type": "integer", "minimum": 18}))
        },
    ]);
    let check = |value: Value, expected: &[&str]| {
        let issues = form
            .check(&content(value.clone()), &FormLimits::default())
            .err();
        let issues: Vec<_> = issues
            .iter()
            .flat_map(|issues| &issues.0)
            .map(ToString::to_string)
            .collect();
        assert_eq!(issues, expected, "{value}");
    };
    check(json!({"name": "Ada"}), &[]);
    check(json!({"name": "Ada", "age": 36}), &[]);
    check(json!({"name": "Ada", "age": null}), &[]);
    check(json!({}), &["`name`: must be given"]);
    check(json!({"name": null}), &["`name`: must be given"]);
    check(
        json!({"name": "", "age": 3}),
        &["`name`: must not be empty", "`age`: must be at least 18"],
    );
    check(
        json!({"name": "Ada", "nick": "x"}),
        &["`nick`: is not known"],
    );
}

#[test]
fn a_long_answer_is_refused_and_many_unknown_names_are_not_all_told() {
    let limits = Limits::default();
    let field = field(json!({"type": "string"}));
    let fits = "x".repeat(limits.forms.answer_bytes);
    field.check(&json!(fits), &limits.forms).unwrap();
    let issue = field.check(&json!(fits + "x"), &limits.forms).unwrap_err();
    assert_eq!(issue.message, "is longer than 65536 bytes");

    let many = (0..1000).map(|n| (n.to_string(), json!(1))).collect();
    let issues = form(json!({})).check(&many, &limits.forms).unwrap_err();
    assert_eq!(issues.0.len(), limits.forms.fields);
}

#[test]
fn defaults_fill_what_is_not_given() {
    let form = form_of([
        Field {
            name: "nights".into(),
            ..optional(json!({"type": "integer", "default": 7}))
        },
        Field {
            name: "note".into(),
            ..optional(json!({"type": "string"}))
        },
        Field {
            name: "seat".into(),
            ..optional(json!({"type": "string", "enum": ["a", "b"], "default": "b"}))
        },
        Field {
            name: "extras".into(),
            ..optional(json!({"type": "array", "items": {"enum": ["a"]}, "default": ["a"]}))
        },
        Field {
            name: "insured".into(),
            ..optional(json!({"type": "boolean", "default": false}))
        },
    ]);
    let check = |given: Value, expected: Value| {
        assert_eq!(form.with_defaults(content(given)), content(expected));
    };
    check(
        json!({}),
        json!({"nights": 7, "seat": "b", "extras": ["a"], "insured": false}),
    );
    check(
        json!({"nights": null, "note": null, "seat": "a", "extras": [], "insured": true}),
        json!({"nights": 7, "seat": "a", "extras": [], "insured": true}),
    );
}
