//! A server's messages, which a client reads in spite of small mistakes. It never panics. If strict
//! serde can read a message, the result is the same. Each list entry is read or reported, nothing
//! is invented, and a broken response is still matched to its request.

#![no_main]

use std::fmt::Debug;

use askback_core::{
    engine::client::ServerMessage,
    json::message_text,
    jsonrpc::{Message, Payload, RequestId},
    limits::WireLimits,
    protocol::{
        CallToolResult, CompleteResult, GetPromptResult, InitializeResult, LeftOutEntry,
        ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult,
        ReadResourceResult, ResultWithEntries,
    },
};
use libfuzzer_sys::fuzz_target;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value, value::RawValue};

fuzz_target!(|data: &[u8]| {
    text(data);
    broken(data);
    let message = ServerMessage::parse(data, &WireLimits::default());
    match message.content {
        Ok(Payload::Single(message)) => check(&message),
        Ok(Payload::Batch(messages)) => messages.iter().flatten().for_each(check),
        Err(malformed) => assert!(!malformed.response || message.text.is_some()),
    }
});

/// Text that strict serde reads is unchanged. Other text is repaired to the same length.
fn text(data: &[u8]) {
    let Ok(text) = message_text(data) else {
        assert!(str::from_utf8(data).is_err());
        return;
    };
    let without_mark = data.strip_prefix(b"\xef\xbb\xbf").unwrap_or(data);
    assert_eq!(text.len(), without_mark.len());
    match serde_json::from_slice::<Value>(without_mark) {
        Ok(_) => assert_eq!(text.as_bytes(), without_mark),
        Err(_) => {
            let read = serde_json::from_str::<Value>(&text);
            let why = read.map_or_else(|error| error.to_string(), |_| String::new());
            assert!(!why.contains("surrogate"), "{why}: {text:?}");
        }
    }
}

/// A response with a valid beginning is matched to its request, whatever follows.
fn broken(data: &[u8]) {
    let beginning = br#"{"jsonrpc":"2.0","id":7,"result":"#;
    let bytes = [beginning, data, b"}"].concat();
    let its = |id: &Option<RequestId>| *id == Some(RequestId::Number(7));
    let has = |part: &[u8]| data.windows(part.len()).any(|it| it == part);
    // With another id or a method, in any spelling, it is unclear which request the response
    // belongs to.
    let is_odd = [&b"id"[..], b"method", b"\\u"].into_iter().any(has);
    match ServerMessage::parse(&bytes, &WireLimits::default()).content {
        Ok(Payload::Single(Message::Response(response))) => assert!(its(&response.id)),
        Ok(Payload::Batch(messages)) => match &messages[0] {
            Ok(Message::Response(response)) => assert!(its(&response.id)),
            other => panic!("{other:?}"),
        },
        Ok(Payload::Single(other)) => panic!("{other:?}"),
        Err(malformed) => {
            assert!(its(&malformed.id) || is_odd && malformed.id.is_none());
            assert!(malformed.response || is_odd);
        }
    }
}

fn check(message: &Message) {
    let Message::Response(response) = message else {
        return;
    };
    let Ok(result) = &response.outcome else {
        return;
    };
    let tree = match serde_json::from_str::<Value>(result.get()) {
        Ok(tree) => tree,
        Err(error) => {
            // Numbers and lone surrogates are no obstacle to a tree, unless it is nested too deeply
            // or a number is too large.
            let why = error.to_string();
            let is_known = why.contains("recursion limit") || why.contains("number out of range");
            assert!(is_known, "{why}");
            Value::Null
        }
    };
    list(result, "tools", |list: ListToolsResult| {
        (values(&list.tools), list.left_out)
    });
    list(result, "prompts", |list: ListPromptsResult| {
        (values(&list.prompts), list.left_out)
    });
    list(result, "resources", |list: ListResourcesResult| {
        (values(&list.resources), list.left_out)
    });
    list(
        result,
        "resourceTemplates",
        |list: ListResourceTemplatesResult| (values(&list.resource_templates), list.left_out),
    );
    list(result, "messages", |prompt: GetPromptResult| {
        (values(&prompt.messages), prompt.left_out)
    });
    list(result, "contents", |read: ReadResourceResult| {
        (values(&read.contents), read.left_out)
    });
    if let Ok(read) = serde_json::from_str::<CallToolResult>(result.get())
        && let Some(blocks) = tree["content"].as_array()
    {
        // A text replaces a block that cannot be read.
        assert_eq!(read.content.len(), blocks.len());
        for (place, (block, shown)) in blocks.iter().zip(values(&read.content)).enumerate() {
            let place = format!("block {}", place + 1);
            if read.left_out.iter().any(|left| left.place == place) {
                assert!(block["type"] != "text" || !block["text"].is_string());
            } else {
                assert!(is_of(&shown, block), "{shown} of {block}");
            }
        }
    }
    again::<CallToolResult>(result);
    again::<CompleteResult>(result);
    again::<InitializeResult>(result);
    again::<ListToolsResult>(result);
    again::<GetPromptResult>(result);
}

/// A result is the same after it was written and read again.
fn again<T: DeserializeOwned + Serialize>(result: &RawValue) {
    let Ok(read) = serde_json::from_str::<T>(result.get()) else {
        return;
    };
    let written = serde_json::to_string(&read).expect("JSON");
    let read = serde_json::from_str::<T>(&written);
    let read = read.unwrap_or_else(|error| panic!("{error}: {written}"));
    assert_eq!(serde_json::to_string(&read).expect("JSON"), written);
}

fn list<T: ResultWithEntries + Clone + PartialEq + Debug>(
    result: &RawValue,
    member: &str,
    read: impl Fn(T) -> (Vec<Value>, Vec<LeftOutEntry>),
) {
    let page = serde_json::from_str::<T>(result.get());
    if let Ok(page) = &page {
        assert_eq!(T::from_text(result.get()).ok().as_ref(), Some(page));
    }
    let (Ok(page), Ok(tree)) = (page, serde_json::from_str::<Value>(result.get())) else {
        return;
    };
    let (items, left_out) = read(page);
    let mut items = items.into_iter();
    let entries = tree[member].as_array();
    for (place, entry) in entries.into_iter().flatten().enumerate() {
        let ends = format!(" {}", place + 1);
        if let Some(left) = left_out
            .iter()
            .find(|left| !left.is_hint && left.place.ends_with(&ends))
        {
            // A tree holds only one of two members with the same name.
            let is_twice = left.why.ends_with("is given twice");
            assert!(is_twice || !is_strict(member, entry), "{entry}: {left}");
            continue;
        }
        let item = items.next().expect("an entry is read or named");
        assert!(is_of(&item, entry), "{item} of {entry}");
        if is_strict(member, entry) {
            for name in DESCRIBES {
                assert!(is_of(&entry[name], &item[name]), "{item} of {entry}");
            }
        }
    }
    assert_eq!(items.next(), None);
}

/// The members of entries that contain text.
const DESCRIBES: [&str; 2] = ["title", "description"];

fn is_strict(member: &str, entry: &Value) -> bool {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    #[allow(dead_code, reason = "only read")]
    struct Strict {
        name: String,
        title: Option<String>,
        description: Option<String>,
        input_schema: Option<Map<String, Value>>,
        uri: Option<String>,
        uri_template: Option<String>,
    }
    let needs = match member {
        "tools" => "inputSchema",
        "prompts" => "name",
        "resources" => "uri",
        "resourceTemplates" => "uriTemplate",
        _ => return false,
    };
    entry.is_object() && !entry[needs].is_null() && Strict::deserialize(entry).is_ok()
}

/// Whether `part` is `whole`, possibly with parts missing.
fn is_of(part: &Value, whole: &Value) -> bool {
    match (part, whole) {
        (Value::Number(part), Value::Number(whole)) => part.as_f64() == whole.as_f64(),
        (Value::Array(parts), Value::Array(all)) => {
            let mut all = all.iter();
            parts.iter().all(|part| all.any(|one| is_of(part, one)))
        }
        (Value::Object(part), Value::Object(whole)) => part.iter().all(|(name, part)| {
            let whole = whole.get(name);
            whole.is_some_and(|whole| is_of(part, whole))
        }),
        _ => part == whole,
    }
}

fn values<T: Serialize>(items: &[T]) -> Vec<Value> {
    let value = |item| {
        let written = serde_json::to_string(item).expect("JSON");
        serde_json::from_str(&written).expect("JSON")
    };
    items.iter().map(value).collect()
}
