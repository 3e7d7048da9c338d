//! A server whose strings contain control characters, invisible characters and wide characters.

use serde_json::{Value, json};

use super::{
    Do::{Press, See, Until},
    Server, Story, UNTOLD, asks, form, link, request, tell,
};
use crate::full::{CTRL_D, ENTER, REVIEW};

/// A text that moves the cursor, sets the title, contains a link, changes the text direction, and
/// has invisible and wide characters.
const TEXT: &str = "\x1b[2J\x1b[31mA\x1b]0;B\x07\x1b]8;;https://evil.example\x07C\x1b]8;;\x07\u{202e}D\u{2066}\
    E\u{200b}F\u{feff}G\u{9b}2JH\rI\n> yes\nSent to zoo.\n日本👩\u{200d}🚀✈\u{fe0f}\u{300}\u{300}\u{300}J";

#[test]
fn every_string_of_a_server_is_shown_by_its_characters() {
    let greeting = json!({
        "protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "instructions": TEXT,
        "serverInfo": {"name": TEXT, "title": TEXT, "version": TEXT},
    });
    let fields = json!({
        "a": {"type": "string", "title": TEXT, "description": TEXT, "default": TEXT},
        "b": {"type": "string", "title": TEXT, "enum": [TEXT, "K"], "enumNames": [TEXT, TEXT]},
    });
    let log = |level: &str| -> Value {
        json!({"jsonrpc": "2.0", "method": "notifications/message",
            "params": {"level": level, "logger": TEXT, "data": TEXT}})
    };
    let rounds = [
        asks(&[log("error"), form("q1", TEXT, &fields, &[])]),
        asks(&[link("q2", &format!("https://example.com/{TEXT}"))]),
    ];
    tell(&Story {
        name: "a_hostile_server",
        server: Server::Says(&[("initialize", greeting)], &rounds),
        full: &[
            Until("F1 help"),
            See,
            Press("\t"),
            Until("›  2"),
            See,
            Press(CTRL_D),
            Until("Why not?"),
            Press("no"),
            Press(ENTER),
        ],
        plain: "/decline no\n",
        answers: "answers: [{decline: true, reason: no}]",
        exit: 3,
        ..UNTOLD
    });
}

#[test]
fn every_string_of_a_server_is_shown_by_its_characters_in_a_conversation() {
    let greeting = json!({
        "protocolVersion": "2025-11-25", "serverInfo": {"name": TEXT, "version": TEXT},
        "capabilities": {"tools": {}, "prompts": {}, "resources": {}, "completions": {}},
    });
    let schema =
        json!({"type": "object", "properties": {"a": {"type": "string", "description": TEXT}}});
    let tools = json!({"tools": [
        {"name": TEXT, "title": TEXT, "description": TEXT, "inputSchema": {"type": "object"}},
        {"name": "t", "title": TEXT, "description": TEXT, "inputSchema": schema},
    ]});
    let prompts = json!({"prompts": [{
        "name": "p", "title": TEXT, "description": TEXT,
        "arguments": [{"name": "x", "title": TEXT, "description": TEXT, "required": true}],
    }]});
    let resources =
        json!({"resources": [{"uri": format!("zoo://{TEXT}"), "name": TEXT, "description": TEXT}]});
    let templates = json!({"resourceTemplates": [{"uriTemplate": "zoo://{x}", "name": TEXT, "description": TEXT}]});
    let completion = json!({"completion": {"values": [TEXT, "日本語", "K"], "hasMore": true}});
    let called = json!({
        "content": [
            {"type": "text", "text": TEXT.repeat(5)},
            {"type": "resource_link", "uri": TEXT, "name": TEXT, "description": TEXT},
        ],
        "structuredContent": {TEXT: TEXT},
    });
    let error = json!({"error": {"code": -32000, "message": TEXT, "data": {TEXT: TEXT}}});
    let says = [
        ("initialize", greeting),
        ("tools/list", tools),
        ("prompts/list", prompts),
        ("resources/list", resources),
        ("resources/templates/list", templates),
        ("completion/complete", completion),
        ("tools/call", called),
        ("prompts/get", error),
        (
            "resources/read",
            json!({"contents": [{"uri": "zoo://b", "text": TEXT}]}),
        ),
    ];
    let sample = json!({
        "messages": [{"role": "user", "content": {"type": "text", "text": TEXT}}],
        "systemPrompt": TEXT, "maxTokens": 100, "stopSequences": [TEXT],
        "modelPreferences": {"hints": [{"name": TEXT}]},
    });
    tell(&Story {
        name: "a_hostile_conversation",
        server: Server::Says(
            &says,
            &[asks(&[request("q1", "sampling/createMessage", &sample)])],
        ),
        opens: true,
        full: &[
            // The catalog.
            Until("zoo> "),
            See,
            Press("/p x=K"),
            Press(ENTER),
            // An error.
            Until("J\"}"),
            Until("Type to filter"),
            See,
            Press("/read zoo://b"),
            Until("zoo> /read zoo://b"),
            Press(ENTER),
            Until("[zoo://b]"),
            Until("Type to filter"),
            See,
            Press("/tools"),
            Until("zoo> /tools"),
            Press(ENTER),
            Until("a: a text"),
            Until("Type to filter"),
            See,
            // The arguments of a call, and a request to a model in it.
            Press("/call t"),
            Until("zoo> /call t"),
            Press(ENTER),
            Until("The arguments of"),
            See,
            Press(REVIEW),
            Until("[Enter] Call"),
            Press(ENTER),
            Until("^S review"),
            See,
            Press("no"),
            Press(REVIEW),
            Until("[Enter] Send"),
            Press(ENTER),
            // A result.
            Until("/more shows them"),
            Until("Type to filter"),
            See,
            Press("/more"),
            Until("zoo> /more"),
            Press(ENTER),
            Until("Type to filter"),
            See,
            // The response to the handshake, as received.
            Press("/wire 2"),
            Until("zoo> /wire 2"),
            Press(ENTER),
            Until("|   }\n| }"),
            Until("Type to filter"),
            See,
            Press(CTRL_D),
        ],
        plain: "\n\nno\n.\n\n",
        answers: "sampling: [{reply: no}]",
        ..UNTOLD
    });
}
