//! JSON written by other programs.

use askback_core::json::{self, document, explain, parse, reworded};
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Members {
    text: Option<String>,
    #[serde(deserialize_with = "json::seconds")]
    seconds: Option<u64>,
    #[serde(deserialize_with = "json::texts")]
    texts: Vec<String>,
    #[serde(deserialize_with = "json::flag")]
    flag: bool,
    kind: Option<Kind>,
    port: Option<u16>,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Big,
    Small,
}

#[test]
fn null_and_empty_count_as_absent() {
    for name in ["text", "seconds", "texts", "flag", "kind", "port"] {
        for value in [json!(null), json!("")] {
            let read = document(json!({name: value}));
            assert_eq!(read, Ok(Members::default()), "{name}: {value}");
        }
    }
}

#[test]
fn values_are_read_as_issuers_write_them() {
    #[track_caller]
    fn check(json: serde_json::Value, expected: Members) {
        assert_eq!(document(json), Ok(expected));
    }
    for (written, seconds) in [
        (json!(0), Some(0)),
        (json!(0.0), Some(0)),
        (json!("0"), Some(0)),
        (json!("3600"), Some(3600)),
        (json!(1_700_000_000.5), Some(1_700_000_000)),
        (json!(1e300), Some(u64::MAX)),
        (json!(-1), None),
        (json!("soon"), None),
        (json!([1]), None),
    ] {
        let expected = Members {
            seconds,
            ..Members::default()
        };
        check(json!({"seconds": written}), expected);
    }
    for written in [json!(["a", "b"]), json!("a  b"), json!(["a", null, 1, "b"])] {
        let texts = ["a", "b"].map(str::to_owned).to_vec();
        let expected = Members {
            texts,
            ..Members::default()
        };
        check(json!({"texts": written}), expected);
    }
    for (written, flag) in [
        (json!(true), true),
        (json!("true"), true),
        (json!("false"), false),
    ] {
        let expected = Members {
            flag,
            ..Members::default()
        };
        check(json!({"flag": written}), expected);
    }
}

#[test]
fn errors_are_in_our_words_and_hold_no_value() {
    #[track_caller]
    fn check(written: &str, expected: &str) {
        let read = parse(written.as_bytes()).and_then(document::<Members>);
        assert_eq!(read, Err(expected.to_owned()));
    }
    check("[]", "it is not a JSON object");
    check("{", "it is not JSON: it ends too early");
    check("hidden", "it is not JSON");
    check("{\n\nhidden", "it is not JSON (line 3)");
    check(
        r#"{"text": {"hidden": 1}}"#,
        "text: expected a text, got an object",
    );
    check(r#"{"text": 4711}"#, "text: expected a text, got a number");
    check(
        r#"{"port": "hidden, expected hidden"}"#,
        "port: expected a whole number from 0 to 65535, got a text",
    );
    check(
        r#"{"port": 70000}"#,
        "port: expected a whole number from 0 to 65535",
    );
    check(r#"{"flag": 1}"#, "flag: expected true or false");
    check(
        r#"{"kind": "medium"}"#,
        "kind: `medium` is not known here; known: `big` or `small`",
    );
    check(
        r#"{"txt": 1}"#,
        "txt: `txt` is not known here; known: `text`, `seconds`, `texts`, `flag`, `kind`, `port`",
    );
    let missing = serde_json::from_str::<(u8, u8)>("[1]").unwrap_err();
    assert_eq!(explain(&missing), "expected a list");
}

#[test]
fn other_parsers_keep_the_place() {
    for (told, expected) in [
        (
            "answers[0]: unknown field `acept`, expected one of `accept`, `decline` at line 3 column 5",
            "answers[0]: `acept` is not known here; known: `accept`, `decline` at line 3 column 5",
        ),
        (
            "seed: invalid type: string \"x\", expected u64",
            "seed: expected a whole number from 0 on, got a text",
        ),
        (
            "cases[0]: missing field `name`",
            "cases[0]: `name` is missing",
        ),
        // One of our own errors.
        (
            "a suite needs `cases` at line 1",
            "a suite needs `cases` at line 1",
        ),
        ("he said missing field `x`", "he said missing field `x`"),
    ] {
        assert_eq!(reworded(told), expected);
    }
}

#[test]
fn a_document_is_read_as_messages_are() {
    #[track_caller]
    fn check(written: &[u8], expected: Result<Value, &str>) {
        assert_eq!(parse(written), expected.map_err(str::to_owned));
    }
    check(b"\xEF\xBB\xBF{}", Ok(json!({})));
    // Strings that were cut inside an emoji.
    check(
        br#"{"client_name": "cut \ud83d"}"#,
        Ok(json!({"client_name": "cut \u{fffd}"})),
    );
    check(br#"{"\uDE00": 1}"#, Ok(json!({"\u{fffd}": 1})));
    check(br#"["\ud83d\ude00"]"#, Ok(json!(["\u{1f600}"])));
    check(b"\"\xff\"", Err("it is not UTF-8"));
}
