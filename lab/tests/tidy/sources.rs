//! Checks the content of files.

use crate::{Problem, assert_found, assert_none, code::words, tree::Tree};

/// Marks of unfinished work, and paths of a developer's machine. Split in two, so that this file does not contain them.
const WORDS: &[&str] = &[
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
    concat!("/wo", "rk/"),
    concat!("/ro", "ot/"),
    concat!("/ho", "me/"),
    concat!("/tmp/", "contract"),
    concat!("/tmp/", "target"),
];

/// Fictional users whose directories may be named.
const NOBODY: &[&str] = &[concat!("/ho", "me/ada")];

fn forbidden(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (path, text) in tree
        .files()
        .filter(|(path, _)| !path.ends_with("Cargo.lock"))
    {
        for (number, line) in text.lines().enumerate() {
            let line = NOBODY
                .iter()
                .fold(line.to_owned(), |line, name| line.replace(name, ""));
            if let Some(word) = WORDS.iter().find(|word| line.contains(**word)) {
                problems.push(format!("{path}:{}: {word}", number + 1));
            }
        }
    }
    problems
}

/// The codes between -32000 and -32099 in the specification, some only in older revisions. askback must not use any
/// others (2026-07-28, basic, Error Codes).
const CODES: &[i32] = &[-32002, -32020, -32021, -32022, -32042];

fn codes(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (path, text) in tree.sources() {
        for (number, line) in words(text).lines().enumerate() {
            let line = line.replace('_', "");
            let digits = line
                .match_indices("-320")
                .filter_map(|(at, _)| line.get(at..at + 6));
            let found = digits.filter_map(|code| code.parse().ok());
            for code in found.filter(|code| !CODES.contains(code)) {
                problems.push(format!("{path}:{}: {code}", number + 1));
            }
        }
    }
    problems
}

/// The only file of the command that opens files for writing, and so knows all of them.
const WRITES: &str = "crates/askback-cli/src/own_files.rs";

fn opened(tree: &Tree) -> Vec<Problem> {
    const WAYS: [&str; 7] = [
        "File::options",
        "File::create",
        "fs::write(",
        "fs::rename(",
        "fs::copy(",
        "fs::hard_link(",
        ".open(",
    ];
    let mut problems = Vec::new();
    let sources = tree.sources();
    for (path, text) in sources.filter(|(path, _)| path.starts_with("crates/askback-cli/src/")) {
        let has_options = words(text).contains("OpenOptions");
        for (number, line) in words(text).lines().enumerate() {
            let squeezed = line.replace(' ', "");
            // Not everything that is opened is a file.
            let is_way =
                |way: &&&str| squeezed.contains(**way) && (has_options || **way != ".open(");
            let found = WAYS.iter().find(is_way);
            if let (Some(way), true) = (found, path != WRITES) {
                problems.push(format!("{path}:{}: {way}", number + 1));
            }
        }
    }
    problems
}

#[test]
fn no_file_names_a_machine_or_unfinished_work() {
    assert_none(forbidden(&Tree::project()));

    let todo = format!("a\n// {} b", WORDS[0]);
    let machine = format!("at {}askback", WORDS[2]);
    let nobody = format!("{}/.local {}", NOBODY[0], WORDS[4]);
    let bad = Tree::of([
        ("ARCHITECTURE.md", &*machine),
        ("crates/a/src/lib.rs", &*todo),
        ("docs/a.md", &*nobody),
        ("docs/b.md", NOBODY[0]),
    ]);
    assert_found(
        &forbidden(&bad),
        &["ARCHITECTURE.md:1", "lib.rs:2", "docs/a.md:1"],
    );
}

// Shows BA-15, BA-16.
#[test]
fn only_codes_of_the_specification_are_used_of_its_range() {
    assert_none(codes(&Tree::project()));

    let bad = Tree::of([(
        "crates/a/src/lib.rs",
        "const GOOD: i64 = -32021;\n// -32001\nconst OLD: i64 = -32000;\nconst NEW: i64 = -32_077;\n",
    )]);
    assert_found(&codes(&bad), &["lib.rs:3: -32000", "lib.rs:4: -32077"]);
}

#[test]
fn the_command_knows_the_files_that_it_writes() {
    assert_none(opened(&Tree::project()));

    let bad = Tree::of([
        (
            "crates/askback-cli/src/a.rs",
            "fs::write(a, b)\nlet a = OpenOptions::new();\na.write(true)\n    .open(b)",
        ),
        ("crates/askback-cli/src/b.rs", "client.open(a)"),
        ("crates/askback-cli/src/own_files.rs", "options.open(a)"),
        ("crates/askback-host/src/a.rs", "fs::write(a, b)"),
    ]);
    assert_found(&opened(&bad), &["a.rs:1: fs::write(", "a.rs:4: .open("]);
}
