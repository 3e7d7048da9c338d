//! Servers that speak 2026-07-28 but ask only on a session.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use askback::{Revision, bridge::OlderSign};
use serde_json::{Value, json};

use super::{Standby, Wire, modern_meta, serve, soon, to_scripted};

const CANNOT_ASK: &str =
    "elicitation via server-initiated requests is unavailable on 2026-07-28 connections.";

/// Answers `server/discover`.
pub(super) async fn greet_in_newest(server: &mut Wire) {
    let discover = server.hear().await;
    assert_eq!(discover["method"], "server/discover");
    let greeting = json!({
        "resultType": "complete",
        "supportedVersions": ["2026-07-28"],
        "capabilities": {"tools": {}, "extensions": {"io.modelcontextprotocol/tasks": {}}},
        "serverInfo": {"name": "s", "version": "1"},
        "ttlMs": 0,
        "cacheScope": "private",
    });
    server.answer(&discover["id"], &greeting.to_string()).await;
}

/// Greets, and fails the next call because it cannot ask.
async fn fail_in_newest(server: &mut Wire) {
    greet_in_newest(server).await;
    let call = server.hear().await;
    assert_eq!(call["method"], "tools/call");
    let failed = json!({
        "resultType": "complete",
        "isError": true,
        "content": [{"type": "text", "text": CANNOT_ASK}],
    });
    server.answer(&call["id"], &failed.to_string()).await;
}

/// Asks during the next call, and returns the answer in its result.
async fn ask_on_session(server: &mut Wire) {
    let call = server.hear().await;
    assert_eq!(call["method"], "tools/call");
    let question = json!({"jsonrpc": "2.0", "id": "q", "method": "elicitation/create", "params": {
        "message": "Which seat?",
        "requestedSchema": {"type": "object", "properties": {"window": {"type": "boolean"}}},
    }});
    server.say(&question.to_string()).await;
    let answer = server.hear().await;
    let text = answer["result"]["content"].to_string();
    let result = json!({"content": [{"type": "text", "text": text}]});
    server.answer(&call["id"], &result.to_string()).await;
}

async fn call(client: &mut Wire, capabilities: &Value, more: &[(&str, Value)]) -> Value {
    let mut params = json!({
        "name": "reserve",
        "arguments": {},
        "_meta": modern_meta(capabilities),
    });
    for (name, value) in more {
        params[*name] = value.clone();
    }
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    client.say(&call.to_string()).await;
    soon(client.hear()).await["result"].clone()
}

#[tokio::test]
async fn a_server_that_asks_only_on_a_session_gets_one() {
    for takes_forms in [false, true] {
        let is_known = Arc::new(AtomicBool::new(false));
        let (known, found) = (Arc::clone(&is_known), Arc::clone(&is_known));
        let answers = Standby::default();
        let (bridge, mut connections) = to_scripted();
        let is_older = move |sign: OlderSign<'_>| match sign {
            OlderSign::Connecting | OlderSign::Greeting(_) => known.load(Ordering::Relaxed),
            OlderSign::Failure(said) => said.contains("server-initiated requests"),
        };
        let bridge = bridge
            .answers(answers.clone())
            .asks_in_older(is_older, move |server| {
                assert_eq!(server.map(|server| &*server.version), Some("1"));
                found.store(true, Ordering::Relaxed);
            });
        let serving = tokio::spawn(async move {
            let mut server = connections.recv().await.unwrap();
            fail_in_newest(&mut server).await;
            let mut older = connections.recv().await.unwrap();
            older.greet(Revision::V2025_11_25).await;
            ask_on_session(&mut older).await;
            // The next client gets a session at once.
            let mut next = connections.recv().await.unwrap();
            next.greet(Revision::V2025_11_25).await;
            ask_on_session(&mut next).await;
            [server, older, next]
        });
        let capabilities = match takes_forms {
            false => json!({}),
            true => json!({"elicitation": {}}),
        };
        let answered = r#"{"window":true}"#;
        let (near, _) = serve(&bridge);
        let mut client = Wire::new(near);
        let failed = call(&mut client, &capabilities, &[]).await;
        assert_eq!(failed["isError"], true, "{failed}");
        let said = failed["content"][0]["text"].as_str().unwrap();
        assert!(said.contains("Call `reserve` again"), "{said}");
        assert!(said.contains(CANNOT_ASK), "{said}");
        let (near, _) = serve(&bridge);
        for mut client in [client, Wire::new(near)] {
            let mut result = call(&mut client, &capabilities, &[]).await;
            if takes_forms {
                assert_eq!(result["resultType"], "input_required", "{result}");
                let (key, _) = result["inputRequests"]
                    .as_object()
                    .unwrap()
                    .iter()
                    .next()
                    .unwrap();
                let answer = json!({"action": "accept", "content": {"window": true}});
                let round = [
                    ("inputResponses", json!({key: answer})),
                    ("requestState", result["requestState"].clone()),
                ];
                result = call(&mut client, &capabilities, &round).await;
            }
            assert_eq!(result["content"][0]["text"], answered, "{result}");
        }
        let asked_here = match takes_forms {
            false => 2,
            true => 0,
        };
        assert_eq!(answers.asked().len(), asked_here);
        soon(serving).await.unwrap();
    }
}

#[tokio::test]
async fn another_failure_is_passed_on() {
    let (bridge, mut connections) = to_scripted();
    let is_older = |sign: OlderSign<'_>| matches!(sign, OlderSign::Failure("pizza"));
    let bridge = bridge.asks_in_older(is_older, |_| panic!("it is not connected again"));
    let serving = tokio::spawn(async move {
        let mut server = connections.recv().await.unwrap();
        fail_in_newest(&mut server).await;
        server
    });
    let (near, _) = serve(&bridge);
    let mut client = Wire::new(near);
    let failed = call(&mut client, &json!({}), &[]).await;
    assert_eq!(failed["content"][0]["text"], CANNOT_ASK);
    soon(serving).await.unwrap();
}

#[tokio::test]
async fn a_known_server_that_has_changed_is_connected_without_a_session_at_once() {
    for is_changed in [false, true] {
        let (bridge, mut connections) = to_scripted();
        let is_older = move |sign: OlderSign<'_>| match sign {
            OlderSign::Connecting => true,
            OlderSign::Greeting(server) => {
                assert_eq!(server.map(|server| &*server.version), Some("1"));
                !is_changed
            }
            OlderSign::Failure(_) => false,
        };
        let bridge = bridge.asks_in_older(is_older, |_| panic!("it is not found again"));
        let serving = tokio::spawn(async move {
            let mut server = connections.recv().await.unwrap();
            server.greet(Revision::V2025_11_25).await;
            if is_changed {
                assert_eq!(server.text().await, None);
                server = connections.recv().await.unwrap();
                greet_in_newest(&mut server).await;
            }
            let request = server.hear().await;
            assert_eq!(request["method"], "tools/call");
            let result = json!({"resultType": "complete", "content": [], "from": "it"});
            server.answer(&request["id"], &result.to_string()).await;
            server
        });
        let (near, _) = serve(&bridge);
        let mut client = Wire::new(near);
        let result = call(&mut client, &json!({}), &[]).await;
        assert_eq!(result["resultType"], "complete", "{result}");
        soon(serving).await.unwrap();
    }
}

#[tokio::test]
async fn only_new_calls_go_to_the_second_connection() {
    let (bridge, mut connections) = to_scripted();
    let is_older = |sign: OlderSign<'_>| matches!(sign, OlderSign::Failure(CANNOT_ASK));
    let bridge = bridge
        .answers(Standby::default())
        .asks_in_older(is_older, |_| {});
    let serving = tokio::spawn(async move {
        let mut server = connections.recv().await.unwrap();
        fail_in_newest(&mut server).await;
        let mut older = connections.recv().await.unwrap();
        older.greet(Revision::V2025_11_25).await;
        // A round that began before, and a task, which the second connection does not know.
        for method in ["tools/call", "tasks/get"] {
            let request = server.hear().await;
            assert_eq!(request["method"], method);
            let result = json!({"resultType": "complete", "content": [], "from": "the first"});
            server.answer(&request["id"], &result.to_string()).await;
        }
        (server, older)
    });
    let (near, _) = serve(&bridge);
    let mut client = Wire::new(near);
    assert_eq!(call(&mut client, &json!({}), &[]).await["isError"], true);
    let round = [("requestState", json!("of the first"))];
    let result = call(&mut client, &json!({}), &round).await;
    assert_eq!(result["from"], "the first", "{result}");
    let capabilities = json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
    let get = json!({"jsonrpc": "2.0", "id": 2, "method": "tasks/get", "params": {
        "taskId": "t1",
        "_meta": modern_meta(&capabilities),
    }});
    client.say(&get.to_string()).await;
    let result = soon(client.hear()).await;
    assert_eq!(result["result"]["from"], "the first", "{result}");
    soon(serving).await.unwrap();
}
