//! Incorrect messages of peers: their valid parts are used.

use askback_core::{
    engine::server::ReceivedMessage,
    jsonrpc::{self, Message, Payload, RequestId},
    limits::{Limits, WireLimits},
    protocol::{
        CallToolResult, CompleteResult, CreateMessageParams, CreateMessageResult, DetailedTask,
        GetPromptResult, InitializeResult, ListPromptsResult, ListResourceTemplatesResult,
        ListResourcesResult, ListToolsResult, ReadResourceResult, ResultWithEntries, Task,
        TaskMetadata,
    },
};
use serde_json::{Value, json};

/// Checks the valid entries of a list and the dropped ones.
#[track_caller]
fn check_entries(entries: Value, expected: &[&str], left_out: &[&str]) {
    let page = json!({"tools": entries, "nextCursor": null, "ttlMs": "soon", "cacheScope": 5, "_meta": []});
    let text = page.to_string();
    let list: ListToolsResult = serde_json::from_str(&text).unwrap();
    assert_eq!(ListToolsResult::from_text(&text).unwrap(), list);
    assert_eq!(
        serde_json::from_value::<ListToolsResult>(page)
            .unwrap()
            .left_out,
        list.left_out
    );
    let names: Vec<_> = list.tools.iter().map(|tool| &*tool.name).collect();
    assert_eq!(names, expected);
    let told: Vec<_> = list.left_out.iter().map(ToString::to_string).collect();
    assert_eq!(told, left_out);
}

#[test]
fn only_the_invalid_entry_is_left_out() {
    let good = json!({"name": "good", "inputSchema": {}});
    check_entries(Value::Null, &[], &[]);
    check_entries(json!([good]), &["good"], &[]);
    check_entries(
        json!([{"name": "bare"}, good, {"inputSchema": {}}, 7, {"name": 5, "inputSchema": {}},
            {"name": "listed", "inputSchema": []}]),
        &["good"],
        &[
            "tool 1 (`bare`): `inputSchema` is missing",
            "tool 3: `name` is missing",
            "tool 4: expected an object, got a number",
            "tool 5: expected a text, got a number",
            "tool 6 (`listed`): expected an object",
        ],
    );
    // A duplicate member, which a `Value` cannot have.
    let twice = r#"{"tools":[{"name":"good","inputSchema":{}},{"name":"bad","inputSchema":{},"annotations":{"title":"a","title":"b"}}]}"#;
    let list = ListToolsResult::from_text(twice).unwrap();
    assert_eq!((list.tools.len(), list.left_out.len()), (2, 0));
    let long = "n".repeat(1 << 20);
    let page = json!({"tools": [{"name": long}]}).to_string();
    let list: ListToolsResult = serde_json::from_str(&page).unwrap();
    assert!(list.left_out[0].to_string().len() < 500);
}

#[test]
fn wrong_hints_of_a_tool_are_named() {
    #[track_caller]
    fn check(hints: Value, read_only: Option<bool>, named: &[&str]) {
        let tool = json!({"name": "a", "inputSchema": {}, "annotations": hints});
        let page = json!({"tools": [tool]}).to_string();
        let list: ListToolsResult = serde_json::from_str(&page).unwrap();
        let hints = list.tools[0].annotations.as_ref().unwrap();
        assert_eq!(hints.read_only_hint, read_only, "{page}");
        let left_out: Vec<_> = list.left_out.iter().map(ToString::to_string).collect();
        assert_eq!(left_out, named, "{page}");
        assert!(list.left_out.iter().all(|entry| entry.is_hint));
    }
    check(json!({"readOnlyHint": true, "more": "x"}), Some(true), &[]);
    check(json!({"readOnlyHint": null, "title": 5}), None, &[]);
    check(
        json!({"readOnlyHint": "true", "openWorldHint": 0, "idempotentHint": false}),
        None,
        &[
            "`readOnlyHint` of tool 1 (`a`): expected true or false",
            "`openWorldHint` of tool 1 (`a`): expected true or false",
        ],
    );
}

#[test]
fn descriptive_members_never_cause_an_error() {
    // Puts each value into each descriptive member.
    for wrong in [
        json!(5),
        json!(true),
        json!("x"),
        json!([1, {}]),
        json!({"a": {}}),
        json!(null),
    ] {
        let tool = |member: &str, entry: Value| {
            let mut entry = entry;
            entry[member] = wrong.clone();
            entry
        };
        let bare = json!({"name": "a", "uri": "a:b", "uriTemplate": "a:{b}", "inputSchema": {}});
        for member in [
            "title",
            "description",
            "outputSchema",
            "annotations",
            "execution",
            "icons",
            "_meta",
        ] {
            let page = json!({"tools": [tool(member, bare.clone())]}).to_string();
            let list: ListToolsResult = serde_json::from_str(&page).unwrap();
            assert_eq!((list.tools.len(), list.left_out.len()), (1, 0), "{page}");
        }
        for member in ["title", "description", "arguments", "icons", "_meta"] {
            let page = json!({"prompts": [tool(member, bare.clone())]}).to_string();
            let list: ListPromptsResult = serde_json::from_str(&page).unwrap();
            assert_eq!((list.prompts.len(), list.left_out.len()), (1, 0), "{page}");
        }
        for member in [
            "title",
            "description",
            "mimeType",
            "size",
            "annotations",
            "icons",
            "_meta",
        ] {
            let entries = json!([tool(member, bare.clone())]);
            let page = json!({"resources": entries, "resourceTemplates": entries}).to_string();
            let list: ListResourcesResult = serde_json::from_str(&page).unwrap();
            assert_eq!(
                (list.resources.len(), list.left_out.len()),
                (1, 0),
                "{page}"
            );
            let list: ListResourceTemplatesResult = serde_json::from_str(&page).unwrap();
            assert_eq!(
                (list.resource_templates.len(), list.left_out.len()),
                (1, 0),
                "{page}"
            );
        }
        let server = json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}});
        for member in ["instructions", "_meta", "serverInfo", "capabilities"] {
            let result = tool(member, server.clone()).to_string();
            serde_json::from_str::<InitializeResult>(&result).unwrap();
        }
        for member in ["version", "title", "icons", "websiteUrl", "description"] {
            let mut result = server.clone();
            result["serverInfo"][member] = wrong.clone();
            let read: InitializeResult = serde_json::from_str(&result.to_string()).unwrap();
            assert_eq!(read.server_info.name, "s");
        }
    }
    // One wrong hint does not affect the others.
    let page = r#"{"tools":[{"name":"a","inputSchema":{},"annotations":{"readOnlyHint":"true","destructiveHint":true}}]}"#;
    let list: ListToolsResult = serde_json::from_str(page).unwrap();
    let hints = list.tools[0].annotations.clone().unwrap();
    assert_eq!(
        (hints.read_only_hint, hints.destructive_hint),
        (None, Some(true))
    );
    // PHP writes an empty object as a list.
    let php = r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":[],"prompts":true,"resources":false,"logging":null}}"#;
    let read: InitializeResult = serde_json::from_str(php).unwrap();
    let can = read.capabilities;
    let declared = (
        can.tools.is_some(),
        can.prompts.is_some(),
        can.resources.is_some(),
        can.logging.is_some(),
    );
    assert_eq!(declared, (true, true, false, false));
}

#[track_caller]
fn check_result(result: Value, text: &str, left_out: &[&str]) {
    let result: CallToolResult = serde_json::from_str(&result.to_string()).unwrap();
    let texts: Vec<_> = result
        .content
        .iter()
        .filter_map(|block| block.as_text())
        .collect();
    assert_eq!(texts.join("|"), text);
    let told: Vec<_> = result.left_out.iter().map(ToString::to_string).collect();
    assert_eq!(told, left_out);
}

#[test]
fn a_result_of_which_a_part_is_odd_is_shown() {
    let good = json!({"type": "text", "text": "good", "annotations": 5, "_meta": "x"});
    check_result(json!({"content": [good], "_meta": 7}), "good", &[]);
    check_result(
        json!({"content": null, "structuredContent": 7}),
        "",
        &["`content`: it is missing"],
    );
    assert!(serde_json::from_str::<CallToolResult>("{}").is_err());
    check_result(
        json!({"content": [good, {"type": "video", "data": ""}, 7, null, {"text": "untyped"}, {"type": "text", "text": 7}, [good]]}),
        "good|[block 2 cannot be shown: there is no content of type `video` here; the types are text, image, audio, resource_link and resource]|[block 3 cannot be shown: expected an object]|[block 4 cannot be shown: expected an object]|[block 5 cannot be shown: it has no `type`]|[block 6 cannot be shown: it has no `text` that can be read]|[block 7 cannot be shown: expected an object]",
        &[
            "block 2: there is no content of type `video` here; the types are text, image, audio, resource_link and resource",
            "block 3: expected an object",
            "block 4: expected an object",
            "block 5: it has no `type`",
            "block 6: it has no `text` that can be read",
            "block 7: expected an object",
        ],
    );
    check_result(
        json!({"content": "all of it"}),
        "all of it",
        &["`content`: expected an array, got a text"],
    );
    check_result(
        json!({"content": [good], "isError": "true"}),
        "good",
        &["`isError`: expected true or false"],
    );
    let failed: CallToolResult = serde_json::from_str(r#"{"content":[],"isError":1}"#).unwrap();
    assert!(failed.failed());
    let prompt: GetPromptResult = serde_json::from_str(
        r#"{"description":5,"messages":[{"role":"user","content":{"type":"text","text":"a"}},{"role":"robot","content":{}}]}"#,
    )
    .unwrap();
    assert_eq!((prompt.messages.len(), prompt.left_out.len()), (1, 1));
    let read: ReadResourceResult = serde_json::from_str(
        r#"{"contents":[{"uri":"a:b","text":"a","mimeType":5},{"uri":"a:c"}]}"#,
    )
    .unwrap();
    assert_eq!((read.contents.len(), read.left_out.len()), (1, 1));
    let found: CompleteResult =
        serde_json::from_str(r#"{"completion":{"values":["a",5,"b"],"total":"many","hasMore":1}}"#)
            .unwrap();
    assert_eq!(found.completion.values, ["a", "b"]);
}

#[test]
fn a_whole_number_is_an_integer_however_it_is_written() {
    #[track_caller]
    fn id(text: &str, expected: Option<i64>) {
        let message = format!(r#"{{"jsonrpc":"2.0","id":{text},"method":"ping"}}"#);
        let read = jsonrpc::parse(message.as_bytes(), &WireLimits::default());
        let id = match read {
            Ok(Payload::Single(Message::Request(request))) => Some(request.id),
            _ => None,
        };
        assert_eq!(id, expected.map(RequestId::Number), "{text}");
    }
    for (text, expected) in [
        ("1", Some(1)),
        ("1.0", Some(1)),
        ("-0.0", Some(0)),
        ("1e3", Some(1000)),
        ("9007199254740992.0", Some(1 << 53)),
        ("1.5", None),
        ("1e300", None),
        ("9007199254740994.0", None),
    ] {
        id(text, expected);
    }
    let error = br#"{"jsonrpc":"2.0","id":1.0,"error":{"code":-32601.0,"message":""}}"#;
    let Ok(Payload::Single(Message::Response(response))) =
        jsonrpc::parse(error, &WireLimits::default())
    else {
        panic!("no response");
    };
    assert_eq!(response.id, Some(RequestId::Number(1)));
    assert_eq!(response.outcome.unwrap_err().code, -32601);
    let params: CreateMessageParams =
        serde_json::from_str(r#"{"messages":[],"maxTokens":100.0}"#).unwrap();
    assert_eq!(params.max_tokens, 100);
    let task: TaskMetadata = serde_json::from_str(r#"{"ttl":6e4}"#).unwrap();
    assert_eq!(task.ttl, Some(60_000));
    assert!(serde_json::from_str::<TaskMetadata>(r#"{"ttl":"long"}"#).is_err());
    let task = json!({
        "taskId": "t", "status": "working", "createdAt": "2026-11-27T00:00:00Z",
        "lastUpdatedAt": "2026-11-27T00:00:00Z", "ttl": 6e4, "ttlMs": 6e4,
        "pollInterval": 1e3, "pollIntervalMs": 1e3,
    });
    let core: Task = serde_json::from_value(task.clone()).unwrap();
    assert_eq!((core.ttl, core.poll_interval), (Some(60_000), Some(1_000)));
    let extension: DetailedTask = serde_json::from_value(task).unwrap();
    let read = (extension.ttl_ms, extension.poll_interval_ms);
    assert_eq!(read, (Some(60_000), Some(1_000)));
    let list: ListResourcesResult =
        serde_json::from_str(r#"{"resources":[{"uri":"a:b","name":"a","size":2.0}],"ttlMs":5.0}"#)
            .unwrap();
    assert_eq!((list.resources[0].size, list.ttl_ms), (Some(2), Some(5)));
}

#[test]
fn a_byte_order_mark_is_ignored() {
    let message = "\u{feff}{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}";
    let read = jsonrpc::parse(message.as_bytes(), &WireLimits::default());
    let Ok(Payload::Single(Message::Request(request))) = read else {
        panic!("no request: {read:?}");
    };
    assert_eq!(request.id, RequestId::Number(1));
}

#[test]
fn half_of_a_surrogate_pair_does_not_affect_other_text() {
    let message = br#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"cut","description":"a \ud83d","inputSchema":{"x":"\udc00"}}]}}"#;
    let mut limits = WireLimits::default();
    limits.message_bytes = message.len();
    let Ok(Payload::Single(Message::Response(response))) = jsonrpc::parse(message, &limits) else {
        panic!("no response");
    };
    let list: ListToolsResult = serde_json::from_str(response.outcome.unwrap().get()).unwrap();
    assert_eq!(list.tools[0].description.as_deref(), Some("a \u{fffd}"));
    assert_eq!(list.tools[0].input_schema.as_str(), r#"{"x":"\ufffd"}"#);
    // A server replaces it in a request, too.
    let call = br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"x":"\ud83d"}}}"#;
    let Ok(ReceivedMessage::Request(received)) =
        ReceivedMessage::parse(call, &Limits::default(), &[])
    else {
        panic!("no request");
    };
    let params = serde_json::to_string(&received.request.params()).unwrap();
    assert!(params.contains(r"\ufffd"), "{params}");
}

/// Objects within lists within objects, in a member of a block.
fn nested(member: &str, depth: usize) -> String {
    let open = format!(
        r#"{{"type":"tool_result","toolUseId":"a","uri":"a:b","name":"a","text":"a","inputSchema":{{}},"{member}":["#
    );
    open.repeat(depth) + &"]}".repeat(depth)
}

#[test]
fn depth_does_not_exhaust_the_stack() {
    #[track_caller]
    fn check<T: serde::de::DeserializeOwned>(before: &str, after: &str) {
        for member in [
            "content",
            "resource",
            "input",
            "structuredContent",
            "annotations",
            "icons",
            "execution",
            "arguments",
            "outputSchema",
            "_meta",
        ] {
            let text = format!("{before}{}{after}", nested(member, 1 << 13));
            // Accepted or rejected, but without a panic or a long delay.
            let _ = serde_json::from_str::<T>(&text);
        }
    }
    check::<CallToolResult>(r#"{"content":["#, "]}");
    check::<CallToolResult>(r#"{"content":"#, "}");
    check::<GetPromptResult>(r#"{"messages":[{"role":"user","content":"#, "}]}");
    check::<ReadResourceResult>(r#"{"contents":["#, "]}");
    check::<CreateMessageParams>(
        r#"{"maxTokens":1,"messages":[{"role":"user","content":"#,
        "}]}",
    );
    check::<CreateMessageResult>(r#"{"model":"m","role":"assistant","content":["#, "]}");
    check::<ListToolsResult>(r#"{"tools":["#, "]}");
    check::<ListPromptsResult>(r#"{"prompts":["#, "]}");
    check::<ListResourcesResult>(r#"{"resources":["#, "]}");
    check::<InitializeResult>(
        r#"{"protocolVersion":"2025-11-25","serverInfo":{"name":"a","version":"1"},"capabilities":"#,
        "}",
    );
}

#[test]
fn a_member_that_no_parser_reads_takes_nothing_else_away() {
    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
    for describing in [
        r#""annotations":{"title":"a","title":"b"}"#.to_owned(),
        r#""annotations":{"priority":1e999}"#.to_owned(),
        r#""title":1e999"#.to_owned(),
        format!(r#""_meta":{{"a":{deep}}}"#),
        r#""title":"a","title":"b""#.to_owned(),
        r#""_meta":{},"_meta":{}"#.to_owned(),
    ] {
        let good = r#"{"name":"good","inputSchema":{}}"#;
        let odd = format!(r#"{{"name":"odd","inputSchema":{{}},{describing}}}"#);
        for page in [
            format!(r#"{{"tools":[{good},{odd}]}}"#),
            format!(r#"{{"tools":[{good},{good}],{describing}}}"#),
        ] {
            let list = ListToolsResult::from_text(&page).unwrap();
            assert_eq!((list.tools.len(), list.left_out.len()), (2, 0), "{page}");
        }
        let odd = format!(r#"{{"type":"text","text":"odd",{describing}}}"#);
        let good = r#"{"type":"text","text":"good"}"#;
        for result in [
            format!(r#"{{"content":[{good},{odd}]}}"#),
            format!(r#"{{"content":[{good},{good}],{describing}}}"#),
        ] {
            let read = CallToolResult::from_text(&result).unwrap();
            assert_eq!(
                (read.content.len(), read.left_out.len()),
                (2, 0),
                "{result}"
            );
        }
    }
    // An unreadable block is reported, and the others are shown.
    let result = format!(
        r#"{{"content":[{{"type":"text","text":{deep}}},{{"type":"text","text":"good"}}]}}"#
    );
    let read = CallToolResult::from_text(&result).unwrap();
    assert_eq!(read.content[1].as_text(), Some("good"));
    assert_eq!(read.left_out.len(), 1);
}
