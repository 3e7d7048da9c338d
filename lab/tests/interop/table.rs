use std::{collections::BTreeMap, fs};

use askback::Revision;

use crate::{
    Outcomes, Result,
    packages::Tried,
    plan::{Outcome, Peer, Run, SERVERS, Scenario, Side, Transport},
};

const DOCUMENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/interop.md");

/// The heading of the section that contains only the tables.
const HEADING: &str = "\n## Results\n";

/// Formats a table for each peer and side, followed by the reasons for gaps, and the results of the reference servers.
pub(crate) fn of(
    results: &BTreeMap<Run, Outcomes>,
    tried: &BTreeMap<&'static str, Tried>,
) -> String {
    let mut text = String::new();
    for peer in Peer::ALL {
        for (side, title) in [
            (Side::Client, "calls askback"),
            (Side::Server, "is called by askback"),
        ] {
            let of_peer = |run: &&Run| run.peer == peer && run.side == side;
            let runs: Vec<&Run> = results.keys().filter(of_peer).collect();
            if !runs.is_empty() {
                text.push_str(&format!("\n### {}: {title}\n\n", peer.title()));
                text.push_str(&table(&runs, results));
            }
        }
    }
    text.push_str(&wrapped(results));
    text.push_str("\n### Reference servers: called by askback\n\n| | |\n|---|---|\n");
    for (name, tried) in tried {
        text.push_str(&format!("| `{name}` | {} |\n", tried.passed.join(", ")));
    }
    text
}

fn table(runs: &[&Run], results: &BTreeMap<Run, Outcomes>) -> String {
    let mut revisions: Vec<Revision> = runs.iter().map(|run| run.revision).collect();
    revisions.sort();
    revisions.dedup();
    revisions.reverse();
    let mut notes = Vec::new();
    let heads: Vec<&str> = revisions.iter().map(|revision| revision.as_str()).collect();
    let mut text = format!(
        "| | {} |\n|---|{}\n",
        heads.join(" | "),
        "---|".repeat(heads.len())
    );
    for &scenario in runs[0].side.scenarios() {
        text.push_str(&format!("| {} |", scenario.title()));
        for revision in &revisions {
            let of_revision = runs.iter().filter(|run| run.revision == *revision);
            let cell = cell(of_revision, results, scenario, &mut notes);
            text.push_str(&format!(" {cell} |"));
        }
        text.push('\n');
    }
    text + &numbered(&notes)
}

/// A row for each client that cannot be asked, a column for each server that `askback wrap` starts or reaches.
fn wrapped(results: &BTreeMap<Run, Outcomes>) -> String {
    let mut notes = Vec::new();
    let mut text = "\n### Clients that cannot be asked, through `askback wrap`\n\n|".to_owned();
    for (server, revision) in SERVERS {
        let server = server.map_or("askback", Peer::title);
        text.push_str(&format!(" | {server}, {revision}"));
    }
    text.push_str(&format!(" |\n|---|{}\n", "---|".repeat(SERVERS.len())));
    for peer in Peer::ALL {
        text.push_str(&format!("| {} |", peer.title()));
        for (server, revision) in SERVERS {
            let side = Side::Wrapped(server);
            let is_of = |run: &&Run| (run.peer, run.side, run.revision) == (peer, side, revision);
            let runs: Vec<&Run> = results.keys().filter(is_of).collect();
            let of_scenario =
                |scenario: &Scenario| cell(runs.iter(), results, *scenario, &mut notes);
            let mut cells: Vec<String> = side.scenarios().iter().map(of_scenario).collect();
            cells.retain(|cell| cell != "–");
            cells.sort();
            cells.dedup();
            text.push_str(&format!(" {} |", cells.join("; ")));
        }
        text.push('\n');
    }
    text + &numbered(&notes)
}

fn numbered(notes: &[&str]) -> String {
    let mut text = String::new();
    for (at, note) in notes.iter().enumerate() {
        if at == 0 {
            text.push('\n');
        }
        text.push_str(&format!("{}. {note}\n", at + 1));
    }
    text
}

fn cell<'a>(
    runs: impl Iterator<Item = &'a &'a Run>,
    results: &BTreeMap<Run, Outcomes>,
    scenario: Scenario,
    notes: &mut Vec<&'static str>,
) -> String {
    let mut words: Vec<String> = Vec::new();
    for run in runs {
        let Some(outcome) = results[*run].get(&scenario) else {
            continue;
        };
        let transport = match (run.transport, run.is_sse()) {
            (Transport::Http, true) => "SSE",
            (transport, _) => transport.title(),
        };
        words.push(match outcome {
            Outcome::Passed => transport.to_owned(),
            Outcome::Absent => "–".to_owned(),
            Outcome::Failed(_) => format!("{transport} FAILED"),
            Outcome::Cannot(why) => {
                let at = notes
                    .iter()
                    .position(|note| note == why)
                    .unwrap_or_else(|| {
                        notes.push(why);
                        notes.len() - 1
                    });
                format!("{transport} no ({})", at + 1)
            }
        });
    }
    words.dedup();
    words.join(", ")
}

pub(crate) fn is_written(tables: &str) -> Result<bool> {
    let text = fs::read_to_string(DOCUMENT)?;
    Ok(text == with(&text, tables)?)
}

pub(crate) fn write(tables: &str) -> Result<()> {
    let text = fs::read_to_string(DOCUMENT)?;
    Ok(fs::write(DOCUMENT, with(&text, tables)?)?)
}

fn with(text: &str, tables: &str) -> Result<String> {
    let Some((before, _)) = text.split_once(HEADING) else {
        return Err(format!("{DOCUMENT} has no heading for the results").into());
    };
    Ok(format!("{before}{HEADING}{tables}"))
}
