//! The messages of a session, for developers.

use std::{
    fs,
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
};

use serde_json::Value;

use crate::{
    end_to_end,
    run::{ASKBACK, Run},
};

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
    let lines = "/call book_holiday destination=Rome depart=2026-06-15\n/wire\n/wire 99\n/wire \"askback/none\"\n/cancel\n";
    Run::new("wire-asked", &["open", "--protocol", "2025-11-25"])
        .input(lines)
        .on_travel()
        .expect(3)
        .says(" ← | elicitation/create\n")
        .says("× there is no message 99\n")
        .says("  No message has askback/none in its method or in its line;");
}

#[test]
fn a_request_is_edited_and_sent_again_and_what_was_written_is_not_lost() {
    // First without changes, then as invalid JSON, which the editor shows again.
    let lines = "/wire edit 1\n\n\n/wire edit 1\n{\"jsonrpc\":\"2.0\",\n\n\
        {\"jsonrpc\":\"2.0\",\"method\":\"askback/none\"}\n\n/wire edit 2\n";
    for revision in ["2025-11-25", "2026-07-28"] {
        let name = format!("wire-edit-{revision}");
        let ran = Run::new(&name, &["open", "--protocol", revision]).input(lines);
        ran.on_travel()
            .expect(2)
            .prints("Sent on a connection of its own")
            .prints("    \"capabilities\": {")
            .prints("  \"error\": {\"code\":-32601,")
            .says("× expected a JSON object: EOF while parsing")
            .says("now | {\"jsonrpc\":\"2.0\",\n")
            .says("message 2 is not a request of this client");
    }
}

#[cfg(unix)]
#[test]
fn an_edited_request_that_was_not_answered_is_there_again() {
    let written = r#"{"jsonrpc":"2.0","method":"askback/none"}"#;
    let lines = format!("/wire edit 1\n{written}\n\n/wire edit 1\n\n\n/wire edit 1\n/cancel\n");
    let run = Run::new("wire-edit-unsent", &["open", "--protocol", "2025-11-25"]).input(&lines);
    // Of the first three starts, the first and the third succeed.
    let script = r#"if [ -e down ]; then rm down; exit 3; fi; touch down; exec "$0" serve travel"#;
    let run = run.and(&["--", "sh", "-c", script, ASKBACK]);
    let ran = run.run().expect(0);
    let ran = ran
        .prints("What came back:\nthe server ")
        .prints("\"error\": {\"code\":-32601");
    let shown = ran.stderr.matches(&format!("now | {written}")).count();
    assert_eq!(shown, 1, "{}", ran.stderr);
    assert_eq!(ran.stderr.matches("now | {\n").count(), 2, "{}", ran.stderr);
}

#[test]
fn an_edited_request_is_sent_as_it_is_written() {
    let written = r#""method":"askback/none","params":{"b":0.10000000000000000001,"a":123456789012345678901234567890}"#;
    let lines = format!("/wire edit 1\n{{{written},\"id\":\"mine\",\"jsonrpc\":\"2.0\"}}\n\n");
    let run = Run::new("wire-edit-written", &["open", "--protocol", "2026-07-28"]).input(&lines);
    let seen = run.scratch.path("seen");
    let script = r#"tee -a seen | "$0" serve travel"#;
    let run = run.and(&["--", "sh", "-c", script, ASKBACK]);
    let ran = run.run().expect(0);
    let _ran = ran.prints("\"error\": {\"code\":-32601,");
    let seen = fs::read_to_string(seen).expect("the server wrote it");
    let sent = format!("{{{written},\"id\":");
    let sent = seen.lines().find_map(|line| line.strip_prefix(&sent));
    let sent = sent.unwrap_or_else(|| panic!("it is not in {seen}"));
    assert!(!sent.contains("mine"), "{sent}");
    assert!(sent.ends_with(r#","jsonrpc":"2.0"}"#), "{sent}");
}

#[test]
fn messages_of_side_connections_are_traced_and_not_recorded() {
    #[track_caller]
    fn check(name: &str, lines: &str, exit: i32, sent: &str) {
        let run = Run::new(
            &format!("wire-beside-{name}"),
            &["open", "--protocol", "2026-07-28"],
        );
        let options = ["--trace=traced.jsonl"];
        let lines = format!("/tools\n{lines}/packing_list Rome may\n/wire save kept.jsonl\n");
        let ran = run.and(&options).input(&lines).on_travel().expect(exit);
        let read = |file: &str| fs::read_to_string(ran.scratch.path(file)).expect("it was written");
        let is_beside = |line: &&str| line.contains("\"beside\":true");
        for file in ["traced.jsonl", "kept.jsonl"] {
            let text = read(file);
            let mut beside = text.lines().filter(is_beside);
            assert!(beside.any(|line| line.contains(sent)), "{file}: {text}");
        }
    }
    check(
        "edit",
        "/wire edit 1\n{\"jsonrpc\":\"2.0\",\"method\":\"askback/none\"}\n\n",
        0,
        "askback/none",
    );
    check(
        "check",
        "/check book_holiday destination=Barcelona depart=2030-06-15\n",
        0,
        "askback-unknown",
    );
}

#[test]
fn a_question_on_the_way_to_the_answer_is_answered_at_once_over_http() {
    let agency = end_to_end::Agency::open("wire-edit-http");
    let call = r#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"tailor_trip","arguments":{"destination":"Rome"}}}"#;
    let lines = format!("/wire edit 1\n{call}\n\n");
    for revision in ["2025-03-26", "2025-06-18", "2025-11-25"] {
        let name = format!("wire-edit-http-{revision}");
        let run = Run::new(&name, &["open", "--protocol", revision]);
        let run = run.and(&["--url", &agency.url]).input(&lines);
        let ran = run.run().expect(0);
        let ran = match revision {
            // In this revision a server cannot ask questions.
            "2025-03-26" => ran,
            _ => ran.prints("\"method\": \"elicitation/create\""),
        };
        ran.prints("\"isError\": true");
    }
}

/// A server whose numbers fit no type, and whose members have an unusual order.
#[cfg(unix)]
const WRITES: &str = r#"
while read -r line; do
  id=$(expr "$line" : '.*"id":\([0-9]*\)')
  case $line in
    *'"server/discover"'*) echo '{"jsonrpc":"2.0","id":'$id',"error":{"code":-32601,"message":"no"}}';;
    *'"initialize"'*) echo '{"jsonrpc":"2.0","id":'$id',"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"n","version":"1"}}}';;
    *'"x/y"'*)
      echo '{"method":"notifications/message","params":{"level":"info","data":1e3},"jsonrpc":"2.0"}'
      echo '{"result":{"z":12345678901234567890123,"a":1.50},"jsonrpc":"2.0","id":'$id'}';;
  esac
done"#;

#[cfg(unix)]
#[test]
fn what_comes_back_is_shown_as_it_came() {
    let lines = "/wire edit 1\n{\"method\":\"x/y\"}\n\n/wire edit 1\n{\"method\":\"x/y\"}\n\n";
    let run = Run::new("wire-came", &["open", "--", "sh", "-c", WRITES]);
    let ran = run.input(lines).run().expect(0);
    let logged = "\n{\n  \"method\": \"notifications/message\",\n  \"params\": {\"level\":\"info\",\"data\":1e3},\n  \"jsonrpc\": \"2.0\"\n}\n";
    let answer = "{\n  \"result\": {\"z\":12345678901234567890123,\"a\":1.50},\n  \"jsonrpc\": \"2.0\",\n  \"id\": ";
    let came = format!("{logged}{answer}");
    assert_eq!(ran.stdout.matches(&came).count(), 2, "{}", ran.stdout);
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
