//! The meaning of a typed line at the current step.

use crate::{
    command::{self, Heard, OfField, Typed},
    model::{Permission, Said, Step},
};

/// Reads a line at a step of a question. What begins with a slash and a word is a command,
/// everything else is taken for what the step wants.
pub(super) fn heard(step: &Step<'_>, line: &str) -> Heard {
    match command::typed(line) {
        Typed::Command(name, rest) => command::at_question(step, name, rest),
        Typed::Text(text) => plain(step, &text),
    }
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
