//! The limits: that each bounds something, and stands in the guide with its default.

use askback_core::limits::Limits;

use crate::{Problem, assert_found, assert_none, code::words, tree::Tree};

const PAGE: &str = "docs/guide/limits.md";
const DEFINED: &str = "crates/askback-core/src/limits.rs";

/// Limits that no code looks at. `limits` is what `Debug` prints of them, a field a line.
fn unused(tree: &Tree, limits: &str) -> Vec<Problem> {
    let code: Vec<String> = tree
        .sources()
        .filter(|(path, _)| *path != DEFINED)
        .map(|(_, text)| words(text))
        .collect();
    let is_used = |name: &str| {
        let read = format!(".{name}");
        code.iter().any(|code| {
            code.match_indices(&read).any(|(at, _)| {
                !code[at + read.len()..]
                    .starts_with(|c: char| c.is_alphanumeric() || "_(".contains(c))
            })
        })
    };
    fields(limits)
        .filter(|(name, _)| !is_used(name))
        .map(|(name, _)| format!("the limit {name} bounds nothing"))
        .collect()
}

/// Rows of the guide's table that are missing or wrong.
fn table(tree: &Tree, limits: &str) -> Vec<Problem> {
    let page = tree.get(PAGE).unwrap_or_default();
    let mut rows: Vec<&str> = page
        .lines()
        .filter(|line| line.starts_with("| `"))
        .collect();
    let mut problems = Vec::new();
    for (name, value) in fields(limits) {
        let begin = format!("| `{name}` | {} |", written(name, value));
        let before = rows.len();
        rows.retain(|row| !row.starts_with(&begin));
        if rows.len() + 1 != before {
            problems.push(format!("{PAGE}: there is not one row {begin}"));
        }
    }
    problems.extend(
        rows.iter()
            .map(|row| format!("{PAGE}: no limit has this row: {row}")),
    );
    problems
}

fn fields(limits: &str) -> impl Iterator<Item = (&str, &str)> {
    let lines = limits.lines().map(|line| line.trim().trim_end_matches(','));
    lines.filter_map(|line| line.split_once(": "))
}

/// A value as a person writes it.
fn written(name: &str, value: &str) -> String {
    if name.ends_with("_bytes") {
        return units(value, &[("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1)]);
    }
    if let Some(milliseconds) = value.strip_suffix("ms") {
        return format!("{milliseconds} ms");
    }
    match value.strip_suffix('s') {
        Some(seconds) => units(seconds, &[("h", 3600), ("min", 60), ("s", 1)]),
        None => value.to_owned(),
    }
}

/// A number in the greatest unit in which it is whole.
fn units(value: &str, units: &[(&str, u64)]) -> String {
    let number: u64 = value.parse().expect("a whole number");
    let fits = |(_, size): &&(&str, u64)| number.is_multiple_of(*size);
    let (unit, size) = units.iter().find(fits).expect("the last unit fits all");
    format!("{} {unit}", number / size)
}

#[test]
fn every_limit_bounds_something() {
    assert_none(unused(
        &Tree::project(),
        &format!("{:#?}", Limits::default()),
    ));

    let bad = Tree::of([
        (DEFINED, "limits.a; limits.b; limits.c"),
        ("crates/a/src/lib.rs", "x.a + limits.b() // limits.c"),
        ("crates/a/tests/a/main.rs", "limits.c"),
    ]);
    let limits = "Limits {\n    a: 1,\n    b: 1,\n    c: 1,\n}";
    assert_found(
        &unused(&bad, limits),
        &["b bounds nothing", "c bounds nothing"],
    );
}

#[test]
fn the_guide_lists_every_limit() {
    assert_none(table(
        &Tree::project(),
        &format!("{:#?}", Limits::default()),
    ));

    let limits = "Limits {\n    a_bytes: 65536,\n    b: 86400s,\n    c: 100ms,\n    d: 7,\n}";
    let good =
        "| `a_bytes` | 64 KiB | x |\n| `b` | 24 h | x |\n| `c` | 100 ms | x |\n| `d` | 7 | x |";
    assert_found(&table(&Tree::of([(PAGE, good)]), limits), &[]);
    let bad = good.replace("24 h", "1 h").replace("`d`", "`e`");
    let wanted = [
        "`b` | 24 h",
        "`d` | 7",
        "no limit has this row: | `b` | 1 h",
        "`e`",
    ];
    assert_found(&table(&Tree::of([(PAGE, &bad)]), limits), &wanted);
}
