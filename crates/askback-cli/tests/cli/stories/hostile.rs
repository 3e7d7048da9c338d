//! A story of a server whose every string is made to act, to hide or to be too wide.

use serde_json::{Value, json};

use super::{
    Do::{Press, See, Until},
    Server, Story, UNTOLD, asks, form, link, tell,
};
use crate::full::{CTRL_D, ENTER};

/// A text that moves the cursor, sets the title, links, turns the direction, hides and is wide.
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
