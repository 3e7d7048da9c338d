//! Repeated calls, and restarted servers.

use pty_process::blocking::Command;

use crate::{
    full::{CTRL_D, ENTER, REVIEW, Terminal},
    run::{ASKBACK, Ran, Run},
    scratch::Scratch,
};

/// Has the tools of `tools.json`, and counts its starts in `count`. A call asks for a seat. The
/// tool `change` switches to the tools of `others.json`, and `leave` ends the server.
pub(crate) const SERVER: &str = r#"
cd "$(dirname "$0")"
starts=$(($(cat count) + 1))
echo $starts > count
say() { printf '{"jsonrpc":"2.0",%s}\n' "$1"; }
while read -r line; do
  id=${line#*\"id\":}
  id=${id%%[,\}]*}
  case $line in
  *'"initialize"'*) say "\"id\":$id,\"result\":{\"protocolVersion\":\"2025-11-25\",
    \"capabilities\":{\"tools\":{}},\"serverInfo\":{\"name\":\"s\",\"version\":\"1\"}}" | tr -d '\n'; echo ;;
  *'"tools/list"'*) say "\"id\":$id,\"result\":{\"tools\":$(cat tools.json)}" ;;
  *'"name":"change"'*) cp others.json tools.json
    say "\"id\":$id,\"result\":{\"content\":[]}" ;;
  *'"name":"leave"'*) say "\"id\":$id,\"result\":{\"content\":[]}"; exit 7 ;;
  *'"tools/call"'*) call=$id
    say '"id":"q","method":"elicitation/create","params":{"message":"Which seat?",
      "requestedSchema":{"type":"object","properties":{"seat":{"type":"string"}}}}' | tr -d '\n'; echo ;;
  *'"action"'*) seat=${line#*\"seat\":\"}
    say "\"id\":$call,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"start $starts, seat ${seat%%\"*}\"}]}" ;;
  *'"method"'*'"id":'* | *'"id":'*'"method"'*)
    say "\"id\":$id,\"error\":{\"code\":-32601,\"message\":\"no such method\"}" ;;
  esac
done
"#;

pub(crate) const TOOLS: &str = r#"[{"name":"reserve","inputSchema":{"type":"object"}},
    {"name":"change","inputSchema":{"type":"object"}},{"name":"leave","inputSchema":{"type":"object"}}]"#;

pub(crate) const OTHERS: &str = r#"[{"name":"reserve","description":"New.","inputSchema":{"type":"object"}},
    {"name":"ring","inputSchema":{"type":"object"}},{"name":"change","inputSchema":{"type":"object"}}]"#;

/// Writes the server into a folder and returns the path of its script.
fn server(scratch: &Scratch) -> String {
    scratch.file("tools.json", &TOOLS.replace('\n', ""));
    scratch.file("others.json", &OTHERS.replace('\n', ""));
    scratch.file("count", "0");
    scratch.file("server.sh", SERVER)
}

/// A conversation with the server in a terminal, with these options.
fn open(scratch: &Scratch, options: &[&str]) -> Terminal {
    let command = Command::new(ASKBACK)
        .args(["open", "--protocol", "2025-11-25"])
        .args(options)
        .args(["--", "sh", &server(scratch)])
        .current_dir(scratch.path("."))
        .env("XDG_STATE_HOME", scratch.path("state"))
        .env("TERM", "xterm-256color");
    Terminal::start(command, 80)
}

fn reserve(terminal: &mut Terminal) {
    terminal.until("> ").press("/call reserve").press(ENTER);
    terminal.until("Which seat?").press("12A").press(REVIEW);
    terminal.until("[Enter] Send").press(ENTER);
}

fn run(name: &str, lines: &str) -> Ran {
    let run = Run::new(name, &["open", "--protocol", "2025-11-25"]).input(lines);
    let script = server(&run.scratch);
    run.and(&["--", "sh", &script]).run()
}

#[test]
fn a_call_is_made_again_with_the_answers_it_had_and_says_what_differs() {
    let ran = run("again", "/call reserve\n12A\n\n/again\n/restart\n/again\n").expect(0);
    let ran = ran.says("sh · answered as before | Which seat?\n");
    assert_eq!(
        ran.stderr.matches("Which seat?").count(),
        3,
        "{}",
        ran.stderr
    );
    let results: Vec<_> = ran.stdout.lines().collect();
    assert_eq!(
        results,
        [
            "start 1, seat 12A",
            "start 1, seat 12A",
            "  The result is the same as before.",
            "start 2, seat 12A",
            "  What differs from the result before:",
            "    | /content/0/text",
            "  - | start 1, seat 12A",
            "  + | start 2, seat 12A",
        ]
    );
}

#[test]
fn there_is_no_call_again_before_the_first() {
    run("again-none", "/again\n")
        .expect(2)
        .says("there is no call to make again");
}

#[test]
fn a_server_that_is_started_again_tells_what_is_new() {
    let lines = "/restart\n/restart\n/call change\n/restart\n/wire all\n";
    let ran = run("restart-lists", lines).expect(0);
    let ran = ran
        .says("  It is connected again.\n")
        .says("  It has the same as before.\n")
        .says("  changed tool | reserve\n    | /description\n  + | New.\n  new tool | ring\n")
        .says("  gone tool | leave\n");
    assert_eq!(ran.stdout.matches("→ | initialize").count(), 4);
}

#[test]
fn a_server_that_exits_while_nothing_is_asked_of_it_is_told_at_once() {
    let scratch = Scratch::new("idle-exit");
    let mut terminal = open(&scratch, &[]);
    terminal.until("> ").press("/call leave").press(ENTER);
    terminal
        .until("sh exited (code 7).")
        .until("/restart does so now.");
    terminal.press("/restart").press(ENTER);
    terminal.until("the same as before").press(CTRL_D);
    assert_eq!(terminal.end(), Some(0));
}

#[test]
fn a_change_of_a_file_starts_the_server_again_and_makes_the_last_call() {
    let scratch = Scratch::new("watch-files");
    let mut terminal = open(&scratch, &["--watch-files", "tools.json"]);
    reserve(&mut terminal);
    terminal.until("start 1, seat 12A").until("sh> ");
    scratch.file("tools.json", &OTHERS.replace('\n', ""));
    terminal
        .until("tools.json changed.")
        .until("new tool | ring")
        .until("Again: | reserve")
        .until("answered as before | Which seat?")
        .until("+ | start 2, seat 12A")
        .until("sh> ");
    // If the server does not start, the conversation does not change.
    scratch.file("server.sh", "echo no >&2; exit 3");
    scratch.file("tools.json", "[]");
    terminal
        .until("stderr | no")
        .until("the server exited (code 3)")
        .until("sh> ")
        .press("/tools")
        .press(ENTER)
        .until("the server is not there")
        .until("/restart starts it.");
    terminal.press(CTRL_D);
    assert_eq!(terminal.end(), Some(0));
}

#[test]
fn what_is_written_here_or_is_ignored_starts_nothing_again() {
    let scratch = Scratch::new("watch-own");
    // The server counts its starts in a file.
    let ignored = ["--watch", "--ignore", "count"];
    let written = ["--trace=trace.jsonl", "--record", "suite.yaml"];
    let mut terminal = open(&scratch, &[ignored, written].concat());
    reserve(&mut terminal);
    terminal
        .until("seat 12A")
        .press("/save result.json")
        .press(ENTER);
    scratch.file("new.txt", "");
    // Text that is typed while the server starts is not lost.
    terminal
        .until("new.txt changed.")
        .press("/quit")
        .press(ENTER);
    assert_eq!(terminal.ended(), Some(0));
    let rows = terminal.rows();
    let changed = rows.iter().filter(|row| row.ends_with(" changed."));
    let others: Vec<_> = changed.filter(|row| !row.contains("new.txt")).collect();
    assert!(others.is_empty(), "{rows:#?}");
}

#[test]
fn a_file_that_the_server_writes_is_told_with_what_to_do() {
    let scratch = Scratch::new("watch-loop");
    let mut terminal = open(&scratch, &["--watch"]);
    terminal
        .until("count changed.")
        .until("exclude it with --ignore GLOB")
        .until("sh> ")
        .press(CTRL_D);
    assert_eq!(terminal.end(), Some(0));
}

#[test]
fn what_is_not_there_cannot_be_watched() {
    let watched = ["open", "--watch-files", "no/such", "--", "sh"];
    let ran = Run::new("watch-missing", &watched).run().expect(2);
    ran.says("no/such cannot be watched: it does not exist");
    let ran = Run::new("watch-url", &["open", "--watch", "--url", "http://a.test/"]);
    ran.run()
        .expect(2)
        .says("--watch is for a server that is started here, not one at a URL");
}
