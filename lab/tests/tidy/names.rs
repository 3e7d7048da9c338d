//! The names of public types: one for each, over all libraries.

use std::collections::BTreeMap;

use crate::{Problem, assert_found, assert_none, code::words, tree::Tree};

/// The crates whose types people meet, and whose names therefore may not be those of others.
const LIBRARIES: [&str; 5] = [
    "crates/askback-connect/src/",
    "crates/askback-core/src/",
    "crates/askback-oauth/src/",
    "crates/askback-requests/src/",
    "crates/askback/src/",
];

/// Names that two types have, with the reason.
const ACCEPTED: [&str; 7] = [
    // The protocol's type, in `protocol`; and the same with its handler.
    "Prompt",
    "Resource",
    "ResourceTemplate",
    "Tool",
    // The two engines of the core are alike, each in a module of its own. People meet neither.
    "Connection",
    "Output",
    "Profile",
];

fn doubles(tree: &Tree) -> Vec<Problem> {
    let mut places: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for (path, text) in tree.sources() {
        if !LIBRARIES.iter().any(|library| path.starts_with(library)) {
            continue;
        }
        for name in words(text).lines().filter_map(public_type) {
            places.entry(name.to_owned()).or_default().push(path);
        }
    }
    places.retain(|_, paths| paths.len() > 1);
    let unknown = places
        .iter()
        .filter(|(name, _)| !ACCEPTED.contains(&name.as_str()))
        .map(|(name, paths)| format!("two public types are called {name}: {}", paths.join(", ")));
    unknown.collect()
}

/// The name of the public type that a line declares.
fn public_type(line: &str) -> Option<&str> {
    let kinds = ["struct ", "enum ", "trait ", "type "];
    let rest = line.strip_prefix("pub ")?;
    let name = kinds.iter().find_map(|kind| rest.strip_prefix(kind))?;
    let end = name.find(|c: char| !c.is_alphanumeric() && c != '_');
    Some(&name[..end.unwrap_or(name.len())])
}

#[test]
fn public_types_have_names_of_their_own() {
    assert_none(doubles(&Tree::project()));

    let bad = Tree::of([
        (
            "crates/askback-core/src/lib.rs",
            "pub struct Key(u8);\npub enum Tool {}\npub(crate) struct Own;\n",
        ),
        (
            "crates/askback/src/lib.rs",
            "pub type Key = u8;\npub trait Tool {}\npub(crate) struct Own;\n// pub struct Own;\n",
        ),
        ("crates/askback-cli/src/lib.rs", "pub struct Own;\n"),
    ]);
    assert_found(&doubles(&bad), &["two public types are called Key"]);
}

#[test]
fn an_accepted_double_is_still_one() {
    let tree = Tree::project();
    let declared: Vec<_> = tree
        .sources()
        .filter(|(path, _)| LIBRARIES.iter().any(|library| path.starts_with(library)))
        .flat_map(|(_, text)| {
            let text = words(text);
            let names = text.lines().filter_map(public_type).map(str::to_owned);
            names.collect::<Vec<_>>()
        })
        .collect();
    let single = |name: &&str| declared.iter().filter(|known| known == name).count() < 2;
    let stale: Vec<_> = ACCEPTED.iter().copied().filter(single).collect();
    assert!(stale.is_empty(), "no longer doubles: {stale:?}");
}
