//! Missing arguments on the command line, with and without a terminal.

use crate::{
    hostile::Seat,
    run::{Ran, Run},
    scratch::Scratch,
};

/// A server with a tool and a prompt that return their arguments.
const ECHOING: &str = r#"
say() { printf '%s\n' "$1"; }
while read -r line; do
    id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
    given=$(printf '%s' "$line" | sed -n 's/.*"arguments":\({[^}]*}\).*/\1/p' | sed 's/"/\\"/g')
    case "$line" in
    *'"initialize"'*)
        say '{"jsonrpc":"2.0","id":'$id',"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"prompts":{}},"serverInfo":{"name":"e","version":"1"}}}' ;;
    *tools/list*)
        say '{"jsonrpc":"2.0","id":'$id',"result":{"tools":[{"name":"t","inputSchema":{"type":"object","properties":{"city":{"type":"string"},"nights":{"type":"integer"},"note":{"type":"string"}},"required":["city","nights"]}},{"name":"u","inputSchema":{"type":"object","properties":{"to":{"type":"object","properties":{"lat":{"type":"number"}}},"code":{"type":"integer"}},"required":["to"]}}]}}' ;;
    *prompts/list*)
        say '{"jsonrpc":"2.0","id":'$id',"result":{"prompts":[{"name":"p","arguments":[{"name":"city","required":true},{"name":"note"}]}]}}' ;;
    *tools/call*)
        say '{"jsonrpc":"2.0","id":'$id',"result":{"content":[{"type":"text","text":"given '"$given"'"}]}}' ;;
    *prompts/get*)
        say '{"jsonrpc":"2.0","id":'$id',"result":{"messages":[{"role":"user","content":{"type":"text","text":"given '"$given"'"}}]}}' ;;
    esac
done
"#;

const SERVER: [&str; 3] = ["sh", "-c", ECHOING];

const PROTOCOL: [&str; 2] = ["--protocol", "2025-11-25"];

/// Runs the command in a terminal, and answers each question with the next line. Returns the exit code and all rows.
#[track_caller]
fn at_a_terminal(words: &[&str], lines: &[&str]) -> (Option<i32>, Vec<String>) {
    let server = SERVER.map(str::to_owned);
    let scratch = Scratch::new("missing-at-a-terminal");
    let words = [words, &PROTOCOL].concat();
    let mut seat = Seat::take(&scratch, &words, &server, 80, false);
    let mut lines = lines.iter();
    while seat.prompt().is_some() {
        let Some(line) = lines.next() else {
            panic!("it asks on after\n{}", seat.rows.join("\n"));
        };
        seat.write(line);
    }
    let rows = seat.rows.join("\n");
    assert_eq!(lines.next(), None, "{rows}");
    (seat.exit(), std::mem::take(&mut seat.rows))
}

fn alone(name: &str, words: &[&str]) -> Ran {
    let run = Run::new(&format!("missing-{name}"), words).and(&PROTOCOL);
    run.and(&["--"]).and(&SERVER).run()
}

#[test]
fn a_person_is_asked_for_what_is_missing() {
    #[track_caller]
    fn check(words: &[&str], lines: &[&str], exit: i32, last: &str) {
        let (code, rows) = at_a_terminal(words, lines);
        let shown = rows.join("\n");
        assert_eq!(code, Some(exit), "{shown}");
        assert_eq!(rows.last().map(String::as_str), Some(last), "{shown}");
    }
    // The optional arguments are asked for together with the required ones, and a review follows.
    let call = r#"| given {"city":"Rome","nights":7}"#;
    check(&["call", "t"], &["Rome", "7", "", ""], 0, call);
    check(&["call", "t", "nights=7"], &["Rome", "", ""], 0, call);
    // Nested values are written as JSON.
    let nested = r#"| given {"code":9007199254740993,"to":{"lat":1}"#;
    let lines = ["north", r#"{"lat": 1}"#, "9007199254740993", ""];
    check(&["call", "u"], &lines, 0, nested);
    // A call without missing arguments starts at once.
    check(&["call", "t", "nights=7", "city=Rome"], &[], 0, call);
    let got = r#"| given {"city":"Rome"}"#;
    check(&["get", "p"], &["", "Rome", "", ""], 0, got);
    check(&["get", "p", "city=Rome"], &[], 0, got);
    let asked = r#"| given {"city":"Rome?"}"#;
    check(&["get", "p"], &["", "Rome?", "", ""], 0, asked);
    let cancelled = "askback: arguments are missing, and the question for them was cancelled";
    check(&["call", "t"], &["/cancel"], 3, cancelled);
    check(&["get", "p"], &["/cancel"], 3, cancelled);
}

#[test]
fn without_a_person_nothing_is_asked_for() {
    // Missing arguments are reported, but the call is sent: the server decides.
    let ran = alone("call", &["call", "t", "nights=7"]).expect(0);
    assert_eq!(ran.stdout, "given {\"nights\":7}\n");
    ran.says("sent without the required argument | city\n");
    let ran = alone("prompt", &["get", "p"]).expect(2);
    ran.says("the prompt needs more arguments: add these\n  | city=…");
}
