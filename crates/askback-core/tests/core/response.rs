//! Responses as a client reads them: the fast path gives the same results as serde.

use askback_core::{
    jsonrpc,
    limits::WireLimits,
    protocol::{CallToolResult, Outcome},
    revision::Revision,
    wire,
};
use proptest::{collection::vec, prelude::*, sample::select};
use serde_json::value::RawValue;

use crate::proptest_config;

const RESULT: &str =
    r#"{"resultType":"complete","content":[{"type":"text","text":"a } \"b\""}],"_meta":{}}"#;

/// The object with an unknown member, which disables the fast path.
fn with_more(text: &str) -> Option<String> {
    let rest = text.trim_ascii_start().strip_prefix('{')?;
    let is_empty = rest.trim_ascii_start().starts_with('}');
    let comma = if is_empty { "" } else { "," };
    Some(format!(r#"{{"x":0{comma}{rest}"#))
}

/// Parses a message on the fast path and in full.
fn check_message(text: &str) {
    let Some(more) = with_more(text) else { return };
    let read = |text: &str| match jsonrpc::parse(text.as_bytes(), &WireLimits::default()) {
        Ok(payload) => format!("{payload:?}"),
        // The position in the error differs.
        Err(bad) => format!(
            "{} {:?} {} {}",
            bad.error.code, bad.id, bad.response, bad.notification
        ),
    };
    assert_eq!(read(text), read(&more), "{text}");
}

/// Determines the kind of a result on the fast path and in full.
fn check_result(text: &str) {
    let (Some(more), Ok(_)) = (with_more(text), serde_json::from_str::<&RawValue>(text)) else {
        return;
    };
    let read = |text: &str| {
        let result = RawValue::from_string(text.to_owned()).unwrap();
        let outcome = wire::read_outcome::<CallToolResult>(Revision::LATEST, &result);
        // Ignores the additional member.
        outcome.map(|outcome: Outcome<_>| format!("{outcome:?}").replace(r#""x": Number(0)"#, ""))
    };
    assert_eq!(read(text).ok(), read(&more).ok(), "{text}");
}

fn message(result: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":7,"result":{result}}}"#)
}

fn members(pieces: &'static [&'static str], usual: usize) -> impl Strategy<Value = String> {
    let one = prop_oneof![
        4 => (0..usual).prop_map(|at| pieces[at]),
        1 => select(pieces),
    ];
    let space = select(&["", "", "", " ", "\n\t", ","][..]);
    (
        vec(one, 0..5),
        space,
        select(&["", "", " ", "\n", "{}", ","][..]),
    )
        .prop_map(|(members, space, end)| {
            let members = members.join(&format!("{space},{space}"));
            format!("{{{space}{members}{space}}}{end}")
        })
}

fn envelope() -> impl Strategy<Value = String> {
    members(
        &[
            r#""jsonrpc":"2.0""#,
            r#""id":7"#,
            r#""result":{"content":[]}"#,
            r#""id":"a""#,
            r#""result" : { "a" : [1, {"b": "}\"\\"}] } "#,
            r#""jsonrpc":"1.0""#,
            r#""jsonrpc":"2\u002e0""#,
            r#""json\u0072pc":"2.0""#,
            r#""id":-7"#,
            r#""id":007"#,
            r#""id":7.0"#,
            r#""id":7e1"#,
            r#""id":999999999999999999"#,
            r#""id":9999999999999999999"#,
            r#""id":null"#,
            r#""id":"a\nb""#,
            r#""result":null"#,
            r#""result":[1]"#,
            r#""result":"a""#,
            r#""result":{"a":01}"#,
            r#""result":{"a":1]"#,
            r#""result":{"a":1,"a":2}"#,
            r#""error":{"code":1,"message":"m"}"#,
            r#""error":null"#,
            r#""method":"ping""#,
            r#""params":{}"#,
            r#""other":[1,"]"]"#,
        ],
        3,
    )
}

fn result() -> impl Strategy<Value = String> {
    members(
        &[
            r#""resultType":"complete""#,
            r#""content":[]"#,
            r#""_meta":{"a":"}"}"#,
            r#""resultType":"input_required""#,
            r#""resultType":"later""#,
            r#""resultType":"\u0063omplete""#,
            r#""resultType":null"#,
            r#""resultType":1"#,
            r#""requestState":"abc""#,
            r#""isError":false"#,
            r#""task":{}"#,
            r#""task":"a word of their own""#,
            r#""structuredContent":{"resultType":"task"}"#,
        ],
        3,
    )
}

proptest! {
    #![proptest_config(proptest_config())]

    #[test]
    fn reading_a_response_at_once_and_step_by_step_gives_the_same_result(text in envelope()) {
        check_message(&text);
    }

    #[test]
    fn a_result_is_what_its_members_say_however_it_is_found_out(text in result()) {
        check_result(&text);
        check_message(&message(&text));
    }

    #[test]
    fn a_spoilt_response_is_read_at_once_as_step_by_step(at in 0..1000_usize, byte in any::<u8>()) {
        let mut text = message(RESULT).into_bytes();
        let at = at % text.len();
        let harmed = [&text[..at], &[byte], &text[at..]].concat();
        text[at] = byte;
        for text in [text, harmed] {
            if let Ok(text) = std::str::from_utf8(&text) {
                check_message(text);
            }
        }
    }
}

#[test]
fn the_type_of_a_result_is_found_behind_any_value() {
    for value in [
        r#""""#,
        r#""\\""#,
        r#""\"}""#,
        r#""\\\"}""#,
        "null",
        " -1.5e3 ",
        "true",
        "[]",
        "[[],{}]",
        r#"{"b":["]",{"c":"\"}]"}],"resultType":"complete"}"#,
    ] {
        for members in [
            format!(r#""a":{value},"resultType":"input_required","requestState":"s""#),
            format!(r#""requestState":"s","a":{value},"resultType":"input_required""#),
            format!(r#""resultType":"input_required","a":{value},"requestState":"s""#),
        ] {
            let text = format!("{{{members}}}");
            check_result(&text);
            let result = RawValue::from_string(text).unwrap();
            let outcome = wire::read_outcome::<CallToolResult>(Revision::LATEST, &result);
            assert!(matches!(outcome, Ok(Outcome::NeedInput(_))), "{result}");
        }
    }
}

#[test]
fn a_response_keeps_the_limits_however_it_is_read() {
    let mut short = WireLimits::default();
    (short.request_id_bytes, short.message_values) = (3, 40);
    let read = |text: &str| jsonrpc::parse(text.as_bytes(), &short).map_err(|bad| bad.error.code);
    assert!(read(r#"{"jsonrpc":"2.0","id":"abc","result":{}}"#).is_ok());
    assert!(read(r#"{"jsonrpc":"2.0","id":"abcd","result":{}}"#).is_err());
    let values = format!("[{}1]", "1,".repeat(30));
    assert!(read(&message(&format!(r#"{{"a":{values}}}"#))).is_ok());
    assert!(read(&message(&format!(r#"{{"a":{values},"b":{values}}}"#))).is_err());
}
