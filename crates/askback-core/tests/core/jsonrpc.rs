//! Envelopes: valid and invalid messages, and the responses to them.

use askback_core::{
    engine::server::ReceivedMessage,
    jsonrpc::{
        self, ErrorObject, INVALID_REQUEST, MalformedMessage, Message, PARSE_ERROR, Payload,
        RequestId,
    },
    limits::{Limits, WireLimits},
};
use serde_json::{Value, json};

fn parse(bytes: &[u8]) -> Result<Payload, MalformedMessage> {
    jsonrpc::parse(bytes, &WireLimits::default())
}

fn number(id: i64) -> Option<RequestId> {
    Some(RequestId::Number(id))
}

fn refused(
    name: &str,
    result: Result<Payload, MalformedMessage>,
    code: i64,
    id: Option<RequestId>,
) {
    let bad = result.err().unwrap_or_else(|| panic!("accepted: {name}"));
    assert_eq!(bad.error.code, code, "{name}: {}", bad.error);
    assert_eq!(bad.id, id, "{name}: {}", bad.error);
}

// Shows TR-01.
#[test]
fn what_is_not_json_is_a_parse_error() {
    let cases: &[(&str, &[u8])] = &[
        ("nothing", b""),
        ("white space", b" \n"),
        ("a word", b"hello"),
        ("half a message", br#"{"jsonrpc":"2.0","id":1,"method":"pi"#),
        (
            "half a batch",
            br#"[{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
        ),
        (
            "two messages",
            br#"{"jsonrpc":"2.0","id":1,"method":"ping"}{}"#,
        ),
        (
            "something after a batch",
            br#"[{"jsonrpc":"2.0","id":1,"method":"ping"}] 1"#,
        ),
        (
            "a trailing comma",
            br#"{"jsonrpc":"2.0","id":1,"method":"ping",}"#,
        ),
        (
            "a comment",
            br#"{"jsonrpc":"2.0", /* so */ "id":1,"method":"ping"}"#,
        ),
        (
            "single quotes",
            br#"{'jsonrpc':'2.0','id':1,'method':'ping'}"#,
        ),
        (
            "not a number",
            br#"{"jsonrpc":"2.0","id":NaN,"method":"ping"}"#,
        ),
        (
            "a bare control character",
            b"{\"jsonrpc\":\"2.0\",\"id\":\"a\nb\",\"method\":\"ping\"}",
        ),
        (
            "broken UTF-8",
            b"{\"jsonrpc\":\"2.0\",\"id\":\"\xff\",\"method\":\"ping\"}",
        ),
        (
            "broken UTF-8 where nobody looks",
            b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"x\":\"\xc3\x28\"}",
        ),
        (
            "broken UTF-8 inside params",
            b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"\xff\"}}",
        ),
        ("UTF-16", b"{\0\"\0}\0"),
        (
            "a broken value inside params",
            br#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":tru}}"#,
        ),
        (
            "mismatched brackets",
            br#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":[}]}"#,
        ),
    ];
    for (name, bytes) in cases {
        refused(name, parse(bytes), PARSE_ERROR, None);
    }
}

// Shows BA-02, BA-03, BA-04, BA24-02.
#[test]
fn what_is_json_but_no_message_is_an_invalid_request() {
    let cases: &[(&str, &str, Option<RequestId>)] = &[
        ("a number", "1", None),
        ("a string", r#""ping""#, None),
        ("null", "null", None),
        ("an empty object", "{}", None),
        ("an empty batch", "[]", None),
        ("no version", r#"{"id":1,"method":"ping"}"#, number(1)),
        (
            "another version",
            r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#,
            number(1),
        ),
        (
            "a number as version",
            r#"{"jsonrpc":2.0,"id":1,"method":"ping"}"#,
            number(1),
        ),
        (
            "two versions",
            r#"{"jsonrpc":"2.0","jsonrpc":"2.0","id":1,"method":"ping"}"#,
            number(1),
        ),
        (
            "two ids",
            r#"{"jsonrpc":"2.0","id":1,"id":1,"method":"ping"}"#,
            None,
        ),
        (
            "two methods",
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call"}"#,
            number(1),
        ),
        (
            "two params",
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{},"params":{}}"#,
            number(1),
        ),
        (
            "two methods, one escaped",
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","\u006dethod":"x"}"#,
            number(1),
        ),
        (
            "two results",
            r#"{"jsonrpc":"2.0","id":1,"result":{},"result":{}}"#,
            number(1),
        ),
        (
            "a null id",
            r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
            None,
        ),
        (
            "a fraction as id",
            r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#,
            None,
        ),
        (
            "an id beyond 64 bits",
            r#"{"jsonrpc":"2.0","id":9223372036854775808,"method":"ping"}"#,
            None,
        ),
        (
            "a boolean as id",
            r#"{"jsonrpc":"2.0","id":true,"method":"ping"}"#,
            None,
        ),
        (
            "an object as id",
            r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#,
            None,
        ),
        (
            "a number as method",
            r#"{"jsonrpc":"2.0","id":"a","method":1}"#,
            Some("a".into()),
        ),
        (
            "null as method",
            r#"{"jsonrpc":"2.0","id":7,"method":null}"#,
            number(7),
        ),
        (
            "a list as params",
            r#"{"jsonrpc":"2.0","id":7,"method":"ping","params":[]}"#,
            number(7),
        ),
        (
            "a string as params",
            r#"{"jsonrpc":"2.0","method":"ping","params":"x"}"#,
            None,
        ),
        (
            "a method and a result",
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}"#,
            number(1),
        ),
        (
            "a method and an error",
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","error":{"code":1,"message":""}}"#,
            number(1),
        ),
        ("neither", r#"{"jsonrpc":"2.0","id":1}"#, number(1)),
        (
            "params alone",
            r#"{"jsonrpc":"2.0","id":1,"params":{}}"#,
            number(1),
        ),
    ];
    for (name, text, id) in cases {
        refused(name, parse(text.as_bytes()), INVALID_REQUEST, id.clone());
    }
}

// Shows BA-13, BA-14, BA24-03, BA24-04.
#[test]
fn a_broken_response_fails_our_request_and_is_not_answered() {
    let cases: &[(&str, Option<RequestId>)] = &[
        (
            r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":""}}"#,
            number(1),
        ),
        (r#"{"jsonrpc":"2.0","id":1,"error":{"code":1}}"#, number(1)),
        (
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":1.5,"message":""}}"#,
            number(1),
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":"1","message":""}}"#,
            number(1),
        ),
        (r#"{"jsonrpc":"2.0","id":1,"error":"no"}"#, number(1)),
        (r#"{"jsonrpc":"2.0","id":1,"error":null}"#, number(1)),
        (
            r#"{"jsonrpc":"1.0","id":"a","result":{}}"#,
            Some("a".into()),
        ),
        (r#"{"jsonrpc":"2.0","id":null,"result":{}}"#, None),
        (r#"{"jsonrpc":"2.0","result":{}}"#, None),
        (
            r#"{"jsonrpc":"2.0","id":[],"error":{"code":1,"message":""}}"#,
            None,
        ),
    ];
    for (text, id) in cases {
        let bad = parse(text.as_bytes()).expect_err(text);
        assert!(bad.response, "{text}");
        assert_eq!(&bad.id, id, "{text}");
    }
    let bad = parse(br#"{"jsonrpc":"2.0","id":1,"method":1}"#).unwrap_err();
    assert!(!bad.response);
}

#[test]
fn a_broken_notification_is_told_from_a_broken_request() {
    for (text, notification) in [
        (r#"{"jsonrpc":"2.0","method":"n","params":[1]}"#, true),
        (r#"{"jsonrpc":"1.0","method":"n"}"#, true),
        (r#"{"method":"n","method":"n"}"#, true),
        (r#"{"jsonrpc":"2.0","method":"n","result":{}}"#, true),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"n","params":[1]}"#,
            false,
        ),
        (r#"{"jsonrpc":"2.0","id":null,"method":"n"}"#, false),
        (r#"{"jsonrpc":"2.0","method":1}"#, false),
        (r#"{"jsonrpc":"2.0"}"#, false),
        ("[]", false),
        ("{", false),
    ] {
        let bad = parse(text.as_bytes()).expect_err(text);
        assert_eq!(bad.notification, notification, "{text}");
    }
}

#[test]
fn messages_are_read_whatever_their_layout() {
    let cases = [
        r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
        r#" { "method" : "ping" , "id" : "1" , "jsonrpc" : "2.0" } "#,
        r#"{"id":-9223372036854775808,"\u006aso\u006erpc":"\u0032.0","method":"pin\u0067"}"#,
        r#"{"jsonrpc":"2.0","id":"","method":""}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":{"a":1,"a":2}},"unknown":{},"unknown":1}"#,
        r#"{"jsonrpc":"2.0","method":"n","params":{}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":null}"#,
        r#"{"result":[1,2.50],"id":1,"jsonrpc":"2.0"}"#,
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"no","data":null,"more":1}}"#,
        r#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"?"}}"#,
    ];
    for text in cases {
        let Ok(Payload::Single(message)) = parse(text.as_bytes()) else {
            panic!("refused: {text}");
        };
        let mut expected: Value = serde_json::from_str(text).unwrap();
        expected.as_object_mut().unwrap().remove("unknown");
        if let Some(error) = expected.get_mut("error") {
            error.as_object_mut().unwrap().remove("more");
        }
        let written: Value = serde_json::from_slice(&crate::written(&message)).unwrap();
        assert_eq!(written, expected);
    }
}

#[test]
fn null_stands_for_no_params_and_an_unknown_id() {
    let Ok(Payload::Single(Message::Request(request))) =
        parse(br#"{"jsonrpc":"2.0","id":1,"method":"ping","params":null}"#)
    else {
        panic!("refused");
    };
    assert!(request.params.is_none());
    let Ok(Payload::Single(Message::Response(response))) =
        parse(br#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"?"}}"#)
    else {
        panic!("refused");
    };
    assert_eq!(response.id, None);
    assert_eq!(response.outcome.unwrap_err().code, PARSE_ERROR);
}

#[test]
fn a_bad_message_in_a_batch_costs_only_itself() {
    let batch = br#" [
        {"jsonrpc":"2.0","id":1,"method":"ping"}, 7, [],
        {"jsonrpc":"2.0","id":2,"method":1},
        {"jsonrpc":"2.0","method":"notifications/initialized"},
        {"jsonrpc":"2.0","id":3,"result":{}}
    ]"#;
    let Ok(Payload::Batch(messages)) = parse(batch) else {
        panic!("refused");
    };
    let ids: Vec<_> = messages
        .iter()
        .map(|message| match message {
            Ok(Message::Request(request)) => Ok(Some(request.id.clone())),
            Ok(Message::Notification(_)) => Ok(None),
            Ok(Message::Response(response)) => Ok(response.id.clone()),
            Err(bad) => Err((bad.error.code, bad.id.clone())),
        })
        .collect();
    assert_eq!(
        ids,
        [
            Ok(number(1)),
            Err((INVALID_REQUEST, None)),
            Err((INVALID_REQUEST, None)),
            Err((INVALID_REQUEST, number(2))),
            Ok(None),
            Ok(number(3)),
        ]
    );
}

#[test]
fn length_and_batches_are_bounded() {
    let mut limits = Limits::default();
    limits.wire.message_bytes = 40;
    limits.wire.batch_messages = 2;
    let ping = br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    assert_eq!(ping.len(), 40);
    assert!(jsonrpc::parse(ping, &limits.wire).is_ok());
    let longer = jsonrpc::parse(&[ping.as_slice(), b" "].concat(), &limits.wire);
    refused("one byte too long", longer, INVALID_REQUEST, None);
    assert!(jsonrpc::parse(b"[1,2]", &limits.wire).is_ok());
    refused(
        "one too many",
        jsonrpc::parse(b"[1,2,3]", &limits.wire),
        INVALID_REQUEST,
        None,
    );
}

#[test]
fn values_are_bounded() {
    let limits = Limits::default();
    let most = limits.wire.message_values;
    // In addition there are the message, its other members and the parameters.
    let others = 5;
    for (value, each, id) in [
        ("0,", 1, r#""id":7,"#),
        ("[],", 2, r#""id":7,"#),
        (r#"{"":0},"#, 2, r#""id":7,"#),
        (r#"",[{\"",{},"#, 3, r#""id":7,"#),
    ] {
        let text = |count: usize| {
            let values = value.repeat(count);
            format!(
                r#"{{"jsonrpc":"2.0",{id}"method":"tools/call","params":{{"name":"x","a":[{values}0]}}}}"#
            )
        };
        let fits = text((most - others) / each - 2);
        let over = text(most / each + 1);
        for (text, taken) in [(fits, true), (over, false)] {
            let read = ReceivedMessage::parse(text.as_bytes(), &limits, &[]);
            assert_eq!(read.is_ok(), taken, "{value}");
            match (jsonrpc::parse(text.as_bytes(), &limits.wire), taken) {
                (Ok(_), true) => {}
                (Err(refused), false) => {
                    assert_eq!(refused.id, Some(RequestId::Number(7)));
                    assert_eq!(refused.error.code, INVALID_REQUEST);
                    let why = refused.error.message;
                    assert!(why.contains("more than the 524288 values"), "{why}");
                }
                (read, _) => panic!("{value}: {:?}", read.is_ok()),
            }
        }
    }
    // Text that looks like a member does not count.
    let text = format!(
        r#"{{"jsonrpc":"2.0","id":7,"method":"ping","params":{{"a":"{}"}}}}"#,
        r#"\",[{"#.repeat(most)
    );
    assert!(jsonrpc::parse(text.as_bytes(), &limits.wire).is_ok());
}

#[test]
fn depth_does_not_exhaust_the_stack() {
    let depth = 1 << 20;
    for (open, close) in [("[", "]"), (r#"{"a":"#, "}")] {
        let deep = format!("{}1{}", open.repeat(depth), close.repeat(depth));
        let mut limits = Limits::default();
        limits.wire.message_bytes = usize::MAX;
        limits.wire.message_values = usize::MAX;
        for member in ["params", "unknown"] {
            let text =
                format!(r#"{{"jsonrpc":"2.0","id":1,"method":"x","{member}":{{"a":{deep}}}}}"#);
            let Ok(Payload::Single(Message::Request(request))) =
                jsonrpc::parse(text.as_bytes(), &limits.wire)
            else {
                panic!("refused");
            };
            if let Some(params) = request.params {
                let decoded = serde_json::from_str::<Value>(params.get());
                assert!(decoded.is_err(), "decoding stops at a depth");
            }
        }
        let alone = jsonrpc::parse(deep.as_bytes(), &limits.wire);
        assert!(!matches!(alone, Ok(Payload::Single(_))));
        let batch = format!("[{deep}]");
        let Ok(Payload::Batch(messages)) = jsonrpc::parse(batch.as_bytes(), &limits.wire) else {
            panic!("refused");
        };
        assert!(messages[0].is_err());
    }
}

// Shows ST-01, BA-02, BA-03, BA-07, BA-13, BA-21, BA24-02, BA24-04.
#[test]
fn messages_are_written_on_one_line() {
    let id = RequestId::from("a\nb");
    let params = serde_json::value::RawValue::from_string("{\n \"a\":\r\n \"x\\ny\" }".to_owned());
    let params = params.unwrap();
    let cases = [
        (
            jsonrpc::write_request(&id, "m", Some(&params)),
            json!({"jsonrpc": "2.0", "id": "a\nb", "method": "m", "params": {"a": "x\ny"}}),
        ),
        (
            jsonrpc::write_notification("m", Some(&params)),
            json!({"jsonrpc": "2.0", "method": "m", "params": {"a": "x\ny"}}),
        ),
        (
            jsonrpc::write_notification::<Value>("m", None),
            json!({"jsonrpc": "2.0", "method": "m"}),
        ),
        (
            jsonrpc::write_result(&id, &params),
            json!({"jsonrpc": "2.0", "id": "a\nb", "result": {"a": "x\ny"}}),
        ),
        (
            jsonrpc::write_error(None, &ErrorObject::new(-1, "no").with_data(json!([1]))),
            json!({"jsonrpc": "2.0", "error": {"code": -1, "message": "no", "data": [1]}}),
        ),
        (
            jsonrpc::write_batch(&[b"1".as_slice(), b"2"]),
            json!([1, 2]),
        ),
        (jsonrpc::write_batch::<&[u8]>(&[]), json!([])),
    ];
    for (written, expected) in cases {
        assert!(!written.contains(&b'\n') && !written.contains(&b'\r'));
        assert_eq!(serde_json::from_slice::<Value>(&written).unwrap(), expected);
    }
}
