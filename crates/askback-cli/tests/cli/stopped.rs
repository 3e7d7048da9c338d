//! A server that still asks questions for a call that the user stopped.

use pty_process::blocking::Command;

use crate::{
    full::{ASKBACK, CTRL_C, CTRL_D, ENTER, ESC, Terminal},
    scratch::Scratch,
};

/// A server of 2025-11-25 that asks two questions after its call is cancelled. It writes to stderr when both are
/// cancelled.
const SERVER: &str = r#"
say() { printf '{"jsonrpc":"2.0","id":%s}\n' "$1"; }
ask() { say "\"$1\""',"method":"elicitation/create","params":{"message":"Undo the '"$1"'?","requestedSchema":{"type":"object","properties":{"sure":{"type":"boolean"}}}}'; }
while IFS= read -r line; do
    id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
    case $line in
    *'"method":"initialize"'*) say "$id"',"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"sh","version":"1"}}' ;;
    *'"method":"tools/list"'*) say "$id"',"result":{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}' ;;
    *'"method":"tools/call"'*) echo 'at work' >&2 ;;
    *notifications/cancelled*) ask first; ask last ;;
    *'"id":"last"'*'"action":"cancel"'*) echo 'both are cancelled' >&2 ;;
    esac
done
"#;

#[test]
fn questions_after_a_stopped_call_are_shown_without_a_call() {
    for (plain, cancel) in [(&["--plain"][..], "/cancel\r"), (&[], ESC)] {
        let scratch = Scratch::new("stopped");
        let server = scratch.file("server.sh", SERVER);
        let command = Command::new(ASKBACK)
            .args(["open", "--protocol", "2025-11-25", "--name", "zoo"])
            .args(plain)
            .args(["--", "sh"])
            .arg(server)
            .env("XDG_STATE_HOME", scratch.path("state"))
            .env("TERM", "xterm-256color");
        let mut terminal = Terminal::start(command, 120);
        terminal.until("zoo>").press("/call t").until("/call t");
        terminal.press(ENTER).until("at work").press(CTRL_C);
        for question in ["Undo the first?", "Undo the last?"] {
            terminal.until(question);
            let rows = terminal.rows();
            let mut asks = rows.iter().skip_while(|row| !row.contains("zoo asks"));
            assert!(asks.all(|row| !row.contains("| t")), "{rows:?}");
            if !plain.is_empty() {
                terminal.until_asked();
            }
            terminal.press(cancel);
        }
        terminal.until("both are cancelled");
        terminal.press(CTRL_D);
        assert_eq!(terminal.end(), Some(0));
    }
}
