//! Faults that were found once, each in a line or two of a conversation.

use pty_process::blocking::Command;
use serde_json::{Value, json};

use super::{Server, asks, form, heard, request};
use crate::{
    full::{CTRL_D, Terminal},
    run::{ASKBACK, Ran, Run},
    scratch::Scratch,
};

/// Has a conversation of these lines with a server, or the call that they are alone.
fn run(name: &str, server: &Server<'_>, lines: &str) -> Ran {
    let words = match lines {
        "" => &["call", "t"][..],
        _ => &["open"],
    };
    let run = Run::new(&format!("fault-{name}"), words);
    let (_, start) = server.set(&run.scratch);
    run.and(start).input(lines).run()
}

fn name() -> Value {
    let fields = json!({"name": {"type": "string", "title": "Full name"}});
    form("q1", "Who goes?", &fields, &[])
}

#[test]
fn a_command_within_a_question_is_no_answer() {
    let ran = run(
        "quit",
        &Server::Asks(&[asks(&[name()])]),
        "/call t\n/quit\n/frobnicate\n/help\n//quit\n\n",
    );
    let ran = ran.expect(0).says("/decline").says("/cancel");
    let answer = r#"{"action":"accept","content":{"name":"/quit"}}"#;
    assert_eq!(heard(&ran.scratch), format!("q1: {answer}\n"));
}

#[test]
fn options_that_are_many_are_found_by_a_part_of_them() {
    let stations: Vec<_> = (1..=300)
        .map(|number| format!("Station {number}"))
        .collect();
    let fields = json!({"from": {"type": "string", "enum": stations}});
    let asked = asks(&[form("q1", "Where?", &fields, &["from"])]);
    let ran = run(
        "options",
        &Server::Asks(&[asked]),
        "/call t\non 18\n188\n\n",
    )
    .expect(0);
    let ran = ran.says("| Station 30\nand 270 more: type a part of one to see which have it\n");
    let ran = ran.says("| Station 18\n180 | Station 180\n");
    assert_eq!(
        heard(&ran.scratch),
        "q1: {\"action\":\"accept\",\"content\":{\"from\":\"Station 188\"}}\n"
    );
}

#[test]
fn lines_that_are_pasted_are_one_value_where_lines_are_typed() {
    let fields = json!({
        "name": {"type": "string", "title": "Full name"},
        "note": {"type": "string", "title": "Note"},
    });
    let scratch = Scratch::new("fault-pasted");
    let (_, start) =
        Server::Asks(&[asks(&[form("q1", "Who goes?", &fields, &["name"])])]).set(&scratch);
    let mut command = Command::new(ASKBACK).args(["open", "--plain"]).args(start);
    command = command
        .current_dir(scratch.path("."))
        .env("XDG_STATE_HOME", scratch.path("state"));
    let mut terminal = Terminal::start(command, 80);
    terminal
        .until("zoo> ")
        .press("/call t\n")
        .until("/cancel\n> ");
    terminal
        .press("\x1b[A\n")
        .until("/help lists what does.")
        .until("/cancel\n> ");
    terminal.press("Ada\nLovelace\n").until("Note").until("> ");
    terminal
        .press("\n\n\n")
        .until("Ready to send")
        .until("Enter sends");
    terminal
        .press("\n")
        .until("done")
        .until("zoo> ")
        .press(CTRL_D);
    assert_eq!(terminal.exit(), Some(0));
    let answer = r#"{"action":"accept","content":{"name":"Ada\nLovelace"}}"#;
    assert_eq!(heard(&scratch), format!("q1: {answer}\n"));
}

#[test]
fn a_request_to_a_model_that_has_tools_is_refused_aloud() {
    let params = json!({
        "messages": [{"role": "user", "content": {"type": "text", "text": "Pick a flight."}}],
        "maxTokens": 100, "tools": [{"name": "seats", "inputSchema": {"type": "object"}}],
    });
    let rounds = [asks(&[request("q1", "sampling/createMessage", &params)])];
    let ran = run("tools", &Server::Asks(&rounds), "").expect(6);
    ran.says("zoo asked for a text of a model in a way that is not possible here");
}

#[test]
fn a_line_that_is_no_message_is_shown() {
    let rounds = ["reached the database in 3 ms\n".to_owned()];
    let ran = run("print", &Server::Asks(&rounds), "").expect(0);
    ran.says("reached the database in 3 ms").prints("done");
}

#[test]
fn what_a_server_says_at_first_is_short() {
    let instructions: Vec<_> = (1..=40).map(|line| format!("Rule {line}.")).collect();
    let greeting = json!({
        "protocolVersion": "2025-11-25", "capabilities": {"tools": {"listChanged": true}},
        "serverInfo": {"name": "zoo", "version": "1"}, "instructions": instructions.join("\n"),
    });
    let changed = json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"});
    let rounds = [asks(&vec![changed; 5])];
    let ran = run(
        "short",
        &Server::Says(greeting.clone(), &rounds),
        "/call t\n",
    );
    let ran = ran.expect(0);
    let ran = ran.says("instructions for models: 40 lines; /instructions shows them");
    assert!(!ran.stderr.contains("Rule 7."), "{}", ran.stderr);
    let ran = run("whole", &Server::Says(greeting, &[]), "/instructions\n");
    let both = ran.stdout.clone() + &ran.stderr;
    assert!(both.contains("Rule 7."), "{both}");
}

#[test]
fn the_first_field_of_the_demo_names_its_values() {
    let ran = Run::new("fault-demo", &[]).input("/cancel\n/quit\n").run();
    ran.says("Where to: Barcelona, Innsbruck, Kyoto");
}
