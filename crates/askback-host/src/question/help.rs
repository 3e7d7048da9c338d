//! The commands that work at a question asked in lines.

use crate::{
    model::{Front, Step},
    page::{Page, Style},
    text::Words,
    words,
};

/// Puts on the page each command that does something here.
pub(crate) fn help(page: &mut Page, front: &Front<'_>) {
    for (command, does) in here(front).into_iter().chain(everywhere(front)) {
        page.item(
            words!("  {} ", Words::from(command).padded(9)),
            Style::Plain,
            does,
        );
    }
}

/// A command, and what it does.
type Does = (&'static str, &'static str);

const NEVER: Does = (
    "/never",
    "decline, and all others of this server in place of a model",
);

/// The commands of the step alone.
fn here(front: &Front<'_>) -> Vec<Does> {
    let link = [
        ("/link", "show the link alone, to be copied"),
        ("/qr", "show the link as a code for a telephone"),
    ];
    match front.step {
        Step::Filling(draft) => {
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
            if draft.has_nested() {
                let does = "write an object or a list as JSON, or in fields again";
                commands.push(("/json", does));
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

/// The commands of every step.
fn everywhere(front: &Front<'_>) -> Vec<Does> {
    let ours = front.question.ask.is_ours();
    let mut commands = Vec::new();
    if !ours {
        commands.push(("/decline", "say no; a reason may follow"));
    }
    commands.push((
        "/cancel",
        match ours {
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
