//! The keys that work at a question, each with what it does.

use super::{choices::is_long, frame::Row};
use crate::{
    model::{Front, Step, options},
    page::Style,
    text::{self, given},
    view,
};

/// A key, and what it does.
type Does = (&'static str, &'static str);

const ROWS: Does = ("↓ ↑", "the rows below, those above");
const COPY: Does = ("c", "show the link alone, and copy it");
const CODE: Does = ("q", "show the link as a code for a telephone, or hide it");
const EDITOR: Does = ("Ctrl-G", "write the text in your editor");
const BREAK: Does = ("Enter", "break the line");
const FOLD: Does = (
    "Ctrl-T, /json",
    "write an object or a list as JSON, or in fields again",
);
const SLASH: Does = (
    "/decline /cancel",
    "the same as words, in a text; // begins a text with /",
);

/// The rows that list the keys of a question.
pub(super) fn rows(front: &Front<'_>, columns: usize) -> Vec<Row> {
    let keys = [here(front), everywhere(front)].concat();
    let widest = keys.iter().map(|(key, _)| text::columns(key)).max();
    let does_at = widest.unwrap_or_default().saturating_add(4);
    let mut rows = Vec::new();
    for (key, does) in keys {
        let mut row = Row::new(columns).to(2).ours(Style::Strong, key);
        let room = Row::new(columns).to(does_at).room().max(1);
        for part in text::wrapped(does, room) {
            rows.push(row.to(does_at).ours(Style::Plain, given(part)));
            row = Row::new(columns);
        }
    }
    rows
}

/// Whether a value that is filled in, or looked over, is not to be seen.
pub(super) fn hides_any(front: &Front<'_>) -> bool {
    match front.step {
        Step::Filling(draft) | Step::Review(draft) => view::has_secret(&front.question.ask, draft),
        _ => false,
    }
}

/// The key that shows secrets, where some are asked for.
fn reveal(front: &Front<'_>) -> Option<Does> {
    let does = ("Ctrl-R", "show what you typed as a secret, or hide it");
    hides_any(front).then_some(does)
}

/// The keys of the step alone.
fn here(front: &Front<'_>) -> Vec<Does> {
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
            if draft.fields().iter().any(|field| is_long(options(field))) {
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
            if let Step::Filling(draft) = front.step
                && draft.has_nested()
            {
                keys.push(FOLD);
            }
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
            ("Ctrl-B", "leave it as it was"),
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

/// The keys that work at every step.
fn everywhere(front: &Front<'_>) -> Vec<Does> {
    let ours = front.question.ask.is_ours();
    let mut keys = Vec::new();
    let is_reason = front.step == Step::Reason;
    if !ours && !is_reason {
        let key = match is_typed(&front.step) {
            true => "Ctrl-D",
            false => "d, Ctrl-D",
        };
        keys.push((key, "say no; a reason may follow"));
    }
    keys.push(match (is_reason, is_typed(&front.step)) {
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
    });
    keys.push(("F2", "show the messages that travelled; /wire N shows one"));
    keys.push(("F4", "show the whole message above"));
    if !ours {
        keys.push(("F8", "cancel all questions of this server"));
    }
    keys.push(match is_typed(&front.step) {
        true => ("F1", "this list"),
        false => ("F1, ?", "this list"),
    });
    keys
}

/// Whether characters are a text at this step.
pub(super) fn is_typed(step: &Step<'_>) -> bool {
    matches!(
        step,
        Step::Filling(_)
            | Step::Rewrite(..)
            | Step::Write(_)
            | Step::Folders(_)
            | Step::Returning(_)
            | Step::Reason
    )
}
