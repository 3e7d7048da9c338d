//! A client that gets questions in results, at a server that asks within a session.

use std::time::Duration;

use askback::{Revision, bridge::Bridge};
use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedReceiver;

use super::{Wire, modern_meta, serve, to_scripted};
use crate::client::limits;

const FORM: &str = r#"{"message":"Seat?","requestedSchema":{"type":"object","properties":{"a":{"type":"string"}}}}"#;

fn request(id: u32, arguments: &Value, round: Option<(&Value, Value)>) -> String {
    let mut params = json!({
        "name": "t", "arguments": arguments,
        "_meta": modern_meta(&json!({"elicitation": {}, "roots": {}})),
    });
    if let Some((state, answers)) = round {
        params["requestState"] = state.clone();
        params["inputResponses"] = answers;
    }
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}).to_string()
}

fn accepted(text: &str) -> Value {
    json!({"action": "accept", "content": {"a": text}})
}

/// A client whose first call reaches a 2025-11-25 server.
async fn first_call(
    bridge: &Bridge,
    connections: &mut UnboundedReceiver<Wire>,
) -> (Wire, Wire, Value) {
    let (near, _) = serve(bridge);
    let mut client = Wire::new(near);
    client.say(&request(1, &json!({}), None)).await;
    let mut server = connections.recv().await.unwrap();
    let discover = server.hear().await;
    assert_eq!(discover["method"], "server/discover");
    server
        .say(&format!(
            r#"{{"jsonrpc":"2.0","id":{},"error":{{"code":-32601,"message":"no"}}}}"#,
            discover["id"]
        ))
        .await;
    let params = server.greet(Revision::V2025_11_25).await;
    assert!(params["capabilities"]["roots"].is_object());
    let call = server.hear().await;
    assert_eq!(call["method"], "tools/call");
    (client, server, call)
}

async fn ask(server: &mut Wire, id: &str) {
    server
        .say(&format!(
            r#"{{"jsonrpc":"2.0","id":"{id}","method":"elicitation/create","params":{FORM}}}"#
        ))
        .await;
}

#[tokio::test]
async fn questions_that_come_together_are_one_round_and_a_round_may_be_sent_twice() {
    let (bridge, mut connections) = to_scripted();
    let (mut client, mut server, call) = first_call(&bridge, &mut connections).await;
    ask(&mut server, "a").await;
    server
        .say(r#"{"jsonrpc":"2.0","id":"b","method":"roots/list"}"#)
        .await;
    let asks = client.hear().await["result"].clone();
    assert_eq!(asks["resultType"], "input_required");
    let keys: Vec<_> = asks["inputRequests"].as_object().unwrap().keys().collect();
    assert_eq!(keys, ["question-1", "question-2"]);
    let state = &asks["requestState"];
    // One answer is missing: only that question is asked again.
    let answers = json!({"question-1": accepted("x"), "unknown": 7});
    client
        .say(&request(2, &json!({}), Some((state, answers))))
        .await;
    assert_eq!(server.hear().await["result"], accepted("x"));
    let again = client.hear().await["result"].clone();
    let left = again["inputRequests"].as_object().unwrap();
    assert_eq!(left.keys().collect::<Vec<_>>(), ["question-2"]);
    let answers = json!({"question-1": accepted("y"), "question-2": {"roots": []}});
    for id in [3, 4] {
        client
            .say(&request(id, &json!({}), Some((state, answers.clone()))))
            .await;
    }
    assert_eq!(server.hear().await["result"]["roots"], json!([]));
    server
        .answer(&call["id"], r#"{"content":[],"structuredContent":{"x":1}}"#)
        .await;
    for _ in [3, 4] {
        let done = client.hear().await;
        assert_eq!(done["result"]["structuredContent"]["x"], 1, "{done}");
        assert_eq!(done["result"]["resultType"], "complete");
    }
    // A round that is repeated after the call has ended gets the same result.
    client
        .say(&request(5, &json!({}), Some((state, answers))))
        .await;
    assert_eq!(client.hear().await["result"]["structuredContent"]["x"], 1);
}

#[tokio::test]
async fn a_state_opens_for_its_request_alone() {
    let (bridge, mut connections) = to_scripted();
    let (mut client, mut server, _) = first_call(&bridge, &mut connections).await;
    ask(&mut server, "a").await;
    let state = client.hear().await["result"]["requestState"].clone();
    let mut forged = state.as_str().unwrap().to_owned();
    let last = if forged.pop() == Some('A') { 'B' } else { 'A' };
    forged.push(last);
    let answers = json!({"question-1": accepted("x")});
    for (arguments, state) in [
        (json!({"other": 1}), state.clone()),
        (json!({}), json!(forged)),
        (json!({}), json!("S1")),
    ] {
        client
            .say(&request(2, &arguments, Some((&state, answers.clone()))))
            .await;
        let refused = client.hear().await;
        assert_eq!(refused["error"]["code"], -32602, "{refused}");
        assert_eq!(
            refused["error"]["message"],
            "Invalid or expired requestState"
        );
    }
    client
        .say(&request(3, &json!({}), Some((&state, answers))))
        .await;
    assert_eq!(server.hear().await["result"], accepted("x"));
}

#[tokio::test]
async fn a_call_whose_client_never_comes_back_is_given_up() {
    let (bridge, mut connections) = to_scripted();
    let ttl = Duration::from_millis(300);
    let bridge = bridge.limits(limits(|limits| limits.asking.round_ttl = ttl));
    let (mut client, mut server, call) = first_call(&bridge, &mut connections).await;
    ask(&mut server, "a").await;
    let state = client.hear().await["result"]["requestState"].clone();
    let (mut cancelled, mut answered) = (None, None);
    for _ in 0..2 {
        let message = server.hear().await;
        match message.get("method") {
            Some(_) => cancelled = Some(message),
            None => answered = Some(message),
        }
    }
    assert_eq!(cancelled.unwrap()["params"]["requestId"], call["id"]);
    let answered = answered.unwrap();
    assert_eq!(answered["result"]["action"], "cancel");
    let meta = &answered["result"]["_meta"];
    assert_eq!(meta["dev.askback/answered-by"], "client");
    assert_eq!(
        meta["dev.askback/reason"],
        "the call ended before an answer came"
    );
    tokio::time::sleep(Duration::from_millis(50)).await;
    let answers = json!({"question-1": accepted("x")});
    client
        .say(&request(2, &json!({}), Some((&state, answers))))
        .await;
    // The seal expires in the same millisecond.
    let late = client.hear().await;
    let is_told = late["result"]["isError"] == true || late["error"]["code"] == -32602;
    assert!(is_told, "{late}");
}

#[tokio::test]
async fn a_round_that_is_cancelled_cancels_the_call() {
    let (bridge, mut connections) = to_scripted();
    let (mut client, mut server, call) = first_call(&bridge, &mut connections).await;
    client
        .say(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#)
        .await;
    let cancelled = server.hear().await;
    assert_eq!(cancelled["method"], "notifications/cancelled");
    assert_eq!(cancelled["params"]["requestId"], call["id"]);
}

#[tokio::test]
async fn a_server_that_goes_away_is_told_on_the_next_round() {
    let (bridge, mut connections) = to_scripted();
    let (mut client, mut server, _) = first_call(&bridge, &mut connections).await;
    ask(&mut server, "a").await;
    let state = client.hear().await["result"]["requestState"].clone();
    drop(server);
    tokio::time::sleep(Duration::from_millis(50)).await;
    let answers = json!({"question-1": accepted("x")});
    client
        .say(&request(2, &json!({}), Some((&state, answers))))
        .await;
    assert_eq!(client.hear().await["error"]["code"], -32603);
}

#[tokio::test]
async fn the_server_ends_with_a_client_whose_calls_are_parked() {
    let (bridge, mut connections) = to_scripted();
    let (mut client, mut server, _) = first_call(&bridge, &mut connections).await;
    ask(&mut server, "a").await;
    client.hear().await;
    drop(client);
    while server.text().await.is_some() {}
}

#[tokio::test]
async fn a_round_that_is_sent_twice_answers_no_later_question_of_the_same_key() {
    let (bridge, mut connections) = to_scripted();
    let (mut client, mut server, _) = first_call(&bridge, &mut connections).await;
    let ask = async |server: &mut Wire, id: &str| {
        let mut params: Value = serde_json::from_str(FORM).unwrap();
        params["_meta"] = json!({"dev.askback/key": "seat"});
        let question =
            json!({"jsonrpc": "2.0", "id": id, "method": "elicitation/create", "params": params});
        server.say(&question.to_string()).await;
    };
    ask(&mut server, "a").await;
    let first = client.hear().await["result"].clone();
    let round = |id, asks: &Value, text| {
        let answers = json!({"seat": accepted(text)});
        request(id, &json!({}), Some((&asks["requestState"], answers)))
    };
    client.say(&round(2, &first, "x")).await;
    assert_eq!(server.hear().await["result"], accepted("x"));
    ask(&mut server, "b").await;
    let second = client.hear().await["result"].clone();
    assert!(second["inputRequests"]["seat"].is_object(), "{second}");
    client.say(&round(3, &first, "x")).await;
    let again = client.hear().await["result"].clone();
    assert!(again["inputRequests"]["seat"].is_object(), "{again}");
    client.say(&round(4, &again, "y")).await;
    let heard = server.hear().await;
    assert_eq!(
        (&heard["id"], &heard["result"]),
        (&json!("b"), &accepted("y"))
    );
}

#[tokio::test]
async fn a_question_of_no_call_goes_to_another_call_if_its_own_ends() {
    let (bridge, mut connections) = to_scripted();
    let (mut client, mut server, one) = first_call(&bridge, &mut connections).await;
    client.say(&request(2, &json!({"b": 2}), None)).await;
    let two = server.hear().await;
    ask(&mut server, "a").await;
    let asks = client.hear().await;
    assert_eq!(asks["result"]["resultType"], "input_required", "{asks}");
    let (asked, other) = match asks["id"] == 1 {
        true => (one, (2, json!({"b": 2}))),
        false => (two, (1, json!({}))),
    };
    server.answer(&asked["id"], r#"{"content":[]}"#).await;
    let asks = client.hear().await;
    assert_eq!(asks["id"], other.0);
    let answers = json!({"question-1": accepted("x")});
    let state = &asks["result"]["requestState"];
    let round = request(3, &other.1, Some((state, answers)));
    client.say(&round).await;
    assert_eq!(server.hear().await["result"], accepted("x"));
}
