//! A server that is killed during a call.

use std::{
    io::{BufRead, BufReader, Write},
    process::{Command, Stdio},
};

use crate::scratch::Scratch;

const ASKBACK: &str = env!("CARGO_BIN_EXE_askback");

// Shows MR-11.
#[test]
fn a_server_killed_between_two_rounds_books_once() {
    let scratch = Scratch::new("killed");
    let pid = scratch.path("pid");
    let mut child = Command::new(ASKBACK)
        .args(["open", "--protocol", "2026-07-28", "--", "sh", "-c"])
        .args([r#"echo $$ > "$PID"; exec "$0" serve travel"#, ASKBACK])
        .env("NO_COLOR", "1")
        .env("XDG_STATE_HOME", scratch.path("state"))
        .env("PID", &pid)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command was built");
    let mut stdin = child.stdin.take().expect("it was asked for");
    let mut shown = BufReader::new(child.stderr.take().expect("it was asked for")).lines();
    let mut say = |lines: &str| {
        stdin
            .write_all(lines.as_bytes())
            .expect("it reads its input");
    };
    let mut kill_at = |line: &str| {
        let seen = shown.find(|seen| seen.as_ref().is_ok_and(|seen| seen == line));
        assert!(seen.is_some(), "{line:?} was never shown");
        let pid = std::fs::read_to_string(&pid).expect("the server wrote it");
        let kill = |signal: &str| {
            let mut kill = Command::new("kill");
            let killed = kill.args([signal, pid.trim()]).stderr(Stdio::null());
            killed.status().expect("there is a kill").success()
        };
        assert!(kill("-9"));
        // Waits until the command has noticed. Answers that were sent before are not repeated automatically.
        while kill("-0") {}
    };
    say("/call book_holiday destination=Barcelona depart=2026-06-15\n");
    kill_at("| Book it");
    say("yes\n\n\n\n\n");
    kill_at("| Full name");
    say("Ada\nada@example.com\n\n\n\n/resources\n/quit\n");
    drop(stdin);
    for line in shown {
        line.expect("it writes text");
    }
    let output = child.wait_with_output().expect("it ends");
    let stdout = String::from_utf8(output.stdout).expect("it writes text");
    assert_eq!(output.status.code(), Some(0), "{stdout}");
    assert_eq!(
        stdout.matches("travel://bookings/TRV-").count(),
        1,
        "{stdout}"
    );
}
