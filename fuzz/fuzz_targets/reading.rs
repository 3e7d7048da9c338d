//! What a server sends, as a client reads it in spite of its mistakes: no panic; each entry of a list is read or named;
//! whatever JSON can say is read as text.

#![no_main]

use askback_core::{
    engine::client::ServerMessage,
    jsonrpc::{Message, Payload},
    limits::WireLimits,
    protocol::{CallToolResult, ListPromptsResult, ListResourcesResult, ListToolsResult},
};
use libfuzzer_sys::fuzz_target;
use serde::Deserialize;
use serde_json::{Value, value::RawValue};

fuzz_target!(|data: &[u8]| {
    let message = ServerMessage::parse(data, &WireLimits::default());
    match message.content {
        Ok(Payload::Single(message)) => check(&message),
        Ok(Payload::Batch(messages)) => messages.iter().flatten().for_each(check),
        Err(malformed) => assert!(!malformed.response || message.text.is_some()),
    }
});

fn check(message: &Message) {
    let Message::Response(response) = message else {
        return;
    };
    let Ok(result) = &response.outcome else {
        return;
    };
    entries(result, "tools", |list: ListToolsResult| {
        (list.tools.len(), list.left_out.len())
    });
    entries(result, "prompts", |list: ListPromptsResult| {
        (list.prompts.len(), list.left_out.len())
    });
    entries(result, "resources", |list: ListResourcesResult| {
        (list.resources.len(), list.left_out.len())
    });
    entries(result, "content", |result: CallToolResult| {
        (result.content.len(), 0)
    });
    // No number and no half of a surrogate pair is in the way of a tree, unless it is nested too deeply or a number is
    // too large.
    if let Err(error) = serde_json::from_str::<Value>(result.get()) {
        let why = error.to_string();
        let is_known = why.contains("recursion limit") || why.contains("number out of range");
        assert!(is_known, "{why}");
    }
}

fn entries<'a, T: Deserialize<'a>>(
    result: &'a RawValue,
    member: &str,
    read: impl Fn(T) -> (usize, usize),
) {
    let (Ok(list), Ok(tree)) = (
        serde_json::from_str::<T>(result.get()),
        serde_json::from_str::<Value>(result.get()),
    ) else {
        return;
    };
    let (items, left_out) = read(list);
    if let Some(all) = tree[member].as_array() {
        // A cursor that is no text is left out as well.
        let expected = all.len();
        assert!(items <= expected);
        assert!((expected..=expected + 1).contains(&(items + left_out)));
    }
}
