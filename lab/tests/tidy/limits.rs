//! Checks the limits: each must be used, be in the guide with its default, and be named correctly.

use askback_core::limits::Limits;

use crate::{Problem, assert_found, assert_none, code::words, tree::Tree};

const PAGE: &str = "docs/guide/limits.md";
/// The pages that have the tables together.
const PAGES: [&str; 3] = [
    PAGE,
    "docs/guide/limits-server.md",
    "docs/guide/limits-connections.md",
];
const DEFINED: &str = "crates/askback-core/src/limits/";
const TIDY: &str = "lab/tests/tidy/";

/// Finds unused limits. `limits` is their `Debug` output, with a group or a field per line.
fn unused(tree: &Tree, limits: &str) -> Vec<Problem> {
    let code: Vec<String> = tree
        .sources()
        .filter(|(path, _)| !path.starts_with(DEFINED))
        .map(|(_, text)| words(text))
        .collect();
    let reads = |code: &str, read: &str| {
        code.match_indices(read).any(|(at, _)| {
            !code[at + read.len()..].starts_with(|c: char| c.is_alphanumeric() || "_(".contains(c))
        })
    };
    // Some code only gets the group it needs.
    let is_used = |limit: &Limit<'_>| {
        let (whole, alone) = (format!(".{}", limit.path()), format!(".{}", limit.name));
        code.iter().any(|code| {
            reads(code, &whole) || code.contains(limit.group_type) && reads(code, &alone)
        })
    };
    fields(limits)
        .iter()
        .filter(|limit| !is_used(limit))
        .map(|limit| limit.path())
        .map(|path| format!("the limit {path} bounds nothing: no code has the words `.{path}`"))
        .collect()
}

/// Finds missing or wrong rows in the guide's table.
fn table(tree: &Tree, limits: &str) -> Vec<Problem> {
    let mut rows: Vec<&str> = PAGES
        .iter()
        .filter_map(|page| tree.get(page))
        .flat_map(str::lines)
        .filter(|line| line.starts_with("| `"))
        .collect();
    let mut problems = Vec::new();
    for limit in fields(limits) {
        let value = written(limit.name, limit.value);
        let begin = format!("| `{}` | {value} |", limit.path());
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

/// Finds limits in pages, comments and messages that do not exist. A name includes its group, as in
/// `limits.wire.request`. In code, the compiler checks them.
fn named(tree: &Tree, limits: &str) -> Vec<Problem> {
    let limits = fields(limits);
    let is_there = |group: &str, name: &str| {
        let is_it = |limit: &Limit<'_>| limit.group == group && [limit.name, ""].contains(&name);
        limits.iter().any(is_it)
    };
    let mut problems = Vec::new();
    for (path, text) in tree.files() {
        if !(path.ends_with(".md") || path.ends_with(".rs")) || path.starts_with(TIDY) {
            continue;
        }
        for after in text.split("`limits.").skip(1) {
            let mut words = after.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            let group = words.next().unwrap_or_default();
            let name = match after[group.len()..].starts_with('.') {
                true => words.next().unwrap_or_default(),
                false => "",
            };
            if !is_there(group, name) {
                problems.push(format!("{path}: there is no limit {group}.{name}"));
            }
        }
    }
    problems
}

struct Limit<'a> {
    group: &'a str,
    group_type: &'a str,
    name: &'a str,
    value: &'a str,
}

impl Limit<'_> {
    /// Returns the path from `Limits`: `wire.message_bytes`.
    fn path(&self) -> String {
        format!("{}.{}", self.group, self.name)
    }
}

fn fields(limits: &str) -> Vec<Limit<'_>> {
    let (mut group, mut group_type) = ("", "");
    let mut fields = Vec::new();
    for line in limits.lines() {
        let Some((name, value)) = line.trim().trim_end_matches(',').split_once(": ") else {
            continue;
        };
        match value.strip_suffix(" {") {
            Some(of) => (group, group_type) = (name, of),
            None => fields.push(Limit {
                group,
                group_type,
                name,
                value,
            }),
        }
    }
    fields
}

/// Formats a value as in the guide.
fn written(name: &str, value: &str) -> String {
    if name.ends_with("bytes") {
        return units(
            value,
            &[
                ("GiB", 1 << 30),
                ("MiB", 1 << 20),
                ("KiB", 1 << 10),
                ("B", 1),
            ],
        );
    }
    if let Some(milliseconds) = value.strip_suffix("ms") {
        return format!("{milliseconds} ms");
    }
    match value.strip_suffix('s') {
        Some(seconds) => units(seconds, &[("h", 3600), ("min", 60), ("s", 1)]),
        None => value.to_owned(),
    }
}

/// Formats a number in the largest unit in which it is an integer.
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
        (
            "crates/askback-core/src/limits/x.rs",
            "limits.a; limits.b; limits.c",
        ),
        (
            "crates/a/src/lib.rs",
            "limits.x.a + limits.x.b() // limits.x.c",
        ),
        ("crates/b/src/lib.rs", "fn f(limits: &XLimits) { limits.d }"),
        ("crates/c/src/lib.rs", "limits.c"),
        ("crates/a/tests/a/main.rs", "limits.c"),
    ]);
    let limits = "Limits {\n    x: XLimits {\n        a: 1,\n        b: 1,\n        c: 1,\n        d: 1,\n    },\n}";
    assert_found(
        &unused(&bad, limits),
        &["x.b bounds nothing", "x.c bounds nothing"],
    );
}

#[test]
fn the_guide_lists_every_limit() {
    assert_none(table(
        &Tree::project(),
        &format!("{:#?}", Limits::default()),
    ));

    let limits = "Limits {\n    x: XLimits {\n        a_bytes: 65536,\n        b: 86400s,\n    },\n    \
                  y: YLimits {\n        b: 100ms,\n        d: 7,\n    },\n}";
    let good = "| `x.a_bytes` | 64 KiB | x |\n| `x.b` | 24 h | x |\n| `y.b` | 100 ms | x |\n\
                | `y.d` | 7 | x |";
    assert_found(&table(&Tree::of([(PAGE, good)]), limits), &[]);
    let bad = good.replace("24 h", "1 h").replace("`y.d`", "`y.e`");
    let wanted = [
        "`x.b` | 24 h",
        "`y.d` | 7",
        "no limit has this row: | `x.b` | 1 h",
        "`y.e`",
    ];
    assert_found(&table(&Tree::of([(PAGE, &bad)]), limits), &wanted);
}

#[test]
fn every_limit_that_is_named_is_there() {
    assert_none(named(
        &Tree::project(),
        &format!("{:#?}", Limits::default()),
    ));

    let limits = "Limits {\n    x: XLimits {\n        a: 1,\n        b: 1,\n    },\n}";
    let page = "`limits.x.a`, `limits.x.c`, [`limits.x`](limits.md), `limits.x.*`, `limits.z`";
    let bad = Tree::of([
        ("CHANGELOG.md", "`limits.x.ab`"),
        (
            "crates/a/src/lib.rs",
            "/// `limits.x.a`, [`limits.y.a`](l)\nf(\"raise `limits.a`\")",
        ),
        ("docs/guide/asking.md", page),
    ]);
    let wanted = [
        "no limit x.ab",
        "no limit y.a",
        "no limit a.",
        "no limit x.c",
        "no limit z.",
    ];
    assert_found(&named(&bad, limits), &wanted);
}
