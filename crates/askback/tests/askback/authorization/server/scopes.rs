//! Scopes: what a token may be used for.

use std::sync::{Arc, atomic::AtomicU64};

use askback::{Ctx, Result, Revision, Server, Tool, protocol::TaskSupport, testing::Wire};
use serde_json::{Value, json};

use super::{
    Hand, METADATA, NOW, Ran, bearer, builder, client, post, principal::about, protection, with,
};
use crate::{
    asking::Seat,
    http::client::{Client, MESSAGE, Response, hello, stateless},
};

fn token(scopes: &str) -> String {
    bearer(&with("scope", json!(scopes)))
}

/// Checks that a challenge names all of these scopes at once.
#[track_caller]
fn assert_asks_for(response: &Response, scopes: &str) {
    assert_eq!(response.status, 403);
    let why = "the access token does not cover this request";
    let wanted = format!(
        r#"Bearer error="insufficient_scope", error_description="{why}", resource_metadata="{METADATA}", scope="{scopes}""#
    );
    assert_eq!(response.header("www-authenticate"), Some(wanted.as_str()));
}

const ERASE: &str = "notes:read notes:write notes:erase";

// Shows AZ-16, AZ-50, AZ-51, AZ-52, AZ-53, AZ-54, AZ25-11, CC-23, RE-14, RE-16, TO-36.
#[tokio::test]
async fn what_a_request_needs_is_named_at_once() {
    let client = client();
    let diary = json!({"uri": "note://diary"});
    let drawer = json!({"uri": "note://drawer/socks"});
    let summary = json!({"name": "summary", "arguments": {"topic": "tea"}});
    let completing =
        |reference: Value| json!({"ref": reference, "argument": {"name": "topic", "value": ""}});
    let prompt = completing(json!({"type": "ref/prompt", "name": "summary"}));
    let template = completing(json!({"type": "ref/resource", "uri": "note://drawer/{topic}"}));
    let watching = json!({"notifications": {
        "resourceSubscriptions": ["note://other", "note://diary", "note://drawer/socks"],
    }});
    for (method, params, needed) in [
        ("tools/call", json!({"name": "erase"}), ERASE),
        ("prompts/get", summary, "notes:read notes:think"),
        ("resources/read", diary, "notes:read notes:diary"),
        ("resources/read", drawer, "notes:read notes:drawer"),
        ("completion/complete", prompt, "notes:read notes:think"),
        ("completion/complete", template, "notes:read notes:drawer"),
        (
            "subscriptions/listen",
            watching,
            "notes:read notes:diary notes:drawer",
        ),
    ] {
        let message = stateless(method, params);
        let refused = post(&client, &token("notes:read"), &message).await;
        assert_asks_for(&refused, needed);
        let answered = post(&client, &token(needed), &message).await;
        assert_eq!(answered.status, 200, "{method}");
        if method != "subscriptions/listen" {
            let answer = answered.answer().await;
            assert!(answer["result"].is_object(), "{method}: {answer}");
        }
    }
    for (method, params) in [
        ("tools/list", json!({})),
        ("resources/list", json!({})),
        ("tools/call", json!({"name": "hello"})),
    ] {
        let message = stateless(method, params);
        let answered = post(&client, &token("notes:read"), &message).await;
        assert_eq!(answered.status, 200, "{method} needs no more than all do");
    }
}

// Shows AZ-51, AZ-53.
#[tokio::test]
async fn what_every_request_needs_is_asked_for_first() {
    let client = client();
    for (name, scopes) in [("none", json!("")), ("others", json!("notes:erase"))] {
        let token = bearer(&with("scope", scopes));
        for method in ["server/discover", "tools/list"] {
            let refused = post(&client, &token, &stateless(method, json!({}))).await;
            assert_eq!(refused.status, 403, "{name}");
            assert_asks_for(&refused, "notes:read");
        }
    }
}

// Shows AZ-59, TO-36.
#[tokio::test]
async fn a_broader_scope_comes_with_narrower_ones() {
    let ran = Ran::default();
    let protection = protection()
        .implies("notes:all", ["notes:write", "notes:erase"])
        .unwrap();
    let protection = protection
        .implies("notes:read", ["notes:all-in-a-ring"])
        .unwrap();
    let protection = protection
        .implies("notes:all-in-a-ring", ["notes:read"])
        .unwrap();
    let server = builder(&ran).build().unwrap();
    let client = Client(server.http().allow_http_sse().protect(protection).service());
    let erase = stateless("tools/call", json!({"name": "erase"}));
    let read = stateless("tools/list", json!({}));
    for (scopes, reads, erases) in [
        ("notes:read", true, false),
        ("notes:write", true, false),
        ("notes:write notes:erase", true, true),
        ("notes:all", true, true),
        ("notes:al", false, false),
        ("NOTES:ALL", false, false),
        ("notes:all-in-a-ring", true, false),
    ] {
        let before = ran.times();
        let may_read = post(&client, &token(scopes), &read).await.status == 200;
        let may_erase = post(&client, &token(scopes), &erase).await.status == 200;
        assert_eq!((may_read, may_erase), (reads, erases), "{scopes}");
        assert_eq!(ran.times() - before, usize::from(erases), "{scopes}");
    }
}

// Shows AZ-50, AZ-51, AZ-53, TO-36.
#[tokio::test]
async fn scopes_count_on_sessions_of_every_revision() {
    for revision in Revision::ALL {
        let facts = revision.facts();
        if !facts.http.sessions {
            continue;
        }
        let ran = Ran::default();
        let server = builder(&ran).build().unwrap();
        let client = Client(
            server
                .http()
                .allow_http_sse()
                .protect(protection())
                .service(),
        );
        let (narrow, broad) = (token("notes:read"), token(ERASE));
        let with_session = |authorization: &str, message: Value| {
            let client = client.clone();
            let authorization = authorization.to_owned();
            async move {
                let headers = [&MESSAGE[..], &[("authorization", &*authorization)]].concat();
                let opened = client
                    .send(
                        "POST",
                        "/mcp",
                        &headers,
                        hello(revision, json!({})).to_string(),
                    )
                    .await;
                let id = opened.header("mcp-session-id").unwrap().to_owned();
                let mut headers = headers;
                headers.push(("mcp-session-id", &id));
                if revision.facts().http.version_header {
                    headers.push(("mcp-protocol-version", revision.as_str()));
                }
                let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
                client
                    .send("POST", "/mcp", &headers, initialized.to_string())
                    .await;
                client
                    .send("POST", "/mcp", &headers, message.to_string())
                    .await
            }
        };
        let call = |id: u64, name: &str| {
            let params = json!({"name": name});
            json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
        };
        let watch = json!({"jsonrpc": "2.0", "id": 3, "method": "resources/subscribe",
                           "params": {"uri": "note://diary"}});
        assert_asks_for(&with_session(&narrow, call(1, "erase")).await, ERASE);
        assert_asks_for(
            &with_session(&narrow, watch.clone()).await,
            "notes:read notes:diary",
        );
        if facts.batches {
            let batch = json!([call(1, "hello"), call(2, "erase"), watch]);
            let all = format!("{ERASE} notes:diary");
            assert_asks_for(&with_session(&narrow, batch).await, &all);
            let batch = json!([call(1, "hello"), call(2, "whoami")]);
            assert_eq!(with_session(&narrow, batch).await.status, 200);
        }
        assert_eq!(ran.times(), 0, "{revision}");
        assert_eq!(with_session(&broad, call(1, "erase")).await.status, 200);
        assert_eq!(with_session(&narrow, call(1, "hello")).await.status, 200);
    }
}

/// The HTTP+SSE transport of the first revision.
// Shows AZ-51.
#[tokio::test]
async fn scopes_count_on_a_pair_of_endpoints() {
    let ran = Ran::default();
    let server = builder(&ran).build().unwrap();
    let client = Client(
        server
            .http()
            .allow_http_sse()
            .protect(protection())
            .service(),
    );
    let narrow = token("notes:read");
    let headers = [
        ("host", "localhost"),
        ("accept", "text/event-stream"),
        ("authorization", &narrow),
    ];
    let mut stream = client.send("GET", "/mcp", &headers, "").await;
    let endpoint = String::from_utf8(stream.event().await.unwrap().data).unwrap();
    let headers = [&MESSAGE[..], &[("authorization", &*narrow)]].concat();
    let first = hello(Revision::ALL[0], json!({})).to_string();
    assert_eq!(
        client.send("POST", &endpoint, &headers, first).await.status,
        202
    );
    let params = json!({"name": "erase"});
    let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params});
    let refused = client
        .send("POST", &endpoint, &headers, call.to_string())
        .await;
    assert_asks_for(&refused, ERASE);
    assert_eq!(ran.times(), 0);
}

// Shows AZ-51.
// Shows AZ-02.
#[tokio::test]
async fn over_standard_streams_nobody_is_asked_for_a_token() {
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let ran = Ran::default();
        let server = builder(&ran).build().unwrap();
        let mut wire = Wire::connect(&server);
        wire.initialize(revision, &json!({})).await;
        wire.request("tools/call", json!({"name": "erase"})).await;
        let answer = wire.hear().await.unwrap();
        let text = &answer["result"]["content"][0]["text"];
        assert_eq!(*text, "It is gone.", "{revision:?}: {answer}");
    }
}

#[tokio::test]
async fn a_name_that_stands_twice_is_no_way_around() {
    let ran = Ran::default();
    let server = builder(&ran).build().unwrap();
    let client = Client(
        server
            .http()
            .allow_http_sse()
            .protect(protection())
            .service(),
    );
    let narrow = token("notes:read");
    let message = stateless("tools/call", json!({"name": "hello"})).to_string();
    for (name, message) in [
        (
            "twice",
            message.replace(r#""name":"hello""#, r#""name":"hello","name":"erase""#),
        ),
        (
            "the other way",
            message.replace(r#""name":"hello""#, r#""name":"erase","name":"hello""#),
        ),
        (
            "written otherwise",
            message.replace("\"hello\"", "\"\\u0065rase\""),
        ),
    ] {
        for target in ["hello", "erase"] {
            let headers = [
                &MESSAGE[..],
                &[
                    ("authorization", &*narrow),
                    ("mcp-protocol-version", "2026-07-28"),
                    ("mcp-method", "tools/call"),
                    ("mcp-name", target),
                ],
            ]
            .concat();
            let refused = client.send("POST", "/mcp", &headers, &*message).await;
            assert!(
                refused.status.is_client_error(),
                "{name}: {}",
                refused.status
            );
            assert_eq!(ran.times(), 0, "{name}");
        }
    }
}

async fn sweeping(ctx: Ctx) -> Result<&'static str> {
    let seat: Seat = ctx.elicit("Which notes?").await?.accepted()?;
    Ok(if seat.window { "All." } else { "None." })
}

/// A token that could not start a task cannot continue it either.
// Shows AZ-51, AZ-54.
#[tokio::test]
async fn what_becomes_of_a_task_needs_the_scopes_of_its_call() {
    let sweep = Tool::new("sweep", sweeping).task(TaskSupport::Required);
    let server = builder(&Ran::default())
        .tool(sweep.scopes(["notes:write", "notes:erase"]))
        .changing_tools()
        .build()
        .unwrap();
    let client = Client(server.http().protect(protection()).service());
    let message = |method: &str, mut params: Value| {
        let capabilities = json!({
            "elicitation": {}, "extensions": {"io.modelcontextprotocol/tasks": {}},
        });
        params["_meta"] = json!({"io.modelcontextprotocol/clientCapabilities": capabilities});
        stateless(method, params)
    };
    let (narrow, broad) = (token("notes:read"), token(ERASE));
    let stranger = with("scope", json!("notes:read"));
    let stranger = bearer(&{
        let mut claims = stranger;
        claims["sub"] = "mallory".into();
        claims
    });
    let call = message("tools/call", json!({"name": "sweep"}));
    let begun = post(&client, &broad, &call).await.answer().await;
    let id = json!({"taskId": begun["result"]["taskId"]});
    let mut update = id.clone();
    update["inputResponses"] = json!({"seat": {"action": "accept", "content": {"window": true}}});
    let listen = json!({"notifications": {"taskIds": [id["taskId"]]}});
    let requests = [
        message("tasks/get", id.clone()),
        message("tasks/update", update.clone()),
        message("tasks/cancel", id.clone()),
        message("subscriptions/listen", listen),
    ];
    // Even after the tool was removed.
    assert!(server.tools().unwrap().remove("sweep"));
    for request in &requests {
        let refused = about(&client, &narrow, request).await;
        assert_asks_for(&refused, ERASE);
        // Other principals do not learn that the task exists.
        let unknown = about(&client, &stranger, request).await;
        assert_ne!(unknown.status, 403, "{request}");
    }
    let [get, update, ..] = &requests;
    let status = async || {
        let answered = about(&client, &broad, get).await;
        answered.answer().await["result"]["status"].clone()
    };
    while status().await != "input_required" {
        tokio::task::yield_now().await;
    }
    let updated = about(&client, &broad, update).await.answer().await;
    assert!(updated["result"].is_object(), "{updated}");
    while status().await != "completed" {
        tokio::task::yield_now().await;
    }
    // A token with fewer scopes cannot read the result.
    let refused = about(&client, &narrow, get).await;
    assert_asks_for(&refused, ERASE);
}

#[tokio::test]
async fn scopes_count_for_what_is_added_later_and_give_nothing_away_that_is_hidden() {
    let clock = Hand(Arc::new(AtomicU64::new(NOW)));
    let builder = Server::new("notes", "1").clock(clock).changing_tools();
    let server = builder.build().unwrap();
    let client = Client(server.http().protect(protection()).service());
    let tools = server.tools().unwrap();
    let scoped = |name: &str| Tool::new(name, async || Ok("Hello!")).scopes(["notes:late"]);
    let call = async |name: &str, scopes: &str| {
        let call = stateless("tools/call", json!({"name": name}));
        post(&client, &token(scopes), &call).await
    };
    let unknown = call("late", "notes:read").await;
    let (status, unknown) = (unknown.status, unknown.answer().await);
    tools.add(scoped("late").visible_to(|_| false)).unwrap();
    let hidden = call("late", "notes:read").await;
    assert_eq!((hidden.status, hidden.answer().await), (status, unknown));
    assert!(tools.remove("late"));
    tools.add(scoped("late")).unwrap();
    let refused = call("late", "notes:read").await;
    assert_asks_for(&refused, "notes:read notes:late");
    let answered = call("late", "notes:read notes:late").await.answer().await;
    assert_eq!(answered["result"]["content"][0]["text"], "Hello!");
}
