//! The skills of a server.

use serde_json::json;

use crate::{
    malformed::server,
    run::{Ran, Run},
};

const URI: &str = "skill://refunds/SKILL.md";

/// The digest of the file that the server sends.
const DIGEST: &str = "sha256:8671e2846b619922b326c79846dccde3f426eeaa5e87bdde3c6363eb7b94a792";

const DISCOVERED: &str = r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"resources":{},"extensions":{"io.modelcontextprotocol/skills":{}}},"ttlMs":0,"cacheScope":"private"}"#;

const READ: &str = r#"{"resultType":"complete","contents":[{"uri":"skill://refunds/SKILL.md","text":"---\nname: refunds\ndescription: Refunds \u202e an order.\n---\nGo.\n"}],"ttlMs":0,"cacheScope":"private"}"#;

/// Runs the command with a server whose skill has this digest.
fn run(name: &str, digest: &str, words: &[&str], input: &str) -> Ran {
    let skills = json!({
        "resultType": "complete", "ttlMs": 0, "cacheScope": "private",
        "skills": [
            {
                "uri": URI,
                "frontmatter": {"name": "refunds", "description": "Refunds \u{202e} an order."},
                "resources": [{"uri": URI, "digest": digest, "size": 61}],
            },
            {
                "uri": "skill://wrong/SKILL.md",
                "frontmatter": {"name": "other", "description": "Wrong."},
                "resources": "dynamic",
            },
            {"uri": "skill://bad/SKILL.md", "frontmatter": {"name": "bad"}, "resources": []},
        ],
    });
    let script = server(&[
        ("server/discover", DISCOVERED),
        ("skills/list", &skills.to_string()),
        ("resources/read", READ),
    ]);
    let run = Run::new(&format!("skills-{name}"), words).input(input);
    run.and(&["--", "sh", "-c", &script]).run()
}

#[test]
fn skills_are_listed() {
    let ran = run("list", DIGEST, &["list", "skills"], "").expect(0);
    let ran = ran
        .prints(URI)
        .prints("Files: 1, bytes: 61")
        .prints("Refunds <U+202E> an order.");
    let ran = ran.prints("It cannot be used: its URI does not end in its name");
    ran.says("skill 3 (`skill://bad/SKILL.md`)")
        .says("has no `description`");
    let ran = run("json", DIGEST, &["list", "skills", "--json"], "").expect(0);
    assert_eq!(ran.json()["skills"][0]["frontmatter"]["name"], "refunds");
    assert_eq!(ran.json()["skills"][1]["resources"], "dynamic");
    let ran = run("repl", DIGEST, &["open", "--plain"], "/skills\n/quit\n").expect(0);
    ran.prints("Skills").prints("Refunds <U+202E> an order.");
}

#[test]
fn a_file_that_differs_from_its_skill_is_not_printed() {
    let ran = run("get", DIGEST, &["get", URI], "").expect(0);
    ran.prints("Go.");
    let other = DIGEST.replace("sha256:", "sha256:0");
    let ran = run("differs", &other, &["get", URI], "").expect(4);
    assert_eq!(ran.says("its digest differs").stdout, "");
}

#[test]
fn the_skills_are_listed_once_for_a_file() {
    let ran = run("counted", DIGEST, &["get", URI, "--trace"], "").expect(0);
    let count = |method: &str| ran.stderr.matches(&format!("→ | {method}")).count();
    assert_eq!(count("resources/read"), 1, "{}", ran.stderr);
    assert_eq!(count("skills/list"), 1, "{}", ran.stderr);
}

#[test]
fn a_file_is_printed_if_the_skills_cannot_be_listed() {
    let script = server(&[("server/discover", DISCOVERED), ("resources/read", READ)]);
    let run = Run::new("skills-unlisted", &["get", URI]);
    let ran = run.and(&["--", "sh", "-c", &script]).run().expect(0);
    ran.prints("Go.").says("not checked, because");
}
