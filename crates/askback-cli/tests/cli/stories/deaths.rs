//! A server that exits in each state of the command.

use std::slice::from_ref;

use serde_json::{Value, json};

use super::{
    Do::{self, Kill, Press, See, Until},
    Server, Story, UNTOLD, asks, by_a_file, form, heard, in_lines, link, request, tell, typed,
};
use crate::{
    full::{CTRL_D, ENTER, ESC, REVIEW},
    scratch::Scratch,
};

fn wishes() -> Value {
    let params = json!({
        "maxTokens": 100,
        "messages": [{"role": "user", "content": {"type": "text", "text": "Which one?"}}],
    });
    request("q1", "sampling/createMessage", &params)
}

/// The server exits: the screen before and after that. The call is not repeated.
const DEATH: [Do<'_>; 5] = [See, Kill, Until("[Enter] Call again"), See, Press(ESC)];

fn name() -> Value {
    form(
        "q1",
        "Who goes?",
        &json!({"name": {"type": "string", "title": "Full name"}}),
        &["name"],
    )
}

#[test]
fn a_server_dies_before_it_answers_at_all() {
    tell(&Story {
        name: "dies_in_the_greeting",
        server: Server::Says(&[("initialize", Value::Null)], &[]),
        plain: "/tools\n",
        answers: "answers: []",
        exit: 4,
        ..UNTOLD
    });
}

#[test]
fn a_server_dies_in_a_call() {
    tell(&Story {
        name: "dies_in_a_call",
        server: Server::Asks(&["gone".to_owned()]),
        plain: "/quit\n",
        answers: "answers: []",
        exit: 4,
        ..UNTOLD
    });
}

#[test]
fn a_server_dies_while_the_person_answers() {
    let killed = |name: &str, question: &Value, full: &[_]| {
        let round = asks(from_ref(question));
        tell(&Story {
            name,
            server: Server::Asks(from_ref(&round)),
            full: &[full, &DEATH].concat(),
            exit: 4,
            ..UNTOLD
        });
        // With lines or an answers file, the command continues automatically.
        let round = round + "gone\n";
        let story = Story {
            name,
            server: Server::Asks(from_ref(&round)),
            plain: "Ada\n\n",
            answers: "{answers: [{accept: {name: Ada}, after: 10s}], sampling: [{reply: The red one.}]}",
            exit: 4,
            ..UNTOLD
        };
        for heard in [in_lines(&story), by_a_file(&story)] {
            assert_eq!(heard.as_deref(), Some(""), "{name}");
        }
    };
    killed(
        "dies_in_a_form",
        &name(),
        &[Until("Full name"), Press("Ada"), Until("Ada")],
    );
    let login = json!({"password": {"type": "string"}});
    killed(
        "dies_in_a_form_with_a_secret",
        &form("q1", "Who goes?", &login, &[]),
        &[Until("seems to ask for")],
    );
    killed(
        "dies_while_a_reply_is_written",
        &wishes(),
        &[Until("^S review"), Press("The red"), Until("The red")],
    );
    killed(
        "dies_in_a_review",
        &name(),
        &[
            Until("Full name"),
            Press("Ada"),
            Press(REVIEW),
            Until("[Enter] Send"),
        ],
    );
    killed(
        "dies_at_a_reason",
        &name(),
        &[
            Until("Full name"),
            Press(CTRL_D),
            Until("Why not?"),
            Press("too dear"),
            Until("dear"),
        ],
    );
    killed(
        "dies_at_the_folders",
        &request("q1", "roots/list", &json!({})),
        &[Until("which folders")],
    );
    killed(
        "dies_at_a_link",
        &link("q1", "https://example.com/"),
        &[Until("[o] Open")],
    );
    killed(
        "dies_at_the_second_yes_of_a_link",
        &link("q1", "http://example.com/"),
        &[Until("[o] Open"), Press("o"), Until("[y] Open it anyway")],
    );
}

#[test]
fn a_server_dies_with_a_reply_of_a_model_before_the_person() {
    let left = [
        Until("[Enter] Run once"),
        Press(ENTER),
        Until("[Enter] Send"),
    ];
    tell(&Story {
        name: "dies_at_a_reply_of_a_model",
        server: Server::Asks(&[asks(&[wishes()])]),
        model: true,
        full: &[&left[..], &DEATH].concat(),
        exit: 4,
        ..UNTOLD
    });
}

#[test]
fn a_server_dies_with_several_questions_waiting() {
    let how = form("q2", "How?", &json!({"how": {"type": "string"}}), &[]);
    let round = asks(&[name(), how, link("q3", "https://example.com/")]);
    let left = [Until("question 1 of 3"), Press("Ada"), Until("Ada")];
    tell(&Story {
        name: "dies_with_a_queue",
        server: Server::Asks(std::slice::from_ref(&round)),
        full: &[&left[..], &DEATH].concat(),
        exit: 4,
        ..UNTOLD
    });
    // With lines or an answers file, the command continues automatically.
    let story = Story {
        name: "dies_with_a_queue",
        server: Server::Asks(&[round + "gone\n"]),
        plain: "Ada\n\n",
        answers: "answers: [{accept: {name: Ada}, after: 10s}]",
        exit: 4,
        ..UNTOLD
    };
    for heard in [in_lines(&story), by_a_file(&story)] {
        assert_eq!(heard.as_deref(), Some(""));
    }
}

#[test]
fn a_server_dies_while_a_link_is_open() {
    let url = "https://example.com/";
    let link = json!({"mode": "url", "message": "Pay.", "elicitationId": "one", "url": url});
    let called = json!({"error": {
        "code": -32042, "message": "Pay first.", "data": {"elicitations": [link]},
    }});
    tell(&Story {
        name: "dies_while_a_link_is_open",
        server: Server::Says(&[("tools/call", called)], &[]),
        full: &[
            Until("[o] Open"),
            Press("o"),
            Until("Waiting for you"),
            See,
            Kill,
            // No request is pending, so the user can continue on the page.
            Press(ESC),
        ],
        exit: 3,
        ..UNTOLD
    });
}

#[test]
fn a_server_dies_before_its_tool_is_called() {
    let fields = json!({"to": {"type": "string", "title": "Where to"}});
    let schema = json!({"type": "object", "properties": fields, "required": ["to"]});
    let tools = json!({"tools": [{"name": "t", "inputSchema": schema}]});
    tell(&Story {
        name: "dies_at_the_arguments",
        server: Server::Says(&[("tools/list", tools)], &[]),
        full: &[
            Until("Where to"),
            Press("Rome"),
            Until("Rome"),
            See,
            Kill,
            Until("went away"),
            See,
            Press(ENTER),
            Until("[Enter] Call"),
            Press(ENTER),
        ],
        ..UNTOLD
    });
}

#[test]
fn a_call_whose_server_died_between_two_questions_is_made_again() {
    let other = form("q2", "How far?", &json!({"km": {"type": "integer"}}), &[]);
    let rounds = [asks(&[name()]), "once\n".to_owned(), asks(&[other])];
    tell(&Story {
        name: "dies_between_two_questions",
        server: Server::Asks(&rounds),
        full: &[
            Until("Full name"),
            Press("Ada"),
            Press(REVIEW),
            Until("[Enter] Send"),
            Press(ENTER),
            Until("[Enter] Call again"),
            See,
            Press(ENTER),
            // The server may have acted on the answer, so it is not sent again automatically.
            Until("Full name"),
            Press("Ada"),
            Press(REVIEW),
            Until("[Enter] Send"),
            Press(ENTER),
            Until("How far?"),
            Press("12"),
            Press(REVIEW),
            Until("[Enter] Send"),
            See,
            Press(ENTER),
        ],
        ..UNTOLD
    });
    // With piped lines an error ends the conversation, and an answers file never repeats a call, so this test types in
    // a terminal.
    let scratch = Scratch::new("story-dies-typed");
    let mut terminal = typed(&scratch, &Server::Asks(&rounds));
    terminal.until("/cancel\n> ").press("Ada\n");
    terminal.until("Enter sends").until_wanted(">").press("\n");
    terminal
        .until("/again makes the call from its beginning")
        .until_wanted("zoo>");
    terminal.press("/again\n").until_wanted(">");
    terminal.press("Eve\n").until("Full name: Eve");
    terminal.until_wanted(">").press("\n");
    terminal.until("Enter skips").until_wanted(">");
    terminal
        .press("12\n")
        .until("12\nEnter sends")
        .until_wanted(">");
    terminal.press("\n").until("done").until_wanted("zoo>");
    terminal.press(CTRL_D);
    assert_eq!(terminal.exit(), Some(0));
    let name = r#"q1: {"action":"accept","content":{"name":"Ada"}}"#;
    let far = r#"q2: {"action":"accept","content":{"km":12}}"#;
    let other = r#"q1: {"action":"accept","content":{"name":"Eve"}}"#;
    assert_eq!(heard(&scratch), format!("{name}\n{other}\n{far}\n"));
}

#[test]
fn a_call_whose_server_died_is_made_again_with_what_was_written() {
    let other = form("q2", "How far?", &json!({"km": {"type": "integer"}}), &[]);
    tell(&Story {
        name: "dies_and_is_called_again",
        server: Server::Asks(&[asks(&[name()]), asks(&[other])]),
        full: &[
            Until("Full name"),
            Press("Ada"),
            Press(REVIEW),
            Until("[Enter] Send"),
            Press(ENTER),
            Until("How far?"),
            Press("12"),
            Until("12"),
            See,
            Kill,
            Until("[Enter] Call again"),
            See,
            Press(ENTER),
            Until("How far?"),
            See,
            Press(REVIEW),
            Until("[Enter] Send"),
            Press(ENTER),
        ],
        ..UNTOLD
    });
}

#[test]
fn a_server_dies_while_nothing_is_asked_of_it() {
    tell(&Story {
        name: "dies_at_the_prompt",
        server: Server::Asks(&[]),
        opens: true,
        full: &[
            Until("zoo> "),
            Press("/call"),
            Until("zoo> /call"),
            See,
            Kill,
            Until("went away"),
            See,
            Press("\x03"),
            Press(CTRL_D),
        ],
        ..UNTOLD
    });
}
