//! `askback answer`: answers another program's questions over its socket, in a terminal and with an answers file, and
//! prints them as JSON.

use std::{
    fs,
    future::pending,
    io::{BufRead, BufReader},
    os::unix::fs::PermissionsExt,
    process::Stdio,
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
        let params = json!({
            "mode": "form", "message": message,
            "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}},
        });
        let params = to_raw_value(&params).expect("it is JSON");
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
    let mut listener = std::process::Command::new(ASKBACK)
        .args(["answer", "--asks", ".", "--json"])
        .current_dir(program.folder.path("."))
        .env("XDG_STATE_HOME", program.folder.path("state"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let stdout = listener.stdout.take().expect("it is a pipe");
    let mut lines = BufReader::new(stdout).lines();
    for message in ["What is your name?", "And your age?"] {
        let line = lines.next().expect("a line").expect("it is text");
        let question: Value = serde_json::from_str(&line).expect("it is JSON");
        assert_eq!(question["asker"]["name"], json!({"ours": "travel"}));
        assert_eq!(question["call"]["name"], json!({"peer": "book"}));
        assert_eq!(question["message"], json!([{"text": {"peer": message}}]));
        let field = &question["body"]["form"]["fields"][0];
        assert_eq!(field["label"], json!({"peer": "name"}));
    }
    // It ends when a question comes and nothing reads it.
    drop(lines);
    let last = program.ask("And your dog's name?");
    assert!(listener.wait().expect("it ends").success());
    let rules = program.folder.path("rules.yaml");
    fs::write(&rules, "answers:\n- accept: {name: Bob}\n").expect("it is ours");
    let mut script = program.answer(&["--file", "rules.yaml"]);
    for answer in answers.into_iter().chain([last]) {
        let answer = program.answered(answer);
        assert_eq!(answer["content"], json!({"name": "Bob"}));
    }
    script.press(CTRL_C);
    assert_eq!(script.ended(), Some(0));
}
