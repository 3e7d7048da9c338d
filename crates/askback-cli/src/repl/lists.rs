//! The lists of a server, and their changes when it was started again.

use std::collections::BTreeMap;

use askback::client::{Client, ClientError};
use askback_host::{
    diff,
    model::Catalog,
    page::{Page, Style},
    text::PeerText,
    words,
};
use serde::Serialize;
use serde_json::Value;

/// The lists of a server that are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    /// All of them.
    All,
    /// The tools.
    Tools,
    /// The prompts.
    Prompts,
    /// The resources, and their templates.
    Resources,
}

/// The most names of one kind that are told.
const NAMES: usize = 20;

/// Lists what a server has of what is wanted; the other lists are empty.
///
/// # Errors
///
/// As all calls: see [`ClientError`].
pub(super) async fn read(client: &Client, wanted: Wanted) -> Result<Catalog, ClientError> {
    let mut catalog = Catalog::default();
    if matches!(wanted, Wanted::All | Wanted::Tools) {
        catalog.tools = client.tools().await?.items;
    }
    // Prompts and resources that are not declared are looked for only if the person wants them.
    let can = client.capabilities();
    let is_wanted =
        |kind: Wanted, is_declared| wanted == kind || wanted == Wanted::All && is_declared;
    if is_wanted(Wanted::Prompts, can.prompts.is_some()) {
        catalog.prompts = client.prompts().await?.items;
    }
    if is_wanted(Wanted::Resources, can.resources.is_some()) {
        catalog.resources = client.resources().await?.items;
        catalog.templates = client.resource_templates().await?.items;
    }
    Ok(catalog)
}

/// Puts on the page what is new, gone or another since.
pub(super) fn compare(before: &Catalog, now: &Catalog, page: &mut Page) {
    let mut same = true;
    let mut kind = |noun: &'static str, before: Vec<(&str, Value)>, now: Vec<(&str, Value)>| {
        same &= !changed(page, noun, &before, &now);
    };
    kind(
        "tool",
        named(&before.tools, |tool| &tool.name),
        named(&now.tools, |tool| &tool.name),
    );
    kind(
        "prompt",
        named(&before.prompts, |prompt| &prompt.name),
        named(&now.prompts, |prompt| &prompt.name),
    );
    kind(
        "resource",
        named(&before.resources, |resource| &resource.uri),
        named(&now.resources, |resource| &resource.uri),
    );
    kind(
        "template",
        named(&before.templates, |template| &template.uri_template),
        named(&now.templates, |template| &template.uri_template),
    );
    if same {
        page.note(Style::Dim, "It has the same as before.");
    }
}

fn named<T: Serialize>(all: &[T], name: impl Fn(&T) -> &str) -> Vec<(&str, Value)> {
    let named = all.iter().map(|one| {
        // Writing fails only for maps whose keys are no text.
        (name(one), serde_json::to_value(one).unwrap_or_default())
    });
    named.collect()
}

/// Puts on the page what changed of one kind. Returns whether anything did.
fn changed(
    page: &mut Page,
    noun: &'static str,
    before: &[(&str, Value)],
    now: &[(&str, Value)],
) -> bool {
    let mut told = 0_usize;
    let mut tell = |page: &mut Page, what: &'static str, name: &str| {
        told = told.saturating_add(1);
        if told <= NAMES {
            page.quote_line(words!("  {} {} ", what, noun), PeerText::from(name));
        }
        told <= NAMES
    };
    let was: BTreeMap<_, _> = before.iter().map(|(name, value)| (*name, value)).collect();
    let is: BTreeMap<_, _> = now.iter().map(|(name, value)| (*name, value)).collect();
    for (name, value) in now {
        match was.get(name) {
            None => {
                tell(page, "new", name);
            }
            Some(before) if *before != value => {
                if tell(page, "changed", name) {
                    diff::put_all(page, before, value);
                }
            }
            Some(_) => {}
        }
    }
    for (name, _) in before {
        if !is.contains_key(name) {
            tell(page, "gone", name);
        }
    }
    if told > NAMES {
        let more = told.saturating_sub(NAMES);
        page.note(Style::Dim, words!("more of that kind: {}", more));
    }
    told > 0
}
