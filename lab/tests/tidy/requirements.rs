//! The requirements of the specification: which test shows each, and `docs/requirements.md`.
//!
//! The rows stand in `lab/requirements.json`. A test says which rows it shows in the lines above
//! it, `// Shows MR-16, MR-17.`; so does a case of a macro that makes tests of names.

use std::{collections::BTreeMap, env, fs};

use serde::Deserialize;

use crate::{
    Problem, assert_found, assert_none,
    tree::{Tree, root},
};

const ROWS: &str = "lab/requirements.json";
const PAGE: &str = "docs/requirements.md";

/// Set, this writes the page, and takes the reason off rows that a test has come to show.
const BLESS: &str = "ASKBACK_BLESS";

/// What a line above a test begins with.
const SHOWS: &str = "// Shows ";

/// How a row is said to be shown by no test yet.
const OPEN: &str = r#", "open": ""#;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Group {
    title: String,
    /// Where the specification says it, below the directory of the revision.
    page: String,
    rows: Vec<Row>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    id: String,
    revisions: Vec<String>,
    /// The heading in the page.
    section: String,
    /// What is required, in our words.
    point: String,
    /// Why no test shows it, though one should.
    open: Option<String>,
    /// Why it is not for askback to do.
    not_ours: Option<String>,
}

/// A test that shows something.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Shown {
    path: String,
    test: String,
}

type Tests = BTreeMap<String, Vec<Shown>>;

fn groups(tree: &Tree) -> Vec<Group> {
    serde_json::from_str(tree.get(ROWS).expect(ROWS)).unwrap_or_else(|e| panic!("{ROWS}: {e}"))
}

/// The tests that show something, by what they show, and what is wrong with how they say so.
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

/// The ids of a list that ends with a full stop, perhaps some lines below, and the lines after it.
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

/// The name of the test that these lines begin with, behind comments and attributes.
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

/// Rows and tests that do not agree.
fn disagreements(groups: &[Group], tests: &Tests) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut known = Vec::new();
    for row in groups.iter().flat_map(|group| &group.rows) {
        let id = &row.id;
        if known.contains(&id) {
            problems.push(format!("{ROWS}: {id} stands there twice"));
        }
        known.push(id);
        let reasons = [&row.open, &row.not_ours].into_iter().flatten().count();
        match (tests.contains_key(id), reasons) {
            (true, 0) | (false, 1) => {}
            (false, 0) => problems.push(format!("{ROWS}: no test shows {id}, and no reason why")),
            (true, _) => problems.push(format!("{ROWS}: a test shows {id}, so it needs no reason")),
            (false, _) => problems.push(format!("{ROWS}: {id} has two reasons")),
        }
    }
    for (id, tests) in tests.iter().filter(|(id, _)| !known.contains(id)) {
        let Shown { path, test } = &tests[0];
        problems.push(format!("{path}: {test} shows {id}, which is no row"));
    }
    problems
}

/// The page as it should be.
fn page(groups: &[Group], tests: &Tests) -> String {
    let rows = || groups.iter().flat_map(|group| &group.rows);
    let not_ours = rows().filter(|row| row.not_ours.is_some()).count();
    let open = rows().filter(|row| row.open.is_some()).count();
    let all = rows().count();
    let mut page = format!(
        "# Requirements\n\n\
         What the specification requires, point by point, and which test shows that askback does it: \
         tests show {}\nof {all} points, {not_ours} are for others to do, and {open} are shown by no test.\n\n\
         The points are in our words; those that bind stand in the specification, under the heading \
         named. The points\nare in `{ROWS}`, and each test says in the line above it what it shows. \
         A test fails when\nthe two disagree, or when this page says something else;\n\
         `{BLESS}=1 cargo test -p lab --test tidy requirements` writes it.\n",
        all - not_ours - open
    );
    for Group {
        title,
        page: from,
        rows,
    } in groups
    {
        page.push_str(&format!("\n## {title}\n\nFrom `{from}`.\n\n"));
        page.push_str("| id | revisions | section | point | test |\n|---|---|---|---|---|\n");
        for row in rows {
            page.push_str(&row.line(tests));
        }
    }
    page
}

impl Row {
    fn line(&self, tests: &Tests) -> String {
        let Self {
            id, section, point, ..
        } = self;
        let shown = match (&self.open, &self.not_ours) {
            (Some(why), _) => format!("none: {why}"),
            (None, Some(why)) => format!("not ours: {why}"),
            (None, None) => {
                let tests = tests.get(id).into_iter().flatten();
                let links = tests.map(|Shown { path, test }| format!("[{test}](../{path})"));
                links.collect::<Vec<_>>().join(", ")
            }
        };
        let revisions = self.revisions.join(", ");
        format!("| {id} | {revisions} | {section} | {point} | {shown} |\n")
    }
}

/// The rows without the reasons that are none any more.
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

#[test]
fn requirements_name_their_tests() {
    let tree = Tree::project();
    let (tests, mut problems) = tests(&tree);
    if env::var_os(BLESS).is_some() {
        let rows = blessed(tree.get(ROWS).expect(ROWS), &tests);
        let groups: Vec<Group> = serde_json::from_str(&rows).expect(ROWS);
        fs::write(root().join(ROWS), &rows).expect(ROWS);
        fs::write(root().join(PAGE), page(&groups, &tests)).expect(PAGE);
        return assert_none(disagreements(&groups, &tests));
    }
    let groups = groups(&tree);
    problems.extend(disagreements(&groups, &tests));
    if tree.get(PAGE) != Some(&page(&groups, &tests)) {
        problems.push(format!("{PAGE} is not what `{BLESS}=1` would write"));
    }
    assert_none(problems);
}

#[test]
fn rows_and_tests_that_disagree_are_found() {
    let rows = r#"[{"title": "T", "page": "p", "rows": [
        {"id": "A-1", "revisions": ["r"], "section": "s", "point": "One."},
        {"id": "A-2", "revisions": ["r"], "section": "s", "point": "Two."},
        {"id": "A-3", "revisions": ["r"], "section": "s", "point": "Three.", "open": "later"},
        {"id": "A-4", "revisions": ["r"], "section": "s", "point": "Four.", "not_ours": "theirs"},
        {"id": "A-4", "revisions": ["r"], "section": "s", "point": "Four.", "not_ours": "theirs"}
    ]}]"#;
    let source = concat!(
        "// Shows A-1,\n// A-3.\n#[test]\nasync fn one() {}\n",
        "    // Shows A-5.\n    two: WIDE, [\n",
        "// Shows A-1.\nlet x = 1;\n",
    );
    let tree = Tree::of([(ROWS, rows), ("a/tests/b.rs", source)]);
    let (tests, unnamed) = tests(&tree);
    assert_found(&unnamed, &["a/tests/b.rs:7: no test"]);
    assert_found(
        &disagreements(&groups(&tree), &tests),
        &[
            "no test shows A-2",
            "a test shows A-3",
            "A-4 stands there twice",
            "two shows A-5, which is no row",
        ],
    );
    let rows = blessed(rows, &tests);
    assert!(rows.contains(r#""Three."},"#), "{rows}");
    let page = page(&groups(&tree), &tests);
    for line in [
        "tests show 2\nof 5 points, 2 are for others to do, and 1 are shown by no test",
        "| A-1 | r | s | One. | [one](../a/tests/b.rs) |",
        "| A-4 | r | s | Four. | not ours: theirs |",
    ] {
        assert!(page.contains(line), "{page}");
    }
}
