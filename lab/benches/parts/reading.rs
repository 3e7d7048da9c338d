//! Parsing of a server's messages.

use std::hint::black_box;

use askback::{
    Limits,
    protocol::{CallToolResult, ListResourcesResult, ListToolsResult},
};
use askback_core::{
    engine::client::ServerMessage,
    forms::FormSchema,
    jsonrpc::{Message, Payload},
};
use serde::de::DeserializeOwned;

pub(super) fn list() -> Box<dyn FnMut()> {
    let tool = |number| {
        format!(
            r#"{{"name":"echo_{number}","title":"Echo","description":"Says it back\nand \"more\"","inputSchema":{{"type":"object","properties":{{"message":{{"type":"string","description":"The words."}}}},"required":["message"]}},"outputSchema":{{"type":"object"}},"annotations":{{"title":"Echo","readOnlyHint":true,"destructiveHint":false}},"_meta":{{"a.example/b":1}}}}"#
        )
    };
    let tools: Vec<_> = (0..201).map(tool).collect();
    result::<ListToolsResult>(&format!(
        r#"{{"tools":[{}],"nextCursor":"next","ttlMs":1000,"cacheScope":"public"}}"#,
        tools.join(",")
    ))
}

pub(super) fn resources() -> Box<dyn FnMut()> {
    let resource = |number| {
        format!(
            r#"{{"uri":"travel://notes/{number}","name":"note_{number}","title":"A note","description":"It says something","mimeType":"text/plain","size":{number},"annotations":{{"audience":["user"],"priority":0.5}}}}"#
        )
    };
    let resources: Vec<_> = (0..201).map(resource).collect();
    result::<ListResourcesResult>(&format!(r#"{{"resources":[{}]}}"#, resources.join(",")))
}

pub(super) fn blocks() -> Box<dyn FnMut()> {
    result::<CallToolResult>(
        r#"{"content":[{"type":"text","text":"Hello, world!","annotations":{"audience":["user"]}},{"type":"image","data":"iVBORw0KGgo=","mimeType":"image/png"},{"type":"resource_link","uri":"travel://notes/1","name":"note","size":17},{"type":"resource","resource":{"uri":"travel://notes/2","text":"It says\nsomething"}}],"structuredContent":{"message":"Hello, world!"},"isError":false,"_meta":{"a.example/b":1}}"#,
    )
}

/// The result of a call with 64 KiB of text, in which each line ends with an escape.
pub(super) fn text() -> Box<dyn FnMut()> {
    let text =
        r"A line of a text that a tool has read in a file, as most of them are.\n".repeat(936);
    result::<CallToolResult>(&format!(
        r#"{{"content":[{{"type":"text","text":"{text}"}}]}}"#
    ))
}

pub(super) fn form() -> Box<dyn FnMut()> {
    let form = r#"{"type":"object","properties":{"name":{"type":"string","title":"Name","minLength":1,"maxLength":50},"mail":{"type":"string","format":"email"},"seats":{"type":"integer","minimum":1,"maximum":9,"default":1},"price":{"type":"number"},"window":{"type":"boolean","default":true},"class":{"type":"string","enum":["economy","business"],"enumNames":["Economy","Business"]},"meal":{"type":"string","oneOf":[{"const":"a","title":"A"},{"const":"b","title":"B"}]},"extras":{"type":"array","items":{"type":"string","enum":["bag","bike"]},"maxItems":2}},"required":["name","seats"]}"#;
    let limits = Limits::default();
    Box::new(move || {
        black_box(FormSchema::parse(black_box(form.as_bytes()), &limits.forms)).expect("a form");
    })
}

fn result<T: DeserializeOwned>(result: &str) -> Box<dyn FnMut()> {
    let message = format!(r#"{{"jsonrpc":"2.0","id":17,"result":{result}}}"#);
    let limits = Limits::default();
    Box::new(move || {
        let message = ServerMessage::parse(black_box(message.as_bytes()), &limits.wire);
        let Ok(Payload::Single(Message::Response(response))) = message.content else {
            panic!("no response");
        };
        let result = response.outcome.expect("a result");
        black_box(serde_json::from_str::<T>(result.get())).expect("a result");
    })
}
