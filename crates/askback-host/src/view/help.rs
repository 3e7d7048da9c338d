//! The keys and commands of a question that are not among its actions.

use super::MAX_OPEN_CHOICES;
use crate::model::{Front, Step, options};

/// The keys and commands of a question that are not among its actions.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Help {
    pub keys: Vec<Does>,
    pub commands: Vec<Does>,
}

/// A key or a command, and what it does.
pub type Does = (&'static str, &'static str);

const ROWS: Does = ("↓ ↑", "the rows below, those above");
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
    Help {
        keys: [keys_of_step(front), keys_everywhere(front)].concat(),
        commands: [commands_of_step(front), commands_everywhere(front)].concat(),
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
        Step::Reread(..) => vec![("/edit", "write it anew")],
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
        Step::Reason(_) => vec![("/back", "go back to the question")],
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
    commands.push(("/wire [N]", "show the protocol messages, or one of them"));
    if !ours {
        commands.push(("/mute", "cancel all questions of this server"));
    }
    commands
}

/// The keys of a step that are not among its actions.
fn keys_of_step(front: &Front<'_>) -> Vec<Does> {
    match front.step {
        Step::Filling(draft) => {
            let mut keys = vec![
                ("Tab, Shift-Tab", "the next field, the one before"),
                ("← → Space", "choose among options"),
            ];
            let is_long = |field| options(field).len() > MAX_OPEN_CHOICES;
            if draft.fields().iter().any(is_long) {
                keys.push(("a part of it", "find an option among many"));
            }
            if front.suggests() {
                keys.push(("↓ Enter, ↓ Tab", "take a value that the server suggests"));
            }
            keys.extend([("Alt-Enter", "break a line of a text"), SLASH]);
            keys
        }
        Step::Review(_) | Step::Reread(..) | Step::Request(_) | Step::Replied(_) => vec![ROWS],
        Step::Rewrite(..) => vec![BREAK],
        Step::Write(_) => {
            let mut keys = vec![BREAK];
            if front.model.is_some() {
                keys.push(("Ctrl-B", "back to the request"));
            }
            keys
        }
        Step::Folders(_) => vec![SLASH],
        _ => Vec::new(),
    }
}

fn keys_everywhere(front: &Front<'_>) -> Vec<Does> {
    let ours = front.question.ask.is_ours();
    let mut keys = Vec::new();
    let is_reason = matches!(front.step, Step::Reason(_));
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
    keys.push(("F2", "show the protocol messages; /wire N shows one"));
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
