//! What known clients do with the questions of a suite: `--clients`, `--fix` and `--preview`.

use std::path::Path;

use serde_json::{Value, json};

use super::zoo::on_zoo;
use crate::run::{Ran, Run};

/// Cases of one tool that asks, of one that does not, and a request that calls no tool.
const CASES: &str = "
answers: [{accept: {food: hay}}]
sampling: [{reply: Rome}]
cases:
  - {name: asks, call: ask}
  - {name: counts, call: count}
  - {name: lists, list: tools}
";

fn travel(name: &str, words: &[&str]) -> Ran {
    let suite = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/travel/suite.yaml");
    let run = Run::new(name, &["test", &suite.display().to_string()]);
    run.and(words).on_travel().expect(0)
}

/// The verdict of each client for a tool, and the flaws behind it.
fn cells<'a>(report: &'a Value, tool: &str) -> Vec<(&'a str, &'a str, Vec<&'a str>)> {
    let tools = report["tools"].as_array().into_iter().flatten();
    let tools = tools.filter(|row| row["name"] == tool);
    let clients = tools.flat_map(|row| row["clients"].as_array().into_iter().flatten());
    let text = |value: &'a Value| value.as_str().unwrap_or_default();
    clients
        .map(|cell| {
            let reasons = cell["reasons"].as_array().into_iter().flatten();
            let flaws = reasons.map(|reason| text(&reason["flaw"])).collect();
            (text(&cell["client"]), text(&cell["verdict"]), flaws)
        })
        .collect()
}

#[test]
fn each_client_has_a_verdict_for_each_tool_that_asks() {
    let ran = on_zoo("clients-json", &["--clients", "--format", "json"], CASES).expect(0);
    let report = ran.json();
    let undeclared = vec!["forms-undeclared"];
    // The server speaks only 2025-11-25.
    let unmet = vec!["no-connection"];
    let expected = [
        ("claude-code", "drawn", vec![]),
        ("cline", "unreachable", undeclared.clone()),
        ("codex", "unreachable", unmet),
        ("copilot-cli", "drawn", vec![]),
        ("fast-agent", "drawn", vec![]),
        ("gemini-cli", "unreachable", undeclared.clone()),
        ("inspector-cli", "unreachable", undeclared.clone()),
        ("openai-agents", "unreachable", undeclared.clone()),
        ("opencode", "unreachable", undeclared.clone()),
        ("pydantic-ai", "unreachable", undeclared.clone()),
        ("qwen-code", "unreachable", undeclared),
    ];
    assert_eq!(cells(&report, "ask"), expected);
    let tools = report["tools"].as_array().into_iter().flatten();
    let asked: Vec<_> = tools.map(|tool| (&tool["name"], &tool["asked"])).collect();
    let expected = [
        (&json!("ask"), &json!(["form"])),
        (&json!("count"), &json!([])),
    ];
    assert_eq!(asked, expected);
    assert!(cells(&report, "count").is_empty());
    // The report has the result of the tool without an answer.
    let ended = &report["tools"][0]["clients"][1]["ended"];
    assert_eq!(ended["failed"], false);
    let text = ended["text"].as_str().unwrap_or_default();
    assert!(
        text.contains("did not declare the elicitation mode form"),
        "{text}"
    );
}

#[test]
fn the_table_says_why_and_what_to_change() {
    on_zoo("clients-lines", &["--clients"], CASES)
        .expect(0)
        .prints("Gemini CLI     unreachable")
        .prints("Claude Code    drawn")
        .prints("It declares no forms.")
        .prints("The tool then works without the answer:")
        .prints("`askback wrap -- SERVER` asks the user instead.")
        .prints("--fix says what to change")
        .prints("Codex 0.171.0, 2026-11-26: speaks 2025-06-18")
        .prints("Not known: Claude Desktop");
    on_zoo("clients-fix", &["--clients", "--fix"], CASES)
        .expect(0)
        .prints("Fix: Nothing in the server helps");
}

#[test]
fn a_question_without_a_rule_is_told() {
    let cases = "cases: [{name: asks, call: ask}]";
    on_zoo("clients-unanswered", &["--clients"], cases)
        .expect(0)
        .prints("ask may ask more: the suite has no rule that answers one of its questions.");
}

#[test]
fn a_client_is_played_under_its_name_and_in_its_revision() {
    let ran = travel("clients-travel", &["--clients", "--format", "json"]);
    let report = ran.json();
    let codex = |tool: &str| {
        let cells = cells(&report, tool).into_iter();
        let mut cells = cells.filter(|(client, _, _)| *client == "codex");
        cells
            .next()
            .map(|(_, verdict, flaws)| (verdict.to_owned(), flaws.join(",")))
    };
    // The agency sends Codex other forms, because of its name.
    for tool in ["book_holiday", "tailor_trip"] {
        let (verdict, flaws) = codex(tool).expect("the tool asks");
        assert!(!flaws.contains("hides-fields"), "{tool}: {verdict} {flaws}");
    }
    let (verdict, flaws) = codex("find_best_flight").expect("the tool asks");
    assert_eq!((&*verdict, &*flaws), ("unreachable", "sampling-undeclared"));
}

#[test]
fn a_form_is_drawn_as_a_client_draws_it() {
    travel("clients-preview", &["--preview", "codex"])
        .prints("Codex 0.171.0, 2026-11-26: speaks 2025-06-18")
        .prints("Codex draws a form of book_holiday:")
        .prints("one field after the other, sorted by name");
    travel("clients-preview-none", &["--preview", "gemini-cli"])
        .prints("Gemini CLI draws nothing of book_holiday:")
        .prints("It declares no forms.");
    let form = "
answers: [{accept: {food: hay}}]
cases: [{name: asks, call: ask}]
";
    on_zoo("clients-preview-zoo", &["--preview", "claude-code"], form)
        .expect(0)
        .prints("1 of 1: a text, required")
        .prints("| food");
}

/// A server that asks in 2025-11-25, and says in 2026-07-28 that it cannot, as the Python SDK does.
const OLDER: &str = r#"
say() { printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$id" "$1"; }
while IFS= read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case $line in
    *'"server/discover"'*)
      say '"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"serverInfo":{"name":"old","version":"1"},"ttlMs":0,"cacheScope":"private"}' ;;
    *'"initialize"'*)
      say '"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"old","version":"1"}}' ;;
    *'"tools/list"'*)
      say '"result":{"resultType":"complete","tools":[{"name":"ask","inputSchema":{"type":"object"}}],"ttlMs":0,"cacheScope":"private"}' ;;
    *'"tools/call"'*2026-07-28*)
      say '"result":{"resultType":"complete","isError":true,"content":[{"type":"text","text":"server-initiated requests are unavailable on 2026-07-28 connections"}]}' ;;
    *'"tools/call"'*)
      asking=$id id='"q"'
      say '"method":"elicitation/create","params":{"message":"Feed it?","requestedSchema":{"type":"object","properties":{"food":{"type":"string"}}}}' ;;
    *'"id":"q"'*) id=$asking; say '"result":{"content":[{"type":"text","text":"done"}]}' ;;
  esac
done
"#;

#[test]
fn a_server_that_asks_in_an_older_revision_alone_is_known() {
    let run = Run::new("clients-older", &["test", "suite.yaml", "--clients"]);
    run.scratch.file("old.sh", OLDER);
    run.scratch.file("suite.yaml", CASES);
    let run = run.and(&["--format", "json", "--filter", "asks"]);
    let ran = run.and(&["--", "sh", "old.sh"]).run().expect(0);
    let report = ran.json();
    let cells = cells(&report, "ask");
    let of = |client: &str| {
        let mut cells = cells.iter();
        let cell = cells.find(|(name, _, _)| *name == client);
        cell.map(|(_, verdict, flaws)| (*verdict, flaws.join(",")))
    };
    let newest = Some(("unreachable", "asks-in-older-alone".to_owned()));
    assert_eq!(of("claude-code"), newest);
    assert_eq!(of("fast-agent"), newest);
    let undeclared = Some(("unreachable", "forms-undeclared".to_owned()));
    assert_eq!(of("opencode"), undeclared);
    // It speaks the newest revision, but another way to ask does not reach it.
    assert_eq!(of("pydantic-ai"), undeclared);
    assert_eq!(report["tools"][0]["asked"], json!(["form"]));

    let run = Run::new("clients-older-hint", &["test", "suite.yaml", "--clients"]);
    run.scratch.file("old.sh", OLDER);
    run.scratch.file("suite.yaml", CASES);
    let ran = run.and(&["--filter", "asks", "--", "sh", "old.sh"]).run();
    let hint = "`askback wrap -- SERVER` asks the user instead.";
    ran.expect(0)
        .prints("the server asks only in older")
        .prints(hint);
}

#[test]
fn options_that_do_not_go_together_are_refused() {
    let lists = "cases: [{name: lists, list: tools}]";
    on_zoo("clients-no-call", &["--clients"], lists)
        .expect(2)
        .says("no case that calls a tool is to be run");
    on_zoo("clients-junit", &["--clients", "--format", "junit"], CASES)
        .expect(2)
        .says("--clients has no JUnit report");
    on_zoo("clients-fix-alone", &["--fix"], CASES)
        .expect(2)
        .says("--clients");
    on_zoo("clients-preview-what", &["--preview", "emacs"], CASES)
        .expect(2)
        .says("expected one of claude-code, ");
    Run::new("clients-nothing", &["test"])
        .run()
        .expect(2)
        .says("SUITE");
}

#[test]
fn a_server_that_cannot_be_reached_is_told() {
    let run = Run::new("clients-unreached", &["test", "suite.yaml", "--clients"]);
    run.scratch.file("suite.yaml", CASES);
    run.and(&["--", "./no-such-server"])
        .run()
        .expect(4)
        .says("ERROR asks");
}
