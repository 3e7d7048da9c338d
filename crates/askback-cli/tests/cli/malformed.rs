//! Servers with partly invalid messages: valid parts are used, and invalid parts are reported.

use std::fs;

use serde_json::Value;

use crate::run::Run;

/// A server that answers each method with the given text.
pub(crate) fn server(answers: &[(&str, &str)]) -> String {
    let mut arms = String::new();
    let fixed = [(
        "initialize",
        r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"logging":{}},"serverInfo":{"name":"m","version":"1"}}"#,
    )];
    for (method, result) in answers.iter().chain(&fixed) {
        let line = match result.starts_with('{') {
            true => format!(r#"{{"jsonrpc":"2.0","id":@,"result":{result}}}"#),
            false => (*result).to_owned(),
        };
        arms += &format!("*'\"method\":\"{method}\"'*) answer='{line}';;\n");
    }
    format!(
        r#"while IFS= read -r l; do
        id=$(printf '%s' "$l" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
        case "$l" in
        {arms}*'"id"'*) answer='{{"jsonrpc":"2.0","id":@,"error":{{"code":-32601,"message":"no"}}}}';;
        *) continue;;
        esac
        printf '%s\n' "$answer" | sed "s/@/$id/"
        done"#
    )
}

const GOOD: &str = r#"{"name":"good","inputSchema":{"type":"object"}}"#;
const DONE: &str = r#"{"content":[{"type":"text","text":"fine"}]}"#;

#[test]
fn a_check_finds_nothing_only_if_the_lists_can_be_used() {
    let tools = |entries: &str| format!(r#"{{"tools":[{entries},{GOOD}]}}"#);
    for (name, list, exits, says) in [
        (
            "usual",
            tools(r#"{"name":"b","inputSchema":{}}"#),
            (0, 0),
            "",
        ),
        (
            "schema",
            tools(r#"{"name":"bare"}"#),
            (0, 1),
            "tool 1 (`bare`)",
        ),
        (
            "null-schema",
            tools(r#"{"name":"bare","inputSchema":null}"#),
            (0, 1),
            "tool 1 (`bare`)",
        ),
        (
            "nameless",
            tools(r#"{"inputSchema":{}}"#),
            (0, 1),
            "tool 1: `name` is missing",
        ),
        (
            "hints",
            tools(r#"{"name":"b","inputSchema":{},"annotations":{"readOnlyHint":"yes"}}"#),
            (0, 0),
            "`readOnlyHint` of tool 1 (`b`)",
        ),
        (
            "icons",
            tools(r#"{"name":"b","inputSchema":{},"icons":"b.png","_meta":[],"title":5}"#),
            (0, 0),
            "",
        ),
        (
            "output",
            tools(r#"{"name":"b","inputSchema":{},"outputSchema":"none"}"#),
            (0, 0),
            "",
        ),
        (
            "halves",
            tools(r#"{"name":"b","description":"cut \ud83d","inputSchema":{}}"#),
            (0, 0),
            "",
        ),
        ("text", r#"{"tools":"none"}"#.to_owned(), (4, 1), "expected"),
        ("null", r#"{"tools":null}"#.to_owned(), (0, 0), ""),
        ("absent", "{}".to_owned(), (4, 1), "is missing"),
        (
            "nan",
            r#" {"jsonrpc":"2.0","id":@,"result":{"tools":[NaN]}}"#.to_owned(),
            (4, 1),
            "not JSON",
        ),
    ] {
        let script = server(&[("tools/list", &list), ("tools/call", DONE)]);
        let run = |words: &[&str]| {
            let run = Run::new(&format!("malformed-{name}"), words);
            run.and(&["--timeout", "5", "--", "sh", "-c", &script])
                .run()
        };
        let listed = run(&["list", "tools"]).expect(exits.0).says(says);
        run(&["doctor"]).expect(exits.1);
        // An error in a member that the client omits is found, too.
        let id = match name {
            "usual" => "TO-10 MUST",
            "hints" | "icons" | "output" => "entry-shape MUST",
            _ => "",
        };
        run(&["doctor"]).prints(id);
        assert!(exits.1 != 0 || exits.0 == 0, "{name}");
        if exits.0 == 0 && name != "null" {
            assert!(listed.stdout.contains("good"), "{}", listed.stdout);
            run(&["call", "good"]).expect(0).prints("fine");
        }
    }
}

#[test]
fn what_is_readable_of_a_result_is_shown_and_the_call_ends_at_once() {
    for (name, result, exit, shown, said) in [
        (
            "block",
            r#"{"content":[{"type":"text","text":"done"},{"type":"video"}]}"#,
            4,
            "done",
            "block 2",
        ),
        (
            "halves",
            r#"{"content":[{"type":"text","text":"done \ud83d"}]}"#,
            0,
            "done \u{fffd}",
            "",
        ),
        (
            "flag",
            r#"{"content":[{"type":"text","text":"done"}],"isError":0}"#,
            4,
            "done",
            "isError",
        ),
        ("text", r#"{"content":"done"}"#, 4, "done", "content"),
        (
            "number",
            r#"{"content":[5]}"#,
            4,
            "block 1 cannot be shown",
            "block 1",
        ),
        (
            "nan",
            r#" {"jsonrpc":"2.0","id":@,"result":{"content":[],"done":NaN}}"#,
            4,
            "",
            "\"done\":NaN",
        ),
        (
            "two",
            r#" {"jsonrpc":"2.0","id":@,"result":{"content":[{"type":"text","text":"done"}]}}{"jsonrpc":"2.0","method":"notifications/x"}"#,
            0,
            "done",
            "",
        ),
        (
            "batch",
            r#" [{"jsonrpc":"2.0","id":@,"result":{"content":[{"type":"text","text":"done"}]}}]"#,
            0,
            "done",
            "",
        ),
    ] {
        let list = format!(r#"{{"tools":[{GOOD}]}}"#);
        let script = server(&[("tools/list", &list), ("tools/call", result)]);
        let run = |words: &[&str]| {
            let run = Run::new(&format!("odd-{name}"), words);
            run.and(&["--", "sh", "-c", &script]).run()
        };
        run(&["call", "good"]).expect(exit).says(said).prints(shown);
        let json = run(&["call", "good", "--json"]).expect(exit);
        json.json();
        if result.starts_with('{') && name != "halves" {
            let raw: Value = serde_json::from_str(result).expect("it is JSON");
            assert_eq!(json.json(), raw, "{name}");
        }
        assert!(
            json.stdout.contains("done") || name == "number",
            "{}",
            json.stdout
        );
    }
}

#[test]
fn tools_that_are_not_declared_are_found() {
    let silent = r#"{"protocolVersion":"2025-11-25","capabilities":{"logging":{}},"serverInfo":{"name":"m","version":"1"}}"#;
    let list = format!(r#"{{"tools":[{GOOD}]}}"#);
    let script = server(&[
        ("initialize", silent),
        ("tools/list", &list),
        ("tools/call", DONE),
    ]);
    let run = |words: &[&str]| {
        let run = Run::new("undeclared", words);
        run.and(&["--", "sh", "-c", &script]).run()
    };
    let words = "does not declare";
    run(&["call", "good"]).expect(0).prints("fine").says(words);
    run(&["list"]).expect(0).prints("good").says(words);
    run(&["doctor"]).expect(0).prints("TO-05 MUST");
}

#[test]
fn what_is_readable_of_a_prompt_and_a_resource_is_shown() {
    let prompt = r#"{"messages":[{"role":"user","content":{"type":"text","text":"fine"}},{"role":"user","content":{"type":"video"}}]}"#;
    let resource = r#"{"contents":[{"uri":"a://b","text":"fine"},{"uri":5}]}"#;
    let silent = r#"{"protocolVersion":"2025-11-25","capabilities":{"prompts":{},"resources":{}},"serverInfo":{"name":"m","version":"1"}}"#;
    let script = server(&[
        ("initialize", silent),
        ("prompts/list", r#"{"prompts":[{"name":"p"},{"name":5}]}"#),
        ("prompts/get", prompt),
        (
            "resources/list",
            r#"{"resources":[{"uri":"a://b","name":"b"},{"name":"c"}]}"#,
        ),
        ("resources/templates/list", r#"{"resourceTemplates":[]}"#),
        ("resources/read", resource),
    ]);
    let run = |words: &[&str]| {
        let run = Run::new("odd-parts", words);
        run.and(&["--", "sh", "-c", &script]).run()
    };
    run(&["get", "p"])
        .expect(4)
        .prints("fine")
        .says("breaks the protocol");
    run(&["get", "a://b"])
        .expect(4)
        .prints("fine")
        .says("breaks the protocol");
    run(&["list", "prompts"])
        .expect(0)
        .prints("p")
        .says("prompt 2");
    run(&["list", "resources"])
        .expect(0)
        .prints("a://b")
        .says("resource 2");
    run(&["doctor"]).expect(1);
}

#[test]
fn a_result_that_breaks_the_protocol_fails_the_case_that_was_recorded_of_it() {
    const HALF_READABLE: &str = r#"{"content":[{"type":"text","text":"done"},{"type":"video"}]}"#;
    for (name, result, exit, says) in [
        ("whole", DONE, 0, ""),
        ("block", HALF_READABLE, 1, "block 2"),
        (
            "flag",
            r#"{"content":[{"type":"text","text":"done"}],"isError":0}"#,
            1,
            "`isError`",
        ),
    ] {
        let list = format!(r#"{{"tools":[{GOOD}]}}"#);
        let script = server(&[("tools/list", &list), ("tools/call", result)]);
        let words = ["call", "good", "--record", "recorded.yaml", "--"];
        let run = Run::new(&format!("broken-{name}"), &words);
        let ran = run.and(&["sh", "-c", &script]).run();
        let suite = fs::read_to_string(ran.scratch.path("recorded.yaml"));
        let run = Run::new(&format!("broken-{name}-again"), &["test", "recorded.yaml"]);
        let suite = suite.expect("it was written");
        run.scratch.file("recorded.yaml", &suite);
        let again = run.run().expect(exit).prints(says);
        let is_told = again.stdout.contains("a result that keeps to the protocol");
        assert_eq!(is_told, exit == 1, "{}", again.stdout);
    }
}
