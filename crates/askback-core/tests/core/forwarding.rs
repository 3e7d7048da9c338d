//! A server that forwards requests: the engine passes them on unchanged.

use std::sync::Arc;

use askback_core::{
    engine::server::{Connection, Output, Profile},
    jsonrpc::RequestId,
    limits::Limits,
    protocol::{
        ClientRequest, HasMeta, Implementation, InputResponses, OtherRequest, RawJson,
        ServerCapabilities,
    },
    revision::Revision,
};
use serde_json::{Value, json, value::RawValue};

fn connection() -> Connection {
    Connection::new(Arc::new(Profile {
        info: Implementation::new("agency", "1"),
        capabilities: serde_json::from_value::<ServerCapabilities>(
            json!({"tools": {"listChanged": true}, "logging": {}, "resources": {"subscribe": true}}),
        )
        .unwrap(),
        instructions: None,
        revisions: Revision::ALL.to_vec(),
        ttl_ms: 0,
        limits: Limits::default().into(),
        forwards: true,
    }))
}

fn say(connection: &mut Connection, message: &str) -> Vec<Output> {
    connection.handle_message(message.as_bytes());
    std::iter::from_fn(|| connection.poll()).collect()
}

fn called(mut outputs: Vec<Output>) -> ClientRequest {
    match (outputs.pop(), outputs.is_empty()) {
        (Some(Output::Call(call)), true) => call.request,
        other => panic!("{other:?} is no call"),
    }
}

fn refused(mut outputs: Vec<Output>) -> i64 {
    let Some(Output::Send(message)) = outputs.pop() else {
        panic!("nothing was sent");
    };
    let message: Value = serde_json::from_slice(&message).unwrap();
    message["error"]["code"].as_i64().unwrap()
}

const META: &str = r#""_meta":{"progressToken":"p","io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}},"com.example/x":1}"#;

#[test]
fn any_method_and_any_member_is_handed_on() {
    let mut connection = connection();
    for method in ["tools/call", "x/unknown", "tasks/result"] {
        let message = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{"name":"t", "z":1.0,{META},"a":{{"b":[1e2]}}}}}}"#
        );
        let outputs = say(&mut connection, &message);
        let Some(Output::Call(call)) = outputs.into_iter().next() else {
            panic!("{method} was not handed on");
        };
        assert_eq!(call.request.method(), method);
        assert!(call.request.meta().is_none());
        assert_eq!(call.meta["com.example/x"], 1);
        assert_eq!(
            call.origin.progress_token,
            Some(RequestId::String("p".into()))
        );
        assert!(call.origin.capabilities.elicits_form());
        let ClientRequest::Other(request) = call.request else {
            panic!("it was read");
        };
        let params = request.params().unwrap().as_str();
        assert_eq!(params, r#"{"name":"t","z":1.0,"a":{"b":[1e2]}}"#);
        connection.let_go(&call.id);
    }
}

#[test]
fn a_session_is_kept_here_and_its_choices_are_handed_on() {
    let mut connection = connection();
    let early = say(
        &mut connection,
        r#"{"jsonrpc":"2.0","id":0,"method":"x/unknown"}"#,
    );
    assert_eq!(refused(early), -32602);
    say(
        &mut connection,
        r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"guest","version":"1"}}}"#,
    );
    for (method, params) in [
        ("logging/setLevel", r#"{"level":"error"}"#),
        ("resources/subscribe", r#"{"uri":"a:b"}"#),
    ] {
        let message =
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#);
        assert_eq!(called(say(&mut connection, &message)).method(), method);
        connection.let_go(&RequestId::Number(1));
    }
    assert_eq!(connection.watched().collect::<Vec<_>>(), ["a:b"]);
    let ping = say(
        &mut connection,
        r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#,
    );
    assert!(matches!(ping[..], [Output::Send(_)]));
}

#[test]
fn a_subscription_is_opened_here_and_reported() {
    let mut connection = connection();
    let message = format!(
        r#"{{"jsonrpc":"2.0","id":4,"method":"subscriptions/listen","params":{{"notifications":{{"toolsListChanged":true,"promptsListChanged":true}},{META}}}}}"#
    );
    let outputs = say(&mut connection, &message);
    let [Output::Subscription(id, Some(filter)), Output::Send(_)] = &outputs[..] else {
        panic!("{outputs:?}");
    };
    assert_eq!(*id, RequestId::Number(4));
    assert_eq!(filter.tools_list_changed, Some(true));
    assert_eq!(filter.prompts_list_changed, None);
    let ended = say(
        &mut connection,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":4}}"#,
    );
    assert!(matches!(&ended[..], [Output::Subscription(_, None)]));
}

#[test]
fn a_duplicate_member_is_refused() {
    let mut connection = connection();
    for params in [
        r#"{"name":"a","name":"b"}"#,
        r#"{"name":"a","n\u0061me":"b"}"#,
        r#"{"_meta":{},"_meta":{}}"#,
        r#"{"_meta":7}"#,
    ] {
        let message =
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#);
        assert_eq!(refused(say(&mut connection, &message)), -32602, "{params}");
    }
}

#[test]
fn a_round_replaces_the_answers_and_the_state_and_nothing_else() {
    let params = RawValue::from_string(
        r#"{"requestState":"old","name":"t","inputResponses":{},"z":1.0}"#.to_owned(),
    )
    .unwrap();
    let mut request = OtherRequest::new("tools/call", Some(&params)).unwrap();
    assert_eq!(request.target(), Some("t"));
    let responses: InputResponses = [("k".to_owned(), RawJson::new(&json!({})).unwrap())]
        .into_iter()
        .collect();
    request.set_round(Some(&responses), Some("\"new")).unwrap();
    assert_eq!(
        request.params().unwrap().as_str(),
        r#"{"name":"t","z":1.0,"inputResponses":{"k":{}},"requestState":"\"new"}"#
    );
    request.set_round(None, None).unwrap();
    let ClientRequest::CallTool(read) = request.read().unwrap() else {
        panic!("it is a call");
    };
    assert_eq!(read.name, "t");
}
