//! The list of keys and commands at a question.

use serde::{Deserialize, Serialize};

use super::{MAX_OPEN_CHOICES, hides_any};
use crate::{
    model::{Front, Step, options},
    text::Words,
};

/// Everything that the user can do at a question.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Help {
    /// The keys.
    pub keys: Vec<HelpEntry>,
    /// The typed commands.
    pub commands: Vec<HelpEntry>,
}

/// A key or a command, and what it does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HelpEntry {
    /// The key or command.
    pub term: Words,
    /// Its effect.
    pub does: Words,
}

type Does = (&'static str, &'static str);

const ROWS: Does = ("↓ ↑", "the rows below, those above");
const COPY: Does = ("c", "show the link alone, and copy it");
const CODE: Does = ("q", "show the link as a code for a telephone");
const EDITOR: Does = ("Ctrl-G", "write the text in your editor");
const BREAK: Does = ("Enter", "break the line");
const SLASH: Does = (
    "/decline /cancel",
    "the same as words, in a text; // begins a text with /",
);

const NEVER: Does = (
    "/never",
    "decline, and all others of this server in place of a model",
);

pub(super) fn help(front: &Front<'_>) -> Help {
    let entries = |all: [Vec<Does>; 2]| {
        let all = all.into_iter().flatten();
        let entries = all.map(|(term, does)| HelpEntry {
            term: term.into(),
            does: does.into(),
        });
        entries.collect()
    };
    Help {
        keys: entries([keys_of_step(front), keys_everywhere(front)]),
        commands: entries([commands_of_step(front), commands_everywhere(front)]),
    }
}

fn commands_of_step(front: &Front<'_>) -> Vec<Does> {
    let link = [
        ("/link", "show the link alone, to be copied"),
        ("/qr", "show the link as a code for a telephone"),
    ];
    match front.step {
        Step::Filling(_) => {
            let mut commands = vec![
                ("/back", "go back by one field"),
                ("/none", "leave the field empty"),
                (
                    "/review",
                    "leave the other fields as they are, and look the form over",
                ),
                ("/lines", "write several lines, ended by a dot"),
            ];
            if front.suggests() {
                commands.push(("/suggest", "list what the server suggests"));
            }
            commands.push(("//…", "a text that begins with /"));
            commands
        }
        Step::Review(_) => vec![("/back", "go back to the fields")],
        Step::Reread(_) => vec![("/edit", "write it anew")],
        Step::Consent(_) => link.to_vec(),
        Step::Sure(_) => [&[("/back", "go back by one")], &link[..]].concat(),
        Step::Opened(_) => [&[("/open", "open it again")], &link[..]].concat(),
        Step::Returning(_) => [&[("/open", "open the browser again")], &link[..]].concat(),
        Step::Request(_) => vec![
            (
                "/edit",
                "change the last message; /system the system prompt",
            ),
            ("/write", "reply in place of the model"),
            (
                "/session",
                "run, and all others of this session; /always in later ones, too",
            ),
            NEVER,
        ],
        Step::Running(_) => vec![("/back", "stop the model")],
        Step::Replied(_) => {
            let mut commands = vec![("/edit", "change the text of the reply")];
            if front.model.is_some() {
                commands.push(("/again", "have the model reply again"));
                commands.push(("/back", "go back to the request"));
            }
            commands.push(NEVER);
            commands
        }
        Step::Rewrite(..) => vec![("/back", "leave it as it was")],
        Step::Write(sampling) => {
            let mut commands = Vec::new();
            if front.model.is_none() && sampling.has_kept() {
                commands.push(("/back", "leave it as it was"));
            }
            commands.push(match front.model {
                Some(_) => ("/back", "go back to the request"),
                None => NEVER,
            });
            commands
        }
        Step::Reason => vec![("/back", "go back to the question")],
        Step::Secret(_) | Step::Confirm | Step::Folders(_) => Vec::new(),
    }
}

fn commands_everywhere(front: &Front<'_>) -> Vec<Does> {
    let ours = front.question.ask.is_ours();
    let mut commands = Vec::new();
    if !ours {
        commands.push(("/decline", "say no; a reason may follow"));
    }
    commands.push((
        "/cancel",
        match ours || front.stays {
            true => "go away: neither yes nor no",
            false => "go away: neither yes nor no; Ctrl-C twice stops the call",
        },
    ));
    commands.push(("/more", "show the whole message"));
    commands.push((
        "/wire [N]",
        "show the messages that travelled, or one of them",
    ));
    if !ours {
        commands.push(("/mute", "cancel all questions of this server"));
    }
    commands
}

fn reveal(front: &Front<'_>) -> Option<Does> {
    let does = ("Ctrl-R", "show what you typed as a secret, or hide it");
    hides_any(front).then_some(does)
}

fn keys_of_step(front: &Front<'_>) -> Vec<Does> {
    let ours = front.question.ask.is_ours();
    match front.step {
        Step::Secret(_) => vec![("y", "go on all the same")],
        Step::Confirm if front.question.ask.is_retry() => vec![("Enter, y", "call again")],
        Step::Confirm => vec![("Enter, y", "agree")],
        Step::Filling(draft) => {
            let mut keys = vec![
                ("Tab, Shift-Tab", "the next field, the one before"),
                ("← → Space", "choose among options"),
            ];
            if draft
                .fields()
                .iter()
                .any(|field| options(field).len() > MAX_OPEN_CHOICES)
            {
                keys.push(("a part of it", "find an option among many"));
            }
            if front.suggests() {
                keys.push(("↓ Enter, ↓ Tab", "take a value that the server suggests"));
            }
            keys.extend([
                ("Ctrl-S", "look the form over"),
                (
                    "Ctrl-G, Alt-Enter",
                    "write a text in your editor; break a line of it",
                ),
                SLASH,
            ]);
            keys.extend(reveal(front));
            keys
        }
        Step::Review(_) if ours => {
            let does = match front.question.edits_request() {
                true => "send it",
                false if front.question.ask.signs_in() => "go on",
                false => "call it",
            };
            vec![("Enter", does), ("e", "change the fields"), ROWS]
        }
        Step::Review(_) => {
            let keys = [("Enter", "send it"), ("e", "change the fields"), ROWS];
            keys.into_iter().chain(reveal(front)).collect()
        }
        Step::Reread(_) => vec![("Enter", "send it"), ("e", "change the text"), ROWS],
        Step::Consent(_) => vec![("o", "open it in your browser"), COPY, CODE],
        Step::Sure(_) => vec![("y", "open it all the same"), ("b", "back"), COPY, CODE],
        Step::Opened(_) if front.goes_on() => vec![
            ("Enter", "say that you have opened it"),
            ("o", "try again to open it"),
            COPY,
            CODE,
        ],
        Step::Opened(_) => vec![
            ("Enter", "say that you have finished there"),
            ("o", "open it again"),
            COPY,
            CODE,
        ],
        Step::Returning(_) => vec![
            ("Enter", "take the address that you pasted"),
            ("Ctrl-O", "open the browser again"),
        ],
        Step::Request(_) => vec![
            ("Enter", "have the model reply, this once"),
            ("s, A", "and in this session, or always, without asking"),
            ("N", "decline, and all others of this server"),
            ("e, y", "change the last message, the system prompt"),
            ("w", "reply in place of the model"),
            ROWS,
        ],
        Step::Running(_) => vec![("b", "stop the model")],
        Step::Replied(_) => {
            let mut keys = vec![("Enter", "send it"), ("e", "change the text of the reply")];
            if front.model.is_some() {
                keys.push(("r", "have the model reply again"));
                keys.push(("b", "back to the request"));
            }
            keys.push(ROWS);
            keys
        }
        Step::Rewrite(..) => vec![
            ("Ctrl-S", "take the text"),
            ("Esc, Ctrl-B", "leave it as it was"),
            BREAK,
        ],
        Step::Write(_) => {
            let mut keys = vec![("Ctrl-S", "look the text over"), EDITOR, BREAK];
            if front.model.is_some() {
                keys.push(("Ctrl-B", "back to the request"));
            }
            keys
        }
        Step::Folders(Some(_)) => vec![
            ("y", "allow the folder that is offered"),
            ("Enter", "allow the folder that is typed"),
            ("n", "say no; a reason may follow"),
            SLASH,
        ],
        Step::Folders(None) => vec![("Enter", "allow the folder that is typed"), SLASH],
        Step::Reason => vec![
            ("Enter", "decline, with what is typed as the reason"),
            ("Esc", "back to the question"),
        ],
    }
}

fn keys_everywhere(front: &Front<'_>) -> Vec<Does> {
    let ours = front.question.ask.is_ours();
    let mut keys = Vec::new();
    let is_reason = front.step == Step::Reason;
    if !ours && !is_reason {
        let key = match front.step.is_typed() {
            true => "Ctrl-D",
            false => "d, Ctrl-D",
        };
        keys.push((key, "say no; a reason may follow"));
    }
    let is_rewriting = matches!(front.step, Step::Rewrite(..));
    if front.stays {
        keys.push(("Esc", "cancel: neither yes nor no"));
        let does = "leave; the question stays open for another askback answer";
        keys.push(("Ctrl-C", does));
    }
    let cancel = match (is_reason, front.step.is_typed()) {
        (false, true) if is_rewriting => ("Ctrl-C", "clear the text, then cancel"),
        (true, _) => ("Ctrl-C", "clear the text, then go away: neither yes nor no"),
        (false, true) => (
            "Esc, Ctrl-C",
            "go away: neither yes nor no (Ctrl-C clears a text first)",
        ),
        (false, false) if ours => ("Esc, Ctrl-C", "go away: neither yes nor no"),
        (false, false) => (
            "Esc, Ctrl-C",
            "neither yes nor no; Ctrl-C twice stops the call",
        ),
    };
    keys.extend((!front.stays).then_some(cancel));
    keys.push(("F2", "show the messages that travelled; /wire N shows one"));
    keys.push(("F4", "show the whole message above"));
    if !ours {
        keys.push(("F8", "cancel all questions of this server"));
    }
    keys.push(match front.step.is_typed() {
        true => ("F1", "this list"),
        false => ("F1, ?", "this list"),
    });
    keys
}
