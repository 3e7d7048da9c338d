//! A panic while the program uses the terminal: the terminal is restored before the message is printed.

use askback::{
    forms::{Field, FieldKind, FormSchema, TextField},
    limits::Limits,
};
use askback_host::{
    full::Full,
    leaf::Leaf as _,
    model::{Ask, Asker, Change, Conversation, Desk, Event, Origin, Question, Server},
    relay::ServerId,
};
use pty_process::blocking::Command;

use crate::full::Terminal;

/// Not a test of its own: the program asks a question on the full screen and panics.
#[tokio::test]
#[ignore = "the test below runs it on a terminal"]
async fn a_program_that_panics() {
    let asker = Asker {
        name: "travel".to_owned(),
        reached: Origin::Typed("travel".to_owned()),
        claims: None,
    };
    let desk = Desk::new(asker, None, None, Limits::default());
    let mut talk = Conversation::new(Server::new(desk));
    let schema = FormSchema {
        fields: vec![Field::new(
            "destination",
            FieldKind::Text(TextField::default()),
        )],
        annotations: serde_json::Map::new(),
    };
    let question = Question {
        call: None,
        key: None,
        ask: Ask::Form {
            message: "Where to?".to_owned(),
            schema,
        },
    };
    talk.update(Change::Desk(ServerId::FIRST, Event::Asked(1, question)));
    let mut full = Full::new(1000).expect("there is a terminal");
    full.show(&talk, None);
    panic!("out of luck");
}

#[test]
fn a_program_that_panics_leaves_the_terminal_as_it_was() {
    let program = std::env::current_exe().expect("it is this one");
    let words = [
        "panicked::a_program_that_panics",
        "--exact",
        "--ignored",
        "--nocapture",
    ];
    let command = Command::new(program)
        .args(words)
        .env("TERM", "xterm-256color")
        // A backtrace is longer than the screen.
        .env("RUST_BACKTRACE", "0");
    let mut terminal = Terminal::start(command, 80);
    terminal.until("out of luck");
    assert_eq!(terminal.ended(), Some(101));
    assert!(!terminal.is_raw());
    assert!(terminal.wrote("destination"), "the form was not seen");
    // The screen is erased, and the panic message follows in complete lines.
    let rows = terminal.rows();
    let asked = rows.iter().find(|row| row.contains("destination"));
    assert_eq!(asked, None, "{}", rows.join("\n"));
    for told in ["thread '", "out of luck"] {
        let is_told = rows.iter().any(|row| row.starts_with(told));
        assert!(is_told, "{told}: {}", rows.join("\n"));
    }
}
