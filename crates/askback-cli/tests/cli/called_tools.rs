//! Tools that a server offers in a sampling request, called by rules, in both eras.

use std::fs;

use serde_json::{Value, json};

use crate::run::{Ran, Run};

/// A server whose tool sends two sampling requests: one that should call `weather`, and one with its result. It logs
/// received messages to the file `heard`.
const SERVER: &str = r#"
say() { printf '{"jsonrpc":"2.0",%s}\n' "$1"; }
answer() { say '"id":'$id',"result":{'"$1"'}'; }
asks() { answer '"resultType":"input_required","requestState":"'$1'","inputRequests":{"k":{"method":"sampling/createMessage","params":'"$2"'}}'; }
while read -r line; do
    printf '%s\n' "$line" >> heard
    id=${line#*\"id\":}
    id=${id%%[,\}]*}
    case "$line" in
    *server/discover*) answer '"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"serverInfo":{"name":"c","version":"1"},"ttlMs":0,"cacheScope":"private"' ;;
    *'"initialize"'*) answer '"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"c","version":"1"}' ;;
    *tools/list*) answer '"resultType":"complete","tools":[{"name":"t","inputSchema":{"type":"object"}}],"ttlMs":0,"cacheScope":"private"' ;;
    *tools/call*state-after-two*) answer '"resultType":"complete","content":[]' ;;
    *tools/call*state-after-one*) asks state-after-two "$2" ;;
    *tools/call*2026-07-28*) asks state-after-one "$1" ;;
    *tools/call*) call=$id; say '"id":"one","method":"sampling/createMessage","params":'"$1" ;;
    *'"error"'*) id=$call; answer '"content":[]' ;;
    *'"one"'*) say '"id":"two","method":"sampling/createMessage","params":'"$2" ;;
    *'"two"'*) id=$call; answer '"content":[]' ;;
    esac
done
"#;

/// Runs a command with that server. `mode` is the tool choice of its first request.
fn run(run: Run, mode: &str) -> Ran {
    let said = json!({"role": "user", "content": {"type": "text", "text": "Shall I go out?"}});
    let used =
        json!({"type": "tool_use", "id": "call-1", "name": "weather", "input": {"city": "Kyoto"}});
    let result = json!({
        "type": "tool_result", "toolUseId": "call-1", "content": [{"type": "text", "text": "sunny"}],
    });
    let tools = json!([{"name": "weather", "inputSchema": {
        "type": "object", "required": ["city"], "properties": {"city": {"type": "string"}},
    }}]);
    let first = json!({
        "maxTokens": 9, "messages": [said], "tools": tools, "toolChoice": {"mode": mode},
    });
    let second = json!({"maxTokens": 9, "tools": tools, "messages": [
        said, {"role": "assistant", "content": used}, {"role": "user", "content": result},
    ]});
    let (first, second) = (first.to_string(), second.to_string());
    run.and(&["--", "sh", "-c", SERVER, "sh", &first, &second])
        .run()
}

/// The replies to sampling requests that the server received.
fn replies(ran: &Ran) -> Vec<Value> {
    fn find(value: &Value, found: &mut Vec<Value>) {
        if value.get("stopReason").is_some() {
            return found.push(value.clone());
        }
        let members = value.as_object().into_iter().flat_map(|it| it.values());
        members
            .chain(value.as_array().into_iter().flatten())
            .for_each(|value| find(value, found));
    }
    let heard = fs::read_to_string(ran.scratch.path("heard")).expect("it heard something");
    let mut found = Vec::new();
    for line in heard.lines() {
        let message: Value = serde_json::from_str(line).expect("the command writes JSON");
        find(&message, &mut found);
    }
    found
}

#[test]
fn a_rule_calls_tools_in_every_revision() {
    let text = |text: &str| json!({"type": "text", "text": text});
    let used =
        json!({"type": "tool_use", "id": "call-1", "name": "weather", "input": {"city": "Kyoto"}});
    for revision in ["2025-11-25", "2026-07-28"] {
        let case = Run::new(
            &format!("called-by-file-{revision}"),
            &["call", "t", "--protocol", revision],
        );
        let rules = "sampling:\n  - reply: [Let me look., {tool: weather, input: {city: Kyoto}}]\n    then: [{reply: It is sunny.}]\n";
        let ran = run(case.answers(rules), "auto").expect(0);
        let replies = replies(&ran);
        let said: Vec<_> = replies.iter().map(|reply| &reply["content"]).collect();
        let first = json!([text("Let me look."), used]);
        assert_eq!(said, [&first, &text("It is sunny.")], "{revision}");
        assert_eq!(replies[0]["stopReason"], "toolUse");
        assert_eq!(replies[1]["stopReason"], "endTurn");
    }
}

// Shows SA-12, SA-13.
#[test]
fn a_rule_that_goes_against_the_request_is_told() {
    for (mode, reply, why) in [
        ("required", "Yes.", "the request requires a tool call"),
        (
            "none",
            "{tool: weather, input: {city: Kyoto}}",
            "the request allows no tool call",
        ),
        ("auto", "{tool: trains}", "does not offer the tool `trains`"),
    ] {
        let case = Run::new(&format!("called-against-{mode}"), &["call", "t"]);
        // With the second rule, the client declares support for tool calls.
        let rules = format!("sampling:\n  - reply: {reply}\n  - reply: {{tool: weather}}\n");
        let case = case.and(&["--protocol", "2025-11-25"]).answers(&rules);
        let ran = run(case, mode).expect(6).says(why);
        assert_eq!(replies(&ran), Vec::<Value>::new());
    }
}
