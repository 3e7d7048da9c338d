//! The id of a message that is too long to be parsed.

use askback_core::{
    jsonrpc::{self, KEPT_ENDS as ENDS, MalformedMessage, RequestId},
    limits::Limits,
};

fn malformed(bytes: &[u8]) -> MalformedMessage {
    let mut limits = Limits::default();
    limits.wire.message_bytes = 1;
    jsonrpc::parse(bytes, &limits.wire).expect_err("it is too long")
}

/// Replaces `…` by long text, and checks the message whole and with its middle cut out.
#[track_caller]
fn check(message: &str, id: Option<RequestId>, response: bool, notification: bool) {
    let long = message.replace('…', &"\\\"id\\\":9}é".repeat(ENDS));
    let cut = [
        &long.as_bytes()[..ENDS],
        &long.as_bytes()[long.len() - ENDS..],
    ]
    .concat();
    for bytes in [long.into_bytes(), cut] {
        let found = malformed(&bytes);
        let known = (found.id, found.response, found.notification);
        let shown = String::from_utf8_lossy(&bytes[..ENDS.min(80)]);
        assert_eq!(known, (id.clone(), response, notification), "{shown}");
    }
}

#[test]
fn the_id_of_a_long_message_is_found_at_either_end() {
    let seven = || Some(RequestId::Number(7));
    check(
        r#"{"jsonrpc":"2.0","id":7,"result":{"a":"…"}}"#,
        seven(),
        true,
        false,
    );
    check(
        r#"{"result":{"a":"…"},"jsonrpc":"2.0","id":7}"#,
        seven(),
        true,
        false,
    );
    check(
        r#" { "error" : {"a":"…"}, "id" : 7 , "jsonrpc" : "2.0" } "#,
        seven(),
        true,
        false,
    );
    check(
        r#"{"id":7,"error":{"message":"…"},"jsonrpc":"2.0"}"#,
        seven(),
        true,
        false,
    );
    let request = r#"{"jsonrpc":"2.0","id":"a","method":"x","params":{"a":"…"}}"#;
    check(request, Some(RequestId::from("a")), false, false);
    let request = r#"{"method":"x","params":{"a":"…"},"jsonrpc":"2.0","id":7}"#;
    check(request, seven(), false, false);
    let notification = r#"{"jsonrpc":"2.0","method":"x","params":{"a":"…"}}"#;
    check(notification, None, false, true);
}

#[test]
fn an_id_in_another_place_is_not_its_own() {
    check(
        r#"{"jsonrpc":"2.0","result":{"a":"…","id":7}}"#,
        None,
        true,
        false,
    );
    // A line without a version or an id at its beginning may be a log line.
    check(
        r#"{"result":["…",{"b":1,"id":7}],"jsonrpc":"2.0"}"#,
        None,
        false,
        false,
    );
    check(r#"{"result":"…,\"id\":7}"}"#, None, false, false);
    check(
        r#"[{"jsonrpc":"2.0","id":7,"result":{"a":"…"}}]"#,
        None,
        false,
        false,
    );
    check("…", None, false, false);
    let long = format!(r#"{{"id":"{}","result":{{"a":"…"}}}}"#, "i".repeat(ENDS));
    check(&long, None, false, false);
}

#[test]
fn a_truncated_id_is_not_an_id() {
    #[track_caller]
    fn check(bytes: &[u8]) {
        assert_eq!(
            malformed(bytes).id,
            None,
            "{:?}",
            String::from_utf8_lossy(bytes)
        );
    }
    // The id continues beyond the examined part.
    let before = ENDS - r#"{"id":123"#.len();
    let long = format!(
        r#"{}{{"id":12345,"result":{{"a":"{}"}}}}"#,
        " ".repeat(before),
        "b".repeat(2 * ENDS)
    );
    check(long.as_bytes());
    for id in ["7.5", "7e3", "-7", "7 7"] {
        let result = "b".repeat(2 * ENDS);
        check(format!(r#"{{"id":{id},"result":{{"a":"{result}"}}}}"#).as_bytes());
        check(format!(r#"{{"result":{{"a":"{result}"}},"id":{id}}}"#).as_bytes());
    }
    // The digits are on both sides of the cut.
    check(br#"{"id":1 cut 2,"result":{}}"#);
    check(br#"{"id":12,"result":{}}"#);
    let mut ended =
        format!(r#"{{"result":["{}",{{"b":1,"id":7}}"#, "b".repeat(2 * ENDS)).into_bytes();
    ended.push(0xff);
    check(&ended);
}
