//! The actions at a question, as keys or buttons, and as the sentence before a prompt.

use serde::Serialize;

use super::has_secret;
use crate::{
    model::{Action, Call, Front, Part, Permission, Step},
    text::Words,
    words,
};

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ActionView {
    pub act: Act,
    pub words: Words,
    pub key: Words,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Act {
    Yes,
    Next,
    Submit,
    Send,
    Back,
    /// Says that the page behind a link is completed.
    Done,
    OpenAgain,
    Copy,
    Code,
    /// Shows or hides secrets.
    Reveal,
    /// Submits the written text.
    Fill,
    /// Chooses the typed folder.
    Folder,
    Run,
    /// Lets a model reply without asking, for this session.
    RunInSession,
    /// Lets a model reply without asking, always.
    RunAlways,
    /// Declines this sampling request and all others of the server.
    Never,
    /// Rewrites the last message.
    Rewrite,
    RewriteReply,
    RewriteSystem,
    /// Lets the user write the reply instead of a model.
    WriteMyself,
    Decline,
    /// Neither accepts nor declines.
    Cancel,
    Help,
}

impl Act {
    /// Whether it declines, cancels, or opens the help.
    pub fn is_way_out(self) -> bool {
        matches!(self, Self::Decline | Self::Cancel | Self::Help)
    }

    /// Whether it is the action that the user probably wants at its step.
    pub fn is_primary(self) -> bool {
        matches!(
            self,
            Self::Yes | Self::Submit | Self::Send | Self::Done | Self::Fill | Self::Run
        )
    }

    /// Whether it agrees to a text that the user should have read.
    pub fn is_agreement(self) -> bool {
        let sends = matches!(self, Self::Yes | Self::Send | Self::Run);
        sends || matches!(self, Self::RunInSession | Self::RunAlways)
    }

    /// Returns the action for a question. `None` if the front end does it itself, or takes a text
    /// for it.
    pub(crate) fn action(self) -> Option<Action> {
        Some(match self {
            Self::Yes => Action::Yes,
            Self::Submit => Action::Submit,
            Self::Send => Action::Send,
            Self::Back => Action::Back,
            Self::Done => Action::Done,
            Self::OpenAgain => Action::OpenAgain,
            Self::Run => Action::Run(Permission::Ask),
            Self::RunInSession => Action::Run(Permission::Session),
            Self::RunAlways => Action::Run(Permission::Always),
            Self::Never => Action::Never,
            Self::RewriteReply => Action::Rewrite(Part::Reply),
            Self::Rewrite => Action::Rewrite(Part::Message),
            Self::RewriteSystem => Action::Rewrite(Part::System),
            Self::WriteMyself => Action::WriteMyself,
            Self::Decline => Action::Decline(None),
            Self::Cancel => Action::Cancel,
            Self::Next | Self::Copy | Self::Code | Self::Reveal | Self::Help => return None,
            Self::Fill | Self::Folder => return None,
        })
    }

    /// Whether it also decides about later sampling requests of the server.
    pub fn is_permission(self) -> bool {
        matches!(self, Self::RunInSession | Self::RunAlways | Self::Never)
    }
}

fn action(act: Act, key: &'static str, words: impl Into<Words>) -> ActionView {
    ActionView {
        act,
        words: words.into(),
        key: key.into(),
    }
}

/// Returns the actions available now, with decline, cancel and help at the end.
pub(super) fn actions(front: &Front<'_>) -> Vec<ActionView> {
    let mut actions = of_step(front);
    if hides_any(front) {
        actions.push(action(Act::Reveal, "^R", "reveal"));
    }
    if !matches!(front.step, Step::Reason(_)) {
        if !front.question.ask.is_ours() {
            actions.push(action(Act::Decline, "^D", "decline…"));
        }
        let cancel = match front.step {
            // Esc goes back to the request.
            Step::Rewrite(..) => "^C",
            _ => "Esc",
        };
        actions.push(action(Act::Cancel, cancel, "cancel"));
        actions.push(action(Act::Help, "F1", "help"));
    }
    actions
}

/// Returns what a key does at the current step, if a label says so.
pub(crate) fn on_key(front: &Front<'_>, key: &str) -> Option<Action> {
    let mut labelled = of_step(front).into_iter();
    labelled.find(|it| it.key.as_str() == key)?.act.action()
}

fn of_step(front: &Front<'_>) -> Vec<ActionView> {
    let ask = &front.question.ask;
    let call = front.question.call.as_ref();
    let ours = ask.is_ours();
    let edit = action(Act::Back, "e", "Edit");
    let open = || action(Act::Yes, "o", "Open");
    let copy = action(Act::Copy, "c", "Copy");
    let code = action(Act::Code, "q", "QR code");
    let typed = action(Act::Folder, "Enter", "Allow the typed folder");
    match front.step {
        Step::Secret(_) => vec![action(Act::Yes, "y", "Fill it in anyway")],
        Step::Filling(_) => vec![
            action(Act::Next, "Enter", "next"),
            action(Act::Submit, "^S", "review"),
        ],
        Step::Review(_) if ask.signs_in() => vec![action(Act::Send, "Enter", "Go on"), edit],
        Step::Review(_) if ours => vec![action(Act::Send, "Enter", verb(call)), edit],
        Step::Review(_) | Step::Reread(..) => vec![action(Act::Send, "Enter", "Send"), edit],
        Step::Confirm if ask.is_retry() => {
            vec![action(Act::Yes, "Enter", words!("{} again", verb(call)))]
        }
        Step::Confirm => vec![action(Act::Yes, "Enter", "Agree")],
        Step::Consent(_) => vec![open(), copy, code],
        Step::Sure(_) => vec![
            action(Act::Yes, "y", "Open it anyway"),
            action(Act::Back, "b", "Back"),
        ],
        Step::Opened(_) if front.goes_on() => vec![
            action(Act::Done, "Enter", "I have opened it"),
            action(Act::OpenAgain, "o", "Try again"),
            copy,
            code,
        ],
        Step::Opened(_) => vec![
            action(Act::Done, "Enter", "I have finished"),
            action(Act::OpenAgain, "o", "Open again"),
            copy,
            code,
        ],
        Step::Returning(_) => vec![action(Act::OpenAgain, "^O", "open again")],
        Step::Request(_) => vec![
            action(Act::RunInSession, "s", "This session, unseen"),
            action(Act::RunAlways, "A", "Always, unseen"),
            action(Act::Never, "N", "Never"),
            action(Act::Run, "Enter", "Run once"),
            action(Act::Rewrite, "e", "Edit"),
            action(Act::RewriteSystem, "y", "System prompt"),
            action(Act::WriteMyself, "w", "Write it myself"),
        ],
        Step::Running(_) => vec![action(Act::Back, "b", "Stop")],
        Step::Replied(_) => {
            let mut actions = vec![
                action(Act::Send, "Enter", "Send"),
                action(Act::RewriteReply, "e", "Edit"),
            ];
            if front.model.is_some() {
                actions.push(action(Act::Run, "r", "Run again"));
                actions.push(action(Act::Back, "b", "Back"));
            }
            actions
        }
        Step::Rewrite(..) => vec![
            action(Act::Fill, "^S", "keep the change"),
            action(Act::Back, "Esc", "undo it"),
        ],
        Step::Write(_) => vec![action(Act::Fill, "^S", "review")],
        Step::Folders(Some(_)) => vec![action(Act::Yes, "y", "Allow it"), typed],
        Step::Folders(None) => vec![typed],
        Step::Reason(_) => vec![
            action(Act::Fill, "Enter", "Decline"),
            action(Act::Back, "Esc", "Back"),
        ],
    }
}

pub(crate) fn hides_any(front: &Front<'_>) -> bool {
    match front.step {
        Step::Filling(draft) | Step::Review(draft) => has_secret(&front.question.ask, draft),
        _ => false,
    }
}

fn verb(call: Option<&Call>) -> &'static str {
    match call {
        Some(Call::Prompt(_)) => "Get",
        Some(Call::Resource(_)) => "Read",
        Some(Call::Tool(_) | Call::Task { .. }) | None => "Call",
    }
}

/// Returns the sentence about the lines that can be typed at a step. Form fields have their own
/// prompts.
pub(super) fn prompt(front: &Front<'_>) -> Words {
    let ask = &front.question.ask;
    let ours = ask.is_ours();
    let words = match front.step {
        Step::Secret(_) => "yes lets you fill it in anyway",
        Step::Filling(_) => return Words::default(),
        Step::Review(_) if ours => "Enter goes on · a number changes that field",
        Step::Review(_) => "Enter sends · a number changes that field",
        Step::Confirm if ask.is_retry() => "yes makes the call again",
        Step::Confirm => "yes agrees",
        Step::Consent(_) => "yes opens it in your browser",
        Step::Sure(_) => "Sure? yes opens it anyway",
        Step::Opened(_) => "Enter goes on · /open opens it again",
        Step::Returning(_) => "an address · /open opens the browser again",
        Step::Request(_) => {
            "Enter runs it once · /session, /always run without asking again · /edit · /system · /write · /never"
        }
        Step::Running(_) => "/back stops it",
        Step::Replied(_) if front.model.is_none() => "Enter sends · /edit",
        Step::Replied(_) => "Enter sends · /edit · /again runs it once more · /back",
        Step::Rewrite(..) => "write it anew; a line with only a dot ends it · /back",
        Step::Write(_) => "write the text; a line with only a dot ends it",
        Step::Reread(..) => "Enter sends · /edit writes it anew",
        Step::Folders(Some(_)) => "yes allows that folder · a path, another one",
        Step::Folders(None) => "the path of a folder allows it",
        Step::Reason(_) => "why not? A line for the server, or Enter for none",
    };
    with_ways_out(front, words.into())
}

/// Appends decline and cancel to a prompt. Non-breaking spaces keep them on one line.
pub(super) fn with_ways_out(front: &Front<'_>, prompt: Words) -> Words {
    let ways_out = match front.step {
        Step::Reason(_) => "/back\u{a0}·\u{a0}/cancel",
        _ if front.question.ask.is_ours() => "/cancel",
        _ => "/decline\u{a0}·\u{a0}/cancel",
    };
    words!("{} · {}", prompt, ways_out)
}
