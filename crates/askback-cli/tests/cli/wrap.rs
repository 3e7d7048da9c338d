//! `askback wrap`, as started by a client that cannot ask questions.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    os::unix::fs::PermissionsExt as _,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    thread,
};

use serde_json::{Value, json};

use crate::{
    first_contact::SERVER,
    full::{CTRL_C, CTRL_D, ENTER, REVIEW, TAB, Terminal},
    run::ASKBACK,
    scratch::Scratch,
};

const REVISIONS: [&str; 5] = [
    "2024-11-05",
    "2025-03-26",
    "2025-06-18",
    "2025-11-25",
    "2026-07-28",
];

const ANSWERS: &str = "\
answers:
  - when: {key: wishes}
    accept: {confirm_booking: true}
  - when: {key: contact}
    accept: {name: Ada Lovelace, email: ada@example.com}
";

/// A client without support for questions. It writes each message itself, to the command that it started.
pub(crate) struct Client {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    revision: &'static str,
    last: u64,
    /// Whether it declines all questions.
    declines: bool,
}

impl Client {
    /// Starts the command with the environment that some clients use: only PATH.
    pub(crate) fn start(
        scratch: &Scratch,
        revision: &'static str,
        words: &[&str],
        keys: &[&str],
    ) -> Self {
        let keys = keys.iter().map(|key| (*key, "a secret"));
        Self::start_with(scratch, revision, words, keys)
    }

    /// Like [`Client::start`], with more variables.
    fn start_with<'a>(
        scratch: &Scratch,
        revision: &'static str,
        words: &[&str],
        variables: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Self {
        let mut child = Command::new(ASKBACK)
            .arg("wrap")
            .args(words)
            .current_dir(scratch.path("."))
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .envs(variables)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command was built");
        let input = child.stdin.take().expect("it was asked for");
        let output = child.stdout.take().expect("it was asked for");
        Self {
            child,
            input,
            output: BufReader::new(output),
            revision,
            last: 0,
            declines: false,
        }
    }

    /// Starts the command with these options and the travel server, and sends the handshake.
    fn of_travel(
        scratch: &Scratch,
        revision: &'static str,
        options: &[&str],
        capabilities: &Value,
    ) -> Self {
        let travel = ["--", ASKBACK, "serve", "travel", "--directory", "kept"];
        let mut client = Self::start(scratch, revision, &[options, &travel].concat(), &[]);
        client.greet(capabilities);
        client
    }

    fn say(&mut self, message: &Value) {
        writeln!(self.input, "{message}").expect("the command reads its input");
    }

    /// The response to the last request. Skips notifications.
    fn hear(&mut self) -> Value {
        loop {
            let mut line = String::new();
            let read = self.output.read_line(&mut line).expect("it writes text");
            assert!(read > 0, "the command ended");
            let message: Value = serde_json::from_str(&line).expect("it writes JSON");
            if message["method"] == "elicitation/create" && self.declines {
                let declined = json!({"action": "decline"});
                self.say(&json!({"jsonrpc": "2.0", "id": message["id"], "result": declined}));
            } else if message["id"] == self.last {
                return message;
            }
        }
    }

    fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.last += 1;
        self.say(&json!({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params}));
        self.hear()
    }

    /// Sends the handshake, if the revision has sessions.
    pub(crate) fn greet(&mut self, capabilities: &Value) {
        if self.revision == "2026-07-28" {
            return;
        }
        let params = json!({
            "protocolVersion": self.revision,
            "capabilities": capabilities,
            "clientInfo": {"name": "old", "version": "1"},
        });
        let greeting = self.ask("initialize", &params);
        assert_eq!(greeting["result"]["protocolVersion"], self.revision);
        self.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    }

    /// Books a holiday, and returns the text of the result.
    fn book(&mut self) -> String {
        let arguments = json!({"destination": "Barcelona", "depart": "2026-06-15"});
        self.call("book_holiday", &arguments)
    }

    /// Calls a tool, and returns the text of the result.
    pub(crate) fn call(&mut self, name: &str, arguments: &Value) -> String {
        let mut params = json!({"name": name, "arguments": arguments});
        if self.revision == "2026-07-28" {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": self.revision,
                "io.modelcontextprotocol/clientCapabilities": {},
                "io.modelcontextprotocol/clientInfo": {"name": "old", "version": "1"},
            });
        }
        let response = self.ask("tools/call", &params);
        let text = response["result"]["content"][0]["text"].as_str();
        text.unwrap_or_else(|| panic!("no text: {response}"))
            .to_owned()
    }

    /// Closes the input, checks the exit code, and returns stderr.
    pub(crate) fn end(mut self) -> String {
        drop(self.input);
        let mut said = String::new();
        let mut stderr = self.child.stderr.take().expect("it was asked for");
        stderr.read_to_string(&mut said).expect("it writes text");
        let status = self.child.wait().expect("it ends");
        assert_eq!(status.code(), Some(0), "{said}");
        said
    }
}

#[test]
fn a_client_of_any_revision_books_though_it_cannot_be_asked() {
    for revision in REVISIONS {
        let scratch = Scratch::new(&format!("wrap-{revision}"));
        scratch.file("answers.yaml", ANSWERS);
        let options = ["--answers", "answers.yaml"];
        let mut client = Client::of_travel(&scratch, revision, &options, &json!({}));
        let said = client.book();
        assert!(said.starts_with("Booked: Barcelona"), "{revision}: {said}");
        let told = client.end();
        assert!(told.contains("a form: answered by rule 2"), "{told}");
    }
}

#[test]
fn an_answer_that_no_person_gave_says_so() {
    let scratch = Scratch::new("wrap-nobody");
    scratch.file("answers.yaml", "answers: []\n");
    for revision in ["2025-11-25", "2026-07-28"] {
        // No front end is available.
        let options = ["--answers", "answers.yaml", "--asks", "missing"];
        let mut client = Client::of_travel(&scratch, revision, &options, &json!({}));
        let said = client.book();
        assert!(said.contains("no person has read it"), "{revision}: {said}");
        let told = client.end();
        assert!(told.contains("no rule of the answers file fits"), "{told}");
        assert!(
            told.contains("`askback answer` cannot be reached"),
            "{told}"
        );
    }
}

#[test]
fn a_client_that_takes_forms_is_asked_unless_the_command_line_says_otherwise() {
    let scratch = Scratch::new("wrap-here");
    scratch.file("answers.yaml", ANSWERS);
    let takes_forms = json!({"elicitation": {}});
    let options = ["--answers", "answers.yaml", "--ask", "here"];
    let mut client = Client::of_travel(&scratch, "2025-11-25", &options, &takes_forms);
    assert!(client.book().starts_with("Booked: Barcelona"));
    client.end();

    let mut client = Client::of_travel(&scratch, "2025-11-25", &options[..2], &takes_forms);
    let params = json!({
        "name": "book_holiday",
        "arguments": {"destination": "Barcelona", "depart": "2026-06-15"},
    });
    client.say(&json!({"jsonrpc": "2.0", "id": "call", "method": "tools/call", "params": params}));
    let mut line = String::new();
    while !line.contains("elicitation/create") {
        line.clear();
        let read = client.output.read_line(&mut line).expect("it writes text");
        assert!(read > 0, "the client was not asked");
    }
    client.end();
}

#[test]
fn a_policy_has_the_options_of_a_server() {
    let scratch = Scratch::new("wrap-policy");
    fs::create_dir(scratch.path("policies")).expect("there is room");
    scratch.file("policies/travel.yaml", ANSWERS);
    let policy =
        "[defaults]\nask = 'client'\n[server.travel]\nask = 'here'\nanswers = 'travel.yaml'\n";
    scratch.file("policies/wrap.toml", policy);
    scratch.file("refuses.yaml", &ANSWERS.replace("true", "false"));
    let options = ["--policy", "policies/wrap.toml", "--name", "travel"];
    // The client supports forms, but is not asked.
    let takes_forms = json!({"elicitation": {}});
    // The command line comes first.
    for (more, books) in [(&[][..], true), (&["--answers", "refuses.yaml"], false)] {
        let options = [&options, more].concat();
        let mut client = Client::of_travel(&scratch, "2025-11-25", &options, &takes_forms);
        let said = client.book();
        assert_eq!(said.starts_with("Booked: Barcelona"), books, "{said}");
        client.end();
    }
}

#[test]
fn a_server_that_can_ask_in_2025_11_25_only_is_connected_in_it() {
    let scratch = Scratch::new("wrap-older");
    let state = scratch.path("state").display().to_string();
    scratch.file("server.sh", SERVER);
    scratch.file("answers.yaml", "answers: [{accept: {count: 3}}]");
    let words = ["--answers", "answers.yaml", "--", "sh", "server.sh"];
    let start = || {
        let variables = [("XDG_STATE_HOME", &*state)];
        Client::start_with(&scratch, "2026-07-28", &words, variables)
    };
    let mut client = start();
    let first = client.call("order", &json!({}));
    assert!(first.contains("Call `order` again"), "{first}");
    assert_eq!(client.call("order", &json!({})), "ordered");
    let said = client.end();
    assert!(said.contains("can ask up to 2025-11-25 only"), "{said}");
    assert!(!said.contains("waiting for a client"), "{said}");
    // The next command begins in this revision.
    let mut client = start();
    assert_eq!(client.call("order", &json!({})), "ordered");
    client.end();
    // Another version of the server is asked in the newest revision at once.
    let updated = SERVER
        .replace(r#""version":"1""#, r#""version":"2""#)
        .replace(r#""isError":true,"#, "")
        .replace("elicitation via server-initiated requests", "a call");
    scratch.file("server.sh", &updated);
    let unasked = "a call is unavailable on 2026-07-28 connections.";
    for _ in 0..2 {
        let mut client = start();
        assert_eq!(client.call("order", &json!({})), unasked);
        client.end();
    }
}

#[cfg(unix)]
#[test]
fn a_server_that_has_not_greeted_ends_with_its_client() {
    use rustix::process::{Pid, test_kill_process};

    let scratch = Scratch::new("wrap-silent");
    let pipe = scratch.path("pid");
    let made = Command::new("mkfifo").arg(&pipe).status();
    assert!(made.expect("the system has pipes").success());
    let words = ["--", "sh", "-c", "echo $$ > pid; exec tail -f /dev/null"];
    let mut client = Client::start(&scratch, "2025-11-25", &words, &[]);
    let params = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "old", "version": "1"},
    });
    client.say(&json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}));
    let written = fs::read_to_string(pipe).expect("the server writes it");
    client.end();
    let server = Pid::from_raw(written.trim().parse().expect("it is a number"));
    let server = server.expect("it is not 0");
    assert!(test_kill_process(server).is_err(), "the server goes on");
}

#[test]
fn a_call_whose_answer_takes_long_is_given_back_and_made_again() {
    let scratch = Scratch::new("wrap-hold");
    scratch.file(
        "answers.yaml",
        &ANSWERS.replace("    accept: {name", "    after: 2s\n    accept: {name"),
    );
    let options = ["--answers", "answers.yaml", "--hold", "1"];
    let mut client = Client::of_travel(&scratch, "2025-06-18", &options, &json!({}));
    let mut said = client.book();
    assert!(said.contains("Call `book_holiday` again"), "{said}");
    while said.contains("Call `book_holiday` again") {
        said = client.book();
    }
    assert!(said.starts_with("Booked: Barcelona"), "{said}");
    let told = client.end();
    // The server was called once, and asked two questions.
    assert_eq!(told.matches("a form: answered").count(), 2, "{told}");
}

#[cfg(unix)]
#[test]
fn a_server_is_given_no_key_of_a_model_unless_the_command_line_names_it() {
    #[track_caller]
    fn check(words: &[&str], seen: &str) {
        let scratch = Scratch::new("wrap-keys");
        let server = r#"echo "$OPENAI_API_KEY,$OTHER_KEY" > seen; exec "$0" serve travel"#;
        let words = [words, &["--", "sh", "-c", server, ASKBACK]].concat();
        let keys = ["OPENAI_API_KEY", "OTHER_KEY"];
        let mut client = Client::start(&scratch, "2025-11-25", &words, &keys);
        client.greet(&json!({}));
        let told = client.end();
        let written = fs::read_to_string(scratch.path("seen")).expect("the server wrote it");
        assert_eq!(written.trim(), seen);
        let is_told = told.contains("OPENAI_API_KEY is not passed to the server");
        assert_eq!(is_told, seen.starts_with(','), "{told}");
    }
    check(&[], ",a secret");
    check(&["--env", "OPENAI_API_KEY"], "a secret,a secret");
}

#[cfg(unix)]
#[test]
fn a_person_at_a_terminal_is_told_what_the_command_waits_for() {
    let words = ["wrap", "--", "cat"];
    let mut terminal = Terminal::open_with(&words, 80, &[]);
    terminal.until("waiting for a client of MCP");
    terminal.press(CTRL_D);
    assert_eq!(terminal.end(), Some(0));
}

#[test]
fn a_signal_ends_the_command_and_its_server() {
    use rustix::process::{Pid, Signal, kill_process, test_kill_process};

    let scratch = Scratch::new("wrap-signals");
    for signal in [Signal::INT, Signal::TERM] {
        let server = r#"echo $$ > pid; exec "$0" serve travel --directory kept"#;
        let words = ["--", "sh", "-c", server, ASKBACK];
        let mut client = Client::start(&scratch, "2025-11-25", &words, &[]);
        client.greet(&json!({}));
        let written = fs::read_to_string(scratch.path("pid")).expect("the server wrote it");
        let server = Pid::from_raw(written.trim().parse().expect("it is a number"));
        let server = server.expect("it is not 0");
        let command = Pid::from_raw(client.child.id().try_into().expect("it is small"));
        kill_process(command.expect("it is not 0"), signal).expect("it runs");
        let status = client.child.wait().expect("it ends");
        assert_eq!(status.code(), Some(0));
        assert!(test_kill_process(server).is_err(), "the server goes on");
    }
}

/// A folder for questions that only this user can access.
pub(crate) fn asks(scratch: &Scratch) -> String {
    let folder = scratch.path("asks");
    fs::create_dir(&folder).expect("there is room");
    let owner = fs::Permissions::from_mode(0o700);
    fs::set_permissions(&folder, owner).expect("it is ours");
    folder.display().to_string()
}

pub(crate) fn answering(scratch: &Scratch, folder: &str) -> Terminal {
    let state = scratch.path("state").display().to_string();
    let words = ["answer", "--asks", folder];
    let mut terminal = Terminal::open_with(&words, 100, &[("XDG_STATE_HOME", &state)]);
    terminal.until("Waiting for questions.");
    terminal
}

fn book_at(terminal: &mut Terminal) {
    terminal.until("for 3000 USD.").press("y").press(REVIEW);
    terminal.until("[Enter] Send").press(ENTER);
    terminal.until("Who is travelling?").press("Ada").press(TAB);
    terminal.press("ada@example.com").press(REVIEW);
    terminal.until("[Enter] Send").press(ENTER);
}

/// A client whose user answers at another terminal. Returns the client and that terminal.
fn asked_elsewhere(
    scratch: &Scratch,
    revision: &'static str,
    capabilities: &Value,
) -> (Client, Terminal) {
    let folder = asks(scratch);
    let options = ["--asks", &folder, "--show=none"];
    let client = Client::of_travel(scratch, revision, &options, capabilities);
    (client, answering(scratch, &folder))
}

#[test]
fn a_person_books_at_another_terminal() {
    #[track_caller]
    fn check(revision: &'static str, capabilities: &Value, declines: bool) {
        let scratch = Scratch::new(&format!("wrap-answer-{revision}-{declines}"));
        let (mut client, mut terminal) = asked_elsewhere(&scratch, revision, capabilities);
        client.declines = declines;
        let booking = thread::spawn(move || (client.book(), client));
        book_at(&mut terminal);
        let (text, client) = booking.join().expect("it books");
        assert!(text.contains("3000 USD"), "{revision}: {text}");
        client.end();
        terminal.press(CTRL_C);
        assert_eq!(terminal.ended(), Some(0));
    }
    for revision in REVISIONS {
        check(revision, &json!({}), false);
    }
    // A client that declines by itself does not answer for the user.
    check("2025-11-25", &json!({"elicitation": {"form": {}}}), true);
}

#[test]
fn a_person_is_told_why_a_question_went_away() {
    let scratch = Scratch::new("wrap-ends");
    let (mut client, mut terminal) = asked_elsewhere(&scratch, "2025-11-25", &json!({}));
    let call = json!({
        "jsonrpc": "2.0", "id": 7, "method": "tools/call",
        "params": {
            "name": "book_holiday",
            "arguments": {"destination": "Barcelona", "depart": "2026-06-15"},
        },
    });
    client.say(&call);
    terminal.until("for 3000 USD.");
    let cancelled = json!({
        "jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7},
    });
    client.say(&cancelled);
    terminal.until("The client cancelled the call or disconnected");
    let mut again = call;
    again["id"] = 8.into();
    again["params"]["arguments"]["destination"] = "Reykjavik".into();
    client.say(&again);
    terminal.until("Reykjavik");
    client.end();
    terminal.until_not("Reykjavik");
    terminal.press(CTRL_C);
    assert_eq!(terminal.ended(), Some(0));
}

#[test]
fn a_person_is_told_that_the_client_of_a_call_that_was_given_back_has_gone() {
    let scratch = Scratch::new("wrap-gone");
    let folder = asks(&scratch);
    let options = ["--asks", &folder, "--show=none", "--hold=1"];
    let mut client = Client::of_travel(&scratch, "2025-11-25", &options, &json!({}));
    let mut terminal = answering(&scratch, &folder);
    let said = client.book();
    assert!(said.contains("Call `book_holiday` again"), "{said}");
    terminal.until("for 3000 USD.");
    client.end();
    terminal.until("The program ended before its question was answered.");
    terminal.press(CTRL_C);
    assert_eq!(terminal.ended(), Some(0));
}
