//! Checks the packages: which may use which, and what the core may depend on.

use std::process::Command;

use serde_json::{Value, json};

use crate::{Problem, assert_found, assert_none, tree::root};

/// The packages of the project, lowest first, and the packages that each may use. Tests may use more.
const FLOORS: &[(&str, &[&str])] = &[
    ("askback-core", &[]),
    ("askback-macros", &[]),
    ("askback-requests", &["askback-core"]),
    ("askback-oauth", &["askback-core", "askback-requests"]),
    ("askback-sql", &["askback-core"]),
    (
        "askback",
        &[
            "askback-core",
            "askback-macros",
            "askback-oauth",
            "askback-requests",
            "askback-sql",
        ],
    ),
    (
        "askback-connect",
        &["askback", "askback-core", "askback-oauth", "askback-sql"],
    ),
    ("askback-fleet", &["askback", "askback-core", "askback-sql"]),
    ("askback-bench", &["askback"]),
    ("askback-delete", &["askback"]),
    ("askback-expense", &["askback"]),
    ("askback-features", &["askback"]),
    ("askback-macro-tests", &[]),
    (
        "askback-repositories",
        &["askback", "askback-connect", "askback-oauth"],
    ),
    (
        "askback-travel",
        &[
            "askback",
            "askback-connect",
            "askback-core",
            "askback-fleet",
            "askback-oauth",
        ],
    ),
    ("askback-seams", &["askback"]),
    ("askback-skills", &["askback"]),
    ("askback-host", &["askback", "askback-requests"]),
    (
        "askback-check",
        &[
            "askback",
            "askback-host",
            "askback-oauth",
            "askback-requests",
        ],
    ),
    (
        "askback-cli",
        &[
            "askback",
            "askback-check",
            "askback-host",
            "askback-oauth",
            "askback-requests",
            "askback-travel",
        ],
    ),
    (
        "lab",
        &[
            "askback",
            "askback-check",
            "askback-cli",
            "askback-connect",
            "askback-core",
            "askback-fleet",
            "askback-macros",
            "askback-oauth",
            "askback-requests",
            "askback-travel",
        ],
    ),
];

/// All dependencies of the core. They do not open sockets, read a clock, a file or the environment, or draw random
/// bytes. A new entry needs the same properties.
const CORE: &[&str] = &[
    // The seal.
    "aead",
    "aes",
    "aes-gcm-siv",
    "block-buffer",
    "cipher",
    "cmov",
    "cpubits",
    "cpufeatures",
    "crypto-common",
    "ctr",
    "ctutils",
    "digest",
    "hkdf",
    "hmac",
    "hybrid-array",
    "inout",
    "polyval",
    "sha2",
    "typenum",
    "universal-hash",
    "zeroize",
    // Error messages for JSON, and URI templates.
    "iri-string",
    "serde_path_to_error",
    // JSON and its canonical form.
    "base64",
    "itoa",
    "memchr",
    "ryu-js",
    "serde",
    "serde_core",
    "serde_json",
    "zmij",
    // Dates and patterns of forms, and URIs of resources.
    "jiff",
    "jiff-core",
    "percent-encoding",
    "regex",
    "regex-automata",
    "regex-syntax",
    // Compile-time helpers.
    "askback-core",
    "cfg-if",
    "thiserror",
];

/// Returns the problems in the output of `cargo metadata`.
fn floors(metadata: &Value) -> Vec<Problem> {
    let mut problems = Vec::new();
    let names = |value: &Value, key: &str| -> Vec<Value> {
        value[key].as_array().cloned().unwrap_or_default()
    };
    for package in names(metadata, "packages") {
        let name = package["name"].as_str().unwrap_or_default();
        let Some((_, allowed)) = FLOORS.iter().find(|(floor, _)| *floor == name) else {
            problems.push(format!("the package {name} stands on no floor"));
            continue;
        };
        for dependency in names(&package, "dependencies") {
            let used = dependency["name"].as_str().unwrap_or_default();
            let ours = dependency["path"].is_string();
            if ours && dependency["kind"] != "dev" && !allowed.contains(&used) {
                problems.push(format!("{name} uses {used}, which is not below it"));
            }
        }
    }
    problems
}

/// Returns the problems in the output of `cargo tree` for the core, with a line per package and its features.
fn core(tree: &str) -> Vec<Problem> {
    let mut problems = Vec::new();
    for line in tree.lines() {
        let (package, features) = line.split_once('|').unwrap_or((line, ""));
        let name = package.split(' ').next().unwrap_or_default();
        if !CORE.contains(&name) {
            problems.push(format!(
                "the core is built from {name}, which is not on its list"
            ));
        }
        let features = features.trim_end_matches(" (*)");
        if features.split(',').any(|feature| feature == "std") {
            problems.push(format!("the core has {name} with the feature std"));
        }
    }
    problems
}

/// Returns the reasons why askback conflicts with another crate that links SQLite, because a program can only link it
/// once.
fn sqlite(metadata: &Value) -> Vec<Problem> {
    let mut problems = Vec::new();
    let packages = metadata["packages"].as_array().into_iter().flatten();
    for package in packages.filter(|package| package["name"] == "askback-sql") {
        let dependencies = package["dependencies"].as_array().into_iter().flatten();
        for rusqlite in dependencies.filter(|dependency| dependency["name"] == "rusqlite") {
            // The versions that sqlx 0.8 and the newest rusqlite need.
            if rusqlite["req"] != ">=0.32, <0.42" {
                problems.push(format!(
                    "askback-sql takes rusqlite {} alone",
                    rusqlite["req"]
                ));
            }
            let bundled = json!("bundled");
            let features = rusqlite["features"].as_array();
            if features.is_some_and(|features| features.contains(&bundled)) {
                problems.push("askback-sql bundles SQLite unasked".to_owned());
            }
        }
        let enabled = package["features"]["sqlite"].as_array();
        if enabled.is_some_and(|enabled| enabled.contains(&json!("rusqlite/bundled"))) {
            problems.push("the feature `sqlite` bundles it".to_owned());
        }
    }
    problems
}

/// Finds random number generators other than the operating system's that packages with ids and keys could use. The
/// generator in a cryptographic library is not a separate crate.
fn generators(metadata: &Value) -> Vec<Problem> {
    let mut problems = Vec::new();
    let packages = metadata["packages"].as_array().into_iter().flatten();
    for package in packages {
        let name = package["name"].as_str().unwrap_or_default();
        let dependencies = package["dependencies"].as_array().into_iter().flatten();
        for dependency in dependencies.filter(|dependency| dependency["kind"] != "dev") {
            let used = dependency["name"].as_str().unwrap_or_default();
            let is_of_ids = ["cuid", "nanoid", "ulid", "uuid"]
                .iter()
                .any(|id| used.contains(id));
            if is_of_ids || used.contains("rand") && used != "getrandom" {
                problems.push(format!("{name} makes random numbers by {used}"));
            }
        }
    }
    problems
}

fn cargo(arguments: &[&str]) -> String {
    let cargo = std::env::var_os("CARGO").unwrap_or("cargo".into());
    let output = Command::new(cargo)
        .args(arguments)
        .current_dir(root())
        .output()
        .expect("cargo runs");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).expect("cargo writes UTF-8")
}

#[test]
fn dependencies_point_down() {
    let metadata = cargo(&["metadata", "--no-deps", "--format-version", "1"]);
    assert_none(floors(&serde_json::from_str(&metadata).expect("JSON")));

    let uses = |name: &str, used: &str, kind: Option<&str>| json!({"name": name, "dependencies": [{"name": used, "kind": kind, "path": "/there"}]});
    let bad = json!({"packages": [
        uses("askback-core", "askback", None),
        uses("askback-macros", "askback-core", Some("build")),
        uses("askback-macros", "askback-core", Some("dev")),
        uses("askback-cli", "askback", None),
        uses("askback-extra", "askback", None),
    ]});
    let wanted = [
        "askback-core uses askback",
        "askback-macros uses",
        "askback-extra stands",
    ];
    assert_found(&floors(&bad), &wanted);
}

// Shows BP25-03.
#[test]
fn random_numbers_are_those_of_the_operating_system() {
    let metadata = cargo(&["metadata", "--no-deps", "--format-version", "1"]);
    assert_none(generators(&serde_json::from_str(&metadata).expect("JSON")));

    let uses = |used: &str, kind: Option<&str>| json!({"name": "askback", "dependencies": [{"name": used, "kind": kind}]});
    let bad = json!({"packages": [
        uses("getrandom", None),
        uses("rand", Some("dev")),
        uses("rand", None),
        uses("fastrand", None),
        uses("uuid", None),
    ]});
    let wanted = ["by rand", "by fastrand", "by uuid"];
    assert_found(&generators(&bad), &wanted);
}

#[test]
fn sqlite_may_be_that_of_another_crate() {
    let metadata = cargo(&["metadata", "--no-deps", "--format-version", "1"]);
    assert_none(sqlite(&serde_json::from_str(&metadata).expect("JSON")));

    let rusqlite = json!({"name": "rusqlite", "req": "^0.41.1", "features": ["bundled"]});
    let features = json!({"sqlite": ["dep:rusqlite", "rusqlite/bundled"]});
    let bad = json!({"packages": [
        {"name": "askback-sql", "dependencies": [rusqlite], "features": features},
    ]});
    let wanted = ["rusqlite \"^0.41.1\" alone", "unasked", "`sqlite` bundles"];
    assert_found(&sqlite(&bad), &wanted);
}

#[test]
fn the_core_is_built_from_nothing_that_does_io() {
    let edges = "normal,no-proc-macro";
    let format = "{p}|{f}";
    let tree = cargo(&[
        "tree",
        "--locked",
        "-p",
        "askback-core",
        "--all-features",
        "-e",
        edges,
        "--prefix",
        "none",
        "-f",
        format,
    ]);
    assert!(tree.starts_with("askback-core "), "{tree}");
    assert_none(core(&tree));

    let bad = "askback-core v1|\nserde v1|alloc,std (*)\nmio v1|net\nregex v1|nostd";
    assert_found(&core(bad), &["serde with the feature std", "mio"]);
}
