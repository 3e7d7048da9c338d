//! What is run: everything the suite has, but for what askback does not do.

use crate::{Result, suite::Suite};

/// The revisions of which the suite knows what must pass.
const REQUIREMENTS: [&str; 2] = ["2025-11-25", "2026-07-28"];

/// The features that askback does not have, by the beginnings of the scenarios' names.
const LEFT_OUT: [(&str, &str); 1] = [("sep-2640-", "askback has no skills")];

/// The runs, and the scenarios that are left out.
pub(crate) struct Plan {
    pub(crate) runs: Vec<Run>,
    /// Which scenarios are not run, and why.
    pub(crate) left_out: Vec<String>,
}

/// One call of the suite.
pub(crate) struct Run {
    /// Its title; no other has the same.
    pub(crate) title: String,
    /// With which others it is counted.
    pub(crate) group: String,
    pub(crate) side: Side,
    /// Which scenarios the suite is told to run.
    pub(crate) arguments: Vec<String>,
    /// The scenarios that must have been run, where the suite chooses.
    pub(crate) scenarios: Vec<String>,
}

/// The party under test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Server,
    /// Told which revision to speak.
    Client,
    /// Told nothing.
    FindingClient,
}

/// A scenario, and the revisions it applies to; none for one of an extension.
struct Scenario {
    name: String,
    revisions: Vec<String>,
}

impl Plan {
    /// Asks the suite what it has. The long runs come first.
    pub(crate) fn of(suite: &Suite) -> Result<Self> {
        let (server, mut left_out) = wanted(suite, Side::Server)?;
        let (client, more) = wanted(suite, Side::Client)?;
        left_out.extend(more);

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
                runs.push(alone(Side::Client, name, None));
            }
            for revision in revisions {
                runs.push(alone(Side::Client, name, Some(revision)));
                runs.push(found(name, revision));
            }
        }
        Ok(Self { runs, left_out })
    }
}

impl Side {
    /// The suite's word for it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::Client | Self::FindingClient => "client",
        }
    }
}

/// The requirements of a revision, as the suite's authors froze them.
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

/// All that applies to a revision, over its wire.
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

/// One scenario. Run alone, it fails where the client under test does.
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

/// One scenario with a client that finds the revision by itself.
fn found(scenario: &str, revision: &String) -> Run {
    let told = alone(Side::Client, scenario, Some(revision));
    Run {
        title: format!("{}, found", told.title),
        group: format!("{}, found", told.group),
        side: Side::FindingClient,
        ..told
    }
}

/// The scenarios of a side that are run, and a line for each reason not to run others.
fn wanted(suite: &Suite, side: Side) -> Result<(Vec<Scenario>, Vec<String>)> {
    let mut scenarios = scenarios(suite, side)?;
    let mut left_out = Vec::new();
    for (beginning, why) in LEFT_OUT {
        let before = scenarios.len();
        scenarios.retain(|scenario| !scenario.name.starts_with(beginning));
        match before - scenarios.len() {
            0 => {}
            number => {
                let side = side.name();
                left_out.push(format!("{number} {side} scenarios {beginning}…: {why}"));
            }
        }
    }
    Ok((scenarios, left_out))
}

/// The list of the suite: `  - tools-list [2025-06-18,2025-11-25]`.
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
