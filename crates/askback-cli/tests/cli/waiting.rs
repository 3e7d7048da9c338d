//! Servers that are slow or exit: the messages of the command.

use std::thread;

use crate::run::{Ran, Run};

/// For a server that does not answer. The timeout is two seconds.
const SILENT: [&str; 4] = ["--protocol", "2025-11-25", "--timeout", "2"];

/// The advice for a connection that could not be opened.
const DOCTOR: &str = "  Run askback check on it to see which step fails.\n";

fn on_zoo(name: &str, words: &[&str], script: &str) -> Ran {
    let run = Run::new(&format!("waiting-{name}"), words);
    run.and(&["--name", "zoo", "--", "sh", "-c", script]).run()
}

#[test]
fn a_server_that_does_not_answer_is_named_while_it_is_waited_for() {
    #[track_caller]
    fn check(ran: Ran, told: &str) {
        let shown = ran.expect(4).stderr;
        assert_eq!(shown.matches("Waiting for ").count(), 1, "{shown}");
        assert!(shown.contains(told), "{shown}");
        let end = format!("did not answer within 2 s\n{DOCTOR}");
        assert!(shown.ends_with(&end), "{shown}");
    }
    thread::scope(|scope| {
        for words in [&["list", "--all"][..], &["call", "x"]] {
            scope.spawn(move || {
                let words = [words, &SILENT].concat();
                let ran = on_zoo(words[0], &words, "exec sleep 60");
                check(ran, "Waiting for zoo (sh -c 'exec sleep 60') to answer…\n");
            });
        }
        // For a server from a file, the command is not repeated.
        let listed = ["list", "--all", "--server", "zoo", "--config", "mcp.json"];
        let run = Run::new("waiting-listed", &listed).and(&SILENT);
        let servers = r#"{"mcpServers": {"zoo": {"command": "sleep", "args": ["60"]}}}"#;
        run.scratch.file("mcp.json", servers);
        check(run.run(), "Waiting for zoo to answer…\n");
    });
}

#[test]
fn a_server_that_answers_at_once_is_not_waited_for_aloud() {
    let ran = Run::new("waiting-not", &["list", "--all"])
        .on_travel()
        .expect(0);
    assert!(!ran.stderr.contains("Waiting"), "{}", ran.stderr);
}

#[test]
fn a_server_that_exits_is_told_with_its_code_and_its_last_lines() {
    let ran = on_zoo("exits", &["call", "x"], "echo out of luck >&2; exit 7").expect(4);
    // The server is started twice, and the message appears twice.
    let told = "stderr | out of luck\naskback: the server exited (code 7)\n";
    assert_eq!(ran.stderr, format!("{told}{DOCTOR}"));
    let ran = on_zoo("killed", &["call", "x"], "kill -9 $$").expect(4);
    ran.says("askback: the server went away:\n  | its process was ended (signal: 9 (SIGKILL))\n");
}

#[test]
fn the_last_lines_of_many_are_shown() {
    let many = "i=0; while [ $i -lt 300 ]; do i=$((i+1)); echo line $i. >&2; done; exit 7";
    let ran = on_zoo("many", &["list", "--all", "--protocol", "2025-11-25"], many).expect(4);
    let shown: Vec<_> = ran
        .stderr
        .lines()
        .filter(|row| row.starts_with("stderr | "))
        .collect();
    let last: Vec<_> = (293..=300)
        .map(|line| format!("stderr | line {line}."))
        .collect();
    assert!(shown.len() < 100, "{}", ran.stderr);
    assert_eq!(shown[shown.len() - 8..], last, "{}", ran.stderr);
}
