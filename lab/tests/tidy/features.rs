//! Checks the features of askback: each must be in all lists of features, and must add something.

use std::collections::BTreeSet;

use crate::{Problem, assert_found, assert_none, tree::Tree};

const MANIFEST: &str = "crates/askback/Cargo.toml";

/// The rows with the items that each feature adds.
const ROWS: &str = "lab/features/src/lib.rs";

/// The features of the package with the rows.
const MIRROR: &str = "lab/features/Cargo.toml";

/// The script that builds each feature alone.
const SCRIPT: &str = "test";

/// Features that add no item, with what they enable instead.
const WITHOUT_ITEM: &[(&str, &str)] = &[
    // Converts errors.
    ("anyhow", "dep:anyhow"),
    // Checks schemas.
    ("json-schema", "dep:jsonschema"),
    // Checks patterns in the core.
    ("pattern", "askback-core/pattern"),
    // Builds SQLite.
    ("sqlite-bundled", "askback-sql/sqlite-bundled"),
];

fn unlisted(tree: &Tree, without_item: &[(&str, &str)]) -> Vec<Problem> {
    let mut problems = Vec::new();
    let get = |path: &str| tree.get(path).unwrap_or_default();
    let features = features(get(MANIFEST));
    let names: BTreeSet<&str> = features.iter().map(|(name, _)| *name).collect();
    let script = get(SCRIPT).lines();
    let built = script.filter_map(|line| line.strip_prefix("features=(")?.strip_suffix(')'));
    let lists = [
        (SCRIPT, built.flat_map(|it| it.split(' ')).collect()),
        (
            MIRROR,
            self::features(get(MIRROR))
                .iter()
                .map(|(name, _)| *name)
                .collect(),
        ),
    ];
    for (path, listed) in lists {
        let listed: BTreeSet<&str> = listed;
        let missing = names
            .difference(&listed)
            .map(|it| format!("{path} leaves out the feature {it}"));
        let unknown = listed
            .difference(&names)
            .map(|it| format!("{path} knows a feature {it}"));
        problems.extend(missing.chain(unknown));
    }
    for (name, enabled) in features {
        let has_row = get(ROWS).contains(&format!("with feature = \"{name}\";"));
        let builds = without_item.iter().find(|(feature, _)| *feature == name);
        match builds {
            None if !has_row => {
                problems.push(format!(
                    "{ROWS} has no row for what the feature {name} adds"
                ));
            }
            Some((_, built)) if !enabled.contains(built) => {
                problems.push(format!("the feature {name} does not enable {built}"));
            }
            _ => {}
        }
    }
    problems
}

fn features(manifest: &str) -> Vec<(&str, &str)> {
    let section = manifest.split("\n[features]\n").nth(1).unwrap_or_default();
    let section = section.split("\n[").next().unwrap_or_default();
    let entries = section
        .split("]\n")
        .filter_map(|entry| entry.split_once(" = ["));
    entries.filter(|(name, _)| *name != "default").collect()
}

#[test]
fn each_feature_adds_something() {
    assert_none(unlisted(&Tree::project(), WITHOUT_ITEM));

    let manifest = "[package]\n\n[features]\ndefault = [\"a\"]\na = []\nb = [\n    \"a\",\n]\nc = [\"dep:d\"]\n\n[dependencies]\nx = [1]\n";
    let mirror = "[package]\n\n[features]\na = [\"askback/a\"]\nb = [\"askback/b\"]\n";
    let bad = Tree::of([
        (MANIFEST, manifest),
        (MIRROR, mirror),
        (SCRIPT, "features=(a b c e)\n"),
        (ROWS, "a: A in askback, with feature = \"a\";"),
    ]);
    let wanted = [
        "test knows a feature e",
        "leaves out the feature c",
        "no row for what the feature b adds",
        "c does not enable dep:other",
    ];
    assert_found(&unlisted(&bad, &[("c", "dep:other")]), &wanted);
}
