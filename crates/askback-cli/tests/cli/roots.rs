//! Folders that the user shares in a conversation, as the server sees them.

use std::fs;

use crate::{
    full::{CTRL_D, ENTER, Terminal},
    run::Run,
};

/// A server of 2025-11-25 that asks for the roots only after a change notification. Its tool returns the names that it
/// knows.
const SERVER: &str = r#"
say() { printf '{"jsonrpc":"2.0",%s}\n' "$1"; }
known=never; asking=; call=
tell() { say "\"id\":$call,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"roots: $known\"}]}"; call=; }
while read -r line; do
  id=${line#*\"id\":}
  id=${id%%[,\}]*}
  case $line in
  *'"initialize"'*) say "\"id\":$id,\"result\":{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"tools\":{}},\"serverInfo\":{\"name\":\"s\",\"version\":\"1\"}}" ;;
  *'"tools/list"'*) say "\"id\":$id,\"result\":{\"tools\":[{\"name\":\"where\",\"inputSchema\":{\"type\":\"object\"}}]}" ;;
  *roots/list_changed*) asking=yes; say '"id":"roots","method":"roots/list"' ;;
  *'"tools/call"'*) call=$id; [ "$asking" ] || tell ;;
  *'"roots":['*) asking=
    known=$(printf '%s' "$line" | grep -o '"uri":"[^"]*"' | sed 's|.*/||; s|"||' | tr '\n' ' ')
    [ -z "$call" ] || tell ;;
  esac
done
"#;

fn open(name: &str, lines: &str) -> Run {
    let run = Run::new(&format!("roots-{name}"), &["open"]).input(lines);
    for folder in ["a", "b/x", "b/y"] {
        fs::create_dir_all(run.scratch.path(folder)).expect("it is ours");
    }
    run
}

// Shows RO-12.
#[test]
fn a_server_that_is_told_of_a_change_sees_the_folders_as_they_are_then() {
    let lines = [
        "/roots add b",
        "/roots b/y",
        "/roots add a",
        "/roots remove a",
        "/roots none",
    ];
    let lines = lines.map(|line| format!("{line}\n/call where\n"));
    let run = open("told", &format!("/call where\n{}", lines.concat()));
    let ran = run.and(&["--", "sh", "-c", SERVER]).run().expect(0);
    let seen: Vec<_> = ran.stdout.lines().map(str::trim_end).collect();
    let expected = ["never", "b", "y", "y a", "y", ""];
    let expected = expected.map(|names| format!("roots: {names}").trim_end().to_owned());
    assert_eq!(seen, expected);
}

// Shows RO-14.
#[test]
fn a_server_is_told_of_a_folder_that_is_gone() {
    let run = open("gone", "");
    let folders = ["b/x", "b/y"].map(|name| run.scratch.path(name));
    let [kept, gone] = folders.each_ref().map(|path| path.display().to_string());
    let words = [
        "open", "--roots", &kept, "--roots", &gone, "--", "sh", "-c", SERVER,
    ];
    let state = run.scratch.path("state").display().to_string();
    let mut terminal = Terminal::open_with(&words, 80, &[("XDG_STATE_HOME", &state)]);
    terminal.until("Ctrl-D leave");
    fs::remove_dir(&folders[1]).expect("it is ours");
    terminal.until("gone:");
    terminal.press("/call where").press(ENTER).until("roots: x");
    fs::create_dir(&folders[1]).expect("it is ours");
    terminal.until("again,");
    terminal
        .press("/call where")
        .press(ENTER)
        .until("roots: x y");
    terminal.until("Ctrl-D leave").press(CTRL_D);
    assert_eq!(terminal.end(), Some(0));
}

#[test]
fn a_server_that_asks_in_a_call_sees_the_same() {
    for protocol in ["2025-06-18", "2025-11-25", "2026-07-28"] {
        // The tool lists the folders that it received, because the file is in none of them.
        let call = "/call save_itinerary file=/nowhere/x text=x\n";
        let lines = format!("/roots add b/y\n{call}");
        let ran = open(protocol, &lines).and(&["--protocol", protocol]);
        let ran = ran.on_travel().expect(1);
        assert_eq!(ran.stdout.matches("file://").count(), 1, "{}", ran.stdout);
        ran.prints("/b/y.");
    }
}
