//! Tool calls that are tasks, in the foreground and in the background.

use std::fs;

use crate::{
    full::{CTRL_C, CTRL_D, ENTER, REVIEW, Terminal},
    run::{Ran, Run},
    scratch::Scratch,
};

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

const REVISIONS: [&str; 2] = ["2025-11-25", "2026-07-28"];

/// The tasks that the server was asked to cancel, one per line.
fn cancelled(scratch: &Scratch) -> String {
    fs::read_to_string(scratch.path("cancelled")).unwrap_or_default()
}

/// Runs a conversation with these lines, in this revision.
fn lines(name: &str, revision: &str, lines: &str) -> Ran {
    let run = Run::new(&format!("tasks-{name}-{revision}"), &["open", "--plain"]);
    let run = run.and(&["--name", "ground", "--protocol", revision]);
    run.scratch.file("ground.sh", GROUND);
    run.scratch.file("go", "");
    run.and(&["--", "sh", "ground.sh"]).input(lines).run()
}

#[test]
fn a_task_goes_on_by_itself_asks_and_is_fetched_later() {
    for revision in REVISIONS {
        let ran = lines(
            "later",
            revision,
            "/begin wait\n/begin dig\n/tasks wait 2\n7\n\n/call sum\n/tasks\n/tasks 2\n/tasks cancel 1\n/tasks\n/quit\n",
        );
        let ran = ran.expect(0);
        let ran = ran.says("Task 1 began: | wait").says("Task 2 began: | dig");
        // Progress is shown for the task being waited for, but not for the other one.
        let ran = ran.says("| half way").says("for task 2, the tool | dig");
        assert!(!ran.stderr.contains("still there"), "{}", ran.stderr);
        let ran = ran.says("Task 2 is done: | dig");
        assert_eq!(ran.stdout.matches("7 metres").count(), 2, "{}", ran.stdout);
        let listed = |words: &str| {
            let rows = ran.stdout.lines();
            rows.filter(|row| row.starts_with(words)).count()
        };
        assert_eq!(listed("1  at work, "), 1, "{}", ran.stdout);
        assert_eq!(listed("1  cancelled, "), 1, "{}", ran.stdout);
        assert_eq!(listed("2  done, "), 2, "{}", ran.stdout);
        let ran = ran
            .prints("| still there")
            .says("Task 1 is cancelled: | wait");
        assert_eq!(cancelled(&ran.scratch), "t1\n", "{revision}");
    }
}

#[test]
fn a_task_of_another_server_is_shown_and_cancelled() {
    #[track_caller]
    fn check(name: &str, lines: &str, printed: &[&str], said: &[&str]) {
        let run = run(name, &["open", "--plain", "--all", "--config", "mcp.json"]);
        run.scratch.file("ground.sh", GROUND);
        run.scratch.file("go", "");
        let ground = r#"{"command": "sh", "args": ["ground.sh"]}"#;
        let servers = format!(r#"{{"mcpServers": {{"a": {ground}, "b": {ground}}}}}"#);
        run.scratch.file("mcp.json", &servers);
        let ran = run.input(lines).run().expect(0);
        let ran = printed.iter().fold(ran, |ran, text| ran.prints(text));
        said.iter().fold(ran, |ran, text| ran.says(text));
    }
    check(
        "other-cancel",
        "/begin wait\n/server b\n/tasks\n/tasks cancel 1\n/servers\n",
        &["1  a, at work, "],
        &["Task 1 is cancelled: | wait", "> b: connected"],
    );
    check(
        "other-wait",
        "/begin dig\n/server b\n/tasks wait 1\n7\n\n/servers\n",
        &["7 metres"],
        &["You talk to b.", "You talk to a.", "> a: connected"],
    );
}

#[test]
fn running_tasks_are_cancelled_when_the_conversation_ends() {
    for revision in REVISIONS {
        let ran = lines("left", revision, "/begin wait\n/begin wait\n/call sum\n").expect(0);
        let ran = ran.says("Task 1 is cancelled: | wait");
        let ran = ran.says("Task 2 is cancelled: | wait");
        assert_eq!(cancelled(&ran.scratch), "t1\nt2\n", "{revision}");
    }
    let ran = lines(
        "again",
        REVISIONS[0],
        "/begin wait\n/call sum\n/restart\n/tasks\n/begin dig\n/call sum\n",
    )
    .expect(0);
    assert_eq!(cancelled(&ran.scratch), "t1\nt1\n");
    ran.prints("1  cancelled, ").says("Task 2 began: | dig");
}

#[test]
fn only_what_may_be_a_task_is_begun() {
    let [core, _] = REVISIONS;
    let refused = lines("none", core, "/begin sum\n").expect(2);
    refused
        .says("does not run this tool as a task")
        .says("/call waits");
    let unknown = lines("unknown", core, "/tasks 9\n").expect(2);
    unknown.says("there is no task 9");
    let ended = lines(
        "ended",
        core,
        "/begin wait\n/tasks cancel 1\n/tasks cancel 1\n",
    );
    ended.expect(2).says("task 1 has ended already");
    let empty = lines("empty", core, "/tasks\n").expect(0);
    empty.says("No task was begun: /begin TOOL begins one.");
    // A task that completes at once is shown as done at once.
    let quick = lines("quick", "2026-07-28", "/begin sum\n/tasks wait 1\n").expect(0);
    quick.says("Task 1 is done: | sum").prints("4");

    let run = Run::new("tasks-recorded", &["open", "--record", "suite.yaml"]);
    run.scratch.file("ground.sh", GROUND);
    let run = run.and(&["--", "sh", "ground.sh"]).input("/begin dig\n");
    run.run()
        .expect(2)
        .says("a recording has one call at a time");
}

#[test]
fn a_task_asks_while_something_else_is_typed_and_a_person_who_leaves_is_told() {
    for revision in REVISIONS {
        let scratch = Scratch::new(&format!("tasks-screen-{revision}"));
        let script = scratch.file("ground.sh", GROUND);
        let shell = r#"cd "$1"; shift; exec "$@""#;
        let folder = scratch.path(".");
        let folder = folder.to_str().expect("it is a text");
        let words = [
            "-c",
            shell,
            "sh",
            folder,
            env!("CARGO_BIN_EXE_askback"),
            "open",
            "--name",
            "ground",
            "--protocol",
            revision,
            "--",
            "sh",
            &script,
        ];
        let mut terminal = Terminal::run("sh", &words, 80, &[]);
        terminal
            .until("> ")
            .press("/begin wait")
            .until("/begin wait")
            .press(ENTER);
        terminal
            .until("Task 1 began: | wait")
            .until("Tasks at work: 1");
        terminal
            .press("/begin dig")
            .until("/begin dig")
            .press(ENTER);
        terminal
            .until("Task 2 began: | dig")
            .press("/call su")
            .until("/call su");
        scratch.file("go", "");
        terminal.until("ground asks · task 2 | dig").press("7");
        terminal
            .until("metres* 7")
            .press(REVIEW)
            .until("[Enter] Send");
        // The partly typed line is restored after the question.
        terminal
            .press(ENTER)
            .until("> /call su")
            .until("Task 2 is done: | dig");
        terminal
            .press(CTRL_C)
            .until("Type to filter")
            .press("/tasks 2")
            .until("> /tasks 2");
        terminal.press(ENTER).until("| 7 metres");
        terminal
            .press(CTRL_D)
            .until("Tasks at work: 1. They are cancelled when you leave");
        assert_eq!(cancelled(&scratch), "");
        terminal.press(CTRL_D);
        assert_eq!(terminal.end(), Some(0));
        assert_eq!(cancelled(&scratch), "t1\n", "{revision}");
    }
}
