//! `askback hook claude`, as started by Claude Code.

use std::{
    fs,
    io::{self, BufRead as _, BufReader, Write as _},
    os::unix::fs::PermissionsExt as _,
    process::{Child, Command, Stdio},
    thread,
};

use serde_json::{Value, json};

use crate::{run::ASKBACK, scratch::Scratch};

struct Hook(Scratch);

impl Hook {
    fn new(name: &str) -> Self {
        let scratch = Scratch::new(&format!("hook-{name}"));
        let asks = scratch.path("asks");
        fs::create_dir(&asks).expect("there is room");
        let owner = fs::Permissions::from_mode(0o700);
        fs::set_permissions(asks, owner).expect("it is ours");
        Self(scratch)
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(ASKBACK);
        command
            .args(words)
            .arg("--asks")
            .arg(self.0.path("asks"))
            .env_clear()
            .env("HOME", self.0.path("."))
            // Prevents the use of this machine's display.
            .env("SSH_CONNECTION", "elsewhere")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Starts `askback answer` with an answers file.
    fn front_end(&self, rules: &str) -> Child {
        let mut command = self.command(&["answer", "--file", rules]);
        // The rest of its output is not read.
        command.stdout(Stdio::null());
        let mut front_end = command.spawn().expect("the command was built");
        let stderr = front_end.stderr.take().expect("it was asked for");
        let mut stderr = BufReader::new(stderr);
        let mut line = String::new();
        stderr.read_line(&mut line).expect("it writes text");
        assert!(line.contains("Waiting for questions"), "{line}");
        // A closed pipe would end it.
        thread::spawn(move || io::copy(&mut stderr, &mut io::sink()));
        front_end
    }

    /// Runs the hook. Returns its stdout, its stderr and its exit code.
    fn answer(&self, input: &str) -> (String, String, Option<i32>) {
        let mut child = self
            .command(&["hook", "claude"])
            .spawn()
            .expect("the command was built");
        let mut stdin = child.stdin.take().expect("it was asked for");
        stdin
            .write_all(input.as_bytes())
            .expect("it reads its input");
        drop(stdin);
        let output = child.wait_with_output().expect("it ends");
        let text = |bytes| String::from_utf8(bytes).expect("it writes text");
        (
            text(output.stdout),
            text(output.stderr),
            output.status.code(),
        )
    }
}

/// The input that Claude Code sent for the first question of the travel agency (2026-11-26), without unused members.
fn form() -> Value {
    json!({
        "session_id": "x",
        "hook_event_name": "Elicitation",
        "mcp_server_name": "travel",
        "message": "Shall I book?",
        "mode": "form",
        "requested_schema": {
            "type": "object",
            "properties": {"sure": {"type": "boolean"}, "name": {"type": "string"}},
            "required": ["sure"],
        },
    })
}

#[test]
fn a_front_end_answers_in_place_of_claude_code() {
    let hook = Hook::new("answers");
    let rules = "\
answers:
  - when: {mode: url}
    decline: true
  - when: {mode: form}
    accept: {sure: true, name: Ada}
";
    let rules = hook.0.file("rules.yaml", rules);
    let mut front_end = hook.front_end(&rules);
    let link = json!({
        "hook_event_name": "Elicitation",
        "mcp_server_name": "travel",
        "message": "Sign in",
        "mode": "url",
        "url": "https://example.com/sign-in",
        "elicitation_id": "1",
    });
    let content = json!({"sure": true, "name": "Ada"});
    for (input, expected) in [
        (
            form(),
            json!({"hookEventName": "Elicitation", "action": "accept", "content": content}),
        ),
        (
            link,
            json!({"hookEventName": "Elicitation", "action": "decline"}),
        ),
    ] {
        let (printed, said, code) = hook.answer(&input.to_string());
        let printed: Value = serde_json::from_str(&printed).expect(&said);
        assert_eq!(printed, json!({"hookSpecificOutput": expected}));
        assert_eq!(code, Some(0));
    }
    front_end.kill().expect("it runs");
    front_end.wait().expect("it ends");
}

#[test]
fn claude_code_asks_by_itself_if_no_rule_fits() {
    let hook = Hook::new("no-rule");
    let rules = "\
answers:
  - when: {mode: url}
    decline: true
";
    let rules = hook.0.file("rules.yaml", rules);
    let mut front_end = hook.front_end(&rules);
    let (printed, said, code) = hook.answer(&form().to_string());
    assert_eq!((printed.as_str(), code), ("", Some(0)), "{said}");
    assert!(said.contains("Claude Code asks by itself"), "{said}");
    front_end.kill().expect("it runs");
    front_end.wait().expect("it ends");
}

/// Exit code 2 would mean that the user declined.
#[test]
fn claude_code_asks_by_itself_if_the_hook_cannot() {
    let hook = Hook::new("silent");
    let (printed, said, code) = hook.answer(&form().to_string());
    assert_eq!((printed.as_str(), code), ("", Some(0)), "{said}");
    assert!(said.contains("Claude Code asks by itself"), "{said}");
    let mut other = form();
    other["hook_event_name"] = "Stop".into();
    let mut odd = form();
    odd["requested_schema"] = json!({"type": "object", "properties": "a"});
    for (input, says) in [
        (String::new(), "is not what Claude Code gives"),
        (other.to_string(), "was started by another one"),
        (odd.to_string(), "the question of the server cannot be read"),
    ] {
        let (printed, said, code) = hook.answer(&input);
        assert_eq!((printed.as_str(), code), ("", Some(1)), "{said}");
        assert!(said.contains(says), "{said}");
    }
}
