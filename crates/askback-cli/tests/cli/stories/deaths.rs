//! Stories of a server that dies, in each state in which the command can be.

use std::slice::from_ref;

use serde_json::{Value, json};

use super::{
    Do::{Kill, Press, See, Until},
    Server, Story, UNTOLD, asks, by_a_file, form, in_lines, link, request, tell,
};
use crate::full::{CTRL_D, ENTER, REVIEW};

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
        server: Server::Says(Value::Null, &[]),
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
        let left = [full, &[Until("[Enter] Call again"), See, Press("\x1b")]].concat();
        let round = asks(from_ref(question));
        tell(&Story {
            name,
            server: Server::Asks(from_ref(&round)),
            full: &left,
            exit: 4,
            ..UNTOLD
        });
        // Where lines or a file answer, it goes by itself.
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
        &[Until("Full name"), Press("Ada"), Until("Ada"), Kill],
    );
    let login = json!({"password": {"type": "string"}});
    killed(
        "dies_in_a_form_with_a_secret",
        &form("q1", "Who goes?", &login, &[]),
        &[Until("seems to ask for"), Kill],
    );
    let wishes = json!({
        "maxTokens": 100,
        "messages": [{"role": "user", "content": {"type": "text", "text": "Which one?"}}],
    });
    killed(
        "dies_while_a_reply_is_written",
        &request("q1", "sampling/createMessage", &wishes),
        &[Until("^S look"), Press("The red"), Until("The red"), Kill],
    );
    killed(
        "dies_in_a_review",
        &name(),
        &[
            Until("Full name"),
            Press("Ada"),
            Press(REVIEW),
            Until("[Enter] Send"),
            Kill,
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
            Kill,
        ],
    );
    killed(
        "dies_at_the_folders",
        &request("q1", "roots/list", &json!({})),
        &[Until("which folders"), Kill],
    );
    killed(
        "dies_at_a_link",
        &link("q1", "https://example.com/"),
        &[Until("[o] Open"), Kill],
    );
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
            Kill,
            Until("went away"),
            See,
            Press("\x03"),
            Press(CTRL_D),
        ],
        ..UNTOLD
    });
}
