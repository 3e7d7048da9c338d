//! Stories of a server that dies, in each state in which the command can be.

use serde_json::{Value, json};

use super::{
    Do::{Kill, Press, See, Until},
    Server, Story, UNTOLD, asks, form, link, request, tell,
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
    let asked = [asks(&[name()])];
    let killed = |name: &str, server: Server<'_>, full: &[_]| {
        let left = [full, &[Until("[Enter] Call again"), See, Press("\x1b")]].concat();
        tell(&Story {
            name,
            server,
            full: &left,
            exit: 4,
            ..UNTOLD
        });
    };
    killed(
        "dies_in_a_form",
        Server::Asks(&asked),
        &[Until("Full name"), Press("Ada"), Until("Ada"), Kill],
    );
    let wishes = json!({
        "maxTokens": 100,
        "messages": [{"role": "user", "content": {"type": "text", "text": "Which one?"}}],
    });
    killed(
        "dies_while_a_reply_is_written",
        Server::Asks(&[asks(&[request("q1", "sampling/createMessage", &wishes)])]),
        &[Until("^S look"), Press("The red"), Until("The red"), Kill],
    );
    killed(
        "dies_in_a_review",
        Server::Asks(&asked),
        &[
            Until("Full name"),
            Press("Ada"),
            Press(REVIEW),
            Until("[Enter] Send"),
            Kill,
        ],
    );
    killed(
        "dies_at_a_link",
        Server::Asks(&[asks(&[link("q1", "https://example.com/")])]),
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
