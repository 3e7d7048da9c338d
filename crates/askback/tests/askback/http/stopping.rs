//! Servers over HTTP that are told to stop.

use std::time::Duration;

use askback::{Limits, Revision, ServerBuilder};
use serde_json::{Value, json};

use super::{
    Stage,
    client::{hello, stateless},
    serving::{Serving, Socket, calling},
};

/// A standalone server, or one in an axum application.
async fn started(builder: ServerBuilder, is_in_axum: bool) -> Serving {
    match is_in_axum {
        true => in_axum(builder).await,
        false => Serving::start(builder).await,
    }
}

#[tokio::test]
async fn a_commit_that_has_begun_may_end_without_its_client() {
    for is_in_axum in [false, true] {
        let stage = Stage::default();
        let mut server = started(stage.builder(), is_in_axum).await;
        let mut called = server.connect().await;
        called.send(calling("commits", "")).await;
        stage.until((1, 0, 0)).await;
        drop(called);
        server.stop();
        // Once the server knows that the client is gone, it waits only for the commit.
        for _ in 0..20 {
            let mut late = server.connect().await;
            late.send(calling("hello", "Connection: close\r\n")).await;
            let said = late.rest().await;
            assert!(said.starts_with("HTTP/1.1 503"), "{is_in_axum}: {said}");
        }
        stage.go_on();
        server.ended().await;
        assert_eq!(stage.handlers(), (1, 1, 0), "{is_in_axum}");
    }
}

#[tokio::test]
async fn a_commit_that_does_not_end_is_not_waited_for_without_end() {
    for is_in_axum in [false, true] {
        let stage = Stage::default();
        let mut limits = Limits::default();
        limits.server.shutdown = Duration::from_millis(200);
        let mut server = started(stage.builder().limits(limits), is_in_axum).await;
        let mut called = server.connect().await;
        called.send(calling("commits", "")).await;
        stage.until((1, 0, 0)).await;
        drop(called);
        server.stop();
        server.ended().await;
        assert_eq!(stage.handlers(), (1, 0, 0), "{is_in_axum}");
    }
}

async fn post(server: &Serving, path: &str, headers: &str, message: &Value) -> Socket {
    let mut socket = server.connect().await;
    let body = message.to_string();
    let length = body.len();
    let request = format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nConnection: close\r\n{headers}\
         Content-Length: {length}\r\n\r\n{body}"
    );
    socket.send(request).await;
    socket
}

async fn get(server: &Serving, headers: &str) -> Socket {
    let mut socket = server.connect().await;
    let request = format!(
        "GET /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\
         Connection: close\r\n{headers}\r\n"
    );
    socket.send(request).await;
    socket
}

/// Opens a session, and returns its header.
async fn open(server: &Serving) -> String {
    let hello = hello(Revision::V2025_11_25, json!({"elicitation": {}}));
    let said = post(server, "/mcp", "", &hello).await.rest().await;
    let id = said.split("mcp-session-id: ").nth(1).expect("a session");
    let id = id.split('\r').next().unwrap();
    let session = format!("Mcp-Session-Id: {id}\r\n");
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    post(server, "/mcp", &session, &initialized)
        .await
        .rest()
        .await;
    session
}

fn call(id: u64, tool: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool}})
}

fn event(text: &str) -> Value {
    let data = text
        .lines()
        .rev()
        .find_map(|line| line.strip_prefix("data: "));
    serde_json::from_str(data.expect("data")).expect("JSON")
}

#[tokio::test]
async fn a_server_where_nothing_goes_on_stops_at_once() {
    let mut server = Serving::start(Stage::default().builder()).await;
    let session = open(&server).await;
    let mut own = get(&server, &session).await;
    own.until("text/event-stream").await;
    let mut idle = server.connect().await;
    idle.send(calling("hello", "")).await;
    idle.until("Hello!").await;
    let _silent = server.connect().await;
    server.stop();
    own.rest().await;
    idle.rest().await;
    server.ended().await;
}

/// Serves from an axum application until it is told to stop.
async fn in_axum(builder: ServerBuilder) -> Serving {
    Serving::by(|listener, stopped| {
        let endpoint = builder.build().unwrap().http().allow_http_sse();
        let service = endpoint.service_until(stopped);
        let stopped = service.stopped();
        let router = axum::Router::new().route_service("/mcp", service);
        async move {
            let serving = axum::serve(listener, router).with_graceful_shutdown(stopped);
            serving.await
        }
    })
    .await
}

#[tokio::test]
async fn an_application_of_others_ends_though_streams_are_open() {
    let mut server = in_axum(Stage::default().builder()).await;
    let session = open(&server).await;
    let mut own = get(&server, &session).await;
    own.until("text/event-stream").await;
    let mut pair = get(&server, "").await;
    pair.until("event: endpoint").await;
    let filter = json!({"notifications": {"toolsListChanged": true}});
    let listen = stateless("subscriptions/listen", filter);
    let headers = "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: subscriptions/listen\r\n";
    let mut listening = post(&server, "/mcp", headers, &listen).await;
    listening.until("acknowledged").await;
    server.stop();
    own.rest().await;
    pair.rest().await;
    let said = listening.rest().await;
    assert_eq!(event(&said)["result"]["resultType"], "complete", "{said}");
    server.ended().await;
}

#[tokio::test]
async fn an_application_of_others_lets_calls_end_and_be_answered() {
    let stage = Stage::default();
    let mut server = in_axum(stage.builder()).await;
    let session = open(&server).await;
    let mut stateless = server.connect().await;
    stateless
        .send(calling("waits", "Connection: close\r\n"))
        .await;
    let mut asking = post(&server, "/mcp", &session, &call(1, "asks")).await;
    asking.until("elicitation/create").await;
    stage.until((2, 0, 0)).await;
    server.stop();
    // New calls are refused. Open questions may still be answered.
    let mut late = server.connect().await;
    late.send(calling("hello", "Connection: close\r\n")).await;
    let said = late.rest().await;
    assert!(said.starts_with("HTTP/1.1 503"), "{said}");
    let accept = json!({"action": "accept", "content": {"window": true}});
    let answer = json!({"jsonrpc": "2.0", "id": 1, "result": accept});
    post(&server, "/mcp", &session, &answer).await.rest().await;
    let said = asking.rest().await;
    assert!(said.contains("by the window: true"), "{said}");
    stage.go_on();
    let said = stateless.rest().await;
    assert!(said.contains("It was worth the wait."), "{said}");
    server.ended().await;
}

#[tokio::test]
async fn an_embedding_application_waits_up_to_a_limit() {
    let stage = Stage::default();
    let mut limits = Limits::default();
    limits.server.shutdown = Duration::from_millis(200);
    let mut server = in_axum(stage.builder().limits(limits)).await;
    let session = open(&server).await;
    let mut stateless = server.connect().await;
    stateless
        .send(calling("waits", "Connection: close\r\n"))
        .await;
    let mut waiting = post(&server, "/mcp", &session, &call(2, "waits")).await;
    stage.until((2, 0, 0)).await;
    server.stop();
    for socket in [&mut stateless, &mut waiting] {
        let said = socket.rest().await;
        assert!(said.contains("the server is stopping"), "{said}");
    }
    server.ended().await;
}

#[tokio::test]
async fn what_goes_on_may_end() {
    let stage = Stage::default();
    let mut server = Serving::start(stage.builder()).await;
    let session = open(&server).await;
    let mut stateless = server.connect().await;
    stateless.send(calling("waits", "")).await;
    let mut called = post(&server, "/mcp", &session, &call(1, "waits")).await;
    stage.until((2, 0, 0)).await;
    server.stop();
    // New calls are refused.
    let mut late = server.connect().await;
    late.send(calling("hello", "")).await;
    let said = late.rest().await;
    assert!(said.starts_with("HTTP/1.1 503"), "{said}");
    for said in [
        post(&server, "/mcp", &session, &call(2, "hello"))
            .await
            .rest()
            .await,
        post(
            &server,
            "/mcp",
            "",
            &hello(Revision::V2025_11_25, json!({})),
        )
        .await
        .rest()
        .await,
        get(&server, "").await.rest().await,
    ] {
        assert!(said.starts_with("HTTP/1.1 503"), "{said}");
    }
    stage.go_on();
    stage.until((2, 1, 0)).await;
    stage.go_on();
    for socket in [&mut stateless, &mut called] {
        let said = socket.rest().await;
        assert!(said.contains("It was worth the wait."), "{said}");
    }
    server.ended().await;
}

#[tokio::test]
async fn a_question_may_still_be_answered() {
    let stage = Stage::default();
    let mut server = Serving::start(stage.builder()).await;
    let session = open(&server).await;
    let mut asking = post(&server, "/mcp", &session, &call(1, "asks")).await;
    let question = asking.until("elicitation/create").await;
    assert!(question.contains(r#""id":1"#), "{question}");
    server.stop();
    let accept = json!({"action": "accept", "content": {"window": true}});
    let answer = json!({"jsonrpc": "2.0", "id": 1, "result": accept});
    let said = post(&server, "/mcp", &session, &answer).await.rest().await;
    assert!(said.starts_with("HTTP/1.1 202"), "{said}");
    let said = asking.rest().await;
    assert!(said.contains("by the window: true"), "{said}");
    server.ended().await;
}

#[tokio::test]
async fn a_broken_stream_may_still_be_resumed() {
    let stage = Stage::default();
    let mut server = Serving::start(stage.builder()).await;
    let session = open(&server).await;
    let mut waiting = post(&server, "/mcp", &session, &call(1, "waits")).await;
    waiting.until("id: 1-0").await;
    server.stop();
    drop(waiting);
    let mut resumed = get(&server, &format!("{session}Last-Event-ID: 1-0\r\n")).await;
    resumed.until("text/event-stream").await;
    stage.go_on();
    let said = resumed.rest().await;
    assert!(said.contains("It was worth the wait."), "{said}");
    server.ended().await;
}

#[tokio::test]
async fn what_takes_too_long_is_answered_with_an_error() {
    let stage = Stage::default();
    let mut limits = Limits::default();
    limits.server.shutdown = Duration::from_millis(200);
    let mut server = Serving::start(stage.builder().limits(limits)).await;
    let session = open(&server).await;
    let mut stateless = server.connect().await;
    stateless.send(calling("waits", "")).await;
    let mut asking = post(&server, "/mcp", &session, &call(1, "asks")).await;
    let mut waiting = post(&server, "/mcp", &session, &call(2, "waits")).await;
    let mut pair = get(&server, "").await;
    pair.until("event: endpoint").await;
    let endpoint = pair.until("\n\n").await;
    let endpoint = endpoint
        .lines()
        .find_map(|line| line.strip_prefix("data: "))
        .unwrap();
    let hello = hello(Revision::V2024_11_05, json!({}));
    post(&server, endpoint, "", &hello).await.rest().await;
    post(&server, endpoint, "", &call(3, "waits"))
        .await
        .rest()
        .await;
    asking.until("elicitation/create").await;
    stage.until((4, 0, 0)).await;
    server.stop();
    for socket in [&mut stateless, &mut asking, &mut waiting, &mut pair] {
        let said = socket.rest().await;
        assert!(said.contains("the server is stopping"), "{said}");
    }
    stage.until((4, 0, 4)).await;
    server.ended().await;
}

#[tokio::test]
async fn a_pair_stays_until_its_calls_have_ended() {
    let stage = Stage::default();
    let mut server = Serving::start(stage.builder()).await;
    let mut pair = get(&server, "").await;
    pair.until("event: endpoint").await;
    let endpoint = pair.until("\n\n").await;
    let endpoint = endpoint
        .lines()
        .find_map(|line| line.strip_prefix("data: "))
        .unwrap();
    let hello = hello(Revision::V2024_11_05, json!({}));
    post(&server, endpoint, "", &hello).await.rest().await;
    post(&server, endpoint, "", &call(3, "waits"))
        .await
        .rest()
        .await;
    stage.until((1, 0, 0)).await;
    pair.until("2024-11-05").await;
    server.stop();
    stage.go_on();
    let said = pair.rest().await;
    assert!(said.contains("It was worth the wait."), "{said}");
    server.ended().await;
}

// Shows CA-02, CA-12, SU-05, SU-06.
#[tokio::test]
async fn a_subscription_ends_with_its_result() {
    let mut server = Serving::start(Stage::default().builder()).await;
    let filter = json!({"notifications": {"toolsListChanged": true}});
    let listen = stateless("subscriptions/listen", filter);
    let headers = "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: subscriptions/listen\r\n";
    let mut listening = post(&server, "/mcp", headers, &listen).await;
    listening.until("acknowledged").await;
    server.stop();
    let said = listening.rest().await;
    let cancelled = said.find("notifications/cancelled").expect("it is told");
    let result = said.find(r#""result""#).expect("it is answered");
    assert!(cancelled < result, "{said}");
    assert_eq!(event(&said)["result"]["resultType"], "complete", "{said}");
    server.ended().await;
}
