//! Machine-readable reports, checked with third-party parsers.

use serde_json::{Value, json};

use super::zoo::on_zoo;
use crate::run::Ran;

/// A case that passes, one that fails with hostile text, one whose server crashes, and one that
/// asks.
const CASES: &str = "
cases:
  - {name: counts & passes, call: count}
  - {name: 'fails <\"#1\">', call: hostile, expect: {text: \"\\e[31m]]>\"}}
  - {name: crashes, call: crash}
  - {name: asks, call: ask, answers: [{cancel: true}], expect: {questions: 1}}
";

fn written(name: &str, words: &[&str]) -> Ran {
    on_zoo(name, words, CASES).expect(4)
}

#[test]
fn junit_is_well_formed_whatever_a_server_says() {
    let ran = written("junit", &["--format", "junit"]);
    let document = roxmltree::Document::parse(&ran.stdout);
    let document = document.unwrap_or_else(|error| panic!("{error}: {}", ran.stdout));
    let suite = document
        .descendants()
        .find(|node| node.has_tag_name("testsuite"));
    let suite = suite.expect("there is one");
    let counts = ["name", "tests", "failures", "errors"];
    let counts = counts.map(|name| suite.attribute(name).unwrap_or_default());
    assert_eq!(counts, ["suite", "4", "1", "1"]);
    let cases: Vec<_> = suite
        .children()
        .filter(roxmltree::Node::is_element)
        .collect();
    assert_eq!(
        cases[1].attribute("name"),
        Some("fails <\"#1\"> [2025-11-25]")
    );
    let failure = cases[1]
        .children()
        .find(|node| node.has_tag_name("failure"));
    let failure = failure.expect("it failed");
    assert_eq!(
        failure.attribute("message"),
        Some("expected text: \"\\u001b[31m]]>\""),
    );
    let text = "expected text: \"\\u001b[31m]]>\"\n\
                came <U+001B>[2J]]> </failure> <U+0000><U+FFFE> & <U+202E>";
    assert_eq!(failure.text(), Some(text));
    let error = cases[2].children().find(|node| node.has_tag_name("error"));
    let error = error.and_then(|error| error.attribute("message"));
    assert_eq!(error, Some("the server exited (code 7)"));
    // The text for users goes to stderr.
    ran.says("ERROR crashes");
}

#[test]
fn a_report_goes_to_a_file() {
    let ran = written("output", &["--format", "junit", "--output", "report.xml"]);
    let ran = ran.prints("ERROR crashes");
    let xml = std::fs::read_to_string(ran.scratch.path("report.xml")).expect("it was written");
    assert!(roxmltree::Document::parse(&xml).is_ok(), "{xml}");
}

#[test]
fn json_holds_every_case() {
    let ran = written("json", &["--format", "json"]);
    let report = ran.json();
    let counts = ["passed", "failed", "errors"].map(|name| &report[name]);
    assert_eq!(counts, [&json!(2), &json!(1), &json!(1)]);
    let outcomes = report["cases"].as_array().into_iter().flatten();
    let outcomes: Vec<&Value> = outcomes.map(|case| &case["outcome"]).collect();
    assert_eq!(outcomes, ["passed", "failed", "error", "passed"]);
    let failed = &report["cases"][1];
    assert_eq!(failed["revision"], "2025-11-25");
    assert_eq!(
        failed["mismatches"][0]["came"],
        "\u{1b}[2J]]> </failure> \u{0}\u{fffe} & \u{202e}",
    );
    assert_eq!(report["cases"][2]["error"], "the server exited (code 7)");
    let asked =
        json!([{"mode": "form", "message": "Feed it?", "fields": ["food"], "reply": "cancel"}]);
    assert_eq!(report["cases"][3]["questions"], asked);
}
