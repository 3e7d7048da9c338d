//! Spans, metrics and log messages of requests.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicU32, Ordering},
};

use askback::{
    Ctx, Form, ResourceTemplate, Result, Revision, Server, ServerBuilder, Tool,
    client::{Client, ClientBuilder, ClientError},
    keys::{Key, KeyRing, KeySource},
    protocol::TraceContext,
    testing::Wire,
    transport::memory,
};
use serde_json::json;

use crate::{
    client::{Hosted, Scripted, accept, builder},
    log::Log,
};

#[derive(Form)]
struct Seat {
    /// By the window?
    window: bool,
}

#[derive(Form)]
struct Note {
    name: String,
}

async fn reserve(ctx: Ctx) -> Result<String> {
    if !ctx.can_elicit() {
        return Ok("unasked".to_owned());
    }
    let seat: Seat = ctx.elicit("Which seat?").await?.accepted()?;
    Ok(format!("window: {}", seat.window))
}

fn airline() -> ServerBuilder {
    Server::new("airline", "1")
        .keys(KeySource::Ring(KeyRing::new(Key::new(&[7; 32]))))
        .tool(Tool::new("reserve", reserve))
        .tool(Tool::new("fails", async || -> Result<String> {
            Err(askback::Error::new("no seat is left"))
        }))
}

async fn connect(server: ServerBuilder, client: ClientBuilder) -> Client {
    let server = server.build().unwrap();
    let (here, there) = memory();
    tokio::spawn(async move { server.serve(there).await });
    let host = Scripted::new(|_| accept(json!({"window": true})));
    client.host(host).connect(here).await.unwrap()
}

#[track_caller]
fn assert_told(log: &str, wanted: &[&str]) {
    for wanted in wanted {
        assert!(log.contains(wanted), "{wanted} is not in\n{log}");
    }
}

#[tokio::test]
async fn each_request_is_a_span_on_both_sides() {
    for revision in Revision::ALL {
        let log = Log::default();
        let _listening = log.listen();
        let client = connect(airline(), builder(Some(revision))).await;
        client.call_tool("reserve", ()).await.unwrap();
        client.call_tool("fails", ()).await.unwrap();
        let unknown = client.call_tool("nothing", ()).await.unwrap_err();
        assert!(matches!(unknown, ClientError::Server(_)), "{unknown:?}");
        client.call_tool(&"x".repeat(1000), ()).await.unwrap_err();
        client.close().await;
        let log = log.text();
        assert!(!log.contains(&"x".repeat(201)), "a name is clipped: {log}");
        let spoken = format!("mcp.protocol.version=\"{revision}\"");
        assert_told(
            &log,
            &[
                "otel.kind=\"server\"",
                "otel.kind=\"client\"",
                "otel.name=\"tools/call reserve\"",
                "mcp.method.name=\"tools/call\"",
                "gen_ai.tool.name=\"reserve\"",
                "gen_ai.operation.name=\"execute_tool\"",
                "askback.outcome=\"done\"",
                "otel.name=\"tools/call fails\"",
                "error.type=\"tool_error\"",
                // On the server, an unknown tool's name is not part of a span's name.
                "otel.name=\"tools/call\"",
                "error.type=\"-32602\"",
                "rpc.response.status_code=\"-32602\"",
                "otel.status_code=\"ERROR\"",
                "histogram.mcp.server.operation.duration=",
                &spoken,
            ],
        );
        let asks = revision >= Revision::V2025_06_18;
        let counted = "monotonic_counter.askback.rounds=1 monotonic_counter.askback.questions=1";
        assert_eq!(log.contains(counted), asks, "{revision}\n{log}");
        let replays = log.contains("monotonic_counter.askback.replays=1");
        assert_eq!(replays, revision == Revision::LATEST, "{revision}\n{log}");
        let asked = log.contains("askback.outcome=\"asked\"");
        assert_eq!(asked, revision == Revision::LATEST, "{revision}\n{log}");
    }
}

/// Calls a tool in a trace. Returns the trace contexts of its span and its handler.
async fn traced(revision: Revision, sent: TraceContext) -> Vec<TraceContext> {
    let _listening = Log::default().listen();
    let seen: Arc<Mutex<Vec<TraceContext>>> = Arc::default();
    let (parents, handled) = (Arc::clone(&seen), Arc::clone(&seen));
    let traced = move |ctx: Ctx| {
        let handled = Arc::clone(&handled);
        async move {
            handled.lock().unwrap().extend(ctx.trace_context().cloned());
            Ok("done")
        }
    };
    let server = airline().tool(Tool::new("traced", traced));
    let server = server.trace_parent(move |span, context| {
        assert!(!span.is_disabled());
        parents.lock().unwrap().push(context.clone());
    });
    let client = builder(Some(revision)).trace_context(move |span| {
        assert!(!span.is_disabled());
        sent.clone()
    });
    let client = connect(server, client).await;
    client.call_tool("traced", ()).await.unwrap();
    client.close().await;
    let seen = seen.lock().unwrap();
    seen.clone()
}

#[tokio::test]
async fn a_trace_goes_from_the_client_to_the_server_and_its_handler() {
    let context = |parent: &str| TraceContext {
        traceparent: Some(parent.to_owned()),
        tracestate: Some("a=1".to_owned()),
        baggage: Some("user=ada".to_owned()),
    };
    let sent = context("00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01");
    // An invalid parent drops the trace state as well.
    let baggage = TraceContext {
        baggage: sent.baggage.clone(),
        ..TraceContext::default()
    };
    for revision in Revision::ALL {
        let told = traced(revision, sent.clone()).await;
        assert_eq!(told, [sent.clone(), sent.clone()], "{revision}");
        let told = traced(revision, context("wrong")).await;
        assert_eq!(told, [baggage.clone(), baggage.clone()], "{revision}");
        let told = traced(revision, TraceContext::default()).await;
        assert_eq!(told, [], "{revision}");
    }
}

#[tokio::test]
async fn a_panic_next_to_a_handler_ends_only_its_own_call() {
    let _listening = Log::default().listen();
    let hello = async || -> Result<&str> { Ok("Hello!") };
    for revision in Revision::ALL {
        let server = airline().tool(Tool::new("hello", hello));
        let server = server.trace_parent(|_, _| panic!("no parent"));
        let client = builder(Some(revision)).trace_context(|_| TraceContext {
            baggage: Some("user=ada".to_owned()),
            ..TraceContext::default()
        });
        let client = connect(server, client).await;
        for _ in 0..2 {
            let failed = client.call_tool("hello", ()).await.unwrap_err();
            let said = failed.to_string();
            let told = "the server failed while it handled this request";
            assert!(said.contains(told), "{revision}: {said}");
        }
        client.close().await;
    }
}

#[tokio::test]
async fn a_handler_that_asks_something_else_each_time_is_told_so_and_named() {
    let log = Log::default();
    let _listening = log.listen();
    let counter = Arc::new(AtomicU32::new(0));
    let restless = move |ctx: Ctx| {
        let number = counter.fetch_add(1, Ordering::Relaxed);
        async move {
            let asked = ctx.elicit::<Seat>(format!("Is it {number}?"));
            Ok(asked.await?.accepted()?.window.to_string())
        }
    };
    let server = airline().tool(Tool::new("restless", restless));
    let client = connect(server, builder(Some(Revision::LATEST))).await;
    let result = client.call_tool("restless", ()).await.unwrap();
    let said = serde_json::to_value(&result.content[0]).unwrap();
    let said = said["text"].as_str().unwrap();
    assert!(
        said.starts_with(
            "the handler asks something else each time it is run again (`seat`, in 10"
        ),
        "{said}"
    );
    let log = log.text();
    assert_told(&log, &["target=\"restless\" key=\"seat\""]);
}

/// A resource's URI may be as long as a message.
#[tokio::test]
async fn the_log_has_an_excerpt_of_what_a_client_asks_for() {
    let log = Log::default();
    let _listening = log.listen();
    let text = ResourceTemplate::new("note://{name}", "note", async |note: Note| Ok(note.name));
    let server = airline().resource_template(text).build().unwrap();
    let mut wire = Wire::connect(&server);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let uri = format!("note://\u{1b}[2J\n{}", "x".repeat(1 << 20));
    let params = json!({"uri": uri, "requestState": "forged", "_meta": meta});
    wire.request("resources/read", params).await;
    wire.hear().await.expect("an answer");
    let log = log.text();
    assert_told(
        &log,
        &["a requestState was refused", "note://\\u{1b}[2J\\nxxx"],
    );
    assert!(
        !log.contains('\u{1b}') && log.len() < 4096,
        "{} bytes",
        log.len()
    );
}
