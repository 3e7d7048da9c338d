//! The requirements of the specification, with the tests that show them, and `docs/requirements.md`.
//!
//! The rows are in `lab/requirements/`, with a file per page of the specification. The lines above a test name the rows
//! that it shows: `// Shows MR-16, MR-17.`; the same for a case of a macro that generates tests.

mod checked;
mod pages;
mod rows;

use std::{collections::BTreeMap, env, fs};

use crate::{
    Problem, assert_found, assert_none,
    tree::{Tree, root},
};

use pages::{INDEX, PAGES, pages};
use rows::{FOLDER, Group, faults, read};

/// If set, writes the pages, and removes the reason from rows that a test now shows.
const BLESS: &str = "ASKBACK_BLESS";

/// The start of the line above a test.
const SHOWS: &str = "// Shows ";

/// Marks a row that no test shows yet.
const OPEN: &str = r#", "open": ""#;

#[derive(Debug, Clone, PartialEq, Eq)]
struct Shown {
    path: String,
    test: String,
}

type Tests = BTreeMap<String, Vec<Shown>>;

/// Returns the tests that show requirements, by requirement, and the malformed lines.
fn tests(tree: &Tree) -> (Tests, Vec<Problem>) {
    let (mut tests, mut problems) = (Tests::new(), Vec::new());
    for (path, text) in tree.files().filter(|(path, _)| path.ends_with(".rs")) {
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        for (at, line) in lines.iter().enumerate() {
            let Some(begin) = line.strip_prefix(SHOWS) else {
                continue;
            };
            let (ids, rest) = said(begin, &lines[at + 1..]);
            let Some(test) = name(rest) else {
                problems.push(format!("{path}:{}: no test stands below this", at + 1));
                continue;
            };
            for id in ids {
                let (path, test) = (path.to_owned(), test.to_owned());
                tests.entry(id).or_default().push(Shown { path, test });
            }
        }
    }
    (tests, problems)
}

/// Returns the ids of a list that ends with a full stop, possibly on a later line, and the lines after it.
fn said<'a>(begin: &str, mut rest: &'a [&'a str]) -> (Vec<String>, &'a [&'a str]) {
    let mut list = begin.to_owned();
    while !list.ends_with('.') {
        let Some((line, after)) = rest.split_first() else {
            break;
        };
        list.push_str(line.trim_start_matches('/'));
        rest = after;
    }
    let ids = list.trim_end_matches('.').split(',');
    (ids.map(|id| id.trim().to_owned()).collect(), rest)
}

fn name<'a>(lines: &[&'a str]) -> Option<&'a str> {
    let attribute = |line: &&&str| line.starts_with("//") || line.starts_with("#[");
    let line = lines.iter().find(|line| !attribute(line))?;
    let function = line.split_once("fn ").map(|(_, name)| name);
    let (name, _) = match function {
        Some(name) => name.split_once('(')?,
        None => line.split_once(':')?,
    };
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    (!name.is_empty() && name.chars().all(word)).then_some(name)
}

/// Finds rows and tests that disagree.
fn disagreements(groups: &[Group], tests: &Tests) -> Vec<Problem> {
    let mut problems = Vec::new();
    for Group { name, rows, .. } in groups {
        for row in rows {
            let id = &row.id;
            let mut wrong = |what: &str| problems.push(format!("{FOLDER}{name}.json: {id} {what}"));
            match (tests.contains_key(id), &row.open, &row.others) {
                (_, Some(_), Some(_)) => wrong("gives two reasons"),
                (true, Some(_), None) => wrong("is shown by a test, so it is not open"),
                (false, None, None) => wrong("is shown by no test and gives no reason"),
                // A requirement for another party may have tests if askback helps that party to meet it.
                (true | false, None, Some(_)) | (true, None, None) | (false, Some(_), None) => {}
            }
        }
    }
    let known = |id: &str| {
        let mut rows = groups.iter().flat_map(|group| &group.rows);
        rows.any(|row| row.id == id)
    };
    for (id, tests) in tests.iter().filter(|(id, _)| !known(id)) {
        let Shown { path, test } = &tests[0];
        problems.push(format!("{path}: {test} shows {id}, which is no row"));
    }
    problems
}

/// Finds pages with the wrong content, and pages without a group.
fn stale(tree: &Tree, pages: &BTreeMap<String, String>) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (path, page) in pages {
        if tree.get(path) != Some(page) {
            problems.push(format!("{path} is not what `{BLESS}=1` would write"));
        }
    }
    for path in forgotten(tree, pages) {
        problems.push(format!("{path} is the page of no group"));
    }
    problems
}

fn forgotten<'a>(
    tree: &'a Tree,
    pages: &'a BTreeMap<String, String>,
) -> impl Iterator<Item = &'a str> {
    let paths = tree.files().map(|(path, _)| path);
    paths.filter(|path| path.starts_with(PAGES) && !pages.contains_key(*path))
}

/// Removes reasons that no longer apply from the rows.
fn blessed(rows: &str, tests: &Tests) -> String {
    let shown = |line: &str| {
        tests
            .keys()
            .any(|id| line.contains(&format!(r#""id": "{id}""#)))
    };
    let bless = |line: &str| match line.split_once(OPEN) {
        Some((row, reason)) if shown(line) => {
            let comma = if reason.ends_with(',') { "," } else { "" };
            format!("{row}}}{comma}\n")
        }
        _ => format!("{line}\n"),
    };
    rows.lines().map(bless).collect()
}

fn bless(tree: &Tree, tests: &Tests) {
    let files = tree.files().filter(|(path, _)| path.starts_with(FOLDER));
    for (path, text) in files {
        fs::write(root().join(path), blessed(text, tests)).expect(path);
    }
    let (groups, _) = read(&Tree::project());
    let pages = pages(&groups, tests);
    fs::create_dir_all(root().join(PAGES)).expect(PAGES);
    for (path, page) in &pages {
        fs::write(root().join(path), page).expect(path);
    }
    for path in forgotten(tree, &pages) {
        fs::remove_file(root().join(path)).expect(path);
    }
}

#[test]
fn requirements_name_their_tests() {
    let mut tree = Tree::project();
    let (tests, mut problems) = tests(&tree);
    if env::var_os(BLESS).is_some() {
        bless(&tree, &tests);
        tree = Tree::project();
    }
    let (groups, unread) = read(&tree);
    problems.extend(unread);
    problems.extend(faults(&groups));
    problems.extend(disagreements(&groups, &tests));
    problems.extend(stale(&tree, &pages(&groups, &tests)));
    assert_none(problems);
}

#[test]
fn rows_and_tests_that_disagree_are_found() {
    let rows = r#"{"title": "T", "page": "p", "statements": {"2025-11-25": 5, "2026-07-28": 3}, "rows": [
        {"id": "A-1", "level": "MUST", "party": "client", "revisions": ["2026-07-28"], "section": "s", "statement": "It MUST."},
        {"id": "A-2", "level": "MUST", "party": "client", "revisions": ["2026-07-28"], "section": "s", "statement": "It does."},
        {"id": "A-3", "level": "MAY", "party": ["client", "host"], "revisions": ["2025-11-25", "2026-07-28"], "section": "s", "statement": "It MAY.", "open": "later"},
        {"id": "A-4", "level": "fact", "party": "issuer", "revisions": ["2025-11-25"], "section": "s", "statement": "Four.", "others": "theirs"},
        {"id": "A-4", "level": "fact", "party": "issuer", "revisions": ["2025-11-25"], "section": "s", "statement": "Four.", "others": "theirs", "open": "later"},
        {"id": "A-6", "level": "fact", "party": [], "revisions": [], "section": "s", "statement": "Six.", "others": "theirs"}
    ]}"#;
    let level = r#"{"title": "T", "page": "p", "rows": [
        {"id": "A-7", "level": "must", "party": "client", "revisions": ["2026-07-28"], "section": "s", "statement": "Seven."}
    ]}"#;
    let source = concat!(
        "// Shows A-1,\n// A-3.\n#[test]\nasync fn one() {}\n",
        "    // Shows A-5.\n    two: WIDE, [\n",
        "// Shows A-1.\nlet x = 1;\n",
    );
    let tree = Tree::of([
        ("lab/requirements/a.json", rows),
        ("lab/requirements/b.json", level),
        ("lab/requirements/c.md", ""),
        ("a/tests/b.rs", source),
    ]);
    let (groups, unread) = read(&tree);
    assert_found(
        &unread,
        &[
            "b.json: unknown variant `must`",
            "c.md is not a file of rows",
        ],
    );
    assert_found(
        &faults(&groups),
        &[
            "A-2 does not say MUST",
            "A-4 is there twice",
            "A-6 binds no party",
            "A-6 is in no revision",
            "a.json: 3 rows of 2025-11-25, and 5 statements",
        ],
    );
    let (tests, unnamed) = tests(&tree);
    assert_found(&unnamed, &["a/tests/b.rs:7: no test"]);
    assert_found(
        &disagreements(&groups, &tests),
        &[
            "A-2 is shown by no test",
            "A-3 is shown by a test, so it is not open",
            "A-4 gives two reasons",
            "two shows A-5, which is no row",
        ],
    );
    let rows = blessed(rows, &tests);
    assert!(rows.contains(r#""It MAY."},"#), "{rows}");
}

#[test]
fn pages_are_written_from_the_rows() {
    let rows = r#"{"title": "T", "page": "p", "rows": [
        {"id": "A-1", "level": "MUST", "party": ["client", "host"], "revisions": ["2025-11-25", "2026-07-28"], "section": "s", "statement": "Both MUST."},
        {"id": "A-2", "level": "MAY", "party": "client", "revisions": ["2026-07-28"], "section": "s", "statement": "It MAY.", "open": "later"},
        {"id": "A-3", "level": "fact", "party": "issuer", "revisions": ["2026-07-28"], "section": "s", "statement": "Three.", "others": "theirs"},
        {"id": "A-4", "level": "fact", "party": "issuer", "revisions": ["2026-07-28"], "section": "s", "statement": "Four.", "others": "theirs"}
    ]}"#;
    let tree = Tree::of([
        ("lab/requirements/a.json", rows),
        ("a/tests/b.rs", "// Shows A-1, A-4.\nfn one() {}\n"),
        ("docs/requirements/a.md", "as it was"),
        ("docs/requirements/gone.md", ""),
    ]);
    let pages = pages(&read(&tree).0, &tests(&tree).0);
    for (path, line) in [
        (
            INDEX,
            "would fail if the statement were violated (1 statements)",
        ),
        (INDEX, "| [T](requirements/a.md) | 4 | 1 | 1 | 2 |\n"),
        (INDEX, "| all | 4 | 1 | 1 | 2 |\n"),
        (INDEX, "| client | 2 | 1 | 1 | 0 |\n"),
        (INDEX, "| host | 1 | 1 | 0 | 0 |\n"),
        (INDEX, "| fact | 2 | 0 | 0 | 2 |\n"),
        (INDEX, "| 2025-11-25 | 1 | 1 | 0 | 0 |\n"),
        (INDEX, "| [A-2](requirements/a.md) | It MAY. | later |\n"),
        (
            "docs/requirements/a.md",
            "| A-1 | MUST | client, host | 2025-11-25, 2026-07-28 | s | Both MUST. | [one](../../a/tests/b.rs) |\n",
        ),
        (
            "docs/requirements/a.md",
            "| A-3 | fact | issuer | 2026-07-28 | s | Three. | others: theirs |\n",
        ),
        (
            "docs/requirements/a.md",
            "| A-4 | fact | issuer | 2026-07-28 | s | Four. | others: theirs ([one](../../a/tests/b.rs)) |\n",
        ),
    ] {
        assert!(pages[path].contains(line), "{line} in {}", pages[path]);
    }
    assert_found(
        &stale(&tree, &pages),
        &[
            "docs/requirements.md is not what",
            "docs/requirements/a.md is not what",
            "docs/requirements/gone.md is the page of no group",
        ],
    );
}
