//! Signals that end the command: the server is always ended, too.

use std::{
    fs::{self, File},
    io::Read,
    process::{Command, Stdio},
    thread,
};

use rustix::process::{Pid, Signal, kill_process};

use crate::{run::ASKBACK, scratch::Scratch};

/// A server that ignores the end of its input and the request to exit, and has a child process. Both hold the pipe
/// `$1`, to which the server writes after its first request.
const SERVER: &str = r#"
trap '' TERM HUP INT
exec 3>"$1"
sleep 1000 &
read -r line
echo asked >&3
while :; do sleep 1000; done
"#;

const SUITE: &str = r#"
server:
  command: [sh, server.sh, pipe]
cases:
  - name: one
    call: t
"#;

/// Whether SIGHUP ends programs that are started here. It does not if the tests run under `nohup`.
pub(crate) fn hangup_ends_programs() -> bool {
    let Ok(status) = fs::read_to_string("/proc/self/status") else {
        return true;
    };
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    ignored.is_none_or(|mask| mask & 1 == 0)
}

fn check(words: &[&str], signal: Signal, code: i32) {
    if signal == Signal::HUP && !hangup_ends_programs() {
        return;
    }
    check_command(Command::new(ASKBACK), words, &[signal], code);
}

/// Starts the command with the server, sends the signals while the command waits for a response, and returns when the
/// server and its child have exited.
fn check_command(mut command: Command, words: &[&str], signals: &[Signal], code: i32) {
    let words_in_name = words
        .join("-")
        .replace(|c: char| !c.is_ascii_alphanumeric(), "-");
    let name = format!("signals-{words_in_name}-{code}");
    let scratch = Scratch::new(&name);
    scratch.file("server.sh", SERVER);
    scratch.file("suite.yaml", SUITE);
    let pipe = scratch.path("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status();
    assert!(made.is_ok_and(|made| made.success()));
    let server: &[&str] = match words {
        ["test", ..] => &[],
        _ => &["--", "sh", "server.sh", "pipe"],
    };
    let mut command = command
        .args(words)
        .args(server)
        .current_dir(scratch.path("."))
        .env("XDG_STATE_HOME", scratch.path("state"))
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the command was built");
    let mut held = File::open(&pipe).expect("the server opens it");
    let mut asked = [0; 6];
    held.read_exact(&mut asked).expect("the server is asked");
    let id = Pid::from_raw(command.id().try_into().expect("it is small"));
    for &signal in signals {
        kill_process(id.expect("it has one"), signal).expect("it is ours");
    }
    let mut rest = Vec::new();
    held.read_to_end(&mut rest).expect("it is a pipe");
    let ended = command.wait().expect("it ends");
    assert_eq!(ended.code(), Some(code), "{words:?} {signals:?}");
}

#[test]
fn no_server_outlives_a_signal_to_the_command() {
    let commands: [&[&str]; 10] = [
        &["open"],
        &["call", "t"],
        &["get", "p"],
        &["get", "a://b"],
        &["list"],
        &["watch", "--lists"],
        &["list", "--all"],
        &["test", "suite.yaml"],
        &["doctor"],
        &["check"],
    ];
    let signals = [(Signal::TERM, 143), (Signal::HUP, 129), (Signal::INT, 130)];
    thread::scope(|scope| {
        for words in commands {
            for (signal, code) in signals {
                scope.spawn(move || check(words, signal, code));
            }
        }
    });
}

/// SIGHUP, which `nohup` ignores, ends nothing. The next signal ends the command.
#[test]
fn a_hangup_that_is_ignored_ends_nothing() {
    let ignoring = Command::new("sh");
    let script = r#"trap '' HUP; exec "$@""#;
    let signals = [Signal::HUP, Signal::TERM];
    check_command(
        ignoring,
        &["-c", script, "sh", ASKBACK, "list"],
        &signals,
        143,
    );
}
