//! `askback check`: a conforming server has no findings, and each fault has its own finding.

#[cfg(unix)]
mod agency;
#[cfg(unix)]
mod answered;
#[cfg(unix)]
mod asking;
#[cfg(unix)]
mod entries;
// The filters need GNU sed.
#[cfg(target_os = "linux")]
mod filtered;
#[cfg(unix)]
mod interrupted;
#[cfg(unix)]
mod logs;
#[cfg(unix)]
mod proxied;
#[cfg(unix)]
mod results;
#[cfg(unix)]
mod skills;
#[cfg(unix)]
mod untried;

use std::collections::BTreeSet;
#[cfg(unix)]
use std::fs;

use serde_json::Value;
#[cfg(unix)]
use serde_json::json;

#[cfg(unix)]
pub(crate) use self::{
    agency::Agency,
    proxied::{Fault, proxy},
};
use crate::run::{Ran, Run};

/// Tools of the agency that ask questions, with arguments that cause them.
const TOOLS: [&str; 11] = [
    "--tool",
    "book_holiday",
    "destination=Barcelona",
    "depart=2030-06-15",
    "--tool",
    "find_best_flight",
    "destination=Barcelona",
    "day=2030-06-15",
    "--tool",
    "tailor_trip",
    "destination=Kyoto",
];

/// The ids of the findings of a run, without lints.
fn findings(ran: &Ran) -> BTreeSet<String> {
    let report = ran.json();
    let findings = report["findings"].as_array().expect("a list").iter();
    findings
        .filter(|finding| finding["level"] != "LINT")
        .map(|finding| finding["id"].as_str().expect("an id").to_owned())
        .collect()
}

fn ids(words: &str) -> BTreeSet<String> {
    words.split_whitespace().map(str::to_owned).collect()
}

fn kept(report: &Value) -> Vec<&str> {
    let kept = report["kept"].as_array().expect("a list").iter();
    kept.filter_map(Value::as_str).collect()
}

#[test]
fn the_agency_keeps_everything_over_standard_streams() {
    let run = Run::new("check-agency", &["check", "--json"]);
    let ran = run.and(&TOOLS).on_travel().expect(0);
    assert_eq!(findings(&ran), BTreeSet::new());
    let report = ran.json();
    let revisions = report["revisions"].as_array().expect("a list");
    assert_eq!(revisions.len(), 5);
    for id in ["BA-02", "PG-09", "MR-07", "MR-10", "LI25-16", "ST-14"] {
        assert!(kept(&report).contains(&id), "{id}: {report:#}");
    }
    // A server without the handshake lists its versions.
    let run = Run::new(
        "check-modern",
        &["check", "--json", "--protocol", "2026-07-28"],
    );
    let server = [
        "--",
        crate::run::ASKBACK,
        "serve",
        "travel",
        "--protocol",
        "2026-07-28",
    ];
    let ran = run.and(&server).run().expect(0);
    assert_eq!(findings(&ran), BTreeSet::new());
    assert!(kept(&ran.json()).contains(&"VE-08"));
}

#[test]
fn a_tool_that_may_change_something_is_not_called_unless_it_is_named() {
    // No tool of the agency can be called without arguments, so no question is asked.
    let run = Run::new(
        "check-unnamed",
        &["check", "--all", "--protocol", "2026-07-28"],
    );
    let ran = run.on_travel().expect(0);
    ran.prints("no tool that was called did this: name one with --tool")
        .prints("0 MUST and 0 SHOULD broken");
}

/// A server with these tools that logs received messages to the file `heard`.
#[cfg(unix)]
const HEARS: &str = r#"
while read -r line; do
    printf '%s\n' "$line" >> heard
    id=${line#*\"id\":}
    id=${id%%[,\}]*}
    answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
    case $line in
    *'"initialize"'*) answer '{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"h","version":"1"}}' ;;
    *'"tools/list"'*) answer "{\"tools\":$TOOLS}" ;;
    *'"tools/call"'*) answer '{"content":[]}' ;;
    *'"id"'*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}\n' "$id" ;;
    esac
done
"#;

#[cfg(unix)]
#[test]
fn only_a_tool_that_says_that_it_changes_nothing_is_called() {
    let hints = [
        ("harmless", json!({"readOnlyHint": true})),
        ("wants", json!({"readOnlyHint": true})),
        ("bare", Value::Null),
        (
            "unsaid",
            json!({"title": "It", "destructiveHint": false, "idempotentHint": true}),
        ),
        ("changes", json!({"readOnlyHint": false})),
        ("text", json!({"readOnlyHint": "true"})),
    ];
    let tools = hints.map(|(name, hints)| {
        let mut tool = json!({"name": name, "inputSchema": {"type": "object"}});
        if name == "wants" {
            tool["inputSchema"]["required"] = json!(["a"]);
        }
        if !hints.is_null() {
            tool["annotations"] = hints;
        }
        tool
    });
    let tools = Value::from(tools.to_vec()).to_string();
    let server = format!("TOOLS='{tools}'\n{HEARS}");
    for (named, expected) in [
        (&[][..], &["harmless", "wants"][..]),
        (&["--tool", "changes"], &["changes", "harmless", "wants"]),
    ] {
        let run = Run::new(
            "check-harmless",
            &["check", "--json", "--protocol", "2025-11-25"],
        );
        let ran = run.and(named).and(&["--", "sh", "-c", &server]).run();
        let heard = fs::read_to_string(ran.scratch.path("heard")).expect("it wrote it");
        let calls = heard.lines().filter_map(|line| {
            let message: Value = serde_json::from_str(line).ok()?;
            let is_call = message["method"] == "tools/call";
            is_call.then(|| message["params"]["name"].as_str().map(str::to_owned))?
        });
        let called: BTreeSet<String> = calls.collect();
        // The check also calls a tool that does not exist.
        let called = called
            .iter()
            .filter(|name| tools.contains(&format!("\"{name}\"")));
        assert_eq!(called.collect::<Vec<_>>(), expected, "{heard}");
    }
}

#[cfg(unix)]
#[test]
fn a_named_tool_that_there_is_not_is_an_error() {
    let run = Run::new("check-misnamed", &["check", "--protocol", "2025-11-25"]);
    let run = run.and(&TOOLS[..4]).and(&["--tool", "tailor_tripp"]);
    run.on_travel()
        .expect(2)
        .says("there is no tool `tailor_tripp`")
        .says("tailor_trip");
    let run = Run::new("check-toolless", &["check", "--tool", "a"]);
    run.and(&["--", "sh", "-c", &HEARS.replace("\"tools\":{}", "")])
        .run()
        .expect(2)
        .says("The server lists none that can be used.");
}

/// A server that only answers the handshake.
#[cfg(unix)]
const DEAF: &str = r#"
while read -r l; do
    id=$(printf '%s' "$l" | sed -nE 's/^\{("jsonrpc":"2.0",)?"id":([^,]*),.*/\2/p')
    version=$(printf '%s' "$l" | sed -n 's/.*"protocolVersion":"\([0-9-]*\)".*/\1/p')
    case "$l" in *'"initialize"'*)
        printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"%s","capabilities":{},"serverInfo":{"name":"d","version":"1"}}}\n' "$id" "$version" ;;
    esac
done
"#;

#[cfg(unix)]
#[test]
fn a_server_that_proved_deaf_is_tried_no_further() {
    let run = Run::new("check-deaf", &["check", "--json", "--timeout", "1"]);
    let ran = run.and(&["--", "sh", "-c", DEAF]).run().expect(1);
    let report = ran.json();
    let ended = "The server left 6 requests in a row without an answer, each for 1 s. The rest was \
                 not tried.";
    assert_eq!(report["endedEarly"], ended, "{report:#}");
    assert_eq!(report["revisions"].as_array().map(Vec::len), Some(4));
    // Nothing is known about the older revisions.
    assert_eq!(findings(&ran), ids("BA-02 BA-06 LI25-11"));
    assert!(!ran.stderr.contains("Trying 2024-11-05"), "{}", ran.stderr);
    let run = Run::new("check-deaf-words", &["check", "--timeout", "1"]);
    let ran = run.and(&["--protocol", "2025-06-18", "--", "sh", "-c", DEAF]);
    ran.run()
        .expect(1)
        .prints("× The server left 6 requests in");
}

/// A server that answers the handshake, and exits with a message on stderr after the next request. It first closes its
/// output and waits for the end of its input, so that the end of the output is read before the message.
#[cfg(unix)]
const DIES: &str = r#"
while read -r line; do
    id=$(printf '%s' "$line" | sed -nE 's/^\{("jsonrpc":"2.0",)?"id":([^,]*),.*/\2/p')
    case $line in
    *'"initialize"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"d","version":"1"}}}\n' "$id" ;;
    *'"id"'*)
        exec >&-
        cat >/dev/null
        for n in 1 2 3 4 5 6 7 8 9; do echo "line $n" >&2; done
        printf 'no \033[2Jsuch method\n' >&2
        exit 3 ;;
    esac
done
"#;

#[cfg(unix)]
#[test]
fn the_last_words_of_a_server_that_goes_away_are_shown() {
    let words = ["check", "--protocol", "2025-11-25"];
    let run = |name: &str| Run::new(&format!("check-dies-{name}"), &words);
    let ran = run("words").and(&["--", "sh", "-c", DIES]).run().expect(1);
    let ran = ran.prints("stderr | line 9\nstderr | no <U+001B>[2Jsuch method\n");
    let ran = ran.prints("stderr | line 3\n");
    assert!(!ran.stdout.contains("line 2"), "{}", ran.stdout);
    let json = run("json").and(&["--json", "--", "sh", "-c", DIES]);
    let report = json.run().expect(1).json();
    let lines = report["departures"][0]["stderr"].as_array();
    let lines = lines.expect("it wrote some");
    assert_eq!(lines.len(), 8);
    assert_eq!(lines[7], "no \u{1b}[2Jsuch method");
}

/// A server that writes an error when it starts, answers one more request, and exits at the next.
#[cfg(unix)]
const DIES_LATER: &str = r#"
asked=0
while read -r line; do
    id=$(printf '%s' "$line" | sed -nE 's/^\{("jsonrpc":"2.0",)?"id":([^,]*),.*/\2/p')
    case $line in
    *'"initialize"'*)
        echo 'fatal: no database' >&2
        printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"d","version":"1"}}}\n' "$id" ;;
    *'"id"'*)
        asked=$((asked + 1))
        [ $asked -gt 1 ] && exit 3
        printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}\n' "$id" ;;
    esac
done
"#;

#[cfg(unix)]
#[test]
fn words_long_before_a_server_goes_away_are_shown() {
    let words = ["check", "--protocol", "2025-11-25"];
    let run = Run::new("check-dies-later", &words).and(&["--", "sh", "-c", DIES_LATER]);
    run.run().expect(1).prints("stderr | fatal: no database\n");
}

#[cfg(unix)]
#[test]
fn the_last_words_of_a_server_are_shown_however_many_it_wrote_at_its_end() {
    let floods = "exec >&-; seq 20000 >&2; exit 3";
    let server = DIES_LATER.replace("exit 3", &format!("{{ {floods}; }}"));
    let words = ["check", "--protocol", "2025-11-25"];
    let run = Run::new("check-floods", &words).and(&["--", "sh", "-c", &server]);
    let lines: String = (19_993..=20_000)
        .map(|line| format!("stderr | {line}\n"))
        .collect();
    run.run().expect(1).prints(&lines);
}

#[test]
fn a_server_that_cannot_be_used_fails_at_a_step() {
    let run = |name: &str| Run::new(&format!("check-{name}"), &["check", "--timeout", "1"]);
    let ran = run("missing").and(&["--", "askback-no-such-program"]).run();
    ran.expect(1)
        .prints("× program        failed, found no program");
    let ran = run("mute").and(&["--", "false"]).run();
    ran.expect(1)
        .prints("× start          failed, the server exited");
    let ran = run("closed")
        .and(&["--url", "http://127.0.0.1:1/mcp"])
        .run();
    ran.expect(1).prints("× connection     failed");
    let ran = run("usage").and(&["--tool", "a=b", "--", "false"]).run();
    ran.expect(2).says("--tool needs the name of a tool first");
}
