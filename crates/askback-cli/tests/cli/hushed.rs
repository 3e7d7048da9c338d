//! Secrets in calls: neither the history nor a recording contains them.

use std::fs;

use pty_process::blocking::Command;

use crate::{
    full::{CTRL_D, ENTER, REVIEW, TAB, Terminal},
    run::ASKBACK,
    scratch::Scratch,
};

/// A server with a tool, a prompt and a resource template that need a password.
const SERVER: &str = r#"
answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
while IFS= read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case $line in
  *'"method":"initialize"'*) answer '{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"prompts":{},"resources":{"subscribe":true}},"serverInfo":{"name":"sh","version":"1"}}' ;;
  *'"tools/list"'*) answer '{"tools":[{"name":"login","inputSchema":{"type":"object","properties":{"user":{"type":"string"},"password":{"type":"string"}},"required":["user","password"]}}]}' ;;
  *'"prompts/list"'*) answer '{"prompts":[{"name":"enter","arguments":[{"name":"user","required":true},{"name":"password","required":true}]}]}' ;;
  *'"resources/list"'*) answer '{"resources":[]}' ;;
  *'"resources/templates/list"'*) answer '{"resourceTemplates":[{"name":"vault","uriTemplate":"vault://{user}/{password}"}]}' ;;
  *'"tools/call"'*) answer '{"content":[{"type":"text","text":"in by the tool"}]}' ;;
  *'"resources/subscribe"'* | *'"resources/unsubscribe"'*) answer '{}' ;;
  *'"prompts/get"'*) answer '{"messages":[{"role":"user","content":{"type":"text","text":"in by the prompt"}}]}' ;;
  *'"resources/read"'*) answer '{"contents":[{"uri":"vault://","text":"in by the resource"}]}' ;;
  esac
done
"#;

#[test]
fn what_is_filled_in_as_a_password_is_kept_nowhere() {
    #[track_caller]
    fn check(name: &str, line: &str, fills: bool, called: &str, result: &str, kept: &str) {
        for is_plain in [true, false] {
            let scratch = Scratch::new(&format!("hushed-{name}-{is_plain}"));
            scratch.file("server.sh", SERVER);
            let command = Command::new(ASKBACK)
                .args(["open", "--protocol", "2025-11-25", "--record", "rec.yaml"])
                .args(is_plain.then_some("--plain"))
                .args(["--", "sh", "server.sh"])
                .current_dir(scratch.path(""))
                .env("XDG_STATE_HOME", scratch.path("state"))
                .env("TERM", "xterm-256color");
            let mut terminal = Terminal::start(command, 80);
            terminal.until("sh> ").press(line).press(ENTER);
            if fills && is_plain {
                terminal.until("1 of 2").press("ada").press(ENTER);
                terminal.until("2 of 2").press("hush").press(ENTER);
                terminal
                    .until("changes that field")
                    .until("> ")
                    .press(ENTER);
            } else if fills {
                terminal.until("Enter next").press("ada").press(TAB);
                terminal.press("hush").press(REVIEW);
                terminal.until("[Enter]").press(ENTER);
            }
            terminal.until(called).until(result);
            let lines = terminal.rows();
            terminal.press(CTRL_D);
            assert_eq!(terminal.exit(), Some(0));
            let mut of_call = lines.iter().filter(|line| line.starts_with("Called "));
            assert!(of_call.all(|line| !line.contains("hush")), "{lines:?}");
            let history = scratch.path("state").join("askback/history");
            let history = fs::read_to_string(history).unwrap_or_default();
            assert_eq!(history, kept, "{name} {is_plain}");
            // A URI with a secret is not recorded, so the file may not exist.
            let text = fs::read_to_string(scratch.path("rec.yaml")).unwrap_or_default();
            assert!(!text.contains("hush"), "{name}: {text}");
        }
    }
    check(
        "tool",
        "/call login",
        true,
        "Called with | {\"password\":\"(not shown)\",\"user\":\"ada\"}",
        "in by the tool",
        "/call login\n",
    );
    check(
        "get",
        "/enter",
        true,
        "Called with | {",
        "in by the prompt",
        "/enter\n",
    );
    check(
        "template",
        "/read vault://{user}/{password}",
        true,
        "",
        "in by the resource",
        "",
    );
    check(
        "words",
        "/enter ada hush",
        false,
        "",
        "expected KEY=VALUE, got `ada`",
        "",
    );
    check(
        "uri",
        "/read vault://ada/hush",
        false,
        "",
        "in by the resource",
        "",
    );
    for (name, line, result, kept) in [
        (
            "told",
            "/subscribe vault://ada/hush",
            "Changes are reported of",
            "",
        ),
        (
            "told-of-another",
            "/subscribe note://ada",
            "Changes are reported of",
            "",
        ),
        (
            "told-no-more",
            "/unsubscribe vault://ada/hush",
            "there is no subscription",
            "",
        ),
        ("misspelt", "/entre ada hush", "no prompt", ""),
        ("misspelt-too", "/prompt entre ada hush", "no prompt", ""),
        ("to-a-tool", "/call login ada hush", "`ada`", ""),
        (
            "to-a-task",
            "/begin login ada hush",
            "one call at a time",
            "",
        ),
        // Typed for a question that was withdrawn.
        ("alone", "hush", "commands begin with a slash", ""),
    ] {
        check(name, line, false, "", result, kept);
    }
}
