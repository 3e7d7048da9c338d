//! Several servers in one conversation: one that is still connecting, and two that ask at the same time.

use std::{fs, thread, time::Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::{
    again::{SERVER, TOOLS},
    full::{CTRL_C, CTRL_D, ENTER, PATIENCE, REVIEW, TAB, Terminal},
    scratch::Scratch,
};

/// Waits for a word in the pipe `go`: `serve` starts a server, and any other word exits.
const SLOW: &str = r#"
word=$(cat "$(dirname "$0")/go")
[ "$word" = serve ] || exit 7
"#;

/// Waits for a word in the pipe `go`, asks for a seat, and writes the answer to the file `heard`.
const ASKING: &str = r#"
name=$(basename "$(dirname "$0")")
cd "$(dirname "$0")"
echo $$ > pid
say() { printf '{"jsonrpc":"2.0",%s}\n' "$1"; }
ask() {
  cat go > went
  say '"id":"q","method":"elicitation/create","params":{"message":"Which seat at '$name'?","requestedSchema":{"type":"object","properties":{"seat":{"type":"string"}}}}'
}
while read -r line; do
  id=${line#*\"id\":}
  id=${id%%[,\}]*}
  case $line in
  *'"initialize"'*) say "\"id\":$id,\"result\":{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"tools\":{}},\"serverInfo\":{\"name\":\"s\",\"version\":\"1\"}}" ;;
  *'"notifications/initialized"'*) ask & ;;
  *'"tools/list"'*) say "\"id\":$id,\"result\":{\"tools\":[{\"name\":\"t\",\"inputSchema\":{\"type\":\"object\"}}]}" ;;
  *'"action"'*) seat=${line#*\"seat\":\"}
    printf '%s' "${seat%%\"*}" > heard ;;
  *'"tools/call"'*) say "\"id\":$id,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"heard $(cat heard)\"}]}" ;;
  esac
done
"#;

/// Writes these servers into folders of their own, and lists them in a file.
fn place(scratch: &Scratch, servers: &[(&str, &str)]) -> String {
    let mut listed = json!({});
    for (name, script) in servers {
        fs::create_dir_all(scratch.path(name)).expect("it is ours");
        scratch.file(&format!("{name}/server.sh"), script);
        scratch.file(&format!("{name}/tools.json"), &TOOLS.replace('\n', ""));
        scratch.file(&format!("{name}/count"), "0");
        scratch.pipe(&format!("{name}/go"));
        let script = format!("{name}/server.sh");
        listed[name] = json!({"command": "sh", "args": [script]});
    }
    scratch.file("mcp.json", &json!({"mcpServers": listed}).to_string())
}

fn go(scratch: &Scratch, server: &str, word: &str) {
    fs::write(scratch.path(&format!("{server}/go")), word).expect("it is ours");
}

fn open(file: &str, is_plain: bool) -> Terminal {
    let mut words = vec![
        "open",
        "--protocol",
        "2025-11-25",
        "--all",
        "--config",
        file,
    ];
    words.extend(is_plain.then_some("--plain"));
    Terminal::open(&words, 120)
}

// Shows TO-17.
#[test]
fn a_server_that_is_being_connected_to_holds_up_no_other() {
    let slow = format!("{SLOW}{SERVER}");
    for is_plain in [false, true] {
        let scratch = Scratch::new(&format!("together-slow-{is_plain}"));
        let file = place(&scratch, &[("a", SERVER), ("slow", &slow)]);
        let mut terminal = open(&file, is_plain);
        let home = |terminal: &mut Terminal, says: &str| {
            if !is_plain {
                terminal.until(says);
            }
        };
        terminal.until("> a: connected").until("  slow: connecting");
        terminal.until("a> ");
        home(&mut terminal, "Connecting: slow");
        terminal.press("/call reserve").press(ENTER).until("a asks");
        answer(&mut terminal, "12A", is_plain);
        terminal.until("start 1, seat 12A");
        go(&scratch, "slow", "die");
        terminal.until("× slow: ");
        home(&mut terminal, "Not there: slow");
        terminal.until("a> ").press("/restart slow").press(ENTER);
        terminal.until("Connecting to slow.").until("a> ");
        home(&mut terminal, "Connecting: slow");
        terminal.press("/servers").press(ENTER);
        go(&scratch, "slow", "serve");
        terminal.until("slow: connected, 2025-11-25").until("a> ");
        terminal.press("/server slow").press(ENTER);
        terminal.until("You talk to slow.").until("slow> ");
        if is_plain {
            terminal.press("/call reserve");
        } else {
            terminal.press("reserve").until("/call reserve").press(TAB);
            terminal.until("slow> /call reserve");
        }
        terminal.press(ENTER).until("slow asks");
        answer(&mut terminal, "7C", is_plain);
        terminal.until("start 1, seat 7C");
        terminal.until("slow> ").press(CTRL_D);
        assert_eq!(terminal.exit(), Some(0), "{is_plain}");
    }
}

#[test]
fn leaving_ends_a_server_that_is_still_connecting() {
    let scratch = Scratch::new("together-left");
    let stays = "echo $$ > \"$(dirname \"$0\")/pid\"\nread -r line\nread -r line\n";
    let file = place(&scratch, &[("a", SERVER), ("slow", stays)]);
    let mut terminal = open(&file, false);
    terminal.until("Connecting: slow").press(CTRL_D);
    assert_eq!(terminal.exit(), Some(0));
    let id = fs::read_to_string(scratch.path("slow/pid")).expect("it was started");
    let id = id
        .trim()
        .parse()
        .ok()
        .and_then(Pid::from_raw)
        .expect("it has one");
    // The system may need a moment to remove an exited process.
    let since = Instant::now();
    while rustix::process::test_kill_process(id).is_ok() {
        assert!(since.elapsed() < PATIENCE, "it runs on");
        thread::yield_now();
    }
}

/// A terminal with two servers that have asked for a seat, `a` first.
fn asking(scratch: &Scratch, is_plain: bool) -> Terminal {
    let file = place(scratch, &[("a", ASKING), ("b", ASKING)]);
    let mut terminal = open(&file, is_plain);
    terminal.until("a> ");
    if is_plain {
        terminal.until("b: connected");
    }
    go(scratch, "a", "");
    terminal.until("a asks").until("Which seat at a?");
    go(scratch, "b", "");
    terminal
}

/// Answers the current question, reviews the answer and sends it.
fn answer(terminal: &mut Terminal, seat: &str, is_plain: bool) {
    if is_plain {
        terminal.until_asked();
    }
    let reviewed = format!("seat: {seat}");
    terminal.press(seat);
    match is_plain {
        true => terminal
            .press(ENTER)
            .until(&format!("{reviewed}\nEnter sends")),
        false => terminal
            .press(REVIEW)
            .until(&reviewed)
            .until("[Enter] Send"),
    };
    terminal.press(ENTER);
}

fn heard(scratch: &Scratch, server: &str) -> Option<String> {
    fs::read_to_string(scratch.path(&format!("{server}/heard"))).ok()
}

#[test]
fn two_servers_ask_at_once_and_each_hears_its_own_answer() {
    for is_plain in [false, true] {
        let scratch = Scratch::new(&format!("together-two-{is_plain}"));
        let mut terminal = asking(&scratch, is_plain);
        if !is_plain {
            // The other question waits.
            terminal.until("question 1 of 2");
            assert!(!terminal.shows("Which seat at b?"));
        }
        answer(&mut terminal, "1A", is_plain);
        terminal.until("b asks").until("Which seat at b?");
        answer(&mut terminal, "2B", is_plain);
        terminal.until("a> ");
        // Each server reads messages in order, so it has read the ones before the call.
        terminal.press("/call t").press(ENTER).until("heard 1A");
        terminal
            .until("a> ")
            .press("/server b")
            .press(ENTER)
            .until("b> ")
            .press("/call t")
            .press(ENTER)
            .until("heard 2B");
        terminal.until("b> ").press(CTRL_D);
        assert_eq!(terminal.exit(), Some(0), "{is_plain}");
        assert_eq!(heard(&scratch, "a").as_deref(), Some("1A"));
        assert_eq!(heard(&scratch, "b").as_deref(), Some("2B"));
    }
}

#[test]
fn a_partly_typed_line_stays_when_a_server_writes_something() {
    let slow = format!("{SLOW}{SERVER}");
    for is_plain in [false, true] {
        let scratch = Scratch::new(&format!("together-typed-{is_plain}"));
        let file = place(&scratch, &[("a", SERVER), ("slow", &slow)]);
        let mut terminal = open(&file, is_plain);
        terminal.until("a> ").press("/serv").until("a> /serv");
        go(&scratch, "slow", "die");
        terminal.until("× slow: ");
        if is_plain {
            terminal.until_wanted("a> /serv");
        }
        terminal
            .press("ers")
            .press(ENTER)
            .until("  slow: the server exited");
        // A partly typed line disappears only if the user clears it.
        terminal.press("/restart slow").press(ENTER);
        terminal.until("Connecting to slow.");
        if is_plain {
            terminal.until_wanted("a>");
        }
        terminal.press("/leav").until("a> /leav");
        go(&scratch, "slow", "serve");
        if is_plain {
            // Ctrl-D clears the line without running it.
            terminal.until_wanted("a> /leav").press(CTRL_D).press("e");
            terminal.until("a> /leave").press(CTRL_D).press(CTRL_C);
            terminal.until_wanted("a>").press("/servers").press(ENTER);
            terminal.until("slow: connected").until_wanted("a>");
        } else {
            terminal.press(CTRL_C).until_not("a> /leav");
        }
        terminal.press(CTRL_D);
        assert_eq!(terminal.exit(), Some(0), "{is_plain}");
    }
}

#[test]
fn a_server_that_ends_takes_its_question_along_and_no_other() {
    // Text that is typed for one question must not answer the other, and neither must the Enter after it.
    for (is_plain, typed) in [(false, ""), (true, "1A"), (true, "1A\n")] {
        let name = format!("together-ends-{is_plain}-{}", typed.len());
        let scratch = Scratch::new(&name);
        let mut terminal = asking(&scratch, is_plain);
        let (half, rest) = typed.split_at(typed.len().min(2));
        if is_plain {
            terminal.until_asked().press(half).until("> 1A");
        }
        let id = fs::read_to_string(scratch.path("a/pid")).expect("it wrote it");
        let id = id.trim().parse().ok().and_then(Pid::from_raw);
        kill_process(id.expect("it has one"), Signal::KILL).expect("it is ours");
        terminal.until("b asks").until("Which seat at b?");
        if is_plain {
            terminal
                .press(rest)
                .until("You typed this before you can have read");
        }
        answer(&mut terminal, "2B", is_plain);
        terminal
            .until("a> ")
            .press("/server b")
            .press(ENTER)
            .until("b> ")
            .press("/call t")
            .press(ENTER)
            .until("heard 2B");
        terminal.until("b> ").press(CTRL_D);
        assert_eq!(terminal.exit(), Some(0), "{name}");
        assert_eq!(heard(&scratch, "a"), None);
        assert_eq!(heard(&scratch, "b").as_deref(), Some("2B"));
    }
}
