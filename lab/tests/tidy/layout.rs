//! Checks that every Rust file is part of a crate.

use std::collections::BTreeSet;

use crate::{Problem, assert_found, assert_none, tree::Tree};

/// Finds Rust files that no `mod` refers to, in sources and tests.
fn forgotten(tree: &Tree) -> Vec<Problem> {
    let rust = |path: &str| {
        let cargo_finds_it = path.contains("/examples/") || path.contains("/fuzz_targets/");
        // trybuild reads these one by one.
        let compiled_by_a_test = path.contains("/compile_fail/");
        path.ends_with(".rs") && !cargo_finds_it && !compiled_by_a_test
    };
    let files: BTreeSet<&str> = tree
        .files()
        .map(|(path, _)| path)
        .filter(|p| rust(p))
        .collect();
    let is_root = |path: &str| {
        let is_program = path.contains("/src/bin/");
        let is_package = path.ends_with("/src/lib.rs") || path.ends_with("/src/main.rs");
        is_package || is_program || is_test_root(path)
    };
    let mut reached: BTreeSet<String> = BTreeSet::new();
    let mut open: Vec<String> = files
        .iter()
        .filter(|p| is_root(p))
        .map(|p| (*p).into())
        .collect();
    while let Some(path) = open.pop() {
        let text = tree.get(&path).unwrap_or_default();
        let home = home(&path);
        for module in declared(text) {
            let places = [
                format!("{home}/{module}.rs"),
                format!("{home}/{module}/mod.rs"),
            ];
            open.extend(
                places
                    .into_iter()
                    .filter(|place| files.contains(place.as_str())),
            );
        }
        reached.insert(path);
    }
    let missed = files.iter().filter(|path| !reached.contains(**path));
    missed
        .map(|path| format!("{path}: no `mod` leads to it"))
        .collect()
}

/// Whether this is `tests/name/main.rs`, the only kind of integration test, with one binary per package, or the same in
/// `benches`.
fn is_test_root(path: &str) -> bool {
    let mut names = path.rsplit('/');
    let is_main = names.next() == Some("main.rs");
    is_main && matches!(names.nth(1), Some("benches" | "tests"))
}

fn home(path: &str) -> &str {
    let directory = path.rsplit_once('/').map_or("", |(directory, _)| directory);
    let is_top = ["/lib.rs", "/main.rs", "/mod.rs"]
        .iter()
        .any(|name| path.ends_with(name));
    if is_top {
        directory
    } else {
        path.trim_end_matches(".rs")
    }
}

/// Returns the modules that a file declares without a body, including test modules.
fn declared(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| {
        let (before, module) = line.split_once("mod ")?;
        let visible = matches!(before.trim(), "" | "pub" | "pub(crate)" | "pub(super)");
        module.strip_suffix(';').filter(|_| visible)
    })
}

#[test]
fn no_file_is_forgotten() {
    assert_none(forgotten(&Tree::project()));

    let bad = Tree::of([
        (
            "crates/a/src/lib.rs",
            "mod b;\npub mod c;\nmod d { }\n// mod e;",
        ),
        ("crates/a/src/b.rs", "mod inner;"),
        ("crates/a/src/b/inner.rs", ""),
        ("crates/a/src/c/mod.rs", "mod inner;"),
        ("crates/a/src/c/inner.rs", ""),
        ("crates/a/src/d.rs", ""),
        ("crates/a/src/e.rs", ""),
        ("crates/a/src/bin/f.rs", ""),
        ("crates/a/benches/a/main.rs", ""),
        ("crates/a/tests/a/main.rs", "mod b;"),
        ("crates/a/tests/a/b.rs", ""),
        ("crates/a/tests/a/lost.rs", ""),
        ("crates/a/tests/alone.rs", ""),
        ("crates/a/tests/compile_fail/x.rs", ""),
    ]);
    let wanted = ["src/d.rs", "src/e.rs", "a/lost.rs", "tests/alone.rs"];
    assert_found(&forgotten(&bad), &wanted);
}
