//! The meaning of a typed line at the current step.

use crate::{
    command::{self, Typed},
    model::{Part, Permission, Said, Step},
    wire::Shown,
};

/// A line, understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Heard {
    /// The person said something about the question.
    Said(Said),
    /// The person said something about the field that is asked.
    OfField(OfField),
    /// Several lines follow, up to one with only a dot.
    Lines,
    /// Show the rest of a message that was cut.
    More,
    /// Show the link alone, to be copied.
    Link,
    /// Show the link as a code for a camera.
    Code,
    /// Show messages that travelled.
    Wire(Shown),
    /// Show what can be typed.
    Help,
    /// Nothing that can be used here; the words say what can.
    Unclear(&'static str),
}

/// Something about the field that is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum OfField {
    /// It is this.
    Is(String),
    /// It stays as it is.
    Keep,
    /// It is left empty.
    Clear,
    /// The object or list that it is in is written as JSON, or in fields again.
    Fold,
    /// The field before it is asked again.
    Before,
    /// It and those after it stay as they are.
    Last,
    /// That field is asked again.
    Reopen(usize),
    /// Values are wanted for it that begin so.
    Suggest(String),
}

/// Reads a line at a step of a question. What begins with a slash and a word is a command,
/// everything else is taken for what the step wants.
pub(super) fn heard(step: &Step<'_>, line: &str) -> Heard {
    match command::typed(line) {
        Typed::Command(name, rest) => self::command(step, name, rest),
        Typed::Text(text) => plain(step, &text),
    }
}

fn command(step: &Step<'_>, name: &str, rest: &str) -> Heard {
    let in_field = matches!(step, Step::Filling(_));
    Heard::Said(match name {
        // Said already: what is wanted now is the reason.
        "decline" if matches!(step, Step::Reason) => Said::Fill(String::new()),
        "decline" => Said::Decline(Some(rest.trim().to_owned()).filter(|why| !why.is_empty())),
        "cancel" => Said::Cancel,
        "mute" => Said::Mute,
        "back" if in_field => return Heard::OfField(OfField::Before),
        "review" if in_field => return Heard::OfField(OfField::Last),
        "none" if in_field => return Heard::OfField(OfField::Clear),
        "json" if in_field => return Heard::OfField(OfField::Fold),
        "back" => Said::Back,
        "edit" if matches!(step, Step::Reread(_)) => Said::Back,
        "edit" if matches!(step, Step::Request(_)) => Said::Rewrite(Part::Message),
        "edit" if matches!(step, Step::Replied(_)) => Said::Rewrite(Part::Reply),
        "system" if matches!(step, Step::Request(_)) => Said::Rewrite(Part::System),
        "write" if matches!(step, Step::Request(_)) => Said::WriteMyself,
        "session" if matches!(step, Step::Request(_)) => Said::Run(Permission::Session),
        "always" if matches!(step, Step::Request(_)) => Said::Run(Permission::Always),
        "again" if matches!(step, Step::Replied(_)) => Said::Run(Permission::Ask),
        "never" if matches!(step, Step::Request(_) | Step::Replied(_) | Step::Write(_)) => {
            Said::Never
        }
        "open" if matches!(step, Step::Opened(_) | Step::Returning(_)) => Said::OpenAgain,
        "lines" if in_field => return Heard::Lines,
        "suggest" if in_field => {
            return Heard::OfField(OfField::Suggest(rest.trim().to_owned()));
        }
        "link" if is_link(step) => return Heard::Link,
        "qr" if is_link(step) => return Heard::Code,
        "more" => return Heard::More,
        "wire" => {
            return match Shown::typed(rest) {
                Some(shown) => Heard::Wire(shown),
                None => Heard::Unclear(command::WIRE),
            };
        }
        "help" => return Heard::Help,
        "quit" | "exit" => {
            return Heard::Unclear("a question is open: answer it first, or type /cancel");
        }
        _ => {
            return Heard::Unclear(
                "there is no such command here; /help lists them, and // begins a text with /",
            );
        }
    })
}

fn is_link(step: &Step<'_>) -> bool {
    matches!(
        step,
        Step::Consent(_) | Step::Sure(_) | Step::Opened(_) | Step::Returning(_)
    )
}

fn plain(step: &Step<'_>, line: &str) -> Heard {
    let word = line.trim();
    let any = |words: [&str; 2]| words.iter().any(|known| word.eq_ignore_ascii_case(known));
    let (yes, no) = (any(["y", "yes"]), any(["n", "no"]));
    Heard::Said(match step {
        Step::Filling(_) if word.is_empty() => return Heard::OfField(OfField::Keep),
        Step::Filling(_) => return Heard::OfField(OfField::Is(line.to_owned())),
        Step::Reason => Said::Fill(line.to_owned()),
        Step::Review(_) | Step::Reread(_) if word.is_empty() => Said::Send,
        Step::Opened(_) if word.is_empty() => Said::Done,
        Step::Review(draft) => {
            let number = word
                .parse()
                .ok()
                .and_then(|number: usize| number.checked_sub(1))
                .filter(|&index| index < draft.fields().len());
            let named = || {
                draft.fields().iter().position(|field| {
                    field.name == word || field.label().eq_ignore_ascii_case(word)
                })
            };
            return match number.or_else(named) {
                Some(index) => Heard::OfField(OfField::Reopen(index)),
                None => Heard::Unclear("Enter sends; the number of a field opens it again"),
            };
        }
        Step::Reread(_) => return Heard::Unclear("Enter sends; /edit writes it anew"),
        Step::Opened(_) => return Heard::Unclear("press Enter when you are done there"),
        Step::Returning(_) if word.is_empty() => {
            return Heard::Unclear("paste the address the browser ended at, or type /cancel");
        }
        Step::Returning(_) => Said::Fill(word.to_owned()),
        Step::Write(_) | Step::Rewrite(..) => return Heard::Lines,
        Step::Request(_) if word.is_empty() => Said::Run(Permission::Ask),
        Step::Request(_) => {
            return Heard::Unclear("Enter runs it; /help lists what else can be done");
        }
        Step::Replied(_) if word.is_empty() => Said::Send,
        Step::Replied(_) => {
            return Heard::Unclear("Enter sends; /help lists what else can be done");
        }
        Step::Running(_) => return Heard::Unclear("the model is asked; /back stops that"),
        _ if yes => Said::Yes,
        _ if no => Said::Decline(None),
        Step::Folders(_) if !word.is_empty() => Said::Folder(word.to_owned()),
        Step::Folders(_) => return Heard::Unclear("type yes, or the path of a folder"),
        Step::Secret(_) | Step::Confirm | Step::Consent(_) | Step::Sure(_) => {
            return Heard::Unclear("type yes, /decline or /cancel");
        }
    })
}
