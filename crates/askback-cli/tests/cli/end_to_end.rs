//! The command as a user or a script runs it, with the built-in travel agency.

use std::{
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
};

use serde_json::{Value, json};

use crate::{
    run::{ASKBACK, Ran, Run},
    scratch::Scratch,
};

/// The revisions with forms.
const ASKING: [&str; 4] = ["2025-06-18", "2025-11-25", "2026-07-28", "auto"];

/// The revisions without forms.
const MUTE: [&str; 2] = ["2024-11-05", "2025-03-26"];

const BARCELONA: [&str; 2] = ["destination=Barcelona", "depart=2026-06-15"];

const BOOK: &str = r#"
answers:
  - when: {tool: book_holiday, key: wishes}
    accept: {confirm_booking: true, seat_preference: aisle, room_type: sea_view}
  - when: {key: contact}
    accept: {name: Ada Lovelace, email: ada@example.com}
"#;

/// The travel agency over HTTP, killed on drop.
pub(crate) struct Agency {
    child: Child,
    pub(crate) url: String,
    _scratch: Scratch,
}

impl Agency {
    pub(crate) fn open(name: &str) -> Self {
        let scratch = Scratch::new(name);
        let mut child = Command::new(ASKBACK)
            .args(["serve", "travel", "--http", "127.0.0.1:0"])
            .env("XDG_STATE_HOME", scratch.path("state"))
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command was built");
        let stderr = child.stderr.take().expect("it was asked for");
        let mut lines = BufReader::new(stderr).lines();
        let said = lines.find_map(|line| Some(line.ok()?.split_once("http://")?.1.to_owned()));
        Self {
            child,
            url: format!("http://{}", said.expect("it says where it is")),
            _scratch: scratch,
        }
    }
}

impl Drop for Agency {
    fn drop(&mut self) {
        // The agency has nothing to save.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_holiday_is_booked_over_http() {
    let agency = Agency::open("http-agency");
    for protocol in ASKING {
        let run = book("http-book", protocol).answers(BOOK).and(&["--json"]);
        let ran = run.and(&["--url", &agency.url]).run().expect(0);
        assert_eq!(ran.json()["structuredContent"]["total"], json!(3000));
    }
    for protocol in MUTE {
        let run = book("http-mute", protocol).answers(BOOK);
        run.and(&["--url", &agency.url]).run().expect(1);
    }
    let ran = Run::new("http-inspect", &["list", "--all", "--url", &agency.url]).run();
    ran.expect(0).prints("book_holiday");
    let config = json!({"mcpServers": {"agency": {"type": "http", "url": agency.url}}});
    let listed = [
        "list", "--all", "--server", "agency", "--config", "mcp.json",
    ];
    let run = Run::new("http-listed", &listed);
    run.scratch.file("mcp.json", &config.to_string());
    run.run().expect(0).prints("book_holiday").says(&agency.url);
}

#[test]
fn an_address_without_a_server_exits_with_4() {
    // Nothing listens on port 1, and no request is sent there.
    let run = Run::new(
        "http-nobody",
        &["list", "--all", "--url", "http://127.0.0.1:1/mcp"],
    );
    run.run().expect(4).says("the server cannot be reached");
}

fn book(name: &str, protocol: &str) -> Run {
    let name = format!("{name}-{protocol}");
    let run = Run::new(&name, &["call", "book_holiday", "--protocol", protocol]);
    run.and(&BARCELONA)
}

#[test]
fn a_holiday_is_booked_in_every_revision_that_asks() {
    for protocol in ASKING {
        let run = book("book", protocol).answers(BOOK).and(&["--json"]);
        let ran = run
            .on_travel()
            .expect(0)
            .says("answered by rule 2\n    key | contact");
        let result = ran.json();
        let booking = &result["structuredContent"];
        assert_eq!(booking["total"], json!(3000), "{result}");
        assert_eq!(booking["seat_preference"], "aisle");
        assert_eq!(booking["travel_insurance"], false);
        let reference = booking["reference"].as_str().unwrap_or_default();
        assert!(
            reference.len() == 12 && reference.starts_with("TRV-"),
            "{reference}"
        );
    }
}

#[test]
fn a_tool_reports_that_no_user_can_be_asked() {
    for protocol in MUTE {
        let ran = book("mute", protocol).answers(BOOK).on_travel().expect(1);
        assert!(!ran.stdout.trim().is_empty());
    }
}

#[test]
fn a_refusal_exits_with_3_and_books_nothing() {
    for protocol in ASKING {
        for act in ["decline: true", "cancel: true"] {
            let answers = format!("answers:\n  - {act}\n");
            let ran = book("no", protocol).answers(&answers).on_travel().expect(3);
            assert!(!ran.stdout.contains("TRV-"), "{}", ran.stdout);
        }
    }
}

#[test]
fn an_expected_refusal_exits_with_0() {
    for protocol in ASKING {
        for act in ["decline: true", "cancel: true"] {
            let answers = format!("answers:\n  - {act}\n    expected: true\n");
            let run = book("expected-no", protocol).answers(&answers);
            let ran = run.on_travel().expect(0).says(", as expected");
            assert!(!ran.stdout.contains("TRV-"), "{}", ran.stdout);
        }
        // The second question is declined, which the rule does not expect.
        let answers = "answers:\n  - when: {key: wishes}\n    accept: {confirm_booking: true}\n  \
                       - {decline: true}\n";
        book("mixed-no", protocol)
            .answers(answers)
            .on_travel()
            .expect(3);
    }
}

#[test]
fn a_rule_that_answers_nothing_can_exit_with_7() {
    let answers = "answers:\n- {when: {key: wishes}, accept: {confirm_booking: false}}\n\
                   - {when: {key: contact}, accept: {}}\nunused: error\n";
    let ran = book("unexpected", "auto").answers(answers).on_travel();
    ran.expect(7)
        .says("× answers file: rule 2 answered no question");
}

#[test]
fn a_question_without_a_rule_is_printed_in_full() {
    let answers = "answers:\n  - when: {key: wishes}\n    accept: {confirm_booking: true}\n";
    for protocol in ASKING {
        let ran = book("unmatched", protocol)
            .answers(answers)
            .on_travel()
            .expect(6);
        ran.says("no rule of the answers file fits")
            .says("email: a mail address");
    }
}

// Shows EL-28.
#[test]
fn without_a_terminal_every_question_is_cancelled() {
    let ran = book("nobody", "auto").on_travel().expect(6);
    ran.says("there is no terminal to ask at; cancelled");
}

#[test]
fn a_booking_that_is_not_confirmed_is_no_failure() {
    let answers = "answers:\n  - when: {key: wishes}\n    accept: {confirm_booking: false}\n";
    for protocol in ASKING {
        let ran = book("unconfirmed", protocol)
            .answers(answers)
            .on_travel()
            .expect(0);
        assert!(!ran.stdout.contains("TRV-"), "{}", ran.stdout);
    }
}

#[test]
fn a_trip_is_tailored_by_a_form_with_every_kind_of_field() {
    let words = ["call", "tailor_trip", "destination=Lisbon", "--json"];
    let run = Run::new("tailor", &words).answers(
        "answers:\n  - accept: {voucher: ABC-1234, email: ada@example.com, depart: 2026-06-15, \
         meals: breakfast, interests: [food]}\n",
    );
    let ran = run.on_travel().expect(0);
    let tailored = &ran.json()["structuredContent"];
    assert_eq!(tailored["destination"], "Lisbon");
    assert_eq!(tailored["preferences"]["depart"], "2026-06-15");
}

#[test]
fn answers_come_from_the_environment_and_files() {
    let words = ["call", "tailor_trip", "destination=Lisbon", "--json"];
    let answers = "answers:\n  - accept: {email: '${EMAIL}', depart: {date: today+14d}, name: '@name.txt', \
                   meals: Breakfast, interests: [food]}\n";
    let run = || Run::new("tailor-expanded", &words).answers(answers);
    let set = run().set("EMAIL", "ada@example.com");
    set.scratch.file("name.txt", "Round the coast\n");
    let ran = set.on_travel().expect(0);
    let preferences = &ran.json()["structuredContent"]["preferences"];
    assert_eq!(preferences["email"], "ada@example.com");
    assert_eq!(preferences["name"], "Round the coast");
    let ran = run().on_travel().expect(2);
    ran.says("rule 1: the variable EMAIL is not set");
}

#[test]
fn a_model_is_played_by_a_rule() {
    let words = [
        "call",
        "find_best_flight",
        "destination=Barcelona",
        "month=june",
        "wishes=early",
    ];
    let run = Run::new("sampling", &words).answers("sampling:\n  - reply: Take the 08:10.\n");
    run.on_travel()
        .expect(0)
        .says("answered by sampling rule 1");
    for protocol in ASKING {
        for (expected, exit) in [("false", 3), ("true", 0)] {
            let answers = format!("sampling:\n  - {{decline: true, expected: {expected}}}\n");
            let run = Run::new(&format!("sampling-no-{protocol}-{exit}"), &words);
            let run = run.and(&["--protocol", protocol]).answers(&answers);
            run.on_travel().expect(exit);
        }
    }
}

// Shows RO-12.
#[test]
fn folders_come_from_the_command_line_or_the_file() {
    let words = [
        "call",
        "save_itinerary",
        "file=plan.txt",
        "text=Sagrada Familia",
    ];
    let saved = |ran: &Ran| std::fs::read_to_string(ran.scratch.path("plan.txt")).ok();
    let run = Run::new("roots-option", &words).and(&["--roots", "."]);
    let ran = run.on_travel().expect(0);
    assert_eq!(saved(&ran).as_deref(), Some("Sagrada Familia"));

    let run = Run::new("roots-file", &words).answers("roots: [.]\n");
    let ran = run.on_travel().expect(0).says("roots: answered");
    assert_eq!(saved(&ran).as_deref(), Some("Sagrada Familia"));

    let run = Run::new("roots-none", &words).answers("answers: []\n");
    let ran = run.on_travel().expect(6);
    assert_eq!(saved(&ran), None);
}

#[test]
fn a_prompt_is_printed() {
    let words = [
        "get",
        "plan_vacation",
        "destination=Barcelona",
        "days=7",
        "budget=2000",
    ];
    let ran = Run::new("prompt", &words).on_travel();
    ran.expect(0).prints("[user]\n").prints("Barcelona");
    Run::new("prompt-missing", &["get", "plan_vacation"])
        .on_travel()
        .expect(2)
        .says("destination=…");
    let misspelt = [&words[..], &["intrests=food"]].concat();
    Run::new("prompt-misspelt", &misspelt)
        .on_travel()
        .expect(1)
        .says("sent, though the prompt has no argument | intrests");
    let lines = "/plan_vacation days=7 destnation=Rome\n/quit\n";
    Run::new("prompt-misspelt-in-a-line", &["open"])
        .input(lines)
        .on_travel()
        .expect(0)
        .says("sent, though the prompt has no argument | destnation");
    Run::new("prompt-unknown", &["get", "plan"])
        .on_travel()
        .expect(2)
        .says("plan_vacation");
}

#[test]
fn a_server_is_inspected() {
    for protocol in ASKING.into_iter().chain(MUTE) {
        let run = Run::new(
            &format!("inspect-{protocol}"),
            &["list", "--all", "--protocol", protocol],
        );
        let ran = run.on_travel().expect(0);
        ran.prints("| book_holiday")
            .prints("| /plan_vacation")
            .prints("travel://destinations");
    }
    let ran = Run::new("inspect-json", &["list", "--all", "--json"])
        .on_travel()
        .expect(0);
    let inspected = ran.json();
    let tools = inspected["tools"].as_array().map(Vec::len);
    assert_eq!(
        (tools, &inspected["protocolVersion"]),
        (Some(4), &json!("2026-07-28"))
    );
}

#[test]
fn a_server_of_mcp_json_is_started() {
    let listed = [
        "list", "--all", "--server", "agency", "--config", "mcp.json",
    ];
    let run = Run::new("mcp-json", &listed);
    let servers = json!({"mcpServers": {"agency": {
        "command": ASKBACK, "args": ["serve", "travel", "--page-size", "2"],
    }}});
    run.scratch.file("mcp.json", &servers.to_string());
    run.run()
        .expect(0)
        .prints("agency\n")
        .prints("| tailor_trip")
        .says("mcp.json says to use for agency:\n  | ");
}

#[test]
fn a_conversation_is_read_from_a_pipe() {
    let lines = "/call book_holiday destination=Barcelona depart=2026-06-15\n\
        yes\naisle\n1\n\n\n\
        Ada Lovelace\nada@example.com\n\n\n\n\
        /plan_vacation days=7\nBarcelona\n2000\n\n\n\
        /plan_vacation destination=Rome days=3 budget=900\n\
        /templates\n/log debug\n/quit\n";
    let ran = Run::new("open", &["open", "--name", "agency"])
        .input(lines)
        .on_travel();
    ran.expect(0)
        .prints("TRV-")
        // If arguments are given, optional ones are not asked for.
        .prints("Plan 3 days in Rome")
        .prints("travel://destinations/{name}")
        .says("Log lines from debug on are asked for.")
        .says("agency asks\n")
        .says("  for the tool | book_holiday")
        .says("Ready to send to agency:");
}

#[test]
fn the_end_of_the_input_cancels() {
    let lines = "/call book_holiday destination=Barcelona depart=2026-06-15\nyes\n";
    let ran = Run::new("open-end", &["open"]).input(lines).on_travel();
    ran.expect(3).says("Cancelled: the input has ended.");
}

#[test]
fn the_demo_books_a_holiday() {
    let lines = "\n\n\n\n\nyes\naisle\n1\n\n\nAda\nada@example.com\n\n\n\n/quit\n";
    let ran = Run::new("demo", &[]).input(lines).run();
    ran.expect(0)
        .prints("TRV-")
        .says("A travel agency now runs")
        .says("travel asks\n");
}

#[test]
fn a_program_that_is_not_a_server_is_a_failure() {
    let call =
        |name: &str, command: &[&str]| Run::new(name, &["call", "x", "--"]).and(command).run();
    call("gone", &["/not/there/server"]).expect(4);
    call("mute-server", &["true"]).expect(4);
    call("babbler", &["echo", "hello"]).expect(4);
}

#[test]
fn a_revision_the_server_does_not_speak_is_a_failure() {
    let run = Run::new(
        "revision",
        &["list", "--all", "--protocol", "2025-06-18", "--"],
    );
    run.and(&[ASKBACK, "serve", "travel", "--protocol", "2026-07-28"])
        .run()
        .expect(4);
}

// Shows TO-18, DI-04, BA-50.
#[test]
fn no_rule_fits_what_a_server_calls_itself() {
    // The rule is for another server. This server claims that server's name.
    let answers =
        "answers:\n  - when: {server: askback-travel}\n    accept: {confirm_booking: true}\n";
    for protocol in ASKING {
        let ran = book("claimed", protocol).answers(answers).on_travel();
        ran.expect(6).says("no rule of the answers file fits");
        let named = book("given", protocol).answers(answers);
        let ran = named.and(&["--name", "askback-travel"]).on_travel();
        // No rule answers the second question.
        ran.expect(6).says("a form: answered by rule 1");
    }
}

/// A server that asks for roots while its tools are listed.
#[cfg(unix)]
const CURIOUS: &str = r#"
say() { printf '%s\n' "$1"; }
hear() { read -r line && id=$(printf '%s' "$line" | sed 's/.*"id":\([0-9]*\).*/\1/'); }
hear
say '{"jsonrpc":"2.0","id":'$id',"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"curious","version":"1"}}}'
read -r initialized
hear
say '{"jsonrpc":"2.0","id":"mine","method":"roots/list"}'
read -r answer
say '{"jsonrpc":"2.0","id":'$id',"result":{"tools":[]}}'
"#;

/// A server whose tool asks the client's model to call a tool, and returns whether the model did.
#[cfg(unix)]
const SAMPLING: &str = r#"
say() { printf '%s\n' "$1"; }
hear() { read -r line && id=$(printf '%s' "$line" | sed 's/.*"id":\([0-9]*\).*/\1/'); }
hear
say '{"jsonrpc":"2.0","id":'$id',"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"sampling","version":"1"}}}'
read -r initialized
hear
say '{"jsonrpc":"2.0","id":'$id',"result":{"tools":[{"name":"advise","inputSchema":{"type":"object"}}]}}'
hear
say '{"jsonrpc":"2.0","id":"mine","method":"sampling/createMessage","params":{"maxTokens":9,"messages":[{"role":"user","content":{"type":"text","text":"?"}}],"tools":[{"name":"weather","inputSchema":{"type":"object"}}]}}'
read -r answer
case "$answer" in
*'"city":"Kyoto"'*'"toolUse"'*) called=yes ;;
*) called=no ;;
esac
say '{"jsonrpc":"2.0","id":'$id',"result":{"content":[{"type":"text","text":"called: '$called'"}]}}'
read -r end
"#;

#[cfg(unix)]
#[test]
fn a_model_that_calls_tools_is_played_by_a_rule() {
    let words = ["call", "advise", "--protocol", "2025-11-25"];
    let server = ["--", "sh", "-c", SAMPLING];
    let answers = "sampling:\n  - when: {tools: [weather]}\n    reply: {tool: weather, input: {city: Kyoto}}\n";
    let run = Run::new("sampling-tools", &words).answers(answers);
    run.and(&server).run().expect(0).prints("called: yes");
}

#[cfg(unix)]
#[test]
fn an_unanswered_question_is_not_a_failure_of_inspect() {
    let words = [
        "list",
        "--all",
        "--protocol",
        "2025-06-18",
        "--",
        "sh",
        "-c",
        CURIOUS,
    ];
    let ran = Run::new("inspect-asked", &words).run();
    ran.expect(0)
        .says("so no folder is shared")
        .prints("curious");
}

#[cfg(unix)]
#[test]
fn a_server_is_given_no_secret_of_ours() {
    let run = Run::new(
        "secrets",
        &[
            "list", "--all", "--server", "curious", "--config", "mcp.json",
        ],
    );
    let servers = json!({"mcpServers": {
        "curious": {
            "command": "sh", "args": ["-c", "env > seen"],
            "env": {"ASKBACK_OF_THE_SERVER": "its own", "PLAIN": "its own"},
        },
        "other": {
            "url": "https://example.com/mcp",
            "oauth": {"clientId": "mine", "clientSecretEnv": "SECRET_OF_ANOTHER"},
        },
    }});
    run.scratch.file("mcp.json", &servers.to_string());
    let hush = "hush";
    let run = [
        "ASKBACK_CLIENT_SECRET",
        "ASKBACK_WHATEVER",
        "SECRET_OF_ANOTHER",
    ]
    .into_iter()
    .fold(run, |run, name| run.set(name, hush))
    .set("ORDINARY", "of the person");
    // The program is not a server, but it was started.
    let ran = run.run().expect(4);
    let seen = std::fs::read_to_string(ran.scratch.path("seen")).expect("it was started");
    assert!(!seen.contains(hush), "{seen}");
    for line in [
        "ORDINARY=of the person",
        "PLAIN=its own",
        "ASKBACK_OF_THE_SERVER=its own",
    ] {
        assert!(
            seen.lines().any(|seen| seen == line),
            "{line} is not in\n{seen}"
        );
    }
}

/// The input of a server: a handshake and these lines.
fn session(lines: &[&str]) -> String {
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "tests", "version": "1"},
    }});
    let initialized = r#"{"jsonrpc": "2.0", "method": "notifications/initialized"}"#;
    let begun = [hello.to_string(), initialized.to_owned()];
    [&begun.join("\n"), "\n", &lines.join("\n"), "\n"].concat()
}

// Shows ST-03.
#[test]
fn a_server_writes_nothing_but_messages() {
    let input = session(&[
        r#"{"jsonrpc": "2.0", "id": 2, "method": "tools/list"}"#,
        "no message at all",
        r#"{"jsonrpc": "2.0", "id": 3, "method": "tools/burn"}"#,
    ]);
    let run = Run::new("stdout", &["serve", "travel"]).input(&input);
    let ran = run.run().expect(0);
    let messages = ran.stdout.lines().map(|line| {
        let message: Value = serde_json::from_str(line).expect(line);
        assert_eq!(message["jsonrpc"], "2.0", "{line}");
        message["id"].clone()
    });
    let mut messages: Vec<_> = messages.collect();
    messages.sort_by_key(Value::as_u64);
    assert_eq!(messages, [json!(null), json!(1), json!(2), json!(3)]);
}

#[test]
fn an_operator_is_told_what_failed_under_the_server() {
    let input = session(&[r#"{"jsonrpc": "2.0", "id": 2, "method": "resources/list"}"#]);
    let run = Run::new("log", &["serve", "travel", "--directory", "kept"]);
    // A folder has the name of the file.
    std::fs::create_dir_all(run.scratch.path("kept/bookings.jsonl")).expect("the folder is ours");
    let ran = run.input(&input).run().expect(0);
    assert!(
        ran.stdout
            .contains("its operator finds the cause in the log")
    );
    ran.says("ERROR").says("irectory");
}
