//! Checks documents: everything they name must exist, and they must be linked.

use std::collections::{BTreeMap, BTreeSet};

use crate::{Problem, assert_found, assert_none, tree::Tree};

const GUIDE: &str = "docs/guide/";
const SUMMARY: &str = "docs/SUMMARY.md";
const FEATURES: &str = "docs/guide/features.md";
const MANIFEST: &str = "crates/askback/Cargo.toml";
const TUTORIAL: &str = "docs/guide/tutorial.md";
const TUTORIAL_PROGRAM: &str = "lab/tests/tutorial/main.rs";

/// Finds broken links in Markdown files, except links to the web.
fn links(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (path, text) in tree.files().filter(|(path, _)| path.ends_with(".md")) {
        for target in targets(text).filter(|target| !target.contains("://")) {
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            let found = if file.is_empty() {
                path.to_owned()
            } else {
                resolve(path, file)
            };
            if !tree.has(&found) {
                problems.push(format!("{path}: the link to {target} leads nowhere"));
            } else if !anchor.is_empty() && !has_heading(tree.get(&found), anchor) {
                problems.push(format!("{path}: {found} has no heading for {target}"));
            }
        }
    }
    problems
}

/// Finds paths in backticks that do not exist. A path begins like a path of the project, or ends with one of its file
/// extensions. Below a heading with a folder, the first cell of a row is a path in that folder. Elsewhere, the end of a
/// path is enough.
fn paths(tree: &Tree, document: &str) -> Vec<Problem> {
    let text = tree.get(document).unwrap_or_default();
    let tops: Vec<&str> = tree
        .files()
        .filter_map(|(path, _)| Some(path.split_once('/')?.0))
        .collect();
    let is_path = |word: &&str| {
        let top = word.split('/').next().unwrap_or_default();
        let named = word.contains('/') && tops.contains(&top);
        let kind = [".md", ".rs", ".toml"]
            .iter()
            .any(|kind| word.ends_with(kind));
        !word.contains([' ', '<', '*']) && (named || kind)
    };
    let ends = |word: &str| {
        let end = format!("/{word}");
        tree.files().any(|(path, _)| path.ends_with(&end))
    };
    let mut folder = None;
    let mut problems = Vec::new();
    for line in prose(text) {
        if line.starts_with('#') {
            folder = line.split('`').nth(1);
        }
        let row = folder.zip(line.strip_prefix("| "));
        if let Some((folder, (cell, _))) =
            row.and_then(|(at, row)| Some((at, row.split_once(" | ")?)))
        {
            let inside = cell.split('`').skip(1).step_by(2);
            let missing = inside.filter(|path| !tree.has(&format!("{folder}{path}")));
            problems.extend(missing.map(|path| format!("{document}: there is no {folder}{path}")));
            continue;
        }
        let named = line.split('`').skip(1).step_by(2).filter(is_path);
        let missing = named.filter(|path| !tree.has(path) && !ends(path));
        problems.extend(missing.map(|path| format!("{document}: there is no {path}")));
    }
    problems
}

/// Finds pages of the guide that its index does not link to.
fn unlinked(tree: &Tree) -> Vec<Problem> {
    let index = format!("{GUIDE}README.md");
    let linked: Vec<String> = targets(tree.get(&index).unwrap_or_default())
        .map(|target| resolve(&index, target))
        .collect();
    tree.files()
        .map(|(path, _)| path)
        .filter(|path| path.starts_with(GUIDE) && *path != index)
        .filter(|path| !linked.iter().any(|linked| linked == path))
        .map(|path| format!("{path} is not in the index of the guide"))
        .collect()
}

/// Finds pages of the guide that the book omits, names or orders differently than the index of the guide, and links from
/// pages of the book to pages of `docs` that are not in it.
fn book(tree: &Tree) -> Vec<Problem> {
    let summary = tree.get(SUMMARY).unwrap_or_default();
    let chapters: Vec<String> = targets(summary)
        .map(|target| resolve(SUMMARY, target))
        .collect();
    let index = format!("{GUIDE}README.md");
    let mut problems = Vec::new();
    for (path, _) in tree.files() {
        let is_page = path.starts_with(GUIDE) && path.ends_with(".md");
        if is_page && !chapters.iter().any(|chapter| chapter == path) {
            problems.push(format!("{SUMMARY} leaves out {path}"));
        }
    }
    // The rows of the index, as lines of the summary. Other lines may be between them.
    let rows = prose(tree.get(&index).unwrap_or_default()).filter(|line| line.starts_with("| "));
    let rows = rows.filter_map(|row| Some(row.split_once(" | [")?.1.trim_end_matches(" |")));
    let rows = rows.filter_map(|row| row.split_once("]("));
    let mut lines = summary.lines();
    for (title, target) in rows {
        let target = resolve(&index, target.trim_end_matches(')'));
        let target = target.strip_prefix("docs/").unwrap_or(&target);
        let wanted = format!("- [{title}]({target})");
        if !lines.any(|line| line == wanted) {
            problems.push(format!(
                "{SUMMARY} does not have, in the order of the index: {wanted}"
            ));
            lines = summary.lines();
        }
    }
    for chapter in &chapters {
        let text = tree.get(chapter).unwrap_or_default();
        let paths = targets(text).filter(|target| !target.contains("://"));
        let paths = paths.filter_map(|target| target.split('#').next());
        let inside = paths
            .map(|path| resolve(chapter, path))
            .filter(|path| path.starts_with("docs/") && path.ends_with(".md"));
        let missing = inside.filter(|path| !chapters.contains(path));
        problems.extend(missing.map(|path| format!("{chapter}: {path} is not in the book")));
    }
    problems
}

/// Finds features of `askback` that their page omits or invents, and rows with wrong defaults or implied features.
fn features(tree: &Tree) -> Vec<Problem> {
    let manifest = tree.get(MANIFEST).unwrap_or_default();
    let section = manifest.split("\n[features]\n").nth(1).unwrap_or_default();
    let section = section.split("\n[").next().unwrap_or_default();
    // Each feature with the features it implies, without dependencies.
    let mut declared: BTreeMap<&str, BTreeSet<&str>> = section
        .split(']')
        .filter_map(|feature| feature.split_once(" = ["))
        .map(|(name, enables)| {
            let enables = enables.split('"').skip(1).step_by(2);
            let features = enables.filter(|enabled| !enabled.contains([':', '/']));
            (name.trim(), features.collect())
        })
        .collect();
    let default = declared.remove("default").unwrap_or_default();

    let page = tree.get(FEATURES).unwrap_or_default();
    let table = page.split("\n| feature |").nth(1).unwrap_or_default();
    let table = table.split("\n\n").next().unwrap_or_default();
    let mut problems = Vec::new();
    for row in table.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = row.split('|').skip(1).map(str::trim).collect();
        let [name, is_default, _, implies, ..] = cells[..] else {
            problems.push(format!("{FEATURES}: a row is too short: {row}"));
            continue;
        };
        let name = name.trim_matches('`');
        let Some(implied) = declared.remove(name) else {
            problems.push(format!("{FEATURES}: there is no feature {name}"));
            continue;
        };
        if (is_default == "yes") != default.contains(name) {
            problems.push(format!("{FEATURES}: the default is wrong for {name}"));
        }
        let implies: BTreeSet<&str> = implies.split('`').skip(1).step_by(2).collect();
        if implies != implied {
            problems.push(format!("{FEATURES}: {name} implies {implied:?}"));
        }
    }
    let missed = declared.keys();
    problems.extend(missed.map(|name| format!("{FEATURES} leaves out {name}")));
    problems
}

/// Finds pages with another Rust version than the manifest.
fn rust_versions(tree: &Tree) -> Vec<Problem> {
    let manifest = tree.get("Cargo.toml").unwrap_or_default();
    let version = manifest.split("rust-version = \"").nth(1);
    let version = version.and_then(|rest| rest.split('"').next());
    let named = format!("Rust {} or newer", version.unwrap_or_default());
    [FEATURES, TUTORIAL]
        .into_iter()
        .filter(|page| !tree.get(page).unwrap_or_default().contains(&named))
        .map(|page| format!("{page} does not say: {named}"))
        .collect()
}

/// Finds parts of the tested tutorial program that the page shows differently.
fn tutorial(tree: &Tree) -> Vec<Problem> {
    let page = tree.get(TUTORIAL).unwrap_or_default();
    let program = tree.get(TUTORIAL_PROGRAM).unwrap_or_default();
    let at = program.find("#[cfg(test)]").unwrap_or(program.len());
    let (program, tests) = program.split_at(at);
    let mut problems = Vec::new();
    for (name, part) in [("the program", program), ("its tests", tests)] {
        let is_shown = page.split("```").any(|block| {
            let code = block.split_once('\n').map(|(_, code)| code);
            code.is_some_and(|code| !code.trim().is_empty() && code.trim() == part.trim())
        });
        if !is_shown {
            problems.push(format!(
                "{TUTORIAL} does not show {name} of {TUTORIAL_PROGRAM}"
            ));
        }
    }
    problems
}

const MISTAKES: &str = "docs/guide/mistakes.md";

/// Finds messages on the page of mistakes that the linked test does not have.
fn mistakes(tree: &Tree) -> Vec<Problem> {
    let page = tree.get(MISTAKES).unwrap_or_default();
    let rows = prose(page).filter(|line| line.starts_with("| ")).skip(1);
    let mut problems = Vec::new();
    for row in rows {
        let mistake = row.split('|').nth(1).unwrap_or_default().trim();
        let test = targets(row).find(|target| target.contains("/tests/"));
        let test = test.and_then(|test| tree.get(&resolve(MISTAKES, test)));
        let Some(test) = test.map(one_line) else {
            problems.push(format!("{MISTAKES}: no test is linked for: {mistake}"));
            continue;
        };
        let messages: Vec<&str> = row.split("``").skip(1).step_by(2).map(str::trim).collect();
        if messages.is_empty() {
            problems.push(format!("{MISTAKES}: nothing is said of: {mistake}"));
        }
        let missing = messages.iter().filter(|message| !test.contains(**message));
        problems.extend(missing.map(|message| format!("{MISTAKES}: no test has: {message}")));
    }
    problems
}

/// Removes line breaks and escapes from a text, as in Rust's string literals.
fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").replace("\\ ", "").replace('\\', "")
}

/// Finds fuzz targets that the manifest or the page on fuzzing omits.
fn fuzz_targets(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (path, _) in tree.files() {
        let Some(file) = path.strip_prefix("fuzz/fuzz_targets/") else {
            continue;
        };
        let name = file.trim_end_matches(".rs");
        for (document, word) in [
            ("fuzz/Cargo.toml", format!("path = \"fuzz_targets/{file}\"")),
            ("fuzz/README.md", format!("`{name}`")),
        ] {
            if !tree.get(document).unwrap_or_default().contains(&word) {
                problems.push(format!("{document} leaves out {name}"));
            }
        }
    }
    problems
}

fn targets(text: &str) -> impl Iterator<Item = &str> {
    prose(text).flat_map(|line| {
        line.split("](")
            .skip(1)
            .filter_map(|rest| rest.split_once(')').map(|(target, _)| target))
    })
}

fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut inside = false;
    text.lines().filter(move |line| {
        let fence = line.trim_start().starts_with("```");
        inside ^= fence;
        !inside && !fence
    })
}

fn resolve(from: &str, link: &str) -> String {
    let mut names: Vec<&str> = from.split('/').collect();
    names.pop();
    for name in link.split('/') {
        match name {
            "." | "" => {}
            ".." => {
                names.pop();
            }
            name => names.push(name),
        }
    }
    names.join("/")
}

/// Whether the text has a heading with this anchor, as common renderers create them.
fn has_heading(text: Option<&str>, anchor: &str) -> bool {
    prose(text.unwrap_or_default())
        .filter(|line| line.starts_with('#'))
        .any(|line| {
            let heading = line.trim_start_matches('#').trim().to_lowercase();
            let kept = heading
                .chars()
                .filter(|c| c.is_alphanumeric() || "-_ ".contains(*c));
            kept.map(|c| if c == ' ' { '-' } else { c })
                .eq(anchor.chars())
        })
}

#[test]
fn links_lead_somewhere() {
    assert_none(links(&Tree::project()));

    let bad = Tree::of([
        (
            "README.md",
            "# Two `words`\n[a](docs/a.md) [b](docs/b.md#x) [c](https://c) [d](#two-words)",
        ),
        (
            "docs/a.md",
            "[up](../README.md#none)\n```\n[x](y)\n```\n[c](../docs)",
        ),
    ]);
    let wanted = [
        "README.md: the link to docs/b.md#x",
        "docs/a.md: README.md has no heading",
    ];
    assert_found(&links(&bad), &wanted);
}

#[test]
fn documents_name_what_is_there() {
    let project = Tree::project();
    for document in ["ARCHITECTURE.md", "CONTRIBUTING.md"] {
        assert!(project.has(document));
        assert_none(paths(&project, document));
    }

    let bad = Tree::of([
        (
            "ARCHITECTURE.md",
            "`crates/a/src` `crates/b` `tools/call` `a.rs` `src/lib.rs` `a::b`\n### `crates/a/src/`\n| `lib.rs`, `c/` | `d` |",
        ),
        ("crates/a/src/lib.rs", ""),
    ]);
    let wanted = ["crates/b", "a.rs", "crates/a/src/c/"];
    assert_found(&paths(&bad, "ARCHITECTURE.md"), &wanted);
}

#[test]
fn every_page_of_the_guide_is_in_its_index() {
    let project = Tree::project();
    assert!(project.has("docs/guide/README.md"));
    assert_none(unlinked(&project));

    let bad = Tree::of([
        ("docs/guide/README.md", "[a](a.md)\n```\n[b](b.md)\n```"),
        ("docs/guide/a.md", ""),
        ("docs/guide/b.md", ""),
    ]);
    assert_found(&unlinked(&bad), &["docs/guide/b.md"]);
}

#[test]
fn the_book_has_every_page_of_the_guide() {
    let project = Tree::project();
    assert!(project.has(SUMMARY) && project.has("docs/book.toml"));
    assert_none(book(&project));

    let bad = Tree::of([
        (
            "docs/guide/README.md",
            "| b | [B](b.md) |\n| a | [A](a.md) |\n| c | [C](c.md) |",
        ),
        ("docs/guide/a.md", "[x](../x.md) [code](../../src/x.md)"),
        ("docs/guide/b.md", ""),
        ("docs/guide/c.md", ""),
        ("docs/x.md", ""),
        (
            SUMMARY,
            "[G](guide/README.md)\n- [A](guide/a.md)\n- [B](guide/b.md)",
        ),
    ]);
    let wanted = [
        "leaves out docs/guide/c.md",
        "in the order of the index: - [A](guide/a.md)",
        "in the order of the index: - [C](guide/c.md)",
        "docs/guide/README.md: docs/guide/c.md is not in the book",
        "docs/guide/a.md: docs/x.md is not in the book",
    ];
    assert_found(&book(&bad), &wanted);
}

#[test]
fn the_guide_lists_every_feature() {
    assert_none(features(&Tree::project()));

    let manifest = "\n[features]\ndefault = [\"a\", \"b\"]\na = []\nb = [\n    \"c\",\n    \"dep:d\",\n]\n\
                    c = []\n\n[dependencies]\nd = []\n";
    let page = "\n| feature | default | brings | implies |\n|---|---|---|---|\n| `a` | yes | x | |\n\
                | `b` | | x | `a` |\n| `d` | | x | |\n| `e` |\n\n| `f` | | | |\n";
    let bad = Tree::of([(MANIFEST, manifest), (FEATURES, page)]);
    let wanted = [
        "wrong for b",
        "b implies {\"c\"}",
        "no feature d",
        "too short",
        "leaves out c",
    ];
    assert_found(&features(&bad), &wanted);
}

#[test]
fn the_guide_names_the_oldest_rust() {
    assert_none(rust_versions(&Tree::project()));

    let bad = Tree::of([
        ("Cargo.toml", "rust-version = \"1.95\""),
        (FEATURES, "Rust 1.95 or newer"),
        (TUTORIAL, "Rust 1.9 or newer"),
    ]);
    assert_found(
        &rust_versions(&bad),
        &["tutorial.md does not say: Rust 1.95"],
    );
}

#[test]
fn the_tutorial_shows_what_is_tested() {
    assert_none(tutorial(&Tree::project()));

    let bad = Tree::of([
        (
            TUTORIAL_PROGRAM,
            "fn a() {}\n\n#[cfg(test)]\nmod tests {}\n",
        ),
        (
            TUTORIAL,
            "a\n```rust\nfn a() {}\n```\nb\n```rust\nmod tests {}\n```\n",
        ),
    ]);
    assert_found(&tutorial(&bad), &["its tests"]);
}

#[test]
fn what_is_said_of_mistakes_is_tested() {
    assert_none(mistakes(&Tree::project()));

    let head = "| mistake | says |\n|---|---|";
    let page = format!(
        "{head}\n| A | [b](../../a/tests/a.rs): `` no `x` here `` |\n| B | [b](../../a/tests/a.rs): `` gone `` |\n\
         | C | [b](../../a/tests/a.rs) |\n| D | `` x `` |"
    );
    let test = "let told = \"no `x` \\\n            here\";";
    let bad = Tree::of([(MISTAKES, &page), ("a/tests/a.rs", test)]);
    let wanted = [
        "no test has: gone",
        "nothing is said of: C",
        "no test is linked for: D",
    ];
    assert_found(&mistakes(&bad), &wanted);
}

#[test]
fn every_fuzz_target_is_built_and_described() {
    assert_none(fuzz_targets(&Tree::project()));

    let bad = Tree::of([
        ("fuzz/Cargo.toml", "path = \"fuzz_targets/a.rs\""),
        ("fuzz/README.md", "`b`"),
        ("fuzz/fuzz_targets/a.rs", ""),
        ("fuzz/fuzz_targets/b.rs", ""),
    ]);
    assert_found(
        &fuzz_targets(&bad),
        &["README.md leaves out a", "Cargo.toml leaves out b"],
    );
}
