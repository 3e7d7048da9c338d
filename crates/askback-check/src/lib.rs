//! Looks at an MCP server from outside: why it cannot be used, and what it does wrong.
//!
//! [`check`] takes the [steps](report::Step) that a client takes, with our client. Then it sends what a client would not, and
//! judges what comes by the [rules]. It calls no tool that may change something, unless the user named it.
//!
//! Numbers and lengths come from servers, so arithmetic names what happens to the largest: it saturates.

#![warn(clippy::arithmetic_side_effects)]

pub mod ledger;
mod listed;
pub mod probe;
mod program;
pub mod report;
pub mod rules;
mod steps;
mod trials;

use std::{collections::BTreeSet, time::Duration};

use askback::Revision;
use askback_core::revision::Era;
use serde_json::{Map, Value, json};

pub use program::{Program, ShownProgram};

use self::{
    probe::{Bounds, Exchange, PAGES, Probe, Reply, Way},
    report::Report,
    trials::{Trials, asked_everything},
};

/// A tool that may be called.
#[derive(Debug, Clone, PartialEq)]
pub struct NamedTool {
    /// Its name.
    pub name: String,
    /// The arguments.
    pub arguments: Map<String, Value>,
}

/// A stage of a check, for progress messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// The server is asked whether it speaks a revision.
    Asking(Revision),
    /// The server is tried in a revision.
    Trying(Revision),
}

/// The scope of a check.
#[derive(Debug, Default)]
pub struct Scope {
    /// Whether only the steps are taken.
    pub is_quick: bool,
    /// The one revision to try; otherwise all that the server speaks.
    pub only: Option<Revision>,
    /// The tools that the user named.
    pub tools: Vec<NamedTool>,
    /// The same server, as another principal reaches it.
    pub other: Option<Way>,
    /// After what time a state should have lapsed.
    pub lapse: Option<Duration>,
}

/// A name from the user that the server does not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Misnamed {
    /// The server speaks these revisions, and not the one that was wanted.
    Revision(BTreeSet<Revision>),
    /// The server does not list a tool.
    Tool {
        /// The name of the tool.
        name: String,
        /// The names of the tools that it lists.
        listed: BTreeSet<String>,
    },
}

/// Checks a server.
///
/// # Errors
///
/// If the server does not have what `scope` names.
pub async fn check(
    way: &Way,
    bounds: &Bounds,
    scope: &Scope,
    tell: impl Fn(Stage),
) -> Result<Report, Misnamed> {
    let mut report = Report::new(way.is_http());
    steps::take(way, bounds, scope.only, &mut report).await;
    if scope.is_quick || !report.is_answering {
        return Ok(report);
    }
    let spoken = spoken(way, bounds, &tell, &mut report.claims).await;
    if spoken.is_empty() {
        return Ok(report);
    }
    let tried = match scope.only {
        Some(only) if spoken.contains(&only) => BTreeSet::from([only]),
        Some(_) => return Err(Misnamed::Revision(spoken)),
        None => spoken.clone(),
    };
    find(&scope.tools, way, bounds, &tried).await?;
    // A server at an address may not outlive bytes that are no message.
    for is_harsh in [false, true] {
        for &revision in tried.iter().rev() {
            report.ledger.turn_to(revision);
            let mut trials = Trials {
                way,
                bounds,
                revision,
                spoken: &spoken,
                scope,
                ledger: &mut report.ledger,
            };
            match is_harsh {
                _ if bounds.patience.lost().is_some() => {}
                true => trials.run_harsh().await,
                false => {
                    tell(Stage::Trying(revision));
                    trials.run().await;
                }
            }
        }
    }
    report.lost = bounds.patience.lost();
    (report.spoken, report.tried) = (spoken, tried);
    Ok(report)
}

/// Finds the revisions that a server speaks, and its name and version in a handshake if they are not known.
async fn spoken(
    way: &Way,
    bounds: &Bounds,
    tell: &impl Fn(Stage),
    claims: &mut Option<String>,
) -> BTreeSet<Revision> {
    let mut spoken = BTreeSet::new();
    for revision in Revision::ALL.into_iter().rev() {
        tell(Stage::Asking(revision));
        let Ok(mut probe) = way.open(bounds, revision) else {
            break;
        };
        let reply = greet(&mut probe).await.reply;
        probe.close().await;
        if speaks(revision, &reply) {
            spoken.insert(revision);
            let server = reply.result().map(|result| &result["serverInfo"]);
            let server =
                server.and_then(|it| Some((it["name"].as_str()?, it["version"].as_str()?)));
            *claims = claims
                .take()
                .or(server.map(|(name, version)| format!("{name} {version}")));
        }
        // A server that does not answer this handshake answers none of those before it.
        if reply.is_silent() && revision.era() == Era::Legacy {
            break;
        }
    }
    spoken
}

/// Sends what a conversation in the revision of this probe begins with.
pub async fn greet(probe: &mut Probe) -> Exchange {
    match probe.revision().era() {
        Era::Modern => probe.ask("server/discover", json!({})).await,
        Era::Legacy => probe.initialize(probe.revision().as_str()).await,
    }
}

/// Whether this answer to a greeting says that the server speaks a revision.
fn speaks(revision: Revision, reply: &Reply) -> bool {
    let Some(result) = reply.result() else {
        return false;
    };
    let is_it = |version: &Value| version.as_str() == Some(revision.as_str());
    match revision.era() {
        Era::Modern => {
            let mut versions = result["supportedVersions"].as_array().into_iter().flatten();
            versions.any(is_it)
        }
        Era::Legacy => is_it(&result["protocolVersion"]),
    }
}

/// Checks that the server lists each of these tools in some revision. A list that cannot be read to its end may hold any.
async fn find(
    tools: &[NamedTool],
    way: &Way,
    bounds: &Bounds,
    revisions: &BTreeSet<Revision>,
) -> Result<(), Misnamed> {
    let mut listed = BTreeSet::new();
    let mut revisions = revisions.iter().rev();
    while let Some(missing) = tools.iter().find(|tool| !listed.contains(&tool.name)) {
        let Some(revision) = revisions.next() else {
            let name = missing.name.clone();
            return Err(Misnamed::Tool { name, listed });
        };
        let Some(names) = tool_names(way, bounds, *revision).await else {
            break;
        };
        listed.extend(names);
    }
    Ok(())
}

/// The names of the tools that a server lists in a revision; `None` if they cannot be read.
async fn tool_names(way: &Way, bounds: &Bounds, revision: Revision) -> Option<Vec<String>> {
    let mut probe = way.open(bounds, revision).ok()?;
    // Some servers list a tool that asks only to a client that can be asked.
    probe.set_capabilities(asked_everything());
    let greeting = greet(&mut probe).await;
    let declares = greeting.reply.result()?["capabilities"]["tools"].is_object();
    if revision.era() == Era::Legacy {
        probe.initialized().await;
    }
    let (mut names, mut all) = (Vec::new(), None);
    let mut params = json!({});
    for _ in 0..PAGES {
        let seen = probe.ask("tools/list", params).await;
        let page = seen.reply.result();
        let Some(tools) = page.and_then(|page| page["tools"].as_array()) else {
            all = (!declares).then(Vec::new);
            break;
        };
        let tools = tools.iter().filter_map(|tool| tool["name"].as_str());
        names.extend(tools.map(str::to_owned));
        match page.and_then(|page| page["nextCursor"].as_str()) {
            Some(next) => params = json!({"cursor": next}),
            None => {
                all = Some(names);
                break;
            }
        }
    }
    probe.close().await;
    all
}
