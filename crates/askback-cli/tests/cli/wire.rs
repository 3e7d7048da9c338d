//! The messages of a session, for developers.

use std::{
    fs,
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
};

use serde_json::Value;

use crate::run::{ASKBACK, Run};

const ANSWERS: &str = "answers:
  - when: {key: wishes}
    accept: {confirm_booking: true}
  - when: {key: contact}
    accept: {name: Ada, email: ada@example.com}
";

fn book(name: &str, words: &[&str]) -> Run {
    let call = [
        "call",
        "book_holiday",
        "destination=Barcelona",
        "depart=2026-06-15",
    ];
    Run::new(name, &call).and(words).answers(ANSWERS)
}

/// Whether only the owner can read and write a file. Always true on systems without file modes.
pub(crate) fn is_private(path: &Path) -> bool {
    let metadata = fs::metadata(path).expect("it was written");
    #[cfg(unix)]
    {
        let mode = std::os::unix::fs::PermissionsExt::mode(&metadata.permissions());
        mode & 0o777 == 0o600
    }
    #[cfg(not(unix))]
    {
        metadata.is_file()
    }
}

#[test]
fn a_trace_shows_each_message_on_the_standard_error_alone() {
    let ran = book("trace", &["--trace", "--json", "--protocol", "2026-07-28"]).on_travel();
    let ran = ran
        .expect(0)
        .says("→ | tools/call book_holiday\n")
        .says("← | asks wishes, state of ")
        .says("→ | tools/call book_holiday, answers contact, state");
    assert_eq!(ran.json()["structuredContent"]["total"], 3000);
    let untraced = book("untraced", &[]).on_travel().expect(0);
    assert!(
        !untraced.stderr.contains("tools/call"),
        "{}",
        untraced.stderr
    );
}

#[test]
fn a_trace_is_written_over_no_file() {
    let run = book("trace-over", &["--trace=notes.txt"]);
    let path = run.scratch.file("notes.txt", "what was there before");
    let ran = run.on_travel().expect(2);
    let ran = ran.says("askback: notes.txt exists already, and is not overwritten\n");
    assert!(!ran.stderr.contains("answered by rule"), "{}", ran.stderr);
    assert_eq!(
        fs::read_to_string(path).expect("it is there"),
        "what was there before"
    );
}

#[test]
fn a_trace_goes_to_a_file_that_only_its_owner_can_read() {
    let run = book("trace-file", &["--trace=wire.jsonl"]);
    let path = run.scratch.path("wire.jsonl");
    let ran = run.on_travel().expect(0);
    assert!(!ran.stderr.contains("tools/call"), "{}", ran.stderr);
    assert!(is_private(&path));
    let text = fs::read_to_string(&path).expect("it was written");
    let lines: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).expect("each line is JSON"))
        .collect();
    let calls: Vec<_> = lines
        .iter()
        .filter(|line| line["message"]["method"] == "tools/call")
        .collect();
    assert_eq!(calls.len(), 3);
    assert!(
        calls
            .iter()
            .all(|round| round["call"] == calls[0]["number"])
    );
    assert!(calls.iter().all(|round| round["direction"] == "sent"));
    let numbers: Vec<_> = lines.iter().map(|line| line["number"].as_u64()).collect();
    assert_eq!(numbers, (1..=10).map(Some).collect::<Vec<_>>());
}

#[test]
fn a_file_that_cannot_be_written_is_named_before_the_server_starts() {
    book("trace-nowhere", &["--trace=no/such/folder"])
        .on_travel()
        .expect(2)
        .says("no/such/folder cannot be written: ");
}

#[test]
fn a_conversation_keeps_its_messages_and_saves_them() {
    let lines = "/read travel://destinations\n/wire\n/wire 1\n/wire save kept\n/wire 99\n";
    let talk = |lines| Run::new("wire", &["open", "--protocol", "2025-11-25"]).input(lines);
    let run = talk(lines);
    let kept = run.scratch.path("kept");
    let ran = run.on_travel().expect(2).says("there is no message 99");
    assert!(is_private(&kept));
    let ran = ran
        .prints("→ | resources/read travel://destinations\n")
        .prints("Message 1, sent at ")
        .prints("|   \"method\": \"initialize\",\n")
        .prints(" messages are in kept.");
    let saved = fs::read_to_string(kept).expect("it was written");
    let lines = saved.lines().count();
    assert!(ran.stdout.contains(&format!("  {lines} messages are in")));
    drop(ran);
    // An existing file is never overwritten.
    let run = talk("/wire save kept\n");
    run.scratch.file("kept", "mine");
    let ran = run
        .on_travel()
        .expect(2)
        .says("kept exists already, and is not overwritten");
    let kept = fs::read_to_string(ran.scratch.path("kept")).expect("it is there");
    assert_eq!(kept, "mine");
}

#[test]
fn the_messages_are_shown_at_a_question_which_is_asked_again() {
    let lines = "/call book_holiday destination=Rome depart=2026-06-15\n/wire\n/wire 99\n/cancel\n";
    Run::new("wire-asked", &["open", "--protocol", "2025-11-25"])
        .input(lines)
        .on_travel()
        .expect(3)
        .says(" ← | elicitation/create\n")
        .says("× there is no message 99\n");
}

/// A process of the agency over HTTP, killed on drop.
struct Agency(Child);

impl Drop for Agency {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn no_secret_of_a_header_is_shown_or_saved() {
    let mut agency = Command::new(ASKBACK)
        .args(["serve", "travel", "--http", "127.0.0.1:0"])
        .stderr(Stdio::piped())
        .spawn()
        .map(Agency)
        .expect("the command was built");
    let mut line = String::new();
    let stderr = agency.0.stderr.take().expect("it was asked for");
    BufReader::new(stderr)
        .read_line(&mut line)
        .expect("it says where it is");
    let url = line
        .split_whitespace()
        .find(|word| word.starts_with("http://"));
    let url = url.unwrap_or_else(|| panic!("no address: {line}"));

    let url = url.replace("/mcp", "/${HUSHED}");
    let lines = "/tools\n/wire all\n/wire 1\n/wire save kept\n";
    let run = Run::new(
        "wire-secrets",
        &["open", "--server", "agency", "--config", "mcp.json"],
    );
    run.scratch.file(
        "mcp.json",
        &format!(
            r#"{{"mcpServers": {{"agency": {{"url": "{url}?key=hush", "headers":
                {{"Authorization": "Bearer hush", "X-Api-Key": "hush"}}}}}}}}"#
        ),
    );
    let kept = run.scratch.path("kept");
    let run = run.and(&["--trace=traced"]).input(lines);
    let run = run.set("HUSHED", "mcp");
    let traced = run.scratch.path("traced");
    let ran = run.run().expect(0);
    let ran = ran
        .prints("not shown, 11 bytes | authorization\n")
        .prints("not shown, 4 bytes | x-api-key\n")
        .prints("| content-type: application/json\n")
        .prints(", HTTP 200");
    let saved = fs::read_to_string(kept).expect("it was written");
    let traced = fs::read_to_string(traced).expect("it was written");
    for text in [&saved, &traced] {
        assert!(text.contains(r#""authorization":[null]"#), "{text}");
        assert!(text.contains("/${HUSHED}\""), "{text}");
        assert!(!text.contains("/mcp\""), "{text}");
        assert!(text.contains(r#""status":200"#), "{text}");
    }
    for text in [&saved, &traced, &ran.stdout] {
        assert!(!text.contains("hush"), "{text}");
    }
}
