//! Requests, results and notifications pass through a bridge.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use askback::{
    Change, Ctx, Revision, Tool,
    client::{ClientError, Event},
    ctx::Progress,
    protocol::{LoggingLevel, Reference, SubscriptionFilter},
};
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::{
    Wire, agency, cells, connect, modern_meta, serve, soon, to, to_scripted, until, willing,
};

#[tokio::test]
async fn a_client_sees_the_server_behind() {
    for [down, up] in cells() {
        let bridge = to(agency().revisions([up]).build().unwrap());
        let client = connect(&bridge, down, willing()).await;
        assert_eq!(client.server_info().unwrap().version, "7", "{down} {up}");
        assert_eq!(client.instructions().as_deref(), Some("Ask nicely."));
        assert!(client.capabilities().tools.is_some());
        let tools = client.tools().await.unwrap();
        assert_eq!(tools.len(), 5, "{down} {up}");
        assert_eq!(client.prompts().await.unwrap().len(), 1);
        assert_eq!(client.resources().await.unwrap().len(), 1);
        let read = client.read_resource("a:list").await.unwrap();
        assert!(read.raw.get().contains("one, two"));
        let error = client.call_tool("none", ()).await.unwrap_err();
        assert!(matches!(error, ClientError::Server(error) if error.code == -32602));
        client.close().await;
    }
}

#[tokio::test]
async fn a_client_that_gives_up_its_first_request_for_a_session_gets_one_response() {
    let (bridge, mut connections) = to_scripted();
    let (near, _) = serve(&bridge);
    let mut client = Wire::new(near);
    let meta = modern_meta(&json!({}));
    let discover = json!({
        "jsonrpc": "2.0", "id": 7, "method": "server/discover", "params": {"_meta": meta},
    });
    client.say(&discover.to_string()).await;
    let mut server = connections.recv().await.unwrap();
    let discover = server.hear().await;
    // The server takes longer to start than the client waits.
    let given_up =
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}"#;
    client.say(given_up).await;
    let revision = Revision::V2025_11_25;
    client.say_initialize(revision, &json!({})).await;
    let result = json!({
        "resultType": "complete", "supportedVersions": ["2026-07-28"],
        "capabilities": {"tools": {}},
    });
    server.answer(&discover["id"], &result.to_string()).await;
    let greeting = client.hear().await;
    assert_eq!(greeting["id"], 0, "{greeting}");
    assert_eq!(greeting["result"]["protocolVersion"], revision.as_str());
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    client.say(ping).await;
    assert_eq!(client.hear().await["id"], 1);
}

#[tokio::test]
async fn messages_before_the_server_has_started_are_handled_once_and_in_order() {
    let (bridge, mut connections) = to_scripted();
    let (near, _) = serve(&bridge);
    let mut client = Wire::new(near);
    let meta = modern_meta(&json!({}));
    for id in 0..40 {
        let method = if id == 0 {
            "server/discover"
        } else {
            "x/unknown"
        };
        let request =
            json!({"jsonrpc": "2.0", "id": id, "method": method, "params": {"_meta": meta}});
        client.say(&request.to_string()).await;
    }
    let mut server = connections.recv().await.unwrap();
    let discover = server.hear().await;
    let result = json!({
        "resultType": "complete", "supportedVersions": ["2026-07-28"],
        "capabilities": {"tools": {}},
    });
    server.answer(&discover["id"], &result.to_string()).await;
    assert_eq!(client.hear().await["id"], 0);
    for _ in 1..40 {
        let request = server.hear().await;
        assert_eq!(request["method"], "x/unknown");
        server
            .answer(&request["id"], r#"{"resultType":"complete"}"#)
            .await;
    }
    let mut answered = Vec::new();
    for _ in 1..40 {
        answered.push(client.hear().await["id"].as_i64().unwrap());
    }
    answered.sort_unstable();
    assert_eq!(answered, Vec::from_iter(1..40));
}

#[tokio::test]
async fn unknown_methods_and_members_pass_byte_for_byte_on_a_session() {
    let (bridge, mut connections) = to_scripted();
    let (near, _) = serve(&bridge);
    let revision = Revision::V2025_11_25;
    let server = tokio::spawn(async move {
        let mut server = connections.recv().await.unwrap();
        let params = server.greet(revision).await;
        assert_eq!(params["clientInfo"]["title"], "Guest");
        (server, connections)
    });
    let mut client = Wire::new(near);
    let greeting = client.initialize(revision, &json!({})).await;
    assert_eq!(greeting["result"]["serverInfo"]["title"], "S");
    let (mut server, _connections) = server.await.unwrap();
    for method in ["tools/call", "x/unknown"] {
        let members = r#""name":"t","z":[1.0,1e2,{"b":null,"a":"\u00e9"}]"#;
        client
            .say(&format!(
                r#"{{"jsonrpc":"2.0","id":"one","method":"{method}","params":{{{members},"_meta":{{"com.example/x":1}}}}}}"#
            ))
            .await;
        let request = server.text().await.unwrap();
        assert!(request.contains(members), "{request}");
        let request: Value = serde_json::from_str(&request).unwrap();
        assert_eq!(request["method"], method);
        assert_eq!(request["params"]["_meta"]["com.example/x"], 1);
        let result = r#"{"content":[],"z":1.0,"_meta":{"y":{}},"a":[ ]}"#;
        server.answer(&request["id"], result).await;
        let answer = client.text().await.unwrap();
        assert!(answer.contains(result), "{answer}");
        assert!(answer.contains(r#""id":"one""#));
    }
    client
        .say(r#"{"jsonrpc":"2.0","id":2,"method":"x/fails"}"#)
        .await;
    let request = server.hear().await;
    let error = r#"{"code":99,"message":"no","data":{"x":[1]}}"#;
    server
        .say(&format!(
            r#"{{"jsonrpc":"2.0","id":{},"error":{error}}}"#,
            request["id"]
        ))
        .await;
    assert_eq!(
        client.hear().await["error"],
        serde_json::from_str::<Value>(error).unwrap()
    );
}

#[tokio::test]
async fn unknown_methods_and_members_pass_byte_for_byte_without_a_session() {
    let (bridge, mut connections) = to_scripted();
    let (near, _) = serve(&bridge);
    let mut client = Wire::new(near);
    let meta = modern_meta(&json!({"elicitation": {}}));
    let members = r#""name":"t","z":[1.0,1e2]"#;
    for (id, method) in [(1, "x/unknown"), (2, "tools/call")] {
        client
            .say(&format!(
                r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{{members},"requestState":"S1","_meta":{meta}}}}}"#
            ))
            .await;
        if id == 1 {
            let mut server = connections.recv().await.unwrap();
            let discover = server.hear().await;
            assert_eq!(discover["method"], "server/discover");
            let result = json!({
                "resultType": "complete", "supportedVersions": ["2026-07-28"],
                "capabilities": {"tools": {}},
            });
            server.answer(&discover["id"], &result.to_string()).await;
            connections = {
                let (put, connections) = tokio::sync::mpsc::unbounded_channel();
                put.send(server).ok().unwrap();
                connections
            };
        }
        let mut server = connections.recv().await.unwrap();
        let request = server.text().await.unwrap();
        assert!(request.contains(members), "{request}");
        let request: Value = serde_json::from_str(&request).unwrap();
        assert_eq!(request["params"]["requestState"], "S1");
        let said = &request["params"]["_meta"];
        for key in ["clientInfo", "clientCapabilities", "protocolVersion"] {
            let key = format!("io.modelcontextprotocol/{key}");
            match key.ends_with("Capabilities") {
                true => assert!(said[&key]["elicitation"].is_object(), "{said}"),
                false => assert_eq!(said[&key], meta[&key]),
            }
        }
        let result = r#"{"resultType":"complete","content":[],"z":1.0,"a":[ ]}"#;
        server.answer(&request["id"], result).await;
        let answer = client.text().await.unwrap();
        assert!(answer.contains(result), "{answer}");
        let (put, again) = tokio::sync::mpsc::unbounded_channel();
        put.send(server).ok().unwrap();
        connections = again;
    }
}

#[tokio::test]
async fn notifications_pass() {
    for [down, up] in cells() {
        let told = Arc::new(Notify::new());
        let go = Arc::clone(&told);
        let tool = Tool::new("work", move |ctx: Ctx| {
            let go = Arc::clone(&go);
            async move {
                ctx.progress(Progress::at(1.0));
                ctx.log(LoggingLevel::Error, "a line");
                go.notified().await;
                "done"
            }
        });
        let server = agency().tool(tool).revisions([up]).build().unwrap();
        let host = willing();
        let client = connect(&to(server.clone()), down, host.clone()).await;
        client.set_log_level(LoggingLevel::Error).await.unwrap();
        let all = SubscriptionFilter {
            tools_list_changed: Some(true),
            ..SubscriptionFilter::default()
        };
        let _listening = client.listen(all).await.unwrap();
        client.subscribe("a:list").await.unwrap();
        let working = {
            let client = client.clone();
            tokio::spawn(async move { client.call_tool("work", ()).await })
        };
        let has = |like: fn(&Event) -> bool| {
            let host = host.clone();
            move || host.heard().iter().any(like)
        };
        until(has(
            |event| matches!(event, Event::Progress { progress, .. } if *progress == 1.0),
        ))
        .await;
        until(has(|event| matches!(event, Event::Log { .. }))).await;
        // The bridge opens its subscriptions in the background.
        let is_told = has(|event| matches!(event, Event::ToolsChanged));
        until(|| {
            server.changed(Change::Tools);
            is_told()
        })
        .await;
        let is_told = has(|event| matches!(event, Event::ResourceUpdated(uri) if uri == "a:list"));
        until(|| {
            server.changed(Change::Resource("a:list".to_owned()));
            is_told()
        })
        .await;
        told.notify_one();
        let done = soon(working).await.unwrap().unwrap();
        assert_eq!(done.text().unwrap(), "done", "{down} {up}");
        client.close().await;
    }
}

/// A client without a session that subscribes to a resource, and its server, which gets the request. Also returns the
/// acknowledgement of the subscription.
async fn subscribed(up: Revision) -> (Wire, Wire, Value, Value) {
    let (bridge, mut connections) = to_scripted();
    let (near, _) = serve(&bridge);
    let mut client = Wire::new(near);
    client.say(&listening()).await;
    let mut server = connections.recv().await.unwrap();
    let discover = server.hear().await;
    assert_eq!(discover["method"], "server/discover");
    if up == Revision::LATEST {
        let result = json!({
            "resultType": "complete", "supportedVersions": ["2026-07-28"],
            "capabilities": {"resources": {"subscribe": true}},
        });
        server.answer(&discover["id"], &result.to_string()).await;
    } else {
        refuse(&mut server, &discover["id"], -32601).await;
        server.greet(up).await;
    }
    let acknowledged = client.hear().await;
    assert!(acknowledged.get("id").is_none(), "{acknowledged}");
    let request = server.hear().await;
    (client, server, request, acknowledged)
}

fn listening() -> String {
    json!({"jsonrpc": "2.0", "id": 7, "method": "subscriptions/listen", "params": {
        "notifications": {"resourceSubscriptions": ["a:list"]}, "_meta": modern_meta(&json!({})),
    }})
    .to_string()
}

async fn refuse(server: &mut Wire, id: &Value, code: i32) {
    let error = json!({"code": code, "message": "no such thing"});
    let response = json!({"jsonrpc": "2.0", "id": id, "error": error});
    server.say(&response.to_string()).await;
}

#[tokio::test]
async fn a_refused_subscription_ends_with_the_error_of_the_server() {
    for up in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let (mut client, mut server, request, _) = soon(subscribed(up)).await;
        refuse(&mut server, &request["id"], -32099).await;
        let ended = soon(client.hear()).await;
        assert_eq!(
            (&ended["id"], &ended["error"]["code"]),
            (&json!(7), &json!(-32099)),
            "{up}"
        );
        // The request has ended, so its id can be used again.
        client.say(&listening()).await;
        let acknowledged = soon(client.hear()).await;
        assert!(acknowledged.get("id").is_none(), "{acknowledged}");
        assert_eq!(soon(server.hear()).await["method"], request["method"]);
    }
}

#[tokio::test]
async fn a_subscription_that_the_server_ends_is_ended() {
    for is_granted in [true, false] {
        let up = Revision::V2026_07_28;
        let (mut client, mut server, request, mut acknowledged) = soon(subscribed(up)).await;
        let params = &mut acknowledged["params"];
        params["_meta"]["io.modelcontextprotocol/subscriptionId"] = request["id"].clone();
        if !is_granted {
            params["notifications"] = json!({});
        }
        server.say(&acknowledged.to_string()).await;
        if !is_granted {
            let ended = soon(client.hear()).await;
            let why = "the server does not report changes of a:list";
            assert_eq!(
                (&ended["id"], &ended["error"]["message"]),
                (&json!(7), &json!(why))
            );
            continue;
        }
        server
            .answer(&request["id"], r#"{"resultType":"complete"}"#)
            .await;
        let cancelled = soon(client.hear()).await;
        assert_eq!(cancelled["method"], "notifications/cancelled");
        let why = "the server has ended the subscription";
        assert_eq!(cancelled["params"]["reason"], why);
        let ended = soon(client.hear()).await;
        assert_eq!(
            (&ended["id"], ended["result"].is_object()),
            (&json!(7), true)
        );
    }
}

#[tokio::test]
async fn a_refused_resource_subscription_of_a_session_is_an_error() {
    let (bridge, mut connections) = to_scripted();
    let (near, _) = serve(&bridge);
    let mut client = Wire::new(near);
    let revision = Revision::V2025_11_25;
    let capabilities = json!({});
    let greets = async {
        let mut server = connections.recv().await.unwrap();
        server.greet(revision).await;
        server
    };
    let (_, mut server) =
        soon(async { tokio::join!(client.initialize(revision, &capabilities), greets) }).await;
    client
        .say(r#"{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"a:list"}}"#)
        .await;
    let request = soon(server.hear()).await;
    assert_eq!(request["method"], "resources/subscribe");
    refuse(&mut server, &request["id"], -32099).await;
    let answer = soon(client.hear()).await;
    assert_eq!(
        (&answer["id"], &answer["error"]["code"]),
        (&json!(1), &json!(-32099))
    );
}

struct Dropped(Arc<AtomicBool>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[tokio::test]
async fn a_call_that_the_client_cancels_is_cancelled_at_the_server() {
    for [down, up] in cells() {
        let (begun, ended) = (Arc::new(Notify::new()), Arc::new(AtomicBool::new(false)));
        let (begins, ends) = (Arc::clone(&begun), Arc::clone(&ended));
        let tool = Tool::new("stall", move || {
            let (dropped, begins) = (Dropped(Arc::clone(&ends)), Arc::clone(&begins));
            async move {
                let _dropped = dropped;
                begins.notify_one();
                std::future::pending::<&'static str>().await
            }
        });
        let server = agency().tool(tool).revisions([up]).build().unwrap();
        let client = connect(&to(server), down, willing()).await;
        let call = {
            let client = client.clone();
            tokio::spawn(async move { client.call_tool("stall", ()).await })
        };
        soon(begun.notified()).await;
        call.abort();
        until(|| ended.load(Ordering::Relaxed)).await;
        assert!(client.tools().await.is_ok(), "{down} {up}");
        client.close().await;
    }
}

#[tokio::test]
async fn roots_that_changed_are_told_to_the_server() {
    let told = Arc::new(Notify::new());
    let tells = Arc::clone(&told);
    let server = agency()
        .on_roots_changed(move |_| {
            tells.notify_one();
            async {}
        })
        .build()
        .unwrap();
    let client = connect(&to(server), Revision::V2025_11_25, willing()).await;
    client.roots_changed();
    soon(told.notified()).await;
    client.close().await;
}

#[tokio::test]
async fn a_client_is_offered_the_revision_of_an_older_server() {
    let server = agency().revisions([Revision::V2024_11_05]).build().unwrap();
    let (near, _) = serve(&to(server));
    let mut client = Wire::new(near);
    let greeting = client.initialize(Revision::V2025_11_25, &json!({})).await;
    assert_eq!(greeting["result"]["protocolVersion"], "2024-11-05");
}

#[tokio::test]
async fn completions_pass() {
    for [down, up] in cells() {
        let server = agency().revisions([up]).changing_prompts().build().unwrap();
        let client = connect(&to(server), down, willing()).await;
        let reference: Reference =
            serde_json::from_value(json!({"type": "ref/prompt", "name": "plan"})).unwrap();
        let error = client.complete(reference, ("none", ""), Default::default());
        let error = error.await.unwrap_err();
        assert!(
            error.to_string().contains("has no argument"),
            "{down} {up}: {error}"
        );
        client.close().await;
    }
}
