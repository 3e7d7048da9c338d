//! The tools that a person named, beside those that the server lists.

use std::collections::BTreeSet;

use askback_core::revision::{Era, Revision};
use serde_json::json;

use super::{NamedTool, Unchecked, greet, trials::asked_everything};
use crate::probe::{Bounds, PAGES, Probe, Way};

/// Looks whether the server lists each of these tools in one of its revisions. Where a list cannot be read to its end, it
/// may hold any.
///
/// # Errors
///
/// [`Unchecked::Unlisted`].
pub(super) async fn find(
    tools: &[NamedTool],
    way: &Way,
    bounds: &Bounds,
    revisions: &BTreeSet<Revision>,
) -> Result<(), Unchecked> {
    let mut listed = BTreeSet::new();
    let mut revisions = revisions.iter().rev();
    while let Some(missing) = tools.iter().find(|tool| !listed.contains(&tool.name)) {
        let Some(revision) = revisions.next() else {
            return Err(Unchecked::Unlisted {
                name: missing.name.clone(),
                listed,
            });
        };
        let Some(names) = names(way, bounds, *revision).await else {
            break;
        };
        listed.extend(names);
    }
    Ok(())
}

/// The names of the tools that a server lists in a revision; none where they cannot be read.
async fn names(way: &Way, bounds: &Bounds, revision: Revision) -> Option<Vec<String>> {
    let mut probe = way.open(bounds, revision).ok()?;
    // Some servers list a tool that asks only to a client that can be asked.
    probe.set_capabilities(asked_everything());
    let greeting = greet(&mut probe).await;
    let declares = greeting.reply.result()?["capabilities"]["tools"].is_object();
    if revision.era() == Era::Legacy {
        probe.initialized().await;
    }
    let names = pages(&mut probe).await;
    probe.close().await;
    names.or_else(|| (!declares).then(Vec::new))
}

async fn pages(probe: &mut Probe) -> Option<Vec<String>> {
    let mut names = Vec::new();
    let mut params = json!({});
    for _ in 0..PAGES {
        let seen = probe.ask("tools/list", params).await;
        let result = seen.reply.result()?;
        let tools = result["tools"].as_array()?.iter();
        names.extend(tools.filter_map(|tool| tool["name"].as_str().map(str::to_owned)));
        match result["nextCursor"].as_str() {
            Some(next) => params = json!({"cursor": next}),
            None => return Some(names),
        }
    }
    None
}
