//! Errors that repeat what a client sent.

use askback::{Form, Prompt, ResourceTemplate, Result, Revision, server::CompletionRequest};
use serde_json::{Value, json};

use super::{
    Stage,
    client::{Client, hello},
};

/// The length of each name, in characters. In JSON each takes two bytes.
const LONG: usize = 200_000;

/// The maximum length of an error that repeats a name, in bytes.
const MOST: usize = 10_000;

#[derive(Form)]
struct Place {
    /// Where?
    name: String,
}

async fn about(place: Place) -> Result<String> {
    Ok(place.name)
}

async fn names(_: CompletionRequest) -> Result<Vec<String>> {
    Ok(Vec::new())
}

/// Requests with one long name, each in another place.
fn requests() -> Vec<(&'static str, Value)> {
    let long = "\"".repeat(LONG);
    let argument = json!({"name": long, "value": ""});
    let completing = |reference: Value| json!({"ref": reference, "argument": argument});
    let known = |name: &str| json!({"type": "ref/prompt", "name": name});
    vec![
        ("tools/call", json!({"name": long})),
        (
            "tools/call",
            json!({"name": "about", "arguments": {&long: 1}}),
        ),
        (
            "tools/call",
            json!({"name": "about", "arguments": {"name": [long]}}),
        ),
        ("tools/call", json!({"name": "hello", "arguments": long})),
        ("prompts/get", json!({"name": long})),
        (
            "prompts/get",
            json!({"name": "about", "arguments": {&long: "x"}}),
        ),
        ("resources/read", json!({"uri": long})),
        ("resources/read", json!({"uri": format!("x://{long}")})),
        ("resources/subscribe", json!({"uri": long})),
        ("resources/list", json!({"cursor": long})),
        ("completion/complete", completing(known(&long))),
        ("completion/complete", completing(known("about"))),
        (
            "completion/complete",
            completing(json!({"type": "ref/resource", "uri": long})),
        ),
        ("completion/complete", completing(json!({"type": long}))),
        ("logging/setLevel", json!({"level": long})),
        ("tasks/get", json!({"taskId": long})),
    ]
}

#[tokio::test(start_paused = true)]
async fn no_error_gives_back_what_it_was_sent() {
    let template = ResourceTemplate::new("x://{name}", "x", about);
    let server = Stage::default()
        .builder()
        .tool(askback::Tool::new("about", about))
        .prompt(Prompt::new("about", about).complete("name", names))
        .resource_template(template.complete("name", names))
        .build();
    let client = Client::of(&server.expect("the server is whole"));
    let session = client.open(Revision::V2025_11_25).await;
    let long = "\"".repeat(LONG);
    let mut requests = requests();
    requests.push((&long, json!({})));
    for (method, params) in &requests {
        let shown = &method[..method.len().min(20)];
        let text = session.call(1, method, params.clone()).await.text().await;
        assert_short(shown, &text);
        assert!(text.contains("rror"), "{shown}: {text}");
        // The mirrored value is too long for a header.
        let mut message = super::client::stateless(method, params.clone());
        let headers = [
            ("mcp-protocol-version", "2026-07-28"),
            ("mcp-method", "tools/call"),
        ];
        let text = client.post(&headers, &message).await.text().await;
        assert_short(shown, &text);
        message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = long.clone().into();
        let text = client.post(&[], &message).await.text().await;
        assert_short(shown, &text);
    }
    let mut hello = hello(Revision::V2025_11_25, json!({}));
    hello["params"]["protocolVersion"] = long.into();
    let text = client.post(&[], &hello).await.text().await;
    assert_short("initialize", &text);
}

fn assert_short(what: &str, text: &str) {
    let beginning = &text[..text.floor_char_boundary(200)];
    assert!(
        text.len() < MOST,
        "{what}: {} bytes: {beginning}",
        text.len()
    );
}
