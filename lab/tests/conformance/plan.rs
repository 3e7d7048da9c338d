//! The runs: everything in the suite.

use crate::{Result, suite::Suite};

/// The revisions with a list of required scenarios in the suite.
const REQUIREMENTS: [&str; 2] = ["2025-11-25", "2026-07-28"];

pub(crate) struct Run {
    pub(crate) title: String,
    pub(crate) group: String,
    pub(crate) side: Side,
    pub(crate) arguments: Vec<String>,
    /// If the suite selects the scenarios, those that it must have run.
    pub(crate) scenarios: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Server,
    /// With the revision to speak.
    Client,
    /// Without a revision.
    FindingClient,
}

/// A scenario, and the revisions that it applies to; empty for an extension's scenario.
struct Scenario {
    name: String,
    revisions: Vec<String>,
}

/// Asks the suite for its scenarios, and returns all runs. Long runs come first.
pub(crate) fn runs(suite: &Suite) -> Result<Vec<Run>> {
    let server = scenarios(suite, Side::Server)?;
    let client = scenarios(suite, Side::Client)?;

    let mut runs: Vec<Run> = REQUIREMENTS
        .iter()
        .flat_map(|revision| [Side::Server, Side::Client].map(|side| required(side, revision)))
        .collect();
    let mut revisions: Vec<&String> = server.iter().flat_map(|s| &s.revisions).collect();
    revisions.sort_unstable_by(|a, b| b.cmp(a));
    revisions.dedup();
    runs.extend(revisions.into_iter().map(|revision| all(revision, &server)));
    let extensions = server
        .iter()
        .filter(|scenario| scenario.revisions.is_empty());
    runs.extend(extensions.map(|scenario| alone(Side::Server, &scenario.name, None)));
    for Scenario { name, revisions } in &client {
        if revisions.is_empty() {
            // The suite tells clients to speak 2025-11-25 here, which has no extensions. Skills need one that has.
            let side = match name.starts_with("sep-2640-") {
                true => Side::FindingClient,
                false => Side::Client,
            };
            runs.push(alone(side, name, None));
        }
        for revision in revisions {
            runs.push(alone(Side::Client, name, Some(revision)));
            runs.push(found(name, revision));
        }
    }
    Ok(runs)
}

impl Side {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::Client | Self::FindingClient => "client",
        }
    }
}

fn required(side: Side, revision: &str) -> Run {
    let title = format!("{}, what {revision} requires", side.name());
    Run {
        group: title.clone(),
        title,
        side,
        arguments: vec!["--requirements".into(), revision.into()],
        scenarios: Vec::new(),
    }
}

fn all(revision: &str, scenarios: &[Scenario]) -> Run {
    let applies = |scenario: &&Scenario| scenario.revisions.iter().any(|its| its == revision);
    let title = format!("server, all of {revision}");
    Run {
        group: title.clone(),
        title,
        side: Side::Server,
        arguments: ["--suite", "all", "--spec-version", revision]
            .map(str::to_owned)
            .into(),
        scenarios: scenarios
            .iter()
            .filter(applies)
            .map(|scenario| scenario.name.clone())
            .collect(),
    }
}

/// A run with a single scenario. Alone, it fails if the client under test fails.
fn alone(side: Side, scenario: &str, revision: Option<&String>) -> Run {
    let mut title = format!("{}, {scenario}", side.name());
    let of = revision.map_or("the extensions", String::as_str);
    let group = format!("{}, all of {of}", side.name());
    let mut arguments = vec!["--scenario".to_owned(), scenario.to_owned()];
    if let Some(revision) = revision {
        title.push_str(&format!(" of {revision}"));
        arguments.extend(["--spec-version".to_owned(), revision.clone()]);
    }
    Run {
        title,
        group,
        side,
        arguments,
        scenarios: vec![scenario.to_owned()],
    }
}

/// A run with a single scenario whose client negotiates the revision.
fn found(scenario: &str, revision: &String) -> Run {
    let told = alone(Side::Client, scenario, Some(revision));
    Run {
        title: format!("{}, found", told.title),
        group: format!("{}, found", told.group),
        side: Side::FindingClient,
        ..told
    }
}

/// Parses the suite's list: `  - tools-list [2025-06-18,2025-11-25]`.
fn scenarios(suite: &Suite, side: Side) -> Result<Vec<Scenario>> {
    let list = format!("--{}", side.name());
    let output = suite.command().args(["list", &list]).output()?;
    let text = String::from_utf8(output.stdout)?;
    let scenarios: Vec<Scenario> = text.lines().filter_map(scenario).collect();
    if scenarios.is_empty() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("the suite lists no scenarios: {text}{said}").into());
    }
    Ok(scenarios)
}

fn scenario(line: &str) -> Option<Scenario> {
    let (name, revisions) = line.trim().strip_prefix("- ")?.split_once(" [")?;
    let revisions = revisions.strip_suffix(']')?.split(',');
    let dated = revisions.filter(|revision| revision.starts_with("20"));
    Some(Scenario {
        name: name.to_owned(),
        revisions: dated.map(str::to_owned).collect(),
    })
}
