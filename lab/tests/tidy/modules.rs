//! Checks the modules of a crate: which may use which, and which may name a revision.

use std::collections::BTreeSet;

use askback_core::revision::Revision;

use crate::{
    Problem, assert_found, assert_none,
    code::{code, words},
    tree::Tree,
};

const CORE: &str = "crates/askback-core/src/";

/// The modules of a crate, and the modules that each may use.
type Map = &'static [(&'static str, &'static [&'static str])];

/// The crates whose modules have no cycles.
const CRATES: [(&str, Map); 2] = [(CORE, OF_CORE), ("crates/askback/src/", OF_ASKBACK)];

const OF_CORE: Map = &[
    ("address", &[]),
    ("canonical", &[]),
    ("future", &[]),
    ("json", &[]),
    ("limits", &[]),
    ("quote", &[]),
    ("revision", &[]),
    ("rfc3339", &[]),
    ("secret", &[]),
    ("uri_template", &[]),
    ("jsonrpc", &["json", "limits", "quote"]),
    (
        "forms",
        &["canonical", "json", "limits", "quote", "rfc3339"],
    ),
    ("protocol", &["forms", "json", "jsonrpc", "limits", "quote"]),
    (
        "wire",
        &["forms", "jsonrpc", "limits", "protocol", "revision"],
    ),
    (
        "ask",
        &[
            "address",
            "canonical",
            "forms",
            "json",
            "jsonrpc",
            "limits",
            "protocol",
            "quote",
        ],
    ),
    ("http", &["json", "jsonrpc", "limits", "protocol"]),
    ("auth", &["json"]),
    ("clock", &["ask"]),
    (
        "engine",
        &[
            "ask", "auth", "forms", "json", "jsonrpc", "limits", "protocol", "quote", "revision",
            "rfc3339", "wire",
        ],
    ),
    // Paths for code that macros generate.
    ("__private", &["forms"]),
];

const OF_ASKBACK: Map = &[
    ("clock", &[]),
    ("extension", &[]),
    ("roots", &[]),
    ("entropy", &[]),
    ("mutex", &[]),
    ("schema", &[]),
    ("skill_file", &[]),
    ("span", &[]),
    ("private_file", &["entropy"]),
    ("store", &["clock", "entropy", "mutex", "private_file"]),
    ("journal", &["mutex", "store"]),
    ("keys", &["entropy", "private_file", "store"]),
    ("error", &["keys", "store"]),
    ("answer", &["error"]),
    ("flow", &["clock", "entropy", "error", "mutex"]),
    ("witness", &["answer", "entropy", "flow"]),
    (
        "ctx",
        &[
            "answer", "clock", "entropy", "error", "flow", "mutex", "roots", "store", "witness",
        ],
    ),
    ("handler", &["answer", "ctx", "error", "flow", "schema"]),
    ("authorization", &["clock", "entropy", "mutex", "store"]),
    ("transport", &["authorization", "mutex"]),
    (
        "client",
        &[
            "error",
            "extension",
            "mutex",
            "schema",
            "skill_file",
            "span",
            "transport",
        ],
    ),
    (
        "server",
        &[
            "authorization",
            "clock",
            "ctx",
            "entropy",
            "error",
            "extension",
            "flow",
            "handler",
            "journal",
            "keys",
            "mutex",
            "schema",
            "skill_file",
            "span",
            "store",
            "transport",
            "witness",
        ],
    ),
    (
        "bridge",
        &[
            "client",
            "ctx",
            "entropy",
            "error",
            "keys",
            "mutex",
            "server",
            "transport",
        ],
    ),
    (
        "testing",
        &[
            "clock",
            "journal",
            "keys",
            "mutex",
            "server",
            "store",
            "transport",
        ],
    ),
    // Paths for code that macros generate.
    ("__private", &["error", "handler"]),
];

/// The only modules that may name revisions.
const MAY_NAME_REVISIONS: &[&str] = &[
    "crates/askback-core/src/revision.rs",
    "crates/askback-core/src/wire/",
    // The requirements and their revisions.
    "crates/askback-check/src/rules.rs",
];

fn directions(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (path, text) in tree.files() {
        let Some((root, modules)) = CRATES.iter().find(|(root, _)| path.starts_with(root)) else {
            continue;
        };
        let inside = &path[root.len()..];
        let module = inside.split(['/', '.']).next().unwrap_or_default();
        if module == "lib" {
            continue;
        }
        let Some((_, allowed)) = modules.iter().find(|(name, _)| *name == module) else {
            problems.push(format!("{path}: the module {module} is on no map"));
            continue;
        };
        let code = words(text);
        if inside.starts_with("server/") && !inside.starts_with("server/http/") && names_http(&code)
        {
            problems.push(format!("{path}: the server does not know how it is served"));
        }
        for used in used_modules(&code) {
            if used != module && !allowed.contains(&used.as_str()) {
                problems.push(format!("{path}: {module} uses {used}"));
            }
        }
        if climbs_out(&code, inside) {
            problems.push(format!(
                "{path}: `super` leads out of the module; say `crate`"
            ));
        }
    }
    problems
}

fn names_http(code: &str) -> bool {
    ["self::http", "super::http", "server::http"]
        .iter()
        .any(|path| code.contains(&format!("{path}::")) || code.contains(&format!("{path};")))
}

fn used_modules(code: &str) -> BTreeSet<String> {
    let mut used = BTreeSet::new();
    for (at, found) in code.match_indices("crate::") {
        // `$crate` in a macro counts, `xcrate` does not.
        if code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_') {
            continue;
        }
        let rest = &code[at + found.len()..];
        match rest.strip_prefix('{') {
            Some(group) => used.extend(group_items(group).map(first_word)),
            None => {
                used.insert(first_word(rest));
            }
        }
    }
    used.remove("");
    used
}

/// Returns the items of a brace group, without those of nested groups.
fn group_items(group: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0;
    let end = group.find(|c| {
        depth += i32::from(c == '{') - i32::from(c == '}');
        depth < 0
    });
    let mut depth = 0;
    group[..end.unwrap_or(group.len())].split(move |c| {
        depth += i32::from(c == '{') - i32::from(c == '}');
        c == ',' && depth == 0
    })
}

fn first_word(text: &str) -> String {
    text.trim_start()
        .chars()
        .take_while(|c| c.is_alphanumeric() || *c == '_')
        .collect()
}

/// Whether a chain of `super` reaches above the file's top module.
fn climbs_out(code: &str, inside: &str) -> bool {
    let module = inside.trim_end_matches("/mod.rs").trim_end_matches(".rs");
    let depth = module.split('/').count();
    code.contains(&"super::".repeat(depth))
}

fn dates(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (path, text) in tree.sources() {
        if MAY_NAME_REVISIONS
            .iter()
            .any(|start| path.starts_with(start))
        {
            continue;
        }
        for (number, line) in code(text).lines().enumerate() {
            if let Some(named) = names_revision(line) {
                let line = number + 1;
                problems.push(format!(
                    "{path}:{line}: only `revision` and `wire` may name {named}"
                ));
            }
        }
    }
    problems
}

/// Returns the revision in a line, as text (`2026-07-28`) or in a name (`V2026_07_28`).
fn names_revision(line: &str) -> Option<&'static str> {
    let line = line.replace('_', "-");
    let mut revisions = Revision::ALL.iter().map(|revision| revision.as_str());
    revisions.find(|revision| line.contains(revision))
}

fn no_std(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    let library = tree
        .get("crates/askback-core/src/lib.rs")
        .unwrap_or_default();
    if !words(library).contains("\n#![no_std]\n") {
        problems.push("the core is not no_std".to_owned());
    }
    for (path, text) in tree.files().filter(|(path, _)| path.starts_with(CORE)) {
        let code = words(text);
        if code.contains("extern crate std") || code.contains("std::") {
            problems.push(format!("{path}: the core does not use std"));
        }
    }
    problems
}

#[test]
fn modules_use_what_is_below_them() {
    assert_none(directions(&Tree::project()));

    let bad = Tree::of([
        (
            "crates/askback-core/src/ask/seal.rs",
            "//! crate::wire\nuse super::super::wire::x;",
        ),
        ("crates/askback-core/src/extra.rs", ""),
        (
            "crates/askback-core/src/forms/mod.rs",
            "use crate::{limits::{a, b}, protocol::C};",
        ),
        (
            "crates/askback-core/src/forms/read.rs",
            "use super::{number, super::Limits};",
        ),
        (
            "crates/askback-core/src/revision.rs",
            "fn f(a: crate::jsonrpc::X) { \"crate::wire\" }",
        ),
        (
            "crates/askback/src/ctx/mod.rs",
            "use crate::{server::Shared, flow::{self, Cell}};",
        ),
        (
            "crates/askback/src/server/call.rs",
            "use super::http::Endpoint;\nuse crate::server::http;",
        ),
    ]);
    let wanted = [
        "seal.rs: `super` leads out",
        "extra is on no map",
        "forms uses protocol",
        "revision uses jsonrpc",
        "ctx uses server",
        "call.rs: the server does not know how it is served",
    ];
    assert_found(&directions(&bad), &wanted);
}

#[test]
fn only_two_modules_name_a_revision() {
    assert_none(dates(&Tree::project()));

    let bad = Tree::of([
        (
            "crates/askback-core/src/ask/flow.rs",
            "// 2026-07-28\na\nmatch \"2025-11-25\" {}",
        ),
        ("crates/askback-core/src/revision.rs", "V2026_07_28"),
        ("crates/askback-core/src/wire/mod.rs", "V2026_07_28"),
        (
            "crates/askback/src/lib.rs",
            "x\n#[cfg(test)]\nmod tests { \"2026-07-28\" }",
        ),
        ("examples/travel/src/lib.rs", "Revision::V2024_11_05"),
    ]);
    let wanted = [
        "flow.rs:3: only `revision` and `wire` may name 2025-11-25",
        "travel/src/lib.rs:1",
    ];
    assert_found(&dates(&bad), &wanted);
}

#[test]
fn the_core_has_no_std() {
    assert_none(no_std(&Tree::project()));

    let bad = Tree::of([
        ("crates/askback-core/src/lib.rs", "//! No.\n// #![no_std]\n"),
        ("crates/askback-core/src/clock.rs", "use std::fs;"),
    ]);
    assert_found(&no_std(&bad), &["not no_std", "clock.rs"]);
}
