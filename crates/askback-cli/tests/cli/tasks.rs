//! Tool calls that are tasks.

use crate::run::Run;

/// A server whose calls become tasks.
const GROUND: &str = include_str!("tasks.sh");

/// A server whose tool must be called as a task. It asks a question, and returns the answer.
const WORKING: &str = r#"
say() { printf '%s\n' "$1"; }
task() { say '{"jsonrpc":"2.0","id":'$id',"result":{'"$1"'"taskId":"t1","status":"'$2'","createdAt":"","lastUpdatedAt":"","ttl":null,"pollInterval":1}'"$3"'}'; }
while read -r line; do
    id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
    case "$line" in
    *'"initialize"'*)
        say '{"jsonrpc":"2.0","id":'$id',"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"tasks":{"cancel":{},"requests":{"tools":{"call":{}}}}},"serverInfo":{"name":"e","version":"1"}}}' ;;
    *tools/list*)
        say '{"jsonrpc":"2.0","id":'$id',"result":{"tools":[{"name":"t","inputSchema":{"type":"object"},"execution":{"taskSupport":"required"}}]}}' ;;
    *tools/call*'"task":{'*) task '"task":{' working '}' ;;
    *tools/call*) say '{"jsonrpc":"2.0","id":'$id',"error":{"code":-32601,"message":"it has to be a task"}}' ;;
    *tasks/get*) task '' input_required '' ;;
    *tasks/result*)
        say '{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"How many?","requestedSchema":{"type":"object","properties":{"nights":{"type":"integer"}}}}}'
        read -r answer
        nights=$(printf '%s' "$answer" | sed -n 's/.*"nights":\([0-9]*\).*/\1/p')
        say '{"jsonrpc":"2.0","id":'$id',"result":{"content":[{"type":"text","text":"'"$nights"' nights"}]}}' ;;
    esac
done
"#;

fn run(name: &str, words: &[&str]) -> Run {
    let run = Run::new(&format!("tasks-{name}"), words);
    run.and(&["--protocol", "2025-11-25"])
}

// Shows TA25-07.
#[test]
fn a_tool_is_called_as_a_task_where_it_has_to_be() {
    let server = ["--", "sh", "-c", WORKING];
    let called =
        run("call", &["call", "t"]).answers("answers: [{when: {tool: t}, accept: {nights: 7}}]");
    called.and(&server).run().expect(0).prints("7 nights");
    let opened = run("open", &["open"]).input("/call t\n7\n\n/quit\n");
    opened.and(&server).run().expect(0).prints("7 nights");
}

#[test]
fn a_suite_calls_a_tool_as_a_task_if_the_tool_requires_it() {
    let run = Run::new("tasks-suite", &["test", "suite.yaml"]);
    let suite = "
revisions: [2025-11-25]
cases:
  - name: stays for a week
    call: t
    answers: [{accept: {nights: 7}}]
    expect: {text: 7 nights}
";
    run.scratch.file("suite.yaml", suite);
    let ran = run.and(&["--", "sh", "-c", WORKING]).run().expect(0);
    ran.prints("1 passed");
}

#[test]
fn a_call_that_becomes_a_task_shows_its_progress_and_asks() {
    let run = Run::new("tasks-progress", &["open", "--plain"]);
    run.scratch.file("ground.sh", GROUND);
    run.scratch.file("go", "");
    let run = run.and(&["--protocol", "2026-07-28", "--", "sh", "ground.sh"]);
    let ran = run.input("/call dig\n7\n\n/quit\n").run().expect(0);
    ran.says("| half way")
        .says("for the tool | dig")
        .prints("7 metres");
}
