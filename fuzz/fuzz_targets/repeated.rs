//! A text in which a piece is repeated until it is long, given to every parser of a peer's input:
//! no stack overflow, no quadratic time (`-timeout`), and memory at most a multiple of its length.
//!
//! The first line is the beginning, the second the piece, the third the end.

#![no_main]

use std::{alloc::System, hint::black_box};

use askback_core::{
    auth::AuthorizationServer,
    engine::{client::ServerMessage, server::ReceivedMessage},
    forms::FormSchema,
    http::sse::Parser,
    json,
    jsonrpc::{Message, Payload},
    limits::{Limits, WireLimits},
    protocol::{
        CallToolResult, ClientRequest, CompleteResult, CreateMessageResult, ElicitResult,
        GetPromptResult, InitializeResult, ListPromptsResult, ListResourceTemplatesResult,
        ListResourcesResult, ListRootsResult, ListToolsResult, ReadResourceResult, ServerRequest,
        TaskState,
    },
    uri_template::UriTemplate,
};
use askback_host::text::without_ci_commands;
use cap::Cap;
use libfuzzer_sys::fuzz_target;
use serde::de::DeserializeOwned;

#[global_allocator]
static MEMORY: Cap<System> = Cap::new(System, usize::MAX);

/// The length of a text.
const BYTES: usize = 128 << 10;

/// The most memory for each byte of a text.
const MULTIPLE: usize = 256;

fuzz_target!(|data: &[u8]| {
    let mut lines = data.splitn(3, |byte| *byte == b'\n');
    let mut line = || lines.next().unwrap_or_default();
    let (beginning, piece, end) = (line(), line(), line());
    if piece.is_empty() || data.len() > 4096 {
        return;
    }
    let middle = piece.repeat(BYTES / piece.len());
    let bytes = [beginning, &middle, end].concat();
    MEMORY
        .set_limit(MEMORY.allocated() + MULTIPLE * bytes.len())
        .expect("less is allocated");
    message(&bytes);
    if let Ok(text) = str::from_utf8(&bytes) {
        read_all(text);
        black_box(without_ci_commands(text));
        if let Some(template) = UriTemplate::parse(text) {
            black_box(template.matches(&template.example()));
        }
    }
    black_box(FormSchema::parse(&bytes, &Limits::default().forms)).ok();
    black_box(FormSchema::parse_arguments(
        &bytes,
        &Limits::default().forms,
    ))
    .ok();
    if let Ok(value) = json::parse(&bytes) {
        black_box(json::document::<AuthorizationServer>(value)).ok();
    }
    let (mut parser, mut rest) = (Parser::new(&WireLimits::default()), &bytes[..]);
    while let Ok(Some(event)) = parser.read(&mut rest) {
        black_box(event);
    }
    MEMORY.set_limit(usize::MAX).expect("no limit");
});

fn message(bytes: &[u8]) {
    black_box(ReceivedMessage::parse(bytes, &Limits::default(), &[])).ok();
    let messages = match ServerMessage::parse(bytes, &WireLimits::default()).content {
        Ok(Payload::Single(message)) => vec![message],
        Ok(Payload::Batch(messages)) => messages.into_iter().flatten().take(1).collect(),
        Err(_) => Vec::new(),
    };
    for message in messages {
        match message {
            Message::Request(call) => {
                let params = call.params.as_deref();
                black_box(ClientRequest::parse(&call.method, params)).ok();
                black_box(ServerRequest::parse(&call.method, params)).ok();
            }
            Message::Response(response) => {
                if let Ok(result) = response.outcome {
                    read_all(result.get());
                }
            }
            Message::Notification(_) => {}
        }
    }
}

/// Reads JSON as the result of each request.
fn read_all(text: &str) {
    fn read<T: DeserializeOwned>(text: &str) {
        black_box(serde_json::from_str::<T>(text)).ok();
    }
    if !text.trim_ascii_start().starts_with(['{', '[']) {
        return;
    }
    read::<CallToolResult>(text);
    read::<CompleteResult>(text);
    read::<CreateMessageResult>(text);
    read::<ElicitResult>(text);
    read::<GetPromptResult>(text);
    read::<InitializeResult>(text);
    read::<ListPromptsResult>(text);
    read::<ListResourceTemplatesResult>(text);
    read::<ListResourcesResult>(text);
    read::<ListRootsResult>(text);
    read::<ListToolsResult>(text);
    read::<ReadResourceResult>(text);
    read::<TaskState>(text);
}
