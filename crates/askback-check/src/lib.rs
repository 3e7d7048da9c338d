//! Checks an MCP server from outside: why it cannot be used, and which rules it breaks.
//!
//! [`check`] first takes the steps of a normal client, with our client. Then it sends messages that
//! no client would send, and judges the responses by the [rules]. It calls only tools that change
//! nothing, and tools that the user named.
//!
//! Numbers and lengths come from servers, so arithmetic saturates.

#![warn(clippy::arithmetic_side_effects)]
#![expect(
    missing_docs,
    reason = "the items are for the command, and most names say what they are"
)]

mod ledger;
mod listed;
pub mod probe;
pub mod report;
pub mod rules;
mod steps;
mod trials;

use std::collections::BTreeSet;

use askback::{Revision, internal::revision::Era};
use askback_host::{
    text::{Words, given},
    words,
};
use serde_json::{Map, Value, json};

pub use ledger::Measure;
pub use steps::program::{Program, find_program};

use self::{
    probe::{Bounds, Way},
    report::Report,
    trials::Trials,
};

#[derive(Debug, Clone, PartialEq)]
pub struct NamedTool {
    pub name: String,
    pub arguments: Map<String, Value>,
}

#[derive(Debug, Default)]
pub struct Scope {
    /// Whether to stop after the steps, without the trials.
    pub is_quick: bool,
    /// The only revision to try. `None` means all that the server speaks.
    pub only: Option<Revision>,
    pub tools: Vec<NamedTool>,
}

/// A name from the user that the server does not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UnknownName {
    /// The server speaks these revisions, but not the requested one.
    Revision(BTreeSet<Revision>),
    Tool {
        name: String,
        listed: BTreeSet<String>,
    },
}

/// Checks a server. `tell` receives progress messages. If the future is dropped, the report has what
/// was found so far.
///
/// # Errors
///
/// If the server does not have something that `scope` names.
pub async fn check(
    way: &Way,
    bounds: &Bounds,
    scope: &Scope,
    tell: impl Fn(Words),
    report: &mut Report,
) -> Result<(), UnknownName> {
    steps::take(way, bounds, scope.only, report).await;
    if scope.is_quick || !report.is_answering {
        return Ok(());
    }
    let spoken = spoken(way, bounds, &tell).await;
    if spoken.is_empty() {
        return Ok(());
    }
    let tried = match scope.only {
        Some(only) if spoken.contains(&only) => BTreeSet::from([only]),
        Some(_) => return Err(UnknownName::Revision(spoken)),
        None => spoken.clone(),
    };
    // Set before the trials, because the trials may be interrupted.
    (report.spoken, report.tried) = (spoken.clone(), tried.clone());
    let mut trials = Trials {
        way,
        bounds,
        spoken: &spoken,
        scope,
        ledger: &mut report.ledger,
    };
    trials.find_tools(&tried).await?;
    // A server at an address may crash on bytes that are not a message.
    for is_harsh in [false, true] {
        for &revision in tried.iter().rev() {
            if bounds.patience.lost().is_some() {
                break;
            }
            trials.ledger.revision = revision;
            if is_harsh {
                trials.no_json().await;
            } else {
                tell(words!("Trying {}…", given(revision)));
                trials.run().await;
            }
        }
    }
    report.lost = bounds.patience.lost();
    Ok(())
}

async fn spoken(way: &Way, bounds: &Bounds, tell: &impl Fn(Words)) -> BTreeSet<Revision> {
    let mut spoken = BTreeSet::new();
    for revision in Revision::ALL.into_iter().rev() {
        tell(words!("Asking for {}…", given(revision)));
        let Ok(mut probe) = way.open(bounds, revision, json!({})) else {
            break;
        };
        let reply = probe.greet().await;
        probe.close().await;
        let result = reply.result();
        let is_spoken = match revision.era() {
            Era::Modern => {
                let mut versions = result["supportedVersions"].as_array().into_iter().flatten();
                versions.any(|version| version == revision.as_str())
            }
            Era::Legacy => result["protocolVersion"] == revision.as_str(),
        };
        if is_spoken {
            spoken.insert(revision);
        }
        // A server that does not answer this handshake does not answer older ones.
        if reply.is_silent() && revision.era() == Era::Legacy {
            break;
        }
    }
    spoken
}
