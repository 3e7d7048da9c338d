//! Screens of a sampling request.

use serde_json::json;

use super::{
    Do::{Gone, Press, See, Until},
    Server, Story, UNTOLD, asks, by_a_file, request, tell,
};
use crate::full::{END, ENTER, REVIEW};

// Shows SA-04.
#[test]
fn a_request_and_its_reply_are_edited() {
    let params = json!({
        "messages": [{"role": "user", "content": {"type": "text", "text": "Pick a flight."}}],
        "systemPrompt": "You know flights.", "maxTokens": 100, "stopSequences": ["Flight:"],
    });
    let round = asks(&[request("q1", "sampling/createMessage", &params)]);
    tell(&Story {
        name: "a_model_is_asked",
        server: Server::Asks(std::slice::from_ref(&round)),
        model: true,
        full: &[
            Until("[Enter] Run once"),
            See,
            Press("e"),
            Until("^S keep"),
            Press(" Be brief."),
            Until("Be brief."),
            Press(REVIEW),
            Until("As you changed it"),
            See,
            Press(END),
            Until("[Enter] Run once"),
            Press(ENTER),
            Until("[Enter] Send"),
            See,
            Press("e"),
            Until("^S keep"),
            Press("\x7f!"),
            Until("Reply 0!"),
            Press(REVIEW),
            Gone("^S keep"),
            Until("[Enter] Send"),
            See,
            Press(ENTER),
        ],
        plain: "/edit\nPick a flight. Be brief.\n.\n\n/edit\nReply 0!\n.\n\n",
        ..UNTOLD
    });
    // With an answers file there is no request to edit, and the reply names no model.
    let heard = by_a_file(&Story {
        name: "a_model_is_asked",
        server: Server::Asks(&[round]),
        answers: "sampling: [{when: {message: flight}, reply: Reply 0!}]",
        ..UNTOLD
    });
    let reply = json!({
        "content": {"text": "Reply 0!", "type": "text"}, "model": "person", "role": "assistant",
        "stopReason": "endTurn",
    });
    assert_eq!(heard, Some(format!("q1: {reply}\n")));
}
