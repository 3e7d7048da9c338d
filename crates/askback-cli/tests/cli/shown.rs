//! Results that are longer than the screen, or have more than text.

use crate::full::{CTRL_D, ENTER, Terminal};

/// A server whose tool `rows` answers with 60 rows of text, and with structured content.
const SERVER: &str = r#"
say() { printf '{"jsonrpc":"2.0",%s}\n' "$1"; }
rows=$(awk 'BEGIN { for (i = 1; i <= 60; i++) printf "row %d.\\n", i }')
while read -r line; do
    id=${line#*\"id\":}; id=${id%%[,\}]*}
    case $line in
    *'"initialize"'*) say "\"id\":$id,\"result\":{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"tools\":{}},\"serverInfo\":{\"name\":\"s\",\"version\":\"1\"}}" ;;
    *'"tools/list"'*) say "\"id\":$id,\"result\":{\"tools\":[{\"name\":\"rows\",\"inputSchema\":{\"type\":\"object\"}}]}" ;;
    *'"tools/call"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"%s"}],"structuredContent":{"count":60}}}\n' "$id" "$rows" ;;
    esac
done"#;

fn open(options: &[&str]) -> Terminal {
    open_at(SERVER, options)
}

fn open_at(server: &str, options: &[&str]) -> Terminal {
    let server = [
        "--protocol",
        "2025-11-25",
        "--name",
        "agency",
        "--",
        "sh",
        "-c",
        server,
    ];
    let words = [&["open"], options, &server].concat();
    let mut terminal = Terminal::open(&words, 80);
    terminal.until("agency> ").press("/call rows").press(ENTER);
    terminal
        .until("more rows; /more shows them")
        .until("| row 12.");
    terminal
        .until("Structured | {\"count\":60}")
        .until("agency>");
    assert!(!terminal.shows("row 20."));
    terminal.press("/more").press(ENTER);
    terminal
}

#[test]
fn a_long_result_goes_on_page_by_page() {
    let mut terminal = open(&["--plain"]);
    for row in ["| row 33.", "| row 50."] {
        terminal
            .until(row)
            .until("more rows; /more shows them\n\nagency>");
        terminal.press("/more").press(ENTER);
    }
    terminal
        .until("Structured content:")
        .until("| {\"count\":60}");
    terminal
        .press("/more")
        .press(ENTER)
        .until("There is nothing more to show.");
    terminal.press(CTRL_D);
    assert_eq!(terminal.exit(), Some(0));
}
