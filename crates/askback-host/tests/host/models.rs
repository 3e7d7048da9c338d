//! Model providers, simulated by a local server.

use askback::{limits::Limits, protocol::CreateMessageParams};
use askback_host::models::{Key, Model, ModelName, Provider};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

const SECRET: &str = "sk-hush";

struct Sent {
    head: String,
    body: Value,
}

/// Runs a model whose provider answers with this status and body.
async fn asked(
    name: &str,
    request: &Value,
    status: u16,
    answer: &str,
) -> (Sent, Result<Value, String>) {
    let listener = TcpListener::bind("127.0.0.1:0")
        .await
        .expect("a port is free");
    let address = listener.local_addr().expect("it listens");
    let answer = format!(
        "HTTP/1.1 {status} Of course\r\nlocation: http://{address}/elsewhere\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{answer}",
        answer.len()
    );
    let mut limits = Limits::default();
    limits.host.model_bytes = 1024;
    let name: ModelName = name.parse().expect("it is a name");
    let key = Key::new(&format!("{SECRET}\n")).expect("it is a key");
    assert!(!format!("{key:?}").contains(SECRET));
    let provider = Provider::new(
        &name,
        Some(&format!("http://{address}/v1/")),
        Some(key),
        &limits,
    );
    let provider = provider.expect("the address is of this machine");
    let request: CreateMessageParams =
        serde_json::from_value(request.clone()).expect("it is a request");
    let served = async {
        let (mut stream, _) = listener.accept().await.expect("somebody connects");
        let mut bytes = Vec::new();
        let (head, length) = loop {
            stream.read_buf(&mut bytes).await.expect("it is sent");
            let text = String::from_utf8_lossy(&bytes).into_owned();
            if let Some((head, _)) = text.split_once("\r\n\r\n") {
                let head = head.to_lowercase();
                let length = head
                    .split("content-length: ")
                    .nth(1)
                    .expect("it has a length");
                let length: usize = length
                    .lines()
                    .next()
                    .unwrap_or_default()
                    .parse()
                    .expect("it is one");
                break (head.clone(), head.len() + 4 + length);
            }
        };
        while bytes.len() < length {
            stream.read_buf(&mut bytes).await.expect("it is sent");
        }
        // The client may have disconnected after reading enough.
        let _ = stream.write_all(answer.as_bytes()).await;
        let body = serde_json::from_slice(&bytes[head.len() + 4..]).expect("it is JSON");
        Sent { head, body }
    };
    let (sent, reply) = tokio::join!(served, provider.reply(request));
    let reply = reply.map(|reply| json!(reply)).map_err(|error| {
        let quoted = error
            .quoted
            .map_or(String::new(), |text| format!(" | {}", text.raw()));
        format!("{}{quoted}", error.words)
    });
    (sent, reply)
}

/// A sampling request with all options that the providers support.
fn request() -> Value {
    json!({
        "systemPrompt": "You know flights.",
        "messages": [
            {"role": "user", "content": {"type": "text", "text": "Pick a flight."}},
            {"role": "assistant", "content": [
                {"type": "text", "text": "Are there seats?"},
                {"type": "tool_use", "id": "u1", "name": "seats", "input": {"flight": "08:10"}},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "toolUseId": "u1", "content": [{"type": "text", "text": "two"}]},
            ]},
            {"role": "user", "content": {"type": "image", "data": "AAAA", "mimeType": "image/png"}},
        ],
        "maxTokens": 50,
        "temperature": 0.5,
        "stopSequences": ["END"],
        "tools": [{"name": "seats", "description": "Counts seats.", "inputSchema": {"type": "object"}}],
        "toolChoice": {"mode": "auto"},
    })
}

const ANTHROPIC: &str = r#"{"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-x",
    "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Take the 08:10."}],
    "stop_reason": "end_turn", "usage": {"input_tokens": 9}}"#;

const OPENAI: &str = r#"{"id": "c", "object": "chat.completion", "model": "gpt-x", "choices": [{"index": 0,
    "message": {"role": "assistant", "content": "Take the 08:10.", "refusal": null}, "finish_reason": "stop"}]}"#;

// Shows SA-16.
#[tokio::test]
async fn a_request_is_written_as_each_provider_reads_it() {
    for (name, answer, line, key, body) in [
        (
            "anthropic/claude-x",
            ANTHROPIC,
            "post /v1/v1/messages http/1.1",
            "x-api-key: sk-hush",
            json!({
                "model": "claude-x",
                "system": "You know flights.",
                "max_tokens": 50,
                "temperature": 0.5,
                "stop_sequences": ["END"],
                "messages": [
                    {"role": "user", "content": [{"type": "text", "text": "Pick a flight."}]},
                    {"role": "assistant", "content": [
                        {"type": "text", "text": "Are there seats?"},
                        {"type": "tool_use", "id": "u1", "name": "seats", "input": {"flight": "08:10"}},
                    ]},
                    {"role": "user", "content": [
                        {"type": "tool_result", "tool_use_id": "u1", "content": "two", "is_error": false},
                    ]},
                    {"role": "user", "content": [{"type": "image", "source":
                        {"type": "base64", "media_type": "image/png", "data": "AAAA"}}]},
                ],
                "tools": [{"name": "seats", "description": "Counts seats.", "input_schema": {"type": "object"}}],
                "tool_choice": {"type": "auto"},
            }),
        ),
        (
            "openai/gpt-x",
            OPENAI,
            "post /v1/chat/completions http/1.1",
            "authorization: bearer sk-hush",
            json!({
                "model": "gpt-x",
                "stream": false,
                "max_tokens": 50,
                "temperature": 0.5,
                "stop": ["END"],
                "messages": [
                    {"role": "system", "content": "You know flights."},
                    {"role": "user", "content": "Pick a flight."},
                    {"role": "assistant", "content": "Are there seats?", "tool_calls": [{"id": "u1", "type": "function",
                        "function": {"name": "seats", "arguments": "{\"flight\":\"08:10\"}"}}]},
                    {"role": "tool", "tool_call_id": "u1", "content": "two"},
                    {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]},
                ],
                "tools": [{"type": "function", "function":
                    {"name": "seats", "description": "Counts seats.", "parameters": {"type": "object"}}}],
                "tool_choice": "auto",
            }),
        ),
    ] {
        let (sent, reply) = asked(name, &request(), 200, answer).await;
        assert_eq!(sent.head.lines().next(), Some(line));
        assert!(
            sent.head.lines().any(|header| header == key),
            "{}",
            sent.head
        );
        assert_eq!(sent.body, body, "{name}");
        let reply = reply.expect("it replies");
        let text = json!({"type": "text", "text": "Take the 08:10."});
        assert_eq!(reply["content"], text, "{name}");
        assert_eq!(reply["stopReason"], "endTurn", "{name}");
        assert_eq!(reply["model"], name.split_once('/').expect("it has both").1);
    }
}

#[tokio::test]
async fn a_use_of_a_tool_goes_back_to_the_server() {
    let used = |id: &str| json!({"type": "tool_use", "id": id, "name": "seats", "input": {"flight": "08:10"}});
    for (name, answer, content, stopped) in [
        (
            "anthropic/x",
            r#"{"model": "x", "content": [{"type": "text", "text": "Let me see."},
                {"type": "tool_use", "id": "t1", "name": "seats", "input": {"flight": "08:10"}}], "stop_reason": "tool_use"}"#,
            json!([{"type": "text", "text": "Let me see."}, used("t1")]),
            "toolUse",
        ),
        (
            "openai/x",
            r#"{"model": "x", "choices": [{"message": {"content": null, "tool_calls": [{"id": "t1", "type": "function",
                "function": {"name": "seats", "arguments": "{\"flight\": \"08:10\"}"}}]}, "finish_reason": "tool_calls"}]}"#,
            used("t1"),
            "toolUse",
        ),
        (
            "anthropic/x",
            r#"{"model": "x", "content": [{"type": "text", "text": "Ta"}], "stop_reason": "max_tokens"}"#,
            json!({"type": "text", "text": "Ta"}),
            "maxTokens",
        ),
        (
            "openai/x",
            r#"{"model": "x", "choices": [{"message": {"content": "Ta"}, "finish_reason": "length"}]}"#,
            json!({"type": "text", "text": "Ta"}),
            "maxTokens",
        ),
    ] {
        let (_, reply) = asked(name, &request(), 200, answer).await;
        let reply = reply.expect("it replies");
        assert_eq!(reply["content"], content, "{name}");
        assert_eq!(reply["stopReason"], stopped, "{name}");
    }
}

#[tokio::test]
async fn what_went_wrong_is_said_in_words() {
    let said = r#"{"type": "error", "error": {"type": "e", "message": "no\u001b[2J"}}"#;
    let long = "x".repeat(2000);
    for (name, status, answer, says) in [
        (
            "anthropic/x",
            401,
            said,
            "anthropic/x answered with HTTP status 401; check the key | no\u{1b}[2J",
        ),
        (
            "ollama/x",
            404,
            r#"{"error": "model not found"}"#,
            "ollama/x answered with HTTP status 404; check its name and --model-url | model not found",
        ),
        (
            "openai/x",
            429,
            said,
            "openai/x answered with HTTP status 429; try again later, or check your quota | no\u{1b}[2J",
        ),
        (
            "anthropic/x",
            529,
            "busy",
            "anthropic/x answered with HTTP status 529; try again later | busy",
        ),
        (
            "openai/x",
            400,
            "",
            "openai/x answered with HTTP status 400",
        ),
        (
            "openai/x",
            500,
            "",
            "openai/x answered with HTTP status 500; try again later",
        ),
        // Redirects are not followed.
        (
            "openai/x",
            307,
            "",
            "openai/x answered with HTTP status 307",
        ),
        (
            "openai/x",
            200,
            "{}",
            "openai/x sent a reply that cannot be read: | `model` is missing",
        ),
        (
            "openai/x",
            200,
            &long,
            "the reply of openai/x is longer than 1024 bytes",
        ),
        (
            "anthropic/x",
            200,
            r#"{"model": "x", "content": [{"type": "tool_use", "id": "1", "name": "t", "input": [1]}]}"#,
            "anthropic/x sent a reply that cannot be read: | the arguments of a tool: expected an object",
        ),
    ] {
        let (_, reply) = asked(name, &request(), status, answer).await;
        assert_eq!(reply, Err(says.to_owned()));
    }
}

#[tokio::test]
async fn a_model_that_does_not_reply_is_given_up() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = format!("http://{}", listener.local_addr().expect("it listens"));
    let name: ModelName = "ollama/x".parse().expect("it is a name");
    let mut limits = Limits::default();
    limits.host.model = std::time::Duration::ZERO;
    let provider = Provider::new(&name, Some(&address), None, &limits);
    let provider = provider.expect("the address is of this machine");
    let reply = provider.reply(CreateMessageParams::new("Pick.", 5)).await;
    let words = reply.expect_err("nobody replies").words;
    assert_eq!(
        words.as_str(),
        "ollama/x did not reply within 0 s; run again"
    );
}

#[tokio::test]
async fn what_a_provider_does_not_take_is_not_sent() {
    let sound = json!({
        "messages": [{"role": "user", "content": {"type": "audio", "data": "AAAA", "mimeType": "audio/ogg"}}],
        "maxTokens": 5,
    });
    let mut forced = request();
    forced["toolChoice"]["mode"] = "required".into();
    for (name, request, what) in [
        ("anthropic/x", &sound, "sound"),
        ("ollama/x", &sound, "sound"),
        ("openai/x", &sound, "sound of this kind"),
        ("ollama/x", &forced, "a tool that has to be used"),
    ] {
        let name: ModelName = name.parse().expect("it is a name");
        let provider = Provider::new(&name, None, None, &Limits::default()).expect("it is known");
        let request = serde_json::from_value(request.clone()).expect("it is a request");
        let refused = provider
            .reply(request)
            .await
            .expect_err("it is not sent")
            .words;
        let says = format!("{name} does not take {what}; reply yourself, or decline");
        assert_eq!(refused.as_str(), says);
    }
}

#[tokio::test]
async fn a_key_goes_nowhere_but_by_tls_or_to_this_machine() {
    let name: ModelName = "openai/x".parse().expect("it is a name");
    for (address, is_taken) in [
        ("https://models.example/v1", true),
        ("http://localhost:1234/v1", true),
        ("http://[::1]:1234", true),
        ("http://models.example/v1", false),
        ("http://127.0.0.1.example/v1", false),
        ("ftp://127.0.0.1/v1", false),
        ("https://me:hush@models.example/v1", false),
        ("https://models.example/v1?key=hush", false),
        ("models.example", false),
    ] {
        let provider = Provider::new(&name, Some(address), None, &Limits::default());
        assert_eq!(provider.is_ok(), is_taken, "{address}");
    }
}

#[test]
fn a_model_is_named_by_its_provider_and_its_name() {
    for (text, named) in [
        ("ollama/qwen3:8b", true),
        ("openai/org/model", true),
        ("anthropic/claude-x", true),
        ("anthropic", false),
        ("anthropic/", false),
        ("gemini/x", false),
    ] {
        let name: Result<ModelName, _> = text.parse();
        assert_eq!(
            name.as_ref().map(ToString::to_string).ok(),
            named.then(|| text.to_owned())
        );
    }
}
