//! Typical servers, opened with the shortest command line.

use crate::{
    full::{CTRL_D, ENTER, Terminal},
    run::{ASKBACK, Run, json_response, served},
    scratch::Scratch,
};
use serde_json::json;

/// A server of both eras. Its tool asks with a request, which its SDK cannot send in 2026-07-28: there the tool fails
/// with the message of FastMCP. With `dies`, it exits after a question is answered.
pub(crate) const SERVER: &str = r#"
echo 'a line of the log' >&2
modern=yes
reply() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
while IFS= read -r line; do
    id=$(printf '%s' "$line" | sed -n 's/.*"id":\("\{0,1\}[a-z0-9]*"\{0,1\}\).*/\1/p')
    case "$line" in
    *'"server/discover"'*) reply '{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"serverInfo":{"name":"pizza","version":"1"},"ttlMs":0,"cacheScope":"private"}' ;;
    *'"initialize"'*) modern=
        reply '{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"pizza","version":"1"}}' ;;
    *'"tools/list"'*) reply '{"resultType":"complete","tools":[{"name":"order","inputSchema":{"type":"object"}}],"ttlMs":0,"cacheScope":"private"}' ;;
    *'"tools/call"'*)
        if [ "$modern" ]; then
            reply '{"resultType":"complete","isError":true,"content":[{"type":"text","text":"elicitation via server-initiated requests is unavailable on 2026-07-28 connections."}]}'
        else
            call=$id
            echo '{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"How many?","requestedSchema":{"type":"object","properties":{"count":{"type":"integer"}}}}}'
        fi ;;
    *'"id":"q"'*)
        [ "$1" != dies ] || exit 7
        id=$call; reply '{"content":[{"type":"text","text":"ordered"}]}' ;;
    esac
done
"#;

const ANSWERS: &str = "answers: [{accept: {count: 3}}]";

#[test]
fn a_server_that_can_ask_in_2025_11_25_only_is_recognised_and_remembered() {
    let run = |words: &[&str], scratch: Option<Scratch>| {
        let mut run = Run::new("older", words).answers(ANSWERS);
        run.scratch.file("server.sh", SERVER);
        if let Some(before) = scratch {
            run.scratch = before;
        }
        run.and(&["--", "sh", "server.sh"]).run()
    };
    let hint = "This server can ask up to 2025-11-25 only: add --protocol 2025-11-25.";
    run(&["call", "order"], None).expect(1).says(hint);
    let words = ["call", "order", "--protocol", "2025-11-25"];
    run(&words, None).expect(0).prints("ordered");

    // In a terminal, Enter repeats the call in 2025-11-25, and the next conversation begins in that revision.
    let scratch = Scratch::new("older-terminal");
    let server = scratch.file("server.sh", SERVER);
    let state = scratch.path("state").display().to_string();
    let words = ["open", "--", "sh", &server];
    let open = || Terminal::open_with(&words, 80, &[("XDG_STATE_HOME", &state)]);
    let mut terminal = open();
    terminal
        .until("Ctrl-D leave")
        .press("/call order")
        .press(ENTER);
    terminal
        .until("can ask in 2025-11-25, but")
        .until("Call again")
        .press(ENTER);
    terminal.until("How many?").until("count").press("3");
    terminal.press("\x13").until("[Enter]").press(ENTER);
    terminal.until("| ordered").press(CTRL_D);
    assert_eq!(terminal.end(), Some(0));
    let mut terminal = open();
    terminal
        .until("spoken to in 2025-11-25")
        .until("Ctrl-D leave");
    terminal.press(CTRL_D);
    assert_eq!(terminal.end(), Some(0));
}

#[test]
fn a_server_that_dies_with_the_answers_leaves_the_outcome_unknown() {
    let words = ["call", "order", "--protocol", "2025-11-25"];
    let run = |more: &[&str]| {
        let run = Run::new("unknown", &words).and(more).answers(ANSWERS);
        run.scratch.file("server.sh", SERVER);
        run.and(&["--", "sh", "server.sh", "dies"]).run()
    };
    let said = "so what the call has done is unknown: check before you make it again";
    run(&[]).expect(4).says(said);
    let ran = run(&["--json"]).expect(4);
    assert_eq!(ran.json()["error"]["kind"], "outcome-unknown");
}

#[test]
fn a_conversation_is_drawn_on_the_terminal_although_standard_error_leads_elsewhere() {
    for (words, drawn) in [("open", "Ctrl-D leave"), ("open --plain", "zoo> ")] {
        let scratch = Scratch::new("stderr-elsewhere");
        let server = scratch.file("server.sh", SERVER);
        let script = format!("exec \"$PROGRAM\" {words} --name zoo -- sh \"$SERVER\" 2>/dev/null");
        let state = scratch.path("state").display().to_string();
        let variables = [
            ("PROGRAM", ASKBACK),
            ("SERVER", &server),
            ("XDG_STATE_HOME", &state),
        ];
        let mut terminal = Terminal::run("sh", &["-c", &script], 80, &variables);
        terminal.until(drawn).press(CTRL_D);
        assert_eq!(terminal.end(), Some(0), "{words}");
    }
}

#[test]
fn the_user_chooses_where_a_servers_standard_error_goes() {
    let run = |how: &str| {
        let words = ["list", "tools", "--protocol", "2025-11-25", "--stderr", how];
        let run = Run::new("stderr", &words);
        run.scratch.file("server.sh", SERVER);
        run.and(&["--", "sh", "server.sh"]).run().expect(0)
    };
    let line = "a line of the log";
    assert!(run("show").stderr.contains(line));
    assert!(!run("hide").stderr.contains(line));
}

#[test]
fn a_message_may_be_large_and_the_user_says_how_large() {
    let text = "x".repeat(5 << 20);
    let url = served(move |asked| {
        let result = match asked["method"].as_str() {
            Some("initialize") => json!({
                "protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                "serverInfo": {"name": "large", "version": "1"},
            }),
            Some("tools/list") => {
                json!({"tools": [{"name": "t", "inputSchema": {"type": "object"}}]})
            }
            Some("tools/call") => json!({"content": [{"type": "text", "text": text}]}),
            _ => {
                return "202 Accepted\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".to_owned();
            }
        };
        let answer = json!({"jsonrpc": "2.0", "id": asked["id"], "result": result});
        json_response("200 OK", &answer)
    });
    // A URL names the server, before or after the tool.
    let run = |words: [&str; 2], more: &[&str]| {
        let run = Run::new("large", &["call", "--protocol", "2025-11-25"]);
        run.and(&words).and(more).run()
    };
    let ran = run(["t", &url], &[]).expect(0);
    assert!(ran.stdout.len() > 5 << 20);
    run([&url, "t"], &["--max-message", "1"])
        .expect(4)
        .says("--max-message MIB");
}

#[test]
fn a_new_server_without_a_checkout_says_that_nothing_is_published() {
    let ran = Run::new("new-unpublished", &["new", "mine"])
        .run()
        .expect(0);
    let ran = ran.says("is not published").says("--path CHECKOUT");
    assert!(!ran.stderr.contains("Next:"), "{}", ran.stderr);
}
