//! A story of a window that is closed while a question stands in it.

use std::{io::Read, sync::mpsc, thread, time::Duration};

use pty_process::Size;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use super::{Server, UNTOLD, asks, command, form, heard};
use crate::scratch::Scratch;

/// How long anything may take before the test gives it up.
const PATIENCE: Duration = Duration::from_secs(30);

#[test]
fn a_window_that_is_closed_cancels_its_question() {
    let fields = json!({"name": {"type": "string", "title": "Full name"}});
    let rounds = [asks(&[form("q1", "Who goes?", &fields, &[])])];
    let mut story = UNTOLD;
    story.server = Server::Asks(&rounds);
    let scratch = Scratch::new("story-closed");
    let (mut pty, pts) = pty_process::blocking::open().expect("there are terminals");
    pty.resize(Size::new(24, 80)).expect("it has a size");
    let child = command(&story, &scratch).spawn(pts);
    let mut child = child.expect("the command was built");
    let id = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let id = id.expect("it has one");
    let (done, is_done) = mpsc::channel::<()>();
    // The end of a program that hangs ends what waits for it.
    let watching = thread::spawn(move || {
        if is_done.recv_timeout(PATIENCE) == Err(mpsc::RecvTimeoutError::Timeout) {
            let _ = kill_process(id, Signal::KILL);
        }
    });
    let (mut shown, mut bytes) = (Vec::new(), [0; 4096]);
    while !String::from_utf8_lossy(&shown).contains("Full name") {
        let many = pty.read(&mut bytes).expect("the form is shown");
        shown.extend(&bytes[..many]);
    }
    // Nobody holds the other end of the terminal any more.
    drop(pty);
    child.wait().expect("it ends");
    drop(done);
    watching.join().expect("it does not panic");
    assert_eq!(heard(&scratch), "q1: {\"action\":\"cancel\"}\n");
}
