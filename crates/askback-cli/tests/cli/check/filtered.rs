//! Faults of a process: the agency with a filter for its input and one for its output.

use super::{TOOLS, findings, ids};
use crate::run::{ASKBACK, Ran, Run};

/// Filters the input of the agency with the second argument, and its output with the third.
const FILTER: &str = r#"sed -u "$1" | "$0" serve travel | sed -u "$2""#;

fn check(revision: &str, to: &str, from: &str) -> Ran {
    let name: String = format!("filter-{revision}-{to}-{from}")
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .take(60)
        .collect();
    let run = Run::new(
        &name,
        &["check", "--json", "--timeout", "3", "--protocol", revision],
    );
    run.and(&TOOLS)
        .and(&["--", "sh", "-c", FILTER, ASKBACK, to, from])
        .run()
}

/// Checks that exactly this fault of the agency is found.
#[track_caller]
fn finds(revision: &str, to: &str, from: &str, expected: &str) {
    let ran = check(revision, to, from);
    assert_eq!(findings(&ran), ids(expected), "{to} {from}\n{}", ran.stdout);
}

#[test]
fn a_filter_that_changes_nothing_is_no_fault() {
    for revision in [
        "2024-11-05",
        "2025-03-26",
        "2025-06-18",
        "2025-11-25",
        "2026-07-28",
    ] {
        finds(revision, "", "", "");
    }
}

#[test]
fn faults_of_messages_are_found() {
    let (old, new) = ("2025-11-25", "2026-07-28");
    finds(old, "", r#"s/"code":-32601/"code":-32600/"#, "BA-02");
    finds(
        old,
        "",
        r#"s/"code":-32601/"code":-32601.5/"#,
        "BA-02 BA-14",
    );
    finds(
        old,
        "",
        r#"s/"message":"[^"]*no-such-method[^"]*"/"data":1/"#,
        "BA-13",
    );
    finds(old, "", r#"s/"id":"7001"/"id":7001/"#, "BA-06");
    finds("2025-06-18", "", r#"s/"id":"7001"/"id":7001/"#, "BA24-01");
    finds(
        old,
        "",
        r#"s/"id":7001,"result":{}/"id":7001,"result":{"a":1}/"#,
        "PI25-01",
    );
    finds(new, "", r#"s/"resultType":"complete",//"#, "BA-08");
    let old_error = r#"s/"message":"[^"]*no-such-method[^"]*"/"data":1/"#;
    finds("2025-06-18", "", old_error, "BA24-04");
    finds(
        old,
        "",
        r#"/no-such-method/s/"id":[0-9]*/"id":null/"#,
        "BA-12",
    );
    finds(new, "", "/no-such-method/s/-32601/-32042/", "BA-02 BA-18");
    finds(new, "", "/askback-check:/s/-32602/-32002/", "RE-09");
    let nobody = r#"s/^.*cancelled.*askback-nobody.*$/{"jsonrpc":"2.0","id":99,"method":"ping"}/"#;
    finds(old, nobody, "", "BA-20 CA-19");
    // A server without `ping` responds with an error; the error is checked.
    let pong = r#"s/"result":{}}/"error":{"code":-32601,"message":"no"}}/"#;
    finds(old, "", pong, "PI25-01");
    let answers = r#"s/^.*askback-unknown.*$/{"jsonrpc":"2.0","id":99,"method":"ping"}/"#;
    finds(old, answers, "", "BA-20");
    finds(old, "", "1i listening", "ST-03");
    finds(new, "", r#"s/-32022/-32099/"#, "VE-01");
}

#[test]
fn messages_that_clients_refuse_are_found() {
    let (older, old, new) = ("2025-06-18", "2025-11-25", "2026-07-28");
    for revision in ["2024-11-05", "2025-03-26", older, old, new] {
        finds(revision, "", r#"s/"jsonrpc":"2.0",//"#, "BA-02");
    }
    finds(old, "", r#"s/"jsonrpc":"2.0"/"jsonrpc":2.0/"#, "BA-02");
    let texts = r#"s/"id":\([0-9][0-9]*\),/"id":"\1",/"#;
    finds(old, "", texts, "BA-06 BA-12");
    finds(new, "", texts, "BA-06 BA-12");
    finds(older, "", texts, "BA24-01");
    let both = r#"s/"id":7001,"result":{}/&,"error":{"code":1,"message":"a"}/"#;
    finds(old, "", both, "BA-02");
    finds(older, "", both, "BA-02 BA24-03");
    let neither = r#"s/"id":7001,"result":{}/"id":7001/"#;
    finds(old, "", neither, "BA-07");
    finds(older, "", neither, "BA24-02");
}

#[test]
fn faults_of_greetings_are_found() {
    let (old, new) = ("2025-11-25", "2026-07-28");
    finds(old, "", r#"s/"serverInfo":{/"info":{/"#, "LI25-05");
    finds(
        old,
        r#"s/"protocolVersion":"1999-01-01"/"a":1/"#,
        "",
        "LI25-11",
    );
    let nothing = r#"s/"capabilities":{/"a":{/"#;
    finds(new, "", nothing, "DI-01 PR-02 RE-01 TO-05");
    finds(new, "", "s/subscriptions.acknowledged/a/", "SU-01 SU-02");
    let same = r#"/"id":1,/s/"protocolVersion":"2025-11-25"/"protocolVersion":"1999-01-01"/"#;
    let ran = check(old, "", same);
    // The server speaks no known revision.
    ran.expect(4);
    finds(new, "", r#"s/"supported":/"known":/"#, "VE-01");
    finds(
        new,
        "",
        r#"s/"ttlMs":[0-9]*,//"#,
        "CC-01 CC-02 CC-03 CC-04 CC-05",
    );
    finds(
        new,
        "",
        r#"s/"io.modelcontextprotocol\/serverInfo"/"a"/"#,
        "DI-03",
    );
    let early =
        r#"s/^{"jsonrpc":"2.0","id":2,.*$/{"jsonrpc":"2.0","id":"a","method":"roots\/list"}\n&/"#;
    finds(old, "", early, "LI25-07 LI25-16");
    let asks = r#"s/^{"jsonrpc":"2.0","id":7001,.*$/{"jsonrpc":"2.0","id":"a","method":"roots\/list"}\n&/"#;
    finds(old, "", asks, "LI25-16");
    finds("2025-03-26", "", asks, "LI24-03");
    finds(new, "", asks, "PA-01");
}

#[test]
fn faults_of_lists_are_found() {
    let (old, new) = ("2025-11-25", "2026-07-28");
    let all = ["2024-11-05", "2025-03-26", "2025-06-18", old, new];
    for revision in all {
        finds(revision, r#"s/"cursor":"[^"]*"/"a":1/"#, "", "PG-09");
        finds(revision, "", r#"s/"tools":{/"a":{/"#, "TO-05");
    }
    finds(old, "", r#"s/"prompts":{/"a":{/"#, "PR25-01");
    finds(new, "", r#"s/"prompts":{/"a":{/"#, "PR-02");
    finds(old, "", r#"s/"resources":{/"a":{/"#, "RE-01");
    finds(
        old,
        "",
        r#"s/"name":"save_itinerary"/"name":"save itinerary"/"#,
        "TO-14",
    );
    finds(old, "", r#"s/"name":"save_itinerary"/"name":""/"#, "TO-12");
    finds(
        old,
        "",
        r#"s/"name":"save_itinerary"/"name":"book_holiday"/"#,
        "TO-16",
    );
    finds(
        old,
        "",
        r#"s/"additionalProperties":false,"type":"object"/"type":"string"/"#,
        "TO-10",
    );
    let ping = |method: &str| {
        format!(
            r#"s/"method":"{method}".*"askback-no-such-name"/"method":"ping","params":{{"a":"b"/"#
        )
    };
    finds(old, &ping(r"prompts\/get"), "", "PR-11");
    finds(old, "", r#"s/"code":-32002/"code":-32603/"#, "RE25-01");
    finds(new, "", r#"s/"tools":\[/"a":[/"#, "TO-06");
    finds(new, "", r#"s/"prompts":\[/"a":[/"#, "PR-03");
    finds(new, "", r#"s/"resources":\[/"a":[/"#, "RE-02");
    let arguments =
        r#"s/"method":"prompts\/get","params":{"arguments":{}/"method":"ping","params":{"a":{}/"#;
    finds(old, arguments, "", "PR-12");
    finds(old, "", r#"s/"uri":"travel:/"uri":"travel /"#, "RE-08");
    finds(new, "", "/askback-check:/s/-32602/-32603/", "RE-09");
    let twice = r#"s/"description":"The day of departure."/"x-mcp-header":"A"/; s/"description":"Where to[^"]*"/"x-mcp-header":"a"/"#;
    finds(new, "", twice, "TO-22");
    let list =
        r#"s/"type":"string","description":"Where to[^"]*"/"type":"array","x-mcp-header":"a"/"#;
    finds(new, "", list, "TO-23");
    let root = r#"s/"inputSchema":{/&"x-mcp-header":"a",/"#;
    finds(new, "", root, "TO-25");
    let schema = r#"s/"description":"Where to[^"]*"/"x-mcp-header":"a b"/"#;
    finds(new, "", schema, "TO-20");
}

#[test]
fn faults_of_calls_are_found() {
    let new = "2026-07-28";
    let ask = r#"s/"io.modelcontextprotocol\/clientCapabilities":{}/"io.modelcontextprotocol\/clientCapabilities":{"elicitation":{},"sampling":{}}/"#;
    finds(new, ask, "", "MR-13");
    finds(new, "", r#"s/"requiredCapabilities"/"a"/"#, "BA-47");
    let unknown =
        r#"s/"method":"tools\/call"\(.*\)"name":"askback-no-such-name"/"method":"ping"\1"a":"b"/"#;
    finds("2025-11-25", unknown, "", "TO-35");
}

#[test]
fn faults_of_rounds_are_found() {
    let new = "2026-07-28";
    let empty = r#"s/"inputRequests"/"a"/; s/"requestState"/"b"/"#;
    finds(new, "", empty, "MR-12");
    finds(new, "", "s/elicitation.create/a/", "MR-06");
    finds(new, "", r#"s/"requestedSchema"/"a"/"#, "EL-12");
    let unanswered = r#"/"inputResponses"/!s/"requestState":"/&a/"#;
    finds(new, unanswered, "", "MR-22");
}

#[test]
fn a_server_that_goes_away_is_told_with_what_it_was_sent() {
    // The server exits at the line that is not JSON.
    let ran = check("2025-11-25", r#"/"id": $/Q"#, "").expect(1);
    assert_eq!(findings(&ran), ids(""));
    let departures = &ran.json()["departures"];
    assert_eq!(
        departures.as_array().map(Vec::len),
        Some(1),
        "{departures:#}"
    );
    let sent = departures[0]["sent"].as_str().expect("a text");
    assert!(sent.starts_with(r#"{"jsonrpc": "2.0", "id": "#), "{sent}");
}

/// A server whose tools return invalid content, and whose log messages have an invalid level.
const CARELESS: &str = r#"
say() { printf '%s\n' "$1"; }
while read -r line; do
    id=$(printf '%s' "$line" | sed -nE 's/^\{("jsonrpc":"2.0",)?"id":([^,]*),.*/\2/p')
    case "$line" in
    *'"initialize"'*)
        say '{"jsonrpc":"2.0","id":'"$id"',"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"logging":{}},"serverInfo":{"name":"c","version":"1"}}}' ;;
    *'"tools/list"'*)
        say '{"jsonrpc":"2.0","id":'"$id"',"result":{"tools":[{"name":"bare","inputSchema":{"type":"object"},"outputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}},{"name":"mute","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}]}}' ;;
    *'"name":"mute"'*)
        say '{"jsonrpc":"2.0","id":'"$id"',"result":{"content":[],"structuredContent":{}}}' ;;
    *'"tools/call"'*)
        say '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"other","progress":2}}'
        say '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"other","progress":1}}'
        say '{"jsonrpc":"2.0","id":'"$id"',"result":{"content":[]}}' ;;
    *'"ping"'*|*'"logging/setLevel"'*) say '{"jsonrpc":"2.0","id":'"$id"',"result":{}}' ;;
    *'"id"'*) say '{"jsonrpc":"2.0","id":'"$id"',"error":{"code":-32601,"message":"no"}}' ;;
    esac
done
"#;

#[cfg(feature = "json-schema")]
#[test]
fn structured_content_is_held_against_the_output_schema() {
    let content = r#"{"content":[{"type":"text","text":"{}"}],"structuredContent":{}}"#;
    let fitting = CARELESS.replace(r#"{"content":[]}"#, content);
    let misfit = fitting.replace(
        r#""outputSchema":{"type":"object"}"#,
        r#""outputSchema":{"type":"object","required":["who"]}"#,
    );
    for (name, server, is_broken) in [("fitting", &fitting, false), ("misfit", &misfit, true)] {
        let run = Run::new(
            &format!("check-{name}"),
            &["check", "--json", "--timeout", "5"],
        );
        let ran = run
            .and(&["--protocol", "2025-11-25", "--", "sh", "-c", server])
            .run();
        assert_eq!(
            findings(&ran).contains("TO-32"),
            is_broken,
            "{}",
            ran.stdout
        );
    }
}

#[test]
fn faults_of_tools_that_change_nothing_are_found() {
    let run = Run::new("check-careless", &["check", "--json", "--timeout", "5"]);
    let ran = run
        .and(&["--protocol", "2025-11-25", "--", "sh", "-c", CARELESS])
        .run();
    let expected = "PG-09 PO-04 PO-07 TO-31 TO-32 TO-35";
    assert_eq!(findings(&ran), ids(expected), "{}", ran.stdout);
}

#[test]
fn a_requirement_may_be_allowed_to_be_broken() {
    const MUST: [&str; 2] = ["", r#"s/"code":-32601/"code":-32600/"#];
    const SHOULD: [&str; 2] = [r#"s/"cursor":"[^"]*"/"a":1/"#, ""];
    let check = |name: &str, words: &[&str], fault: [&str; 2]| {
        let words = [&["check", "--protocol", "2025-11-25"], words].concat();
        let run = Run::new(&format!("allowed-{name}"), &words);
        run.and(&["--", "sh", "-c", FILTER, ASKBACK])
            .and(&fault)
            .run()
    };
    check("must", &[], MUST)
        .expect(1)
        .prints("1 MUST and 0 SHOULD broken, ");
    check("named", &["--allow", "BA-02", "--allow", "BA-06"], MUST)
        .expect(0)
        .prints("- BA-02 MUST  ")
        .prints("  allowed by --allow\n")
        .prints("1 MUST and 0 SHOULD broken (1 of them allowed), ")
        .prints("  allowed, but not broken: BA-06\n");
    let ran = check("json", &["--json", "--allow", "BA-02"], MUST).expect(0);
    assert_eq!(ran.json()["findings"][0]["allowed"], true);
    check("other", &["--allow", "PG-09"], MUST).expect(1);
    check("unknown", &["--allow", "XX-01"], MUST)
        .expect(2)
        .says("no rule has this id");
    check("should", &[], SHOULD)
        .expect(0)
        .prints("0 MUST and 1 SHOULD broken, ");
    check("strict", &["--strict"], SHOULD).expect(1);
    check("both", &["--strict", "--allow", "PG-09"], SHOULD).expect(0);
}
