//! Regression tests for faults, each in a few lines of a conversation.

use serde_json::{Value, json};

use super::{Server, answers, asks, form, heard, request, typed};
use crate::{
    full::CTRL_D,
    run::{Ran, Run},
    scratch::Scratch,
};

/// Runs a conversation with these lines, or a single call.
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
    let round = asks(&[form("q1", "Who goes?", &fields, &["name"])]);
    let mut terminal = typed(&scratch, &Server::Asks(&[round]));
    terminal.until("/cancel\n> ");
    terminal
        .press("\x1b[A\n")
        .until("do nothing here")
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
fn nothing_of_a_long_paste_is_cut_in_silence_where_lines_are_typed() {
    let scratch = Scratch::new("fault-long");
    let note = json!({"note": {"type": "string", "title": "Note"}});
    let rounds = [asks(&[form("q1", "Anything else?", &note, &[])])];
    let mut terminal = typed(&scratch, &Server::Asks(&rounds));
    terminal.until("/cancel\n> ");
    // A terminal stores at most 4,095 bytes of a line.
    terminal.press(&format!("{}\n", "x".repeat(6000)));
    terminal
        .until("all of it was ignored.")
        .until_wanted(">")
        .press("/lines\n")
        .until("only a dot");
    let line = "0123456789 abcdefghij\n";
    terminal
        .press(&format!("{}.\n", line.repeat(4800)))
        .until("is longer than")
        .until_wanted(">");
    let text = line.repeat(2700);
    terminal.press("/lines\n").until("only a dot");
    terminal.press(&format!("{text}.\n")).until("Enter sends");
    terminal.until_wanted(">").press("\n").until("done");
    terminal.until("zoo> ").press(CTRL_D);
    assert_eq!(terminal.exit(), Some(0));
    let answer = json!({"action": "accept", "content": {"note": text.trim_end()}});
    let message = json!({"id": "q1", "result": answer});
    assert_eq!(heard(&scratch), answers(&message.to_string()).concat());
}

#[test]
fn what_an_error_holds_is_shown() {
    let called = json!({"error": {
        "code": -32000, "message": "No seats.", "data": {"left": 0, "of": "the 08:10"},
    }});
    let ran = run("data", &Server::Says(&[("tools/call", called)], &[]), "");
    let ran = ran.expect(1).says("| No seats.");
    ran.says("| {\"left\":0,\"of\":\"the 08:10\"}");
}

#[test]
fn a_request_to_a_model_that_has_tools_is_refused_aloud() {
    let params = json!({
        "messages": [{"role": "user", "content": {"type": "text", "text": "Pick a flight."}}],
        "maxTokens": 100, "tools": [{"name": "seats", "inputSchema": {"type": "object"}}],
    });
    let rounds = [asks(&[request("q1", "sampling/createMessage", &params)])];
    let ran = run("tools", &Server::Asks(&rounds), "").expect(6);
    ran.says("zoo asked for the reply of a model in a way that askback does not support");
}

#[test]
fn a_line_that_is_no_message_is_shown() {
    let rounds = ["reached the database in 3 ms\n".to_owned()];
    let ran = run("print", &Server::Asks(&rounds), "").expect(0);
    ran.says("`reached the database in 3").prints("done");
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
    let says = [("initialize", greeting)];
    let ran = run("short", &Server::Says(&says, &rounds), "/call t\n");
    let ran = ran.expect(0);
    let ran = ran.says("instructions for models: 40 lines; /instructions shows them");
    assert!(!ran.stderr.contains("Rule 7."), "{}", ran.stderr);
    let ran = run("whole", &Server::Says(&says, &[]), "/instructions\n");
    let both = ran.stdout.clone() + &ran.stderr;
    assert!(both.contains("Rule 7."), "{both}");
}

#[test]
fn the_first_field_of_the_demo_names_its_values() {
    let ran = Run::new("fault-demo", &[]).input("/cancel\n/quit\n").run();
    ran.says("Where to: Barcelona, Innsbruck, Kyoto");
}
