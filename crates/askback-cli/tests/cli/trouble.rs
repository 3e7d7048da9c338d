//! The last call of a conversation, made again as no client would.

use serde_json::{Value, json};

#[cfg(unix)]
use crate::check::Agency;
use crate::run::{Ran, Run, json_response, served};

/// A server that goes on with any state, and whose questions in a session are answered by anybody.
const TRUSTFUL: &str = r#"
say() { printf '%s\n' "$1"; }
while read -r line; do
    id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
    case "$line" in
    *server/discover*)
        say '{"jsonrpc":"2.0","id":'$id',"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"serverInfo":{"name":"c","version":"1"},"ttlMs":0,"cacheScope":"private"}}' ;;
    *'"initialize"'*)
        say '{"jsonrpc":"2.0","id":'$id',"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"c","version":"1"}}}' ;;
    *tools/list*)
        say '{"jsonrpc":"2.0","id":'$id',"result":{"resultType":"complete","tools":[{"name":"t","inputSchema":{"type":"object","properties":{"to":{"type":"string"}}}}],"ttlMs":0,"cacheScope":"private"}}' ;;
    *tools/call*requestState*)
        say '{"jsonrpc":"2.0","id":'$id',"result":{"resultType":"complete","content":[]}}' ;;
    *tools/call*2026-07-28*)
        say '{"jsonrpc":"2.0","id":'$id',"result":{"resultType":"input_required","requestState":"abcdefghijkl","inputRequests":{"k":{"method":"elicitation/create","params":{"message":"Sure?","requestedSchema":{"type":"object","properties":{}}}}}}}' ;;
    *tools/call*)
        call=$id
        say '{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"Sure?","requestedSchema":{"type":"object","properties":{}}}}' ;;
    *askback-nobody*) exit 7 ;;
    *'"action"'*) say '{"jsonrpc":"2.0","id":'$call',"result":{"content":[]}}' ;;
    *ping*) say '{"jsonrpc":"2.0","id":'$id',"result":{}}' ;;
    esac
done
"#;

/// A server that asks twice: the second time once it was agreed to the first.
const TWICE: &str = r#"
say() { printf '%s\n' "$1"; }
ask() {
    say '{"jsonrpc":"2.0","id":'$id',"result":{"resultType":"input_required","requestState":"'$1'","inputRequests":{"'$1'":{"method":"elicitation/create","params":{"message":"'$1'?","requestedSchema":{"type":"object","properties":{}}}}}}}'
}
while read -r line; do
    id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
    case "$line" in
    *server/discover*)
        say '{"jsonrpc":"2.0","id":'$id',"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"serverInfo":{"name":"c","version":"1"},"ttlMs":0,"cacheScope":"private"}}' ;;
    *tools/list*)
        say '{"jsonrpc":"2.0","id":'$id',"result":{"resultType":"complete","tools":[{"name":"t","inputSchema":{"type":"object"}}],"ttlMs":0,"cacheScope":"private"}}' ;;
    *tools/call*second-second*) say '{"jsonrpc":"2.0","id":'$id',"result":{"resultType":"complete","content":[]}}' ;;
    *tools/call*accept*) ask second-second ;;
    *tools/call*first-first*) say '{"jsonrpc":"2.0","id":'$id',"result":{"resultType":"complete","content":[]}}' ;;
    *tools/call*) ask first-first ;;
    esac
done
"#;

fn run(name: &str, revision: &str, lines: &str) -> Run {
    let run = Run::new(
        &format!("trouble-{name}"),
        &["open", "--protocol", revision],
    );
    run.input(lines)
}

fn trustful(name: &str, revision: &str, lines: &str) -> Ran {
    let run = run(name, revision, lines);
    run.and(&["--", "sh", "-c", TRUSTFUL]).run()
}

const BOOK: &str =
    "/call book_holiday destination=Barcelona depart=2030-06-15\n/cancel\n/trouble 1\n";

#[test]
fn the_agency_withstands_what_no_client_would_send() {
    let ran = run("agency", "2026-07-28", BOOK).on_travel();
    for row in [
        "\u{2713} MR-07 MUST       the state with a character changed\n",
        "\u{2713} MR-07 MUST       the state with another character changed\n",
        "\u{2713} MR-10 SHOULD     the state with other arguments\n",
        "- MR-08 SHOULD     the state from another principal\n",
        "\u{2713} MR-19 SHOULD     answers that are no object\n",
        "\u{2713} MR-22 SHOULD     no answers\n    it asked\n",
        "\u{2713} MR-21 SHOULD     an answer that was not asked for\n",
        "the same round again, after the call ended\n",
        "the round, sent to a restarted server\n",
        "  \u{2713} as required   × not as required   · right either way   - not tried\n",
    ] {
        assert!(ran.stdout.contains(row), "{row:?}\n{}", ran.stdout);
    }
    let ran = run("session", "2025-11-25", &BOOK.replace(" 1\n", "\n")).on_travel();
    for row in [
        "\u{2713} PI25-01 MUST     a second answer, then a ping\n",
        "\u{2713} PI25-01 MUST     an answer to no question, then a ping\n",
        "\u{2713} PI25-01 MUST     an answer after the call was cancelled, then a ping\n",
    ] {
        assert!(ran.stdout.contains(row), "{row:?}\n{}", ran.stdout);
    }
}

#[test]
fn a_server_that_trusts_a_client_is_told_so() {
    let lines = "/call t to=Rome\n/cancel\n/trouble\n";
    let ran = trustful("modern", "2026-07-28", lines);
    for row in [
        "× MR-07 MUST       the state with a character changed\n    a result\n",
        "× MR-10 SHOULD     the state with other arguments\n",
        "- MR-09 SHOULD     the state after its lifetime\n",
        "× MR-22 SHOULD     no answers\n",
        "\u{2713} MR-21 SHOULD     an answer that was not asked for\n",
        "· -                the round, sent to a restarted server\n    a result\n",
    ] {
        assert!(ran.stdout.contains(row), "{row:?}\n{}", ran.stdout);
    }
    let ran = trustful("old", "2025-11-25", lines);
    for row in [
        "\u{2713} PI25-01 MUST     a second answer, then a ping\n",
        "× PI25-01 MUST     an answer to no question, then a ping\n    it went away\n",
    ] {
        assert!(ran.stdout.contains(row), "{row:?}\n{}", ran.stdout);
    }
}

#[test]
fn an_old_round_is_sent_again_also_where_a_tool_asks_after_a_yes() {
    #[track_caller]
    fn check(name: &str, answers: &str, is_old: bool) {
        let lines = format!("/call t\n{answers}\n/trouble\n");
        let run = run(&format!("twice-{name}"), "2026-07-28", &lines);
        let ran = run.and(&["--", "sh", "-c", TWICE]).run();
        let row = "· -                the first round again, after a later one\n    it asked\n";
        assert_eq!(
            ran.stdout.contains(row),
            is_old,
            "{}\n{}",
            ran.stdout,
            ran.stderr
        );
        let again = "the same round again, after the call ended\n    a result\n";
        assert!(ran.stdout.contains(again), "{}", ran.stdout);
    }
    check("yes", "y\ny", true);
    check("yes-and-no", "y\n/cancel", true);
    check("no", "/cancel", false);
}

#[cfg(unix)]
#[test]
fn a_state_is_tried_by_another_principal_where_one_is_named() {
    let agency = Agency::start("trouble-other-agency", &[]);
    let url = format!("http://{}/mcp", agency.address);
    let server = |headers: &str| format!(r#"{{"url": "{url}", "headers": {{{headers}}}}}"#);
    let (ada, bob) = (server(""), server(r#""X-Api-Key": "bobs""#));
    let dan = bob.replace("/mcp", "/other");
    let servers =
        format!(r#"{{"mcpServers": {{"ada": {ada}, "bob": {bob}, "cy": {ada}, "dan": {dan}}}}}"#);
    let run = |name: &str, other: &str| {
        let lines = BOOK.replace("/trouble 1", &format!("/trouble --other {other}"));
        let run = run(name, "2026-07-28", &lines);
        run.scratch.file("mcp.json", &servers);
        run
    };
    let named = ["--server", "ada", "--config", "mcp.json"];
    // Without a sign-in the agency cannot tell one person from another.
    let ran = run("other", "bob").and(&named).run();
    let row = "× MR-08 SHOULD     the state from another principal\n";
    assert!(ran.stdout.contains(row), "{}", ran.stdout);
    let ran = run("no-other", "cy").and(&named).run().expect(2);
    ran.says("cy has no credentials of its own");
    let ran = run("other-server", "dan").and(&named).run().expect(2);
    ran.says("dan is another server than ada: it is not at the same URL");
    let ran = run("other-url", "bob").and(&["--url", &url]).run();
    ran.expect(2).says("Open the server with --config FILE");
    let ran = run("other-started", "bob").on_travel().expect(2);
    ran.says("--other is for a server at a URL");
}

#[test]
fn a_server_whose_no_looks_like_a_refusal_is_not_passed() {
    let done = r#""resultType":"complete","content":[]"#;
    let server = TRUSTFUL.replace(done, &format!(r#""isError":true,{done}"#));
    let run = run(
        "alike",
        "2026-07-28",
        "/call t to=Rome\n/cancel\n/trouble\n",
    );
    let ran = run.and(&["--", "sh", "-c", &server]).run();
    for row in [
        "- MR-07 MUST       the state with a character changed\n",
        "- MR-10 SHOULD     the state with other arguments\n",
        "the tool reports a decline as an error, so a refusal",
    ] {
        assert!(ran.stdout.contains(row), "{row:?}\n{}", ran.stdout);
    }
}

#[test]
fn a_server_that_goes_away_is_not_right_where_either_answer_is() {
    let state = "*tools/call*requestState*)";
    let dies = format!("{state} [ \"$has_asked\" ] || exit 7; ");
    let asks = "*tools/call*2026-07-28*)";
    let server = TRUSTFUL.replace(state, &dies);
    let server = server.replace(asks, &format!("{asks} has_asked=1; "));
    let run = run("dies", "2026-07-28", "/call t to=Rome\n/cancel\n/trouble\n");
    let ran = run.and(&["--", "sh", "-c", &server]).run();
    ran.prints("× -                the round, sent to a restarted server\n    it went away\n")
        .prints("    wanted: a result, or an error\n");
}

/// The response to a message: a call is answered, and one with a changed state is begun to be answered with this, which
/// ends too early.
fn cut(asked: &Value, begun: &str) -> String {
    let mut result = match asked["method"].as_str() {
        Some("server/discover") => json!({
            "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}},
            "serverInfo": {"name": "c", "version": "1"}, "ttlMs": 0, "cacheScope": "private",
        }),
        Some("tools/list") => json!({
            "tools": [{"name": "t", "inputSchema": {"type": "object"}}],
            "ttlMs": 0, "cacheScope": "private",
        }),
        _ if asked["params"]["requestState"].is_null() => json!({
            "resultType": "input_required", "requestState": "abcdefghijkl",
            "inputRequests": {"k": {"method": "elicitation/create", "params": {
                "message": "Sure?",
                "requestedSchema": {"type": "object", "properties": {}},
            }}},
        }),
        _ if asked["params"]["requestState"] == "abcdefghijkl" => json!({"content": []}),
        _ => return format!("200 OK\r\n{begun}"),
    };
    if result["resultType"].is_null() {
        result["resultType"] = "complete".into();
    }
    let answer = json!({"jsonrpc": "2.0", "id": asked["id"], "result": result});
    json_response("200 OK", &answer)
}

#[test]
fn an_answer_over_http_that_is_cut_is_told_as_that() {
    for (name, begun) in [
        (
            "stream",
            "Content-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n: a\n\r\n",
        ),
        (
            "ended",
            "Content-Type: text/event-stream\r\nConnection: close\r\n\r\n: a\n\n",
        ),
        (
            "whole",
            "Content-Type: application/json\r\nContent-Length: 900\r\n\r\n{",
        ),
    ] {
        let url = served(move |asked| cut(asked, begun));
        let run = run(
            &format!("cut-{name}"),
            "2026-07-28",
            "/call t\n/cancel\n/trouble\n",
        );
        let ran = run.and(&["--url", &url]).run();
        let row = "× MR-07 MUST       the state with a character changed\n    \
                   the connection was cut before the answer\n";
        assert!(
            ran.stdout.contains(row),
            "{name}\n{}{}",
            ran.stdout,
            ran.stderr
        );
    }
}

#[test]
fn there_is_no_trouble_without_a_call_that_asks() {
    let ran = trustful("none", "2026-07-28", "/trouble\n");
    ran.expect(2)
        .says("there was no call that could be made again");
    let ran = trustful(
        "secret",
        "2026-07-28",
        "/call t password=x\n/cancel\n/trouble\n",
    );
    ran.expect(2).says("seem to be secrets and are not kept");
}

#[test]
fn a_call_that_asks_nothing_or_does_not_finish_is_told_as_that() {
    #[track_caller]
    fn check(again: &str, revision: &str, exit: i32, says: &str) {
        let call = "*tools/call*requestState*)";
        let ends = r#"'"id":'$id',"result":{"resultType":"complete","content":[]}}'"#;
        let ends = format!(
            r#"*tools/call*) test -e called && {again}; touch called; say '{{"jsonrpc":"2.0",'{ends} ;;"#
        );
        let server = TRUSTFUL.replace(call, &format!("{ends}\n    {call}"));
        let lines = "/call t to=Rome\n/trouble\n";
        let run = run(&format!("unasked-{exit}-{revision}"), revision, lines);
        let ran = run.and(&["--", "sh", "-c", &server]).run().expect(exit);
        ran.says(&format!("askback: {says}\n  Nothing was tried: "));
    }
    for revision in ["2026-07-28", "2025-11-25"] {
        check("true", revision, 2, "the call asked nothing this time");
        let gone = "the call did not finish: the server went away";
        check("exit 7", revision, 4, gone);
    }
}
