//! A story of a request to a model.

use serde_json::json;

use super::{
    Do::{Gone, Press, See, Until},
    Server, Story, UNTOLD, asks, by_a_file, request, tell,
};
use crate::full::{ENTER, REVIEW};

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
            Until("^S take it"),
            Press(" Be brief."),
            Until("Be brief."),
            Press(REVIEW),
            Until("As you changed it"),
            See,
            Press(ENTER),
            Until("[Enter] Send"),
            See,
            Press("e"),
            Until("^S take it"),
            Press("\x7f!"),
            Until("Reply 0!"),
            Press(REVIEW),
            Gone("^S take it"),
            Until("[Enter] Send"),
            See,
            Press(ENTER),
        ],
        plain: "/edit\nPick a flight. Be brief.\n.\n\n/edit\nReply 0!\n.\n\n",
        ..UNTOLD
    });
    // A file replies in place of a model: there is no request to edit, and no name of one in the reply.
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

// Shows SA-03, SA-04, SA-05, SA-12.
#[test]
fn tools_are_called_by_hand() {
    let tools = json!([
        {"name": "weather", "title": "Weather of a city", "description": "Says how it will be.", "inputSchema": {
            "type": "object", "required": ["city"], "properties": {"city": {"type": "string", "minLength": 2}},
        }},
        {"name": "now\u{1b}[2J", "inputSchema": {"type": "object"}},
    ]);
    let asked = json!([{"role": "user", "content": {"type": "text", "text": "Shall I go out?"}}]);
    let first = json!({
        "messages": asked, "maxTokens": 100, "tools": tools, "toolChoice": {"mode": "required"},
    });
    let called = json!([
        asked[0],
        {"role": "assistant", "content": [
            {"type": "tool_use", "id": "call-1", "name": "weather", "input": {"city": "Kyoto"}},
        ]},
        {"role": "user", "content": [
            {"type": "tool_result", "toolUseId": "call-1", "content": [{"type": "text", "text": "sunny"}]},
        ]},
    ]);
    let second = json!({"messages": called, "maxTokens": 100, "tools": tools});
    let method = "sampling/createMessage";
    tell(&Story {
        name: "tools_are_called_by_hand",
        server: Server::Asks(&[
            asks(&[request("q1", method, &first)]),
            asks(&[request("q2", method, &second)]),
        ]),
        full: &[
            Until("[Enter] Call it"),
            See,
            Press("wea"),
            Press(ENTER),
            Until("^S take it"),
            Press("K"),
            Press(REVIEW),
            Until("a field needs"),
            See,
            Press("yoto"),
            Press(REVIEW),
            Until("[Enter] Send"),
            See,
            Press(ENTER),
            Until("result of"),
            Until("^S look it over"),
            See,
            Press("Yes: it is sunny."),
            Press(REVIEW),
            Until("[Enter] Send"),
            Press(ENTER),
        ],
        plain: "1\nK\nKyoto\n\nYes: it is sunny.\n.\n\n",
        answers: "sampling:\n  - reply: {tool: weather, input: {city: Kyoto}}\n    then:\n      - reply: 'Yes: it is sunny.'\n",
        ..UNTOLD
    });
}
