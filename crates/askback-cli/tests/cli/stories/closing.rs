//! Closes the terminal window while a question is open.

use std::{io::Read, process::ExitStatus, sync::mpsc, thread, time::Duration};

use pty_process::{Size, blocking::Command};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::{ASKBACK, Server, UNTOLD, asks, command, form, heard, link, request};
use crate::scratch::Scratch;

/// The timeout of each wait in a test.
const PATIENCE: Duration = Duration::from_secs(30);

/// Runs a command with these options, and closes its terminal when `shown` is visible during a question. Returns what
/// the server received.
#[track_caller]
fn closed(options: &[&str], question: &Value, shown: &str) -> String {
    let rounds = [asks(std::slice::from_ref(question))];
    let mut story = UNTOLD;
    story.server = Server::Asks(&rounds);
    let scratch = Scratch::new(&format!("story-closed{}-{shown}", options.concat()));
    close(command(&story, &scratch, options), shown);
    heard(&scratch)
}

/// Closes the window of a command once this is shown.
#[track_caller]
fn close(command: Command, shown: &str) -> ExitStatus {
    let (mut pty, pts) = pty_process::blocking::open().expect("there are terminals");
    pty.resize(Size::new(24, 80)).expect("it has a size");
    let mut child = command.spawn(pts).expect("the command was built");
    let id = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let id = id.expect("it has one");
    let (done, is_done) = mpsc::channel::<()>();
    // Kills a program that hangs, so that the test does not wait forever.
    let watching = thread::spawn(move || {
        if is_done.recv_timeout(PATIENCE) == Err(mpsc::RecvTimeoutError::Timeout) {
            let _ = kill_process(id, Signal::KILL);
        }
    });
    let (mut wrote, mut bytes) = (Vec::new(), [0; 4096]);
    while !String::from_utf8_lossy(&wrote).contains(shown) {
        let many = pty
            .read(&mut bytes)
            .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&wrote)));
        wrote.extend(&bytes[..many]);
    }
    // The other end of the terminal is closed now.
    drop(pty);
    let ended = child.wait().expect("it ends");
    drop(done);
    watching.join().expect("it does not panic");
    ended
}

#[test]
fn a_window_that_is_closed_ends_a_program_that_ignores_the_signal() {
    let scratch = Scratch::new("story-closed-nohup");
    let ignores = r#"trap '' HUP; exec "$0" "$@""#;
    let command = Command::new("sh")
        .args([
            "-c", ignores, ASKBACK, "open", "--", ASKBACK, "serve", "travel",
        ])
        .current_dir(scratch.path("."))
        .env("XDG_STATE_HOME", scratch.path("state"))
        .env("TERM", "xterm-256color");
    assert_eq!(close(command, "Ctrl-D").code(), Some(129));
}

#[test]
fn a_window_that_is_closed_cancels_its_question() {
    let fields = json!({"name": {"type": "string", "title": "Full name"}});
    let form = form("q1", "Who goes?", &fields, &[]);
    let link = link("q1", "https://example.com/");
    for (options, question, shown) in [
        (&[][..], &form, "Full name"),
        (&["--plain"], &form, "Full name"),
        (&[], &link, "[o]"),
        (&["--plain"], &link, "yes opens it"),
    ] {
        let heard = closed(options, question, shown);
        assert_eq!(
            heard, "q1: {\"action\":\"cancel\"}\n",
            "{options:?} {shown}"
        );
    }
}

#[test]
fn a_window_that_is_closed_sends_no_reply_in_place_of_a_model() {
    let params = json!({
        "maxTokens": 100,
        "messages": [{"role": "user", "content": {"type": "text", "text": "Which one?"}}],
    });
    let request = request("q1", "sampling/createMessage", &params);
    for options in [&[][..], &["--plain"]] {
        let heard = closed(options, &request, "Which one?");
        let error = r#"{"code":-1,"message":"The request was cancelled"}"#;
        assert_eq!(heard, format!("q1: {error}\n"), "{options:?}");
    }
}
