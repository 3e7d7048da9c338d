//! Messages that other implementations failed to read or write, and the guarantees of the types.

use askback_core::{
    forms::FieldKind,
    jsonrpc::{INVALID_PARAMS, METHOD_NOT_FOUND},
    protocol::{
        CallTarget, CallToolParams, CallToolResult, ClientCapabilities, ClientNotification,
        ClientRequest, CompleteParams, ContentBlock, CreateMessageResult, ElicitAction,
        ElicitParams, ElicitResult, GetPromptResult, HasMeta, Implementation, InputRequest,
        InputRequests, InputRequiredResult, ListRootsResult, Meta, OrderedMap, Outcome,
        ProgressParams, Prompt, RawJson, RawObject, ReadResourceResult, ResourceContents,
        SamplingBlock, SamplingMessage, Schema, ServerNotification, Signature, Tool,
        UrlElicitationRequired, name_member,
    },
    revision::Revision,
    wire,
};
use proptest::{collection::vec, prelude::*};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json, value::RawValue};

fn raw(value: &Value) -> Box<RawValue> {
    RawValue::from_string(value.to_string()).unwrap()
}

fn read<T: DeserializeOwned>(text: &str) -> T {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// The error for text that does not match a type.
fn refused<T: DeserializeOwned + std::fmt::Debug>(text: &str) -> String {
    match serde_json::from_str::<T>(text) {
        Ok(value) => panic!("accepted {text} as {value:?}"),
        Err(error) => error.to_string(),
    }
}

fn same<T: DeserializeOwned + Serialize>(text: &str) {
    let written = serde_json::to_value(read::<T>(text)).unwrap();
    assert_eq!(written, read::<Value>(text));
}

// Shows PO-05.
#[test]
fn whole_numbers_stay_whole() {
    same::<ElicitResult>(
        r#"{"action":"accept","content":{"nights":3,"budget":3.5,"big":9007199254740993}}"#,
    );
    same::<CallToolParams>(
        r#"{"name":"x","arguments":{"n":3,"f":3.0,"big":123456789012345678901234567890}}"#,
    );
    same::<ProgressParams>(r#"{"progressToken":1,"progress":3,"total":4}"#);
    same::<ProgressParams>(r#"{"progressToken":"1","progress":0.1,"total":1e300}"#);
    same::<ContentBlock>(r#"{"type":"text","text":"","annotations":{"priority":1}}"#);
}

#[test]
fn arguments_are_kept_as_they_were_written() {
    let text = r#"{ "b": 1.0, "a": [1e2, {"z":1,"y":2}], "b2": "\u0041" }"#;
    let params: CallToolParams = read(&format!(r#"{{"name":"x","arguments":{text}}}"#));
    assert_eq!(params.arguments.unwrap().as_str(), text);
}

#[test]
fn every_kind_of_choice_is_read_as_a_choice() {
    let params: ElicitParams = read(
        r##"{"message":"m","requestedSchema":{"type":"object","properties":{
            "plain":{"type":"string"},
            "one":{"type":"string","enum":["a","b"]},
            "named":{"type":"string","enum":["a","b"],"enumNames":["A","B"]},
            "titled":{"type":"string","oneOf":[{"const":"a","title":"A"}]},
            "many":{"type":"array","items":{"type":"string","enum":["a"]}},
            "titled_many":{"type":"array","items":{"anyOf":[{"const":"a","title":"A"}]}}}}}"##,
    );
    let ElicitParams::Form(form) = params else {
        panic!("not a form");
    };
    let kinds: Vec<_> = form
        .requested_schema
        .fields
        .iter()
        .map(|field| match &field.kind {
            FieldKind::Text(_) => (field.name.as_str(), "text", 0),
            FieldKind::Choice(choice) => (field.name.as_str(), "choice", choice.options.len()),
            FieldKind::Choices(choices) => (field.name.as_str(), "choices", choices.options.len()),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(
        kinds,
        [
            ("plain", "text", 0),
            ("one", "choice", 2),
            ("named", "choice", 2),
            ("titled", "choice", 1),
            ("many", "choices", 1),
            ("titled_many", "choices", 1),
        ]
    );
}

#[test]
fn a_form_keeps_its_order_and_its_patterns() {
    let text = r#"{"message":"m","requestedSchema":{"type":"object","properties":{"z":{"type":"string","pattern":"^z$"},"a":{"type":"string"},"m":{"type":"string"}},"required":["z","a"]}}"#;
    let params: ElicitParams = read(text);
    assert_eq!(serde_json::to_string(&params).unwrap(), text);
}

// Shows EL-14.
#[test]
fn a_link_is_never_read_as_an_empty_form() {
    let url = r#"{"mode":"url","message":"Pay.","url":"https://travel.example/pay"}"#;
    let params: ElicitParams = read(url);
    assert!(matches!(&params, ElicitParams::Url(link) if link.elicitation_id.is_none()));
    // A missing id is not made up.
    same::<ElicitParams>(url);
    let with_form = url.replace(
        "Pay.\"",
        "Pay.\",\"requestedSchema\":{\"type\":\"object\",\"properties\":{}}",
    );
    assert!(matches!(read(&with_form), ElicitParams::Url(_)));

    for (text, reason) in [
        (r#"{"mode":"url","message":"m"}"#, "url"),
        (
            r#"{"mode":"form","message":"m","url":"https://a.example"}"#,
            "requestedSchema",
        ),
        (
            r#"{"message":"m","url":"https://a.example"}"#,
            "requestedSchema",
        ),
        (r#"{"mode":"phone","message":"m"}"#, "\"phone\""),
        (r#"{"mode":"url","url":"https://a.example"}"#, "message"),
    ] {
        let said = refused::<ElicitParams>(text);
        assert!(said.contains(reason), "{text}: {said}");
    }
    refused::<UrlElicitationRequired>(
        r#"{"elicitations":[{"message":"m","url":"https://a.example"}]}"#,
    );
    refused::<UrlElicitationRequired>(
        r#"{"elicitations":[{"mode":"form","message":"m","url":"https://a.example"}]}"#,
    );
    refused::<UrlElicitationRequired>("{}");
}

#[test]
fn decline_and_reject_are_both_read_as_a_decline() {
    for (word, action) in [
        ("accept", ElicitAction::Accept),
        ("decline", ElicitAction::Decline),
        ("reject", ElicitAction::Decline),
        ("cancel", ElicitAction::Cancel),
    ] {
        let result: ElicitResult = read(&format!(r#"{{"action":"{word}"}}"#));
        assert_eq!(result.action, action);
    }
    refused::<ElicitResult>(r#"{"action":"ok"}"#);
    refused::<ElicitResult>("{}");
    assert_eq!(
        serde_json::to_value(ElicitResult::decline()).unwrap(),
        json!({"action": "decline"})
    );
}

// Shows EL-08.
#[test]
fn elicitation_without_modes_means_forms_only() {
    // What is declared, and whether forms, links, sampling, sampling with tools, sampling with
    // context, and roots are supported.
    let cases = [
        ("{}", [false; 6]),
        (
            r#"{"elicitation":{}}"#,
            [true, false, false, false, false, false],
        ),
        (
            r#"{"elicitation":{"form":{}}}"#,
            [true, false, false, false, false, false],
        ),
        (
            r#"{"elicitation":{"url":{}}}"#,
            [false, true, false, false, false, false],
        ),
        (
            r#"{"elicitation":{"form":{},"url":{}}}"#,
            [true, true, false, false, false, false],
        ),
        (
            r#"{"elicitation":{"later":{}}}"#,
            [true, false, false, false, false, false],
        ),
        (
            r#"{"sampling":{}}"#,
            [false, false, true, false, false, false],
        ),
        (
            r#"{"sampling":{"tools":{}}}"#,
            [false, false, true, true, false, false],
        ),
        (
            r#"{"sampling":{"context":{}},"roots":{}}"#,
            [false, false, true, false, true, true],
        ),
    ];
    for (text, expected) in cases {
        let client: ClientCapabilities = read(text);
        let can = [
            client.elicits_form(),
            client.elicits_url(),
            client.samples(),
            client.samples_with_tools(),
            client.samples_with_context(),
            client.roots(),
        ];
        assert_eq!(can, expected, "{text}");
    }
}

#[test]
fn unspecified_methods_are_refused() {
    let nothing = Some(raw(&json!({})));
    let nothing = nothing.as_deref();
    for method in [
        "notifications/elicitation/response",
        "notifications/tools/listChanged",
        "",
    ] {
        let error = ClientNotification::parse(method, nothing).unwrap_err();
        assert_eq!(error.code, METHOD_NOT_FOUND, "{method}");
        let error = ServerNotification::parse(method, nothing).unwrap_err();
        assert_eq!(error.code, METHOD_NOT_FOUND, "{method}");
    }
    // A question is part of a result or a request, depending on the revision.
    assert!(wire::read::<ClientRequest>(Revision::V2026_07_28, "ping", None).is_err());
    assert!(wire::read::<ClientRequest>(Revision::V2025_11_25, "ping", None).is_ok());
    assert!(wire::read::<ClientRequest>(Revision::V2025_11_25, "server/discover", None).is_err());
    assert!(InputRequest::parse("ping", nothing).is_err());
}

// Shows PO-01, BA-37.
#[test]
fn params_that_do_not_fit_are_refused_with_the_reason() {
    let cases = [
        ("tools/call", json!({}), "name"),
        (
            "tools/call",
            json!({"name": 1}),
            "name: expected a text, got a number",
        ),
        (
            "tools/call",
            json!({"name": "x", "arguments": []}),
            "object",
        ),
        (
            "tools/call",
            json!({"name": "x", "arguments": "{}"}),
            "object",
        ),
        ("tools/call", json!({"name": "x", "_meta": []}), "object"),
        (
            "tools/call",
            json!({"name": "x", "_meta": {"progressToken": 1.5}}),
            "integer",
        ),
        (
            "tools/call",
            json!({"name": "x", "_meta": {"progressToken": null}}),
            "integer",
        ),
        (
            "prompts/get",
            json!({"name": "x", "arguments": {"days": 7}}),
            "arguments.days: expected a text, got a number",
        ),
        (
            "completion/complete",
            json!({"ref": {"type": "ref/tool", "name": "x"}, "argument": {"name": "a", "value": ""}}),
            "ref/tool",
        ),
        ("logging/setLevel", json!({"level": "loud"}), "loud"),
        (
            "initialize",
            json!({"protocolVersion": "2025-11-25", "capabilities": {}}),
            "clientInfo",
        ),
    ];
    for (method, params, reason) in cases {
        let error = ClientRequest::parse(method, Some(&raw(&params))).unwrap_err();
        assert_eq!(error.code, INVALID_PARAMS);
        assert!(error.message.contains(reason), "{method} {params}: {error}");
    }
    let absent = ClientRequest::parse("tools/call", None).unwrap_err();
    assert_eq!(absent.code, INVALID_PARAMS);
    assert!(ClientRequest::parse("tools/list", None).is_ok());
}

// Shows BA-37.
#[test]
fn a_reserved_key_of_meta_stands_once() {
    let said = refused::<Meta>(r#"{"progressToken":1,"progressToken":2}"#);
    assert!(said.contains("progressToken"), "{said}");
    refused::<Meta>(
        r#"{"io.modelcontextprotocol/protocolVersion":"a","io.modelcontextprotocol/protocolVersion":"a"}"#,
    );
    refused::<Meta>(r#"{"io.modelcontextprotocol/protocolVersion":20260728}"#);
    refused::<Meta>(r#"{"io.modelcontextprotocol/clientCapabilities":[]}"#);
    same::<Meta>(r#"{"io.modelcontextprotocol/later":1,"progress":null,"dev.askback/key":"seat"}"#);

    let mut meta = Meta::default();
    assert_eq!((meta.ask_key(), meta.reason()), (None, None));
    meta.set_ask_key("seat");
    meta.set_reason("too dear");
    let meta: Meta = read(&serde_json::to_string(&meta).unwrap());
    assert_eq!(
        (meta.ask_key(), meta.reason()),
        (Some("seat"), Some("too dear"))
    );
}

/// Whether a key of `_meta` follows the rules for its prefix and its name.
fn is_key(key: &str) -> bool {
    let ends = |text: &str, first: fn(&u8) -> bool| {
        let bytes = text.as_bytes();
        bytes.first().is_some_and(first) && bytes.last().is_some_and(u8::is_ascii_alphanumeric)
    };
    let label = |label: &str| {
        let inner = label
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'-');
        inner && ends(label, u8::is_ascii_alphabetic)
    };
    let name = |name: &str| {
        let word = |b: u8| b.is_ascii_alphanumeric() || b"-_.".contains(&b);
        name.bytes().all(word) && ends(name, u8::is_ascii_alphanumeric)
    };
    let Some((prefix, rest)) = key.split_once('/') else {
        return false;
    };
    prefix.split('.').all(label) && name(rest)
}

// Shows BA-38, BA-39, BA-40, BA-41, VE-04.
#[test]
fn our_own_names_follow_the_rules_for_keys() {
    let mut meta = Meta::default();
    meta.set_ask_key("seat");
    meta.set_reason("too dear");
    let meta = serde_json::to_value(&meta).unwrap();
    let mut client = ClientCapabilities::default();
    client.declare_tasks_extension();
    let client = serde_json::to_value(&client).unwrap();
    let ours = meta.as_object().unwrap().keys();
    let extensions = client["extensions"].as_object().unwrap().keys();
    for key in ours.clone().chain(extensions) {
        assert!(is_key(key), "{key}");
    }
    // Our own prefix is our domain in reverse order, which the protocol does not use.
    for key in ours {
        assert!(key.starts_with("dev.askback/"), "{key}");
    }
    for wrong in [
        "key", "/key", "a./b", "-a/b", "1a/b", "a-/b", "a/", "a/-b", "a/b c", "a/b/c",
    ] {
        assert!(!is_key(wrong), "{wrong}");
    }
}

#[test]
fn content_is_told_apart_by_its_type_wherever_it_stands() {
    let link = r#"{"uri":"travel://a","name":"a","type":"resource_link"}"#;
    assert!(matches!(read(link), ContentBlock::ResourceLink(_)));
    for (text, reason) in [
        (r#"{"type":"video","data":""}"#, "`video`"),
        (r#"{"text":"a"}"#, "type"),
        (r#"{"type":"text"}"#, "text"),
        (r#"{"type":"text","type":"image","text":"a"}"#, "type"),
        (r#"{"type":"image","data":""}"#, "mimeType"),
        (
            r#"{"type":"resource","resource":{"uri":"travel://a"}}"#,
            "blob",
        ),
        (
            r#"{"type":"resource","resource":{"uri":"travel://a","text":"","blob":""}}"#,
            "blob",
        ),
        (
            r#"{"type":"tool_use","id":"1","name":"x","input":{}}"#,
            "`tool_use`",
        ),
    ] {
        let said = refused::<ContentBlock>(text);
        assert!(said.contains(reason), "{text}: {said}");
    }
    refused::<SamplingBlock>(r#"{"type":"tool_use","id":"1","name":"x","input":[]}"#);
    refused::<SamplingBlock>(link);
}

// Shows SA-14.
#[test]
fn a_single_block_and_a_list_of_one_are_told_apart() {
    let block = r#"{"type":"text","text":"a"}"#;
    for content in [block.to_owned(), format!("[{block}]"), "[]".to_owned()] {
        same::<SamplingMessage>(&format!(r#"{{"role":"user","content":{content}}}"#));
        same::<CreateMessageResult>(&format!(
            r#"{{"role":"assistant","model":"m","content":{content}}}"#
        ));
    }
    refused::<SamplingMessage>(r#"{"role":"user","content":"a"}"#);
    refused::<SamplingMessage>(r#"{"role":"system","content":[]}"#);
}

#[test]
fn questions_keep_their_order_and_their_keys() {
    let text = r#"{"z":{"method":"roots/list"},"a":{"params":{"messages":[],"maxTokens":1},"method":"sampling/createMessage"},"m":{"method":"roots/list","params":{}}}"#;
    let questions: InputRequests = read(text);
    let keys: Vec<_> = questions.iter().map(|(key, _)| key).collect();
    assert_eq!(keys, ["z", "a", "m"]);
    assert_eq!(
        questions.get("a").unwrap().method(),
        "sampling/createMessage"
    );
    let said = refused::<InputRequests>(
        r#"{"z":{"method":"roots/list"},"y":{"method":"roots/list"},"z":{"method":"roots/list"}}"#,
    );
    assert!(said.contains("\"z\""), "{said}");
    refused::<InputRequests>(r#"{"a":{"method":"ping"}}"#);
    refused::<InputRequests>(r#"{"a":{"method":"elicitation/create"}}"#);
    refused::<InputRequests>(r#"{"a":{"params":{}}}"#);
}

#[test]
fn an_answer_is_read_as_its_question_says() {
    let roots = InputRequest::Roots(Default::default());
    let elicit: InputRequest = ElicitParams::url("m", "https://a.example").into();
    let answer = |text: &str| RawJson::from_text(text.to_owned()).unwrap();
    assert!(roots.read_response(&answer(r#"{"roots":[]}"#)).is_ok());
    assert!(
        roots
            .read_response(&answer(r#"{"action":"accept"}"#))
            .is_err()
    );
    assert!(
        elicit
            .read_response(&answer(r#"{"action":"reject"}"#))
            .is_ok()
    );
    assert!(elicit.read_response(&answer(r#"{"roots":[]}"#)).is_err());
    assert!(elicit.read_response(&answer("1")).is_err());
}

#[test]
fn a_keyed_map_is_changed_in_place() {
    let mut keyed: OrderedMap<i32> = [("a", 1), ("b", 2), ("a", 3)].into_iter().collect();
    assert_eq!(keyed.iter().collect::<Vec<_>>(), [("a", &3), ("b", &2)]);
    assert_eq!(keyed.insert("b", 4), Some(2));
    assert_eq!(keyed.insert("c", 5), None);
    assert_eq!(keyed.remove("a"), Some(3));
    assert_eq!(keyed.remove("a"), None);
    assert_eq!(keyed.len(), 2);
    assert_eq!(serde_json::to_string(&keyed).unwrap(), r#"{"b":4,"c":5}"#);
}

// Shows BA-10, BA-11.
#[test]
fn a_result_says_what_it_is() {
    let done = json!({"content": []});
    let complete = json!({"content": [], "resultType": "complete"});
    let asks = json!({"resultType": "input_required", "requestState": "s"});
    let task = json!({"task": {"taskId": "t", "status": "working", "createdAt": "", "lastUpdatedAt": "", "ttl": null}});
    let extension_task = json!({"resultType": "task", "taskId": "t", "status": "working", "createdAt": "", "lastUpdatedAt": "", "ttlMs": null});
    let asks_nothing = json!({"resultType": "input_required"});
    let later = json!({"content": [], "resultType": "later"});
    let done_with_task = json!({"content": [], "task": "a word of their own"});
    let cases = [
        (&done, ["done", "done", "done"]),
        (&complete, ["done", "done", "done"]),
        (&asks, ["error", "error", "asks"]),
        (&asks_nothing, ["error", "error", "error"]),
        (&task, ["error", "task", "error"]),
        (&extension_task, ["error", "error", "task"]),
        (&later, ["done", "error", "error"]),
        (&done_with_task, ["done", "done", "done"]),
    ];
    let revisions = [
        Revision::V2025_06_18,
        Revision::V2025_11_25,
        Revision::V2026_07_28,
    ];
    for (result, expected) in cases {
        for (revision, expected) in revisions.into_iter().zip(expected) {
            let found = match wire::read_outcome::<CallToolResult>(revision, &raw(result)) {
                Ok(Outcome::Done(_)) => "done",
                Ok(Outcome::NeedInput(_)) => "asks",
                Ok(Outcome::Task(_) | Outcome::CoreTask(_)) => "task",
                Err(_) => "error",
            };
            assert_eq!(found, expected, "{revision}: {result}");
        }
    }
}

// Shows BA-08, BA-49.
#[test]
fn a_result_names_its_server_where_results_do() {
    let server = Signature::new(&Implementation::new("askback-travel", "1"));
    let write = |revision, outcome: Outcome<CallToolResult>| -> Value {
        let written = wire::write_outcome(revision, &1.into(), outcome, Some(&server));
        serde_json::from_slice(&written).unwrap()
    };
    let meta =
        json!({"io.modelcontextprotocol/serverInfo": {"name": "askback-travel", "version": "1"}});
    assert_eq!(
        write(Revision::V2026_07_28, CallToolResult::default().into()),
        json!({"jsonrpc": "2.0", "id": 1, "result": {"resultType": "complete", "content": [], "_meta": meta}})
    );
    assert_eq!(
        write(Revision::V2025_11_25, CallToolResult::default().into()),
        json!({"jsonrpc": "2.0", "id": 1, "result": {"content": []}})
    );
    let asks = || {
        Outcome::NeedInput(InputRequiredResult {
            request_state: Some("s".to_owned()),
            ..InputRequiredResult::default()
        })
    };
    assert_eq!(
        write(Revision::V2026_07_28, asks()),
        json!({"jsonrpc": "2.0", "id": 1, "result": {"resultType": "input_required", "requestState": "s", "_meta": meta}})
    );
    assert_eq!(
        write(Revision::V2025_11_25, asks())["error"]["code"],
        json!(-32603)
    );
}

proptest! {
    #![proptest_config(crate::proptest_config())]

    #[test]
    fn a_state_is_written_whatever_text_it_is(
        state in vec(prop_oneof![any::<char>(), prop::char::range('\0', '0'), Just('\\')], 0..12),
    ) {
        let asks = InputRequiredResult {
            request_state: Some(state.into_iter().collect()),
            ..InputRequiredResult::default()
        };
        let mut result = serde_json::to_value(&asks).unwrap();
        result["resultType"] = json!("input_required");
        let outcome = Outcome::<CallToolResult>::NeedInput(asks);
        let written = wire::write_outcome(Revision::LATEST, &1.into(), outcome, None);
        let written: Value = serde_json::from_slice(&written).unwrap();
        prop_assert_eq!(written, json!({"jsonrpc": "2.0", "id": 1, "result": result}));
    }
}

#[test]
fn titles_and_names_survive() {
    same::<Prompt>(r#"{"name":"p","arguments":[{"name":"a","title":"A"}]}"#);
    same::<CompleteParams>(
        r#"{"ref":{"name":"p","type":"ref/prompt"},"argument":{"name":"a","value":"b"},"context":{"arguments":{}}}"#,
    );
    let tool: Tool =
        read(r#"{"name":"t","annotations":{"title":"hinted"},"inputSchema":{"type":"object"}}"#);
    assert_eq!(tool.display_name(), "hinted");
    assert_eq!(Tool::new("t", Schema::default()).display_name(), "t");
}

#[test]
fn raw_values_are_equal_by_value() {
    let json = |text: &str| RawJson::from_text(text.to_owned()).unwrap();
    assert_eq!(json(r#"{"a":1,"b":[]}"#), json(r#" { "b" : [ ], "a":1} "#));
    assert_ne!(json("1"), json("2"));
    assert_eq!(json(" 1 ").as_str(), "1");
    assert!(RawJson::from_text("1 2".to_owned()).is_err());
    for text in ["[]", "1", "null", "\"{}\""] {
        assert!(RawObject::from_text(text.to_owned()).is_err(), "{text}");
        assert!(Schema::from_text(text.to_owned()).is_err(), "{text}");
        refused::<RawObject>(text);
    }
    assert!(RawObject::new(&json!({"a": 1})).is_ok());
    assert!(RawObject::new(&1).is_err());
    assert_eq!(RawObject::default().as_str(), "{}");
    assert_eq!(RawJson::default().as_str(), "null");
    same::<CallToolResult>(r#"{"content":[],"structuredContent":null}"#);
}

#[test]
fn null_counts_as_absent() {
    let result: CallToolResult = read(r#"{"content":[],"isError":null,"_meta":null}"#);
    assert_eq!(result, CallToolResult::default());
    let roots: ListRootsResult = read(r#"{"roots":[{"uri":"file:///a","name":null}]}"#);
    assert_eq!(roots.roots[0].name, None);
}

#[test]
fn meta_is_made_when_it_is_written_to() {
    let mut request = ClientRequest::Ping(Default::default());
    assert!(request.meta().is_none() && request.params().is_none());
    request.meta_mut().progress_token = Some(1.into());
    assert_eq!(
        serde_json::from_slice::<Value>(&request.to_vec(&2.into())).unwrap(),
        json!({"jsonrpc": "2.0", "id": 2, "method": "ping", "params": {"_meta": {"progressToken": 1}}})
    );
}

#[test]
fn contents_have_a_place_and_a_type() {
    let contents = ResourceContents::blob("travel://a", "AA==").with_mime_type("image/png");
    assert_eq!(contents.uri(), "travel://a");
    assert_eq!(
        serde_json::to_value(contents).unwrap(),
        json!({"uri": "travel://a", "mimeType": "image/png", "blob": "AA=="})
    );
}

#[test]
fn text_is_taken_from_every_block() {
    let tool: CallToolResult = read(
        r#"{"content":[{"type":"text","text":"one"},{"type":"image","data":"","mimeType":"image/png"},{"type":"text","text":"two"}]}"#,
    );
    assert_eq!(tool.text().unwrap(), "one\ntwo");
    assert_eq!(CallToolResult::default().text().unwrap(), "");
    let prompt: GetPromptResult = read(
        r#"{"messages":[{"role":"user","content":{"type":"text","text":"hello"}},{"role":"assistant","content":{"type":"text","text":"yes"}}]}"#,
    );
    assert_eq!(prompt.text(), "hello\nyes");
    let resource: ReadResourceResult = read(
        r#"{"contents":[{"uri":"a:1","text":"one"},{"uri":"a:2","blob":"AA=="},{"uri":"a:3","text":"three"}]}"#,
    );
    assert_eq!(resource.text(), "one\nthree");
}

/// A request of each method, with every member that a method requires.
fn all_requests() -> impl Iterator<Item = ClientRequest> {
    let params = raw(&json!({
        "name": "a name", "uri": "file:///a", "taskId": "a task", "level": "info",
        "ref": {"type": "ref/prompt", "name": "a prompt"}, "argument": {"name": "a", "value": ""},
        "notifications": {}, "inputResponses": {}, "requestState": "a state",
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "a client", "version": "1"},
    }));
    ClientRequest::METHODS.iter().map(move |method| {
        let read = ClientRequest::parse(method, Some(&params));
        read.unwrap_or_else(|error| panic!("{method}: {error:?}"))
    })
}

/// The target of a request that is parsed, and the member of one that is forwarded.
#[test]
fn a_target_is_the_member_that_names_it() {
    for request in all_requests() {
        let method = request.method();
        let named = name_member(method).map(|member| match member {
            "name" => "a name",
            "uri" => "file:///a",
            "taskId" => "a task",
            other => panic!("{method}: {other}"),
        });
        assert_eq!(request.target(), named, "{method}");
    }
}

/// A request that may ask takes the answers of its next round.
#[test]
fn a_request_with_rounds_may_ask() {
    for request in all_requests() {
        let params = serde_json::to_value(request.params()).unwrap();
        let has_rounds = params.get("requestState").is_some();
        let may_ask = CallTarget::may_ask(request.method());
        assert_eq!(has_rounds, may_ask, "{}", request.method());
        let target = request
            .target()
            .and_then(|it| CallTarget::new(request.method(), it));
        assert_eq!(target.is_some(), may_ask, "{}", request.method());
    }
}
