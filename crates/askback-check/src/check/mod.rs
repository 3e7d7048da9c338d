//! Trying a server by the requirements that can be seen from outside (`askback check`).
//!
//! Each trial sends what a client would not, looks at what comes, and notes in the [`Ledger`] which
//! [rules](rules::Rule) were kept. No tool is called that may change something, unless the person
//! named it.

pub mod attempt;
mod ledger;
pub mod measure;
mod named;
pub mod report;
pub mod rules;
mod trials;

use std::{collections::BTreeSet, time::Duration};

use askback_core::revision::{Era, Revision};
use serde_json::{Map, Value};

pub use ledger::{Departure, Finding, Ledger};

use self::{attempt::Attempt, measure::Measure, trials::Trials};
use crate::probe::{Bounds, End, Exchange, Lost, Probe, Way};

/// A tool that may be called.
#[derive(Debug, Clone, PartialEq)]
pub struct NamedTool {
    /// Its name.
    pub name: String,
    /// The arguments.
    pub arguments: Map<String, Value>,
}

/// A server that is tried.
#[derive(Debug)]
pub struct Checked {
    /// The revisions it speaks.
    pub spoken: BTreeSet<Revision>,
    /// Those it was tried in.
    pub tried: BTreeSet<Revision>,
    /// The verdicts.
    pub ledger: Ledger,
    /// Why it was not tried to the end.
    pub lost: Option<Lost>,
}

/// A stage of a check, of which the person is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// The server is asked whether it speaks a revision.
    Asking(Revision),
    /// The server is tried in a revision.
    Trying(Revision),
}

/// The rounds of trials. A server at an address may not outlive the second.
#[derive(Debug, Clone, Copy)]
enum Round {
    /// Messages that can be read.
    Mild,
    /// Bytes that cannot.
    Harsh,
}

/// Why a server could not be tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unchecked {
    /// It could not be started.
    Unstarted(String),
    /// It could not be reached, or said nothing that can be understood.
    Unreached(String),
    /// It speaks these revisions, and not the one that was wanted.
    Unspoken(BTreeSet<Revision>),
    /// It wants the client to be authorized.
    Unauthorized,
    /// It does not list a tool that the person named.
    Unlisted {
        /// The name of that tool.
        name: String,
        /// The names of those that it lists.
        listed: BTreeSet<String>,
    },
}

/// The scope of a check, beside the server.
#[derive(Debug, Default)]
pub struct Scope {
    /// The one revision to try; else all that the server speaks.
    pub only: Option<Revision>,
    /// The tools that the person named.
    pub tools: Vec<NamedTool>,
    /// The same server, as another principal reaches it.
    pub other: Option<Way>,
    /// How long a state is kept until it should have lapsed.
    pub lapse: Option<Duration>,
}

/// The words of a person on a server whose call is made again.
#[derive(Debug, Clone, Copy, Default)]
pub struct Known<'a> {
    /// The same server, as another principal reaches it.
    pub other: Option<&'a Way>,
    /// How long a state is kept until it should have lapsed.
    pub lapse: Option<Duration>,
    /// The forms that were agreed to in the last call, after each of which it asked again.
    pub agreed: &'a [Agreed],
}

/// A form that the person filled in.
#[derive(Debug, Clone, PartialEq)]
pub struct Agreed {
    /// The question, as the server asked it.
    pub question: Value,
    /// The answer, as it was sent.
    pub answer: Value,
}

/// Why nothing was tried with a call: it asked nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unasked {
    /// No conversation could be begun.
    Unbegun,
    /// The server went away during the call.
    Gone,
    /// The server did not answer in time.
    Silent,
    /// The call ended.
    Ended,
}

impl Unasked {
    /// The reason for a call that came to this.
    fn of(call: &Exchange) -> Self {
        match &call.reply.end {
            // Over HTTP, the response may have begun before.
            End::Closed(_) => Self::Gone,
            End::Silent(_) => Self::Silent,
            End::Done | End::Unreachable(_) | End::TooMuch => Self::Ended,
        }
    }
}

/// Tries a server in the revisions it speaks, or in one alone.
///
/// # Errors
///
/// [`Unchecked`].
pub async fn check(
    way: &Way,
    bounds: &Bounds,
    scope: &Scope,
    tell: impl Fn(Stage),
) -> Result<Checked, Unchecked> {
    let spoken = spoken(way, bounds, &tell).await?;
    let tried: BTreeSet<Revision> = match scope.only {
        Some(only) if spoken.contains(&only) => BTreeSet::from([only]),
        Some(_) => return Err(Unchecked::Unspoken(spoken)),
        None => spoken.clone(),
    };
    named::find(&scope.tools, way, bounds, &tried).await?;
    let mut ledger = Ledger::new(way.is_http());
    for round in [Round::Mild, Round::Harsh] {
        for &revision in tried.iter().rev() {
            ledger.turn_to(revision);
            let mut trials = Trials {
                way,
                bounds,
                revision,
                spoken: &spoken,
                tools: &scope.tools,
                other: scope.other.as_ref(),
                lapse: scope.lapse,
                agreed: &[],
                ledger: &mut ledger,
                attempts: Vec::new(),
            };
            match round {
                _ if bounds.patience.lost().is_some() => {}
                Round::Mild => {
                    tell(Stage::Trying(revision));
                    trials.run().await;
                }
                Round::Harsh => trials.run_harsh().await,
            }
        }
    }
    Ok(Checked {
        spoken,
        tried,
        ledger,
        lost: bounds.patience.lost(),
    })
}

impl Checked {
    /// Whether a requirement that counts is broken, or the server went away or answered no more.
    pub fn is_broken(&self, measure: &Measure) -> bool {
        self.ledger.is_broken(measure) || matches!(self.lost, Some(Lost::Deaf(..)))
    }
}

/// Makes one call again in all ways in which a client would not, with every question declined.
///
/// # Errors
///
/// [`Unasked`].
pub async fn trouble(
    way: &Way,
    bounds: &Bounds,
    revision: Revision,
    tool: &NamedTool,
    known: Known<'_>,
) -> Result<Vec<Attempt>, Unasked> {
    let mut ledger = Ledger::new(way.is_http());
    ledger.turn_to(revision);
    let spoken = BTreeSet::from([revision]);
    let mut trials = Trials {
        way,
        bounds,
        revision,
        spoken: &spoken,
        tools: std::slice::from_ref(tool),
        other: known.other,
        lapse: known.lapse,
        agreed: known.agreed,
        ledger: &mut ledger,
        attempts: Vec::new(),
    };
    match revision.era() {
        Era::Modern => trials.rounds_of(tool).await?,
        Era::Legacy => trials.answers_of(tool).await?,
    }
    Ok(trials.attempts)
}

/// Finds the revisions that a server speaks.
async fn spoken(
    way: &Way,
    bounds: &Bounds,
    tell: &impl Fn(Stage),
) -> Result<BTreeSet<Revision>, Unchecked> {
    let mut spoken = BTreeSet::new();
    let mut why = None;
    for revision in Revision::ALL.into_iter().rev() {
        tell(Stage::Asking(revision));
        let opened = way.open(bounds, revision);
        let mut probe = opened.map_err(|error| Unchecked::Unstarted(error.to_string()))?;
        let seen = greet(&mut probe).await;
        let closed = probe.close().await;
        let is_silent = seen.reply.is_silent();
        match seen.reply.end {
            End::Unreachable(why) => return Err(Unchecked::Unreached(why)),
            _ if seen.reply.status == Some(401) => return Err(Unchecked::Unauthorized),
            _ if speaks(revision, &seen.reply) => {
                spoken.insert(revision);
            }
            _ => {
                let mut said = vec![seen.reply.shown()];
                said.extend(closed.stderr);
                why.get_or_insert(said.join("\n"));
            }
        }
        // A server that does not answer this handshake answers none of those before it.
        if is_silent && revision.era() == Era::Legacy {
            break;
        }
    }
    match spoken.is_empty() {
        true => Err(Unchecked::Unreached(why.unwrap_or_default())),
        false => Ok(spoken),
    }
}

/// Sends what a conversation in the revision of this probe begins with.
pub async fn greet(probe: &mut Probe) -> Exchange {
    match probe.revision().era() {
        Era::Modern => {
            probe
                .ask("server/discover", Value::Object(Map::new()))
                .await
        }
        Era::Legacy => probe.initialize(probe.revision().as_str()).await,
    }
}

/// Whether this answer to a greeting says that the server speaks a revision.
pub fn speaks(revision: Revision, reply: &crate::probe::Reply) -> bool {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::Reply;

    #[test]
    fn a_call_that_asked_nothing_may_have_been_cut() {
        #[track_caller]
        fn check(status: Option<u16>, end: End, why: Unasked) {
            let reply = Reply {
                status,
                end,
                ..Reply::default()
            };
            let shown = String::new();
            assert_eq!(Unasked::of(&Exchange { shown, reply }), why);
        }
        let closed = || End::Closed(String::new());
        check(None, closed(), Unasked::Gone);
        check(Some(200), closed(), Unasked::Gone);
        check(Some(200), End::Silent(Duration::ZERO), Unasked::Silent);
        check(Some(200), End::Done, Unasked::Ended);
    }
}
