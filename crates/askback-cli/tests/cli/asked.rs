//! `askback answer`: answers another program's questions over its socket, in a terminal and with an answers file, and
//! prints them as JSON.

use std::{
    fs,
    future::pending,
    io::{BufRead, BufReader, Lines},
    os::unix::fs::PermissionsExt,
    process::{Child, ChildStdout, Stdio},
    thread,
};

use askback::{
    bridge::Answers,
    client::{CallTarget, HostQuestion},
    protocol::{InputRequest, InputResponse},
};
use askback_host::{
    attach::{Board, BoardOptions},
    model::{Asker, Origin},
};
use pty_process::blocking::Command;
use serde_json::{Value, json, value::to_raw_value};
use tokio::{
    runtime::{Builder, Handle},
    task::JoinHandle,
    time::timeout,
};

use crate::{
    full::{CTRL_C, ENTER, PATIENCE, REVIEW, Terminal},
    run::ASKBACK,
    scratch::Scratch,
};

/// A program without a user.
struct Program {
    runtime: Handle,
    board: Board,
    folder: Scratch,
}

impl Program {
    fn new(name: &str) -> Self {
        let folder = Scratch::new(name);
        let owner = fs::Permissions::from_mode(0o700);
        fs::set_permissions(folder.path("."), owner).expect("it is ours");
        let driven = Builder::new_current_thread().enable_all().build();
        let driven = driven.expect("a runtime");
        let runtime = driven.handle().clone();
        // The thread drives the board while the test waits for the terminal. It ends with the process.
        thread::spawn(move || driven.block_on(pending::<()>()));
        let mut options = BoardOptions::new(Asker {
            name: "travel".to_owned(),
            reached: Origin::Typed("travel-server".to_owned()),
            claims: None,
        });
        options.folder = Some(folder.path("."));
        let board = {
            let _entered = runtime.enter();
            Board::open(options, |_| {}).expect("the folder is ours")
        };
        Self {
            runtime,
            board,
            folder,
        }
    }

    fn ask(&self, message: &str) -> JoinHandle<Value> {
        let fields = json!({"name": {"type": "string"}});
        self.ask_form(message, &fields)
    }

    fn ask_form(&self, message: &str, fields: &Value) -> JoinHandle<Value> {
        self.ask_with(&json!({
            "mode": "form", "message": message,
            "requestedSchema": {"type": "object", "properties": fields},
        }))
    }

    fn ask_with(&self, params: &Value) -> JoinHandle<Value> {
        let params = to_raw_value(params).expect("it is JSON");
        let request = InputRequest::parse("elicitation/create", Some(&params));
        let question = HostQuestion {
            server: None,
            call: None,
            target: Some(CallTarget::Tool("book".to_owned())),
            key: None,
            request: request.expect("it is a form"),
            retried: false,
        };
        let board = self.board.clone();
        self.runtime.spawn(async move {
            let response: InputResponse = board.answer(question).await.expect("forms have one");
            json!(response)
        })
    }

    fn answered(&self, answer: JoinHandle<Value>) -> Value {
        let answer = self
            .runtime
            .block_on(async { timeout(PATIENCE, answer).await });
        answer.expect("it is answered").expect("it ended")
    }

    fn answer(&self, words: &[&str]) -> Terminal {
        let command = Command::new(ASKBACK)
            .args(["answer", "--asks", "."])
            .args(words)
            .current_dir(self.folder.path("."))
            .env("XDG_STATE_HOME", self.folder.path("state"))
            .env("TERM", "xterm-256color");
        Terminal::start(command, 100)
    }

    /// Starts a program that reads the questions.
    fn listen(&self) -> (Child, Lines<BufReader<ChildStdout>>) {
        let mut listener = std::process::Command::new(ASKBACK)
            .args(["answer", "--asks", ".", "--json"])
            .current_dir(self.folder.path("."))
            .env("XDG_STATE_HOME", self.folder.path("state"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        let stdout = listener.stdout.take().expect("it is a pipe");
        (listener, BufReader::new(stdout).lines())
    }
}

fn next(lines: &mut Lines<BufReader<ChildStdout>>) -> Value {
    let line = lines.next().expect("a line").expect("it is text");
    serde_json::from_str(&line).expect("it is JSON")
}

#[test]
fn a_person_answers_the_question_of_another_program() {
    let program = Program::new("asked");
    let mut terminal = program.answer(&[]);
    terminal.until("Waiting for questions.");
    let answer = program.ask("What is your name?");
    terminal.until("What is your name?").until("travel asks");
    terminal
        .press("Ada")
        .press(REVIEW)
        .until("[Enter] Send")
        .press(ENTER);
    let answer = program.answered(answer);
    assert_eq!(
        answer,
        json!({"action": "accept", "content": {"name": "Ada"}})
    );
    // After Ctrl-C, another front end gets the next question.
    let answer = program.ask("And your age?");
    terminal.until("And your age?").press(CTRL_C);
    assert_eq!(terminal.ended(), Some(0));
    assert!(!answer.is_finished());
    let rules = program.folder.path("rules.yaml");
    fs::write(&rules, "answers:\n- accept: {name: Bob}\n").expect("it is ours");
    let mut script = program.answer(&["--file", "rules.yaml"]);
    let answer = program.answered(answer);
    assert_eq!(answer["content"], json!({"name": "Bob"}));
    script.press(CTRL_C);
    assert_eq!(script.ended(), Some(0));
}

#[test]
fn what_is_typed_survives_a_killed_terminal() {
    let program = Program::new("asked-killed");
    let mut terminal = program.answer(&[]);
    let answer = program.ask("What is your name?");
    terminal.until("What is your name?").press("Ada Love");
    // The other terminal has the text as soon as the program has it.
    let mut other = program.answer(&[]);
    other.until("Ada Love");
    drop(other);
    terminal.kill();
    let mut plain = program.answer(&["--plain"]);
    plain.until("What you had written before is there again.");
    plain.press(CTRL_C);
    assert_eq!(plain.ended(), Some(0));
    let mut terminal = program.answer(&[]);
    terminal
        .until("Ada Love")
        .press("lace")
        .press(REVIEW)
        .until("[Enter] Send")
        .press(ENTER);
    let answer = program.answered(answer);
    assert_eq!(answer["content"], json!({"name": "Ada Lovelace"}));
}

#[test]
fn a_question_is_printed_as_json_and_stays_open() {
    let program = Program::new("asked-json");
    let answers = ["What is your name?", "And your age?"].map(|message| program.ask(message));
    let (mut listener, mut lines) = program.listen();
    let mut ids = Vec::new();
    for message in ["What is your name?", "And your age?"] {
        let question = next(&mut lines);
        ids.push(question["id"].clone());
        assert_eq!(question["asker"]["name"], json!({"ours": "travel"}));
        assert_eq!(question["call"]["name"], json!({"peer": "book"}));
        assert_eq!(question["message"], json!([{"text": {"peer": message}}]));
        let field = &question["body"]["form"]["fields"][0];
        assert_eq!(field["label"], json!({"peer": "name"}));
    }
    // It ends when nothing reads it.
    drop(lines);
    assert!(listener.wait().expect("it ends").success());
    // Another one has the same ids.
    let (mut listener, mut lines) = program.listen();
    let again = [(); 2].map(|()| next(&mut lines)["id"].clone());
    assert_eq!(again[..], ids);
    let rules = program.folder.path("rules.yaml");
    fs::write(&rules, "answers:\n- accept: {name: Bob}\n").expect("it is ours");
    let mut script = program.answer(&["--file", "rules.yaml"]);
    for answer in answers {
        let answer = program.answered(answer);
        assert_eq!(answer["content"], json!({"name": "Bob"}));
    }
    for id in ids {
        let ended = json!({"id": id, "ended": "answered"});
        assert_eq!(next(&mut lines), ended);
    }
    script.press(CTRL_C);
    assert_eq!(script.ended(), Some(0));
    listener.kill().expect("it runs");
    listener.wait().expect("it ends");
}

#[test]
fn a_program_that_reads_questions_refuses_none_and_sees_no_secret() {
    let program = Program::new("asked-read");
    let (mut listener, mut lines) = program.listen();
    let link = program.ask_with(&json!({
        "mode": "url", "message": "Look.", "url": "javascript:alert(1)", "elicitationId": "1",
    }));
    let line = next(&mut lines);
    let warned = "No front end opens this link: only https and http are opened";
    assert_eq!(line["issue"], json!({"ours": warned}));
    let shown = json!([{"peer": "javascript:alert(1)"}]);
    assert_eq!(line["body"]["outline"]["lines"], shown);
    assert!(!link.is_finished());
    link.abort();
    let ended = json!({"id": line["id"], "ended": "withdrawn"});
    assert_eq!(next(&mut lines), ended);
    let fields = json!({
        "password": {"type": "string", "default": "hunter2"},
        "city": {"type": "string", "default": "Rome"},
    });
    let form = program.ask_form("Who?", &fields);
    let line = next(&mut lines);
    let warning = line["issue"]["ours"].as_str().expect("there is a warning");
    assert!(warning.starts_with("Careful: this seems to ask for a secret"));
    let shown = &line["body"]["form"]["fields"];
    assert_eq!(shown[0]["label"], json!({"peer": "city"}));
    assert_eq!(shown[0]["text"], json!({"peer": "Rome"}));
    assert_eq!(shown[1]["isSecret"], json!(true));
    assert!(!line.to_string().contains("hunter2"), "{line}");
    assert!(!form.is_finished());
    listener.kill().expect("it runs");
    listener.wait().expect("it ends");
}
