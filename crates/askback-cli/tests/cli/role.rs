//! Tests of `--as`, which plays other clients.

use std::fs;

use serde_json::{Value, json};

use crate::{
    run::{ASKBACK, Ran, Run},
    scratch::is_in_wrapped,
};

/// The capabilities and the client name that the server received, according to the trace of a run.
#[track_caller]
fn introduced(role: &str, opening: &str) -> (Value, Ran) {
    let name = format!("as-{}", role.replace(',', "-"));
    let run = Run::new(&name, &["list", "tools", "--as", role, "--trace=traced"]);
    let traced = run.scratch.path("traced");
    let ran = run.on_travel().expect(0);
    let traced = fs::read_to_string(traced).expect("it was written");
    let lines: Vec<Value> = traced
        .lines()
        .map(|line| serde_json::from_str(line).expect("each line is JSON"))
        .collect();
    let first = lines
        .iter()
        .find(|line| line["message"]["method"] == opening);
    let first = first.unwrap_or_else(|| panic!("no {opening} in {traced}"));
    (first["message"]["params"].clone(), ran)
}

#[test]
fn a_client_that_is_played_can_do_less() {
    let (of, _) = introduced("no-url,no-sampling,no-tasks", "server/discover");
    let capabilities = &of["_meta"]["io.modelcontextprotocol/clientCapabilities"];
    assert_eq!(
        *capabilities,
        json!({"elicitation": {"form": {}}, "roots": {}})
    );
    let (of, _) = introduced("gemini-cli", "initialize");
    assert_eq!(of["protocolVersion"], "2025-06-18");
    assert_eq!(of["capabilities"], json!({"roots": {"listChanged": true}}));
}

#[test]
fn an_unknown_client_is_refused() {
    Run::new("as-nobody", &["list", "--as", "nobody"])
        .on_travel()
        .expect(2)
        .says("expected one of claude-code, ");
}

#[test]
fn a_form_that_the_client_does_not_show_is_cancelled() {
    #[track_caller]
    fn check(role: &str, says: &str) {
        let answers = "answers: [{accept: true}]";
        let run = Run::new("as-numbers", &["call", "tailor_trip", "destination=Rome"]);
        let file = run.scratch.file("answers.yaml", answers);
        let run = run.and(&["--as", role, "--answers", &file]);
        // The tool reports the cancellation as an error.
        run.on_travel().expect(1).says(says);
    }
    check(
        "codex",
        "A form was cancelled: codex shows no numbers in forms.",
    );
    check(
        "no-lists",
        "A form was cancelled: the client that is played shows no lists in forms.",
    );
}

#[test]
fn one_revision_is_spoken() {
    #[track_caller]
    fn check(words: &[&str], says: &str) {
        let run = Run::new("as-two", &["list"]).and(words);
        run.on_travel().expect(2).says(says);
    }
    let both = "askback: --protocol 2025-11-25 and the revision 2025-06-18 of the client do not go together\n  Name one of them.\n";
    let protocol = ["--protocol", "2025-11-25"];
    check(
        &[&["--as", "2025-06-18,no-url"][..], &protocol].concat(),
        both,
    );
    check(
        &["--as", "codex,cline"],
        "codex and cline are two clients; name one",
    );
    check(
        &["--as", "2025-06-18,no-url,2025-11-25"],
        "2025-06-18 and 2025-11-25 are two revisions; name one",
    );
}

#[test]
fn unmute_says_what_it_changes() {
    let run = Run::new("as-unmute", &["open"]).input("/unmute\n/quit\n");
    let ran = run.and(&["--", ASKBACK, "serve", "travel"]).run().expect(0);
    ran.says("No server is muted.");
}

#[test]
fn a_suite_says_which_questions_a_played_client_does_not_declare() {
    let run = Run::new("as-suite", &["test", "suite.yaml", "--as", "no-forms"]);
    let suite = "cases:
  - {name: count, call: tailor_trip, arguments: {destination: Rome}, expect: {questions: 1}}
  - {name: mode, call: tailor_trip, arguments: {destination: Rome}, expect: {questions: [{mode: form}]}}
";
    run.scratch.file("suite.yaml", suite);
    let ran = run.on_travel().expect(1);
    let expected = "expected questions: 1 (the client that is played declares no forms)\n";
    assert_eq!(ran.stdout.matches(expected).count(), 2, "{}", ran.stdout);
}

fn guide(page: &str) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guide/");
    fs::read_to_string(format!("{folder}{page}")).expect("the guide is there")
}

pub(crate) fn known_clients() -> Vec<Value> {
    serde_json::from_str(include_str!("../../src/known_clients.json")).expect("they are rows")
}

/// The clients whose files are known are in three lists, the clients whose timeouts are known in one.
#[test]
fn the_guide_and_the_help_name_each_known_client() {
    let text = |it: &Value| it.as_str().unwrap_or_default().to_owned();
    let code = |it: &Value| format!("`{}`", text(it));
    let listed = |mut all: Vec<String>| {
        let last = all.pop().expect("there are clients");
        format!("{} and {last}", all.join(", "))
    };
    let known = known_clients();
    let (command, wrap) = (guide("command.md"), guide("wrap.md"));
    let (mut names, mut titles) = (Vec::new(), Vec::new());
    for client in &known {
        let title = client.get("title").unwrap_or(&client["name"]);
        let waits = client["waits"].as_object();
        if client["info"].is_string() && waits.is_some_and(|waits| !waits.is_empty()) {
            let row = format!("{} {}", text(title), text(&client["version"]));
            assert!(wrap.contains(&row), "wrap.md, A call that waits: {row}");
        }
        let Some(files) = client["files"].as_array() else {
            continue;
        };
        names.push(code(&client["name"]));
        titles.push(text(title));
        let aliases = client["aliases"].as_array().into_iter().flatten();
        let aliases: String = aliases.map(|it| format!(" (or {})", code(it))).collect();
        let cell = |of_project: bool| {
            let files = files.iter();
            let files = files.filter(|it| (it["base"] == "project") == of_project);
            let paths = files.map(|file| match file["base"] == "home" {
                true => format!("`~/{}`", text(&file["path"])),
                false => code(&file["path"]),
            });
            let paths: Vec<_> = paths.collect();
            format!(" {} |", paths.join(", ")).replace("  ", " ")
        };
        let (of_project, of_user) = (cell(true), cell(false));
        let row = format!(
            "| {}{aliases} |{of_project}{of_user}\n",
            code(&client["name"])
        );
        assert!(command.contains(&row), "command.md: {row}");
    }
    let names = format!("`--in` takes {}.", listed(names));
    assert!(is_in_wrapped(&names, &wrap), "wrap.md: {names}");
    let help = Run::new("servers-help", &["servers", "--help"])
        .run()
        .expect(0);
    let titles = listed(titles);
    assert!(is_in_wrapped(&titles, &help.stdout), "{titles}");
}

/// The guide has a row for each client: its capabilities, and their source.
#[test]
fn the_guide_has_a_row_for_each_known_client() {
    let page = guide("developing.md");
    let known = known_clients();
    let played = known.iter().filter(|client| client["revision"].is_string());
    for client in played {
        let text = |member: &str| client[member].as_str().unwrap_or_default();
        let names = |member: &str, between: &str| {
            let names = client[member].as_array().into_iter().flatten();
            let names: Vec<_> = names.filter_map(Value::as_str).collect();
            names.join(between)
        };
        let asked = match (&*names("asked", ", "), &*names("undrawn", " and ")) {
            ("", _) => "nothing".to_owned(),
            (asked, "") => asked.to_owned(),
            (asked, undrawn) => asked.replace("forms", &format!("forms without {undrawn}")),
        };
        let [name, version, revision] = ["name", "version", "revision"].map(text);
        let [seen, source] = ["seen", "source"].map(text);
        let row = format!("| `{name}` {version} | {revision} | {asked} | {seen}: {source} |\n");
        assert!(page.contains(&row), "{row}");
    }
}
