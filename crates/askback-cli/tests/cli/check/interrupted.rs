//! Ctrl-C in the middle of a check.

use std::{
    io::{BufRead as _, BufReader, Read as _},
    process::{Command, Stdio},
};

use rustix::process::{Pid, Signal, kill_process};

use crate::{run::ASKBACK, scratch::Scratch};

/// A server that greets, and answers nothing else.
const SERVER: &str = r#"
while IFS= read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case $line in
    *'"method":"server/discover"'*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}\n' "$id" ;;
    *'"method":"initialize"'*)
      printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"mute","version":"1"}}}\n' "$id" ;;
  esac
done
"#;

/// Interrupts a check as soon as it says this. Returns its exit code and its standard output.
fn interrupted(name: &str, options: &[&str], after: &str) -> (Option<i32>, String) {
    let scratch = Scratch::new(name);
    scratch.file("server.sh", SERVER);
    let mut command = Command::new(ASKBACK)
        .arg("check")
        .args(options)
        .args(["--", "sh", "server.sh"])
        .current_dir(scratch.path("."))
        .env("NO_COLOR", "1")
        .env("XDG_STATE_HOME", scratch.path("state"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command was built");
    let stderr = command.stderr.take().expect("it was asked for");
    let mut lines = BufReader::new(stderr).lines();
    let mut said = Vec::new();
    let is_reached = lines.by_ref().map_while(Result::ok).any(|line| {
        said.push(line);
        said.last().is_some_and(|line| line.contains(after))
    });
    assert!(is_reached, "{said:?}");
    assert!(
        said.iter().any(|line| line.contains("Ctrl-C shows")),
        "{said:?}"
    );
    let id = Pid::from_raw(command.id().try_into().expect("it is small"));
    kill_process(id.expect("it has one"), Signal::INT).expect("it is ours");
    let mut printed = String::new();
    let mut stdout = command.stdout.take().expect("it was asked for");
    stdout.read_to_string(&mut printed).expect("it is text");
    let ended = command.wait().expect("it ends");
    (ended.code(), printed)
}

#[test]
fn a_check_that_is_interrupted_prints_what_it_found() {
    let (code, printed) = interrupted("check-interrupted", &[], "Trying 2025-11-25");
    assert_eq!(code, Some(130), "{printed}");
    for part in [
        "✓ protocol",
        "The server speaks 2025-11-25",
        "The check was interrupted.",
        "not tried",
    ] {
        assert!(printed.contains(part), "{part} is not in\n{printed}");
    }
}

#[test]
fn an_interrupted_check_is_json_if_it_should_be() {
    let (code, printed) = interrupted("check-interrupted-json", &["--json"], "Asking for");
    assert_eq!(code, Some(130), "{printed}");
    let report: serde_json::Value = serde_json::from_str(&printed).expect("JSON");
    let early = report["endedEarly"].as_str().unwrap_or_default();
    assert!(early.contains("interrupted"), "{printed}");
}
