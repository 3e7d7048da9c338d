//! A parked call in a terminal.

use pty_process::blocking::Command;

use super::{User, id, link};
use crate::{full::Terminal, run::ASKBACK};

/// The output of a command in a terminal, which exits with code 8.
#[track_caller]
fn waits(user: &User, words: &[&str]) -> String {
    let command = Command::new(ASKBACK)
        .args(words)
        .current_dir(user.0.path("."))
        .env("XDG_STATE_HOME", user.0.path("state"));
    let mut terminal = Terminal::start(command, 100);
    assert_eq!(terminal.ended(), Some(8));
    terminal.rows().join("\n")
}

#[test]
fn a_person_reads_a_question_that_waits() {
    let user = User::new("terminal");
    let call = [
        "call",
        "book_holiday",
        "destination=Rome",
        "depart=2030-06-15",
    ];
    let server = ["--name", "travel", "--", ASKBACK, "serve", "travel"];
    let said = waits(&user, &[&call[..], &["--park"], &server].concat());
    for words in [
        "travel asks\n  for the tool | book_holiday\n| Rome, 7 nights from 15 June 2030, ",
        "\n  key | wishes\n  | confirm_booking: yes or no\n",
        "\nWaits until 20",
    ] {
        assert!(said.contains(words), "{words:?} is not in\n{said}");
    }
    let (_, rest) = said.split_once("\n  askback answer ").expect("it says so");
    let id = rest.split(' ').next().expect("an id");
    // The question is printed again, also as JSON.
    let again = waits(&user, &["answer", id]);
    assert!(again.contains("\n  key | wishes\n"), "{again}");
    let json = waits(&user, &["answer", id, "--json"]);
    assert!(json.starts_with("| {\"parked\":{\"id\":"), "{json}");
    let next = waits(&user, &["answer", id, "confirm_booking=yes"]);
    assert!(next.contains("\n  key | contact\n"), "{next}");
}

#[test]
fn the_rest_of_a_long_question_is_named_with_its_secrets() {
    let user = User::new("long");
    let long = "word ".repeat(40_000);
    let form = serde_json::json!({"k": {"method": "elicitation/create", "params": {
        "mode": "form", "message": long,
        "requestedSchema": {"type": "object", "properties": {"password": {"type": "string"}}},
    }}});
    let parked = user.call(&form.to_string()).parked();
    let id = id(&parked);
    let said = waits(&user, &["answer", id]);
    let said: String = said.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in [
        &*format!(" more characters are left out: askback answer {id} --json shows them"),
        "Careful: this seems to ask for a secret, which a server must not do in a form.",
        "as it is. | password ",
    ] {
        assert!(said.contains(words), "{words:?} is not in\n{said}");
    }
    let whole = user.run(&["answer", id, "--json"]).parked();
    assert_eq!(whole["questions"][0]["message"], long);
}

#[test]
fn a_user_sees_the_destination_of_a_waiting_link() {
    let user = User::new("terminal-link");
    let link = link("http://a.example/?next=https://elsewhere.example/");
    let parked = user.call(&format!(r#"{{"k":{link}}}"#)).parked();
    let said = waits(&user, &["answer", id(&parked)]);
    let rows = "Site | a.example\n! The connection is not encrypted (http): others can read along.\n\
                ! May send you on to | elsewhere.example\n";
    assert!(said.contains(rows), "{rows:?} is not in\n{said}");
}
