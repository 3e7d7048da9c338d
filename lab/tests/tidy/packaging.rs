//! The packages of all channels name the same version, repository and server.

use serde_json::Value;

use crate::{Problem, assert_found, assert_none, tree::Tree};

const WORKSPACE: &str = "Cargo.toml";
const NPM: &str = "packaging/npm/package.json";
const PLATFORMS: &str = "packaging/npm/platforms.json";
const PYPI: &str = "packaging/pypi/pyproject.toml";
const REGISTRY: &str = "server.json";
const DIST: &str = "dist-workspace.toml";
const README: &str = "crates/askback-cli/README.md";

fn disagreements(tree: &Tree) -> Vec<Problem> {
    let get = |path: &str| tree.get(path).unwrap_or_default();
    let json = |path: &str| serde_json::from_str::<Value>(get(path)).unwrap_or_default();
    let workspace = |name: &str| {
        let start = format!("{name} = \"");
        let line = get(WORKSPACE)
            .lines()
            .find_map(|line| line.strip_prefix(&start));
        line.unwrap_or_default().trim_end_matches('"').to_owned()
    };
    let (npm, registry) = (json(NPM), json(REGISTRY));
    let mut problems = Vec::new();
    let mut same = |what: &str, path: &str, named: &Value, expected: &str| {
        if named.as_str() != Some(expected) {
            problems.push(format!("{path}: the {what} is {named}, and not {expected}"));
        }
    };
    let version = workspace("version");
    same("version", NPM, &npm["version"], &version);
    same("version", REGISTRY, &registry["version"], &version);
    for package in registry["packages"].as_array().unwrap_or(&Vec::new()) {
        same(
            "version of a package",
            REGISTRY,
            &package["version"],
            &version,
        );
    }
    let repository = workspace("repository");
    same(
        "repository",
        REGISTRY,
        &registry["repository"]["url"],
        &repository,
    );
    let of_npm = format!("git+{repository}.git");
    same("repository", NPM, &npm["repository"]["url"], &of_npm);
    let license = workspace("license");
    same("license", NPM, &npm["license"], &license);
    let server = registry["name"].as_str().unwrap_or_default();
    same("name of the server", NPM, &npm["mcpName"], server);
    let lines = [
        (PYPI, format!("Repository = \"{repository}\"")),
        (PYPI, format!("license = \"{license}\"")),
        (README, format!("mcp-name: {server}")),
    ];
    for (path, line) in lines {
        if !get(path).lines().any(|found| found == line) {
            problems.push(format!("{path} lacks the line {line}"));
        }
    }
    let platforms = json(PLATFORMS);
    for target in platforms
        .as_object()
        .into_iter()
        .flat_map(|all| all.values())
    {
        let named = format!("\"{}\"", target.as_str().unwrap_or_default());
        if !get(DIST).contains(&named) {
            problems.push(format!("{DIST} does not build {named} of {PLATFORMS}"));
        }
    }
    problems
}

#[test]
fn packages_agree() {
    assert_none(disagreements(&Tree::project()));
}

#[test]
fn disagreements_are_found() {
    let workspace = "version = \"0.1.0\"\nlicense = \"MIT\"\nrepository = \"https://a.test/a\"\n";
    let npm = r#"{"version": "0.2.0", "license": "MIT", "mcpName": "a/b",
        "repository": {"url": "git+https://a.test/a.git"}}"#;
    let registry = r#"{"name": "a/c", "version": "0.1.0", "repository": {"url": "https://a.test/b"},
        "packages": [{"version": "0.1.0"}, {"version": "0.3.0"}]}"#;
    let tree = Tree::of([
        (WORKSPACE, workspace),
        (NPM, npm),
        (PLATFORMS, r#"{"linux-x64": "x", "linux-arm64": "y"}"#),
        (
            PYPI,
            "Repository = \"https://a.test/a\"\nlicense = \"MIT\"\n",
        ),
        (REGISTRY, registry),
        (DIST, "targets = [\"x\"]"),
        (README, "mcp-name: a/b\n"),
    ]);
    let wanted = [
        "package.json: the version is \"0.2.0\"",
        "server.json: the version of a package is \"0.3.0\"",
        "server.json: the repository is",
        "package.json: the name of the server is \"a/b\"",
        "README.md lacks the line mcp-name: a/c",
        "does not build \"y\"",
    ];
    assert_found(&disagreements(&tree), &wanted);
}
