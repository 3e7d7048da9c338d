//! `askback check`: a server that keeps the protocol has no findings, and each fault has its own.

#[cfg(unix)]
mod agency;
// The filters are those of GNU.
#[cfg(target_os = "linux")]
mod filtered;
#[cfg(unix)]
mod proxied;

use std::collections::BTreeSet;

use serde_json::Value;

#[cfg(unix)]
pub(crate) use self::{
    agency::Agency,
    proxied::{Fault, proxy},
};
use crate::run::{Ran, Run};

/// Tools of the agency that ask, with arguments that do.
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

/// The ids of the findings of a run.
fn findings(ran: &Ran) -> BTreeSet<String> {
    let report = ran.json();
    let findings = report["findings"].as_array().expect("a list").iter();
    findings
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
    // A server without the handshake names its versions.
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
    // Nothing of the agency may be called without arguments, so that nothing asks.
    let run = Run::new(
        "check-unnamed",
        &["check", "--all", "--protocol", "2026-07-28"],
    );
    let ran = run.on_travel().expect(0);
    ran.prints("no tool that was called asked something; name one with --tool")
        .prints("0 MUST and 0 SHOULD broken");
}

#[test]
fn a_server_that_cannot_be_tried_is_an_error() {
    let run = |name: &str| Run::new(&format!("check-{name}"), &["check", "--timeout", "1"]);
    let ran = run("missing").and(&["--", "askback-no-such-program"]).run();
    ran.expect(4).says("the server cannot be started");
    let ran = run("mute").and(&["--", "false"]).run();
    ran.expect(4)
        .says("speaks no revision of the protocol")
        .says("Run askback doctor on it");
    let ran = run("closed")
        .and(&["--url", "http://127.0.0.1:1/mcp"])
        .run();
    ran.expect(4).says("the server cannot be reached");
    let ran = run("usage").and(&["--tool", "a=b", "--", "false"]).run();
    ran.expect(2).says("--tool begins with the name of a tool");
}
