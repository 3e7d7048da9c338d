//! Skills whose entry or file is wrong, or whose server does not answer for them.

use super::{findings, ids};
use crate::{malformed::server, run::Run};

const RESOURCES: &str = r#""resources":{},"#;

const ENTRY: &str = r#"{"uri":"skill://refunds/SKILL.md","frontmatter":{"name":"refunds","description":"Refunds an order."},"resources":[{"uri":"skill://refunds/SKILL.md","digest":"sha256:DIGEST","size":57}]}"#;

const FILE: &str = r"---\nname: refunds\ndescription: Refunds an order.\n---\nGo.\n";

/// A whole message. The space at its start distinguishes it from a result.
const UNKNOWN: &str =
    r#" {"jsonrpc":"2.0","id":@,"error":{"code":-32602,"message":"no such skill"}}"#;

const DIGEST: &str = "e91a9e2b519d9c7611790d9e2dd2cbbbb92104323a8f683b382c9024e03600c0";

/// Checks a server with these answers about skills, and returns the findings about skills.
#[track_caller]
fn finds(name: &str, resources: &str, listed: &str, unknown: &str, expected: &str) {
    let discovered = format!(
        r#"{{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{{{resources}"extensions":{{"io.modelcontextprotocol/skills":{{}}}}}},"ttlMs":0,"cacheScope":"private"}}"#
    );
    let file = format!(
        r#"{{"resultType":"complete","contents":[{{"uri":"skill://refunds/SKILL.md","text":"{FILE}"}}],"ttlMs":0,"cacheScope":"private"}}"#
    );
    let script = server(&[
        ("server/discover", &discovered),
        ("skills/list", listed),
        ("skills/get", unknown),
        (r#"resources/read"'*'refunds/SKILL.md"#, &file),
    ]);
    let words = [
        "check",
        "--json",
        "--timeout",
        "3",
        "--protocol",
        "2026-07-28",
    ];
    let run = Run::new(&format!("check-skills-{name}"), &words);
    let ran = run.and(&["--", "sh", "-c", &script]).run();
    let mut found = findings(&ran);
    found.retain(|id| id.starts_with("SK") || id.starts_with("skill"));
    assert_eq!(found, ids(expected), "{name}\n{}", ran.stdout);
}

#[test]
fn faults_of_skills_are_found() {
    let list = |entry: &str| {
        format!(
            r#"{{"resultType":"complete","skills":[{entry}],"ttlMs":0,"cacheScope":"private"}}"#
        )
    };
    let right = ENTRY.replace("DIGEST", DIGEST);
    let other = list(&ENTRY.replace("DIGEST", &"0".repeat(64)));
    let renamed = list(&right.replace(r#""name":"refunds""#, r#""name":"money""#));
    let short = list(&right.replace(r#","size":57"#, ""));
    let unlisted = list(&right.replacen(
        r#"[{"uri":"skill://refunds/SKILL.md""#,
        r#"[{"uri":"skill://refunds/a.md""#,
        1,
    ));
    let right = list(&right);
    let nothing = r#"{"resultType":"complete"}"#;
    let found = r#"{"resultType":"complete","skill":{}}"#;
    let missing = UNKNOWN.replace("-32602", "-32601");
    for (name, resources, listed, unknown, expected) in [
        ("right", RESOURCES, &*right, UNKNOWN, ""),
        ("undeclared", "", &*right, UNKNOWN, "SK-02"),
        ("not-listed", RESOURCES, nothing, UNKNOWN, "SK-01"),
        ("not-got", RESOURCES, &*right, &*missing, "SK-01"),
        ("got-anything", RESOURCES, &*right, found, "SK-15"),
        ("renamed", RESOURCES, &*renamed, UNKNOWN, "skill-entry"),
        ("without-size", RESOURCES, &*short, UNKNOWN, "skill-entry"),
        ("unlisted", RESOURCES, &*unlisted, UNKNOWN, "skill-entry"),
        ("other-digest", RESOURCES, &*other, UNKNOWN, "skill-file"),
    ] {
        finds(name, resources, listed, unknown, expected);
    }
}
