//! A session's behaviour apart from calls.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use askback::{
    Ctx, Result, Revision, Server, ServerBuilder, Tool, protocol::LoggingLevel,
    server::RootsChanged, testing::Wire,
};
use serde_json::{Value, json};
use tokio::{
    sync::mpsc,
    time::{sleep, timeout},
};

use crate::asking::Seat;

const LEGACY: [Revision; 4] = [
    Revision::V2024_11_05,
    Revision::V2025_03_26,
    Revision::V2025_06_18,
    Revision::V2025_11_25,
];

pub(crate) async fn reserve(ctx: Ctx) -> Result<String> {
    let seat: Seat = ctx.elicit("A seat?").await?.accepted()?;
    Ok(format!("by the window: {}", seat.window))
}

/// The handshake without its last message.
async fn greet(wire: &mut Wire, revision: Revision) -> Value {
    let params = json!({
        "protocolVersion": revision.as_str(),
        "capabilities": {"elicitation": {}, "roots": {"listChanged": true}},
        "clientInfo": {"name": "tests", "version": "1"},
    });
    wire.request("initialize", params).await;
    wire.hear().await.expect("an answer")
}

fn notification(method: &str) -> Value {
    json!({"jsonrpc": "2.0", "method": format!("notifications/{method}")})
}

// Shows LI25-07.
#[tokio::test(start_paused = true)]
async fn a_question_waits_until_the_client_is_initialized() {
    let server = Server::new("tests", "1")
        .tool(Tool::new("reserve", reserve))
        .build();
    let server = server.expect("the server is whole");
    for revision in [Revision::V2025_06_18, Revision::V2025_11_25] {
        let mut wire = Wire::connect(&server);
        greet(&mut wire, revision).await;
        wire.request("tools/call", json!({"name": "reserve"})).await;
        let early = timeout(Duration::from_secs(60), wire.hear()).await;
        assert!(early.is_err(), "{revision}: {early:?}");
        wire.say(&notification("initialized")).await;
        let question = wire.hear().await.expect("a question");
        assert_eq!(question["method"], "elicitation/create", "{revision}");
        let result = json!({"action": "accept", "content": {"window": true}});
        wire.say(&json!({"jsonrpc": "2.0", "id": question["id"], "result": result}))
            .await;
        let answer = wire.hear().await.expect("an answer");
        assert_eq!(
            answer["result"]["content"][0]["text"],
            "by the window: true"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_is_never_initialized_is_not_waited_for_without_end() {
    let server = Server::new("tests", "1")
        .tool(Tool::new("reserve", reserve))
        .build();
    let mut wire = Wire::connect(&server.expect("the server is whole"));
    greet(&mut wire, Revision::V2025_11_25).await;
    wire.request("tools/call", json!({"name": "reserve"})).await;
    let answer = wire.hear().await.expect("an answer");
    assert_eq!(answer["result"]["isError"], true);
    assert_eq!(
        answer["result"]["content"][0]["text"],
        "no answer came in time"
    );
    // The client never received the question, so the cancellation is not sent either.
    wire.request("ping", json!({})).await;
    assert_eq!(wire.hear().await.expect("an answer")["result"], json!({}));
}

/// A server that reports whose roots changed.
pub(crate) fn watching() -> (ServerBuilder, mpsc::UnboundedReceiver<RootsChanged>) {
    let (told, changes) = mpsc::unbounded_channel();
    let builder = Server::new("tests", "1").on_roots_changed(move |changed| {
        let told = told.clone();
        async move {
            let _ = told.send(changed);
        }
    });
    (builder, changes)
}

// Shows RO-17.
#[tokio::test(start_paused = true)]
async fn an_author_is_told_that_roots_changed() {
    for revision in LEGACY {
        let (builder, mut changes) = watching();
        let mut wire = Wire::connect(&builder.build().expect("the server is whole"));
        // A notification without a session: whose roots changed is unknown.
        wire.say(&notification("roots/list_changed")).await;
        wire.initialize(revision, &json!({"roots": {"listChanged": true}}))
            .await;
        wire.say(&notification("roots/list_changed")).await;
        let changed = timeout(Duration::from_secs(60), changes.recv()).await;
        let changed = changed.expect("nobody is told").expect("a change");
        assert_eq!(changed.revision(), revision);
        assert_eq!(
            changed.client_info().expect("a client").name,
            "askback-testing"
        );
        assert!(changed.principal().is_none());
        sleep(Duration::from_secs(1)).await;
        assert!(changes.try_recv().is_err(), "once");
    }
}

#[tokio::test(start_paused = true)]
async fn many_changes_of_roots_come_to_two_runs() {
    let runs = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&runs);
    let builder = Server::new("tests", "1").on_roots_changed(move |_| {
        let first = counted.fetch_add(1, Ordering::SeqCst) == 0;
        async move {
            sleep(Duration::from_secs(1)).await;
            assert!(!first, "a handler that panics costs only its own run");
        }
    });
    let mut wire = Wire::connect(&builder.build().expect("the server is whole"));
    wire.initialize(Revision::V2025_11_25, &json!({"roots": {}}))
        .await;
    let mut burst = async |expected: usize| {
        for _ in 0..1000 {
            wire.say(&notification("roots/list_changed")).await;
        }
        sleep(Duration::from_secs(10)).await;
        assert_eq!(runs.load(Ordering::SeqCst), expected);
    };
    // The first run panics, and drops another notification with it.
    burst(1).await;
    burst(3).await;
}

async fn logs(ctx: Ctx) -> Result<&'static str> {
    ctx.log(LoggingLevel::Error, "a line");
    Ok("Logged.")
}

// Shows LO-01, LO-02, DE-01.
#[tokio::test]
async fn log_lines_are_sent_only_by_a_server_that_says_so() {
    for declared in [false, true] {
        let builder = Server::new("tests", "1").tool(Tool::new("logs", logs));
        let builder = if declared { builder.logging() } else { builder };
        let server = builder.build().expect("the server is whole");
        for revision in Revision::ALL {
            let mut wire = Wire::connect(&server);
            let mut params = json!({"name": "logs"});
            let capabilities = if revision == Revision::LATEST {
                params["_meta"] = json!({
                    "io.modelcontextprotocol/protocolVersion": revision.as_str(),
                    "io.modelcontextprotocol/clientCapabilities": {},
                    "io.modelcontextprotocol/logLevel": "debug",
                });
                serde_json::to_value(server.capabilities()).expect("JSON")
            } else {
                let opened = wire.initialize(revision, &json!({})).await;
                opened["result"]["capabilities"].clone()
            };
            assert_eq!(capabilities["logging"].is_object(), declared, "{revision}");
            wire.request("tools/call", params).await;
            let first = wire.hear().await.expect("an answer");
            let is_line = first["method"] == "notifications/message";
            assert_eq!(is_line, declared, "{revision}: {first}");
        }
    }
}
