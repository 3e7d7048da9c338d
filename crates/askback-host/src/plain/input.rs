use crate::{
    command::{self, InputLine, LineMeaning, OfField},
    model::{Action, Permission, Step},
};

/// Parses a line at a step of a question. A slash and a word make a command; the meaning of other
/// text depends on the step.
pub(super) fn heard(step: &Step<'_>, line: &str) -> LineMeaning {
    match command::typed(line) {
        InputLine::Command(name, rest) => command::at_question(step, name, rest),
        InputLine::Text(text) => plain(step, &text),
    }
}

fn plain(step: &Step<'_>, line: &str) -> LineMeaning {
    let word = line.trim();
    let any = |words: [&str; 2]| words.iter().any(|known| word.eq_ignore_ascii_case(known));
    let (yes, no) = (any(["y", "yes"]), any(["n", "no"]));
    LineMeaning::Action(match step {
        Step::Filling(_) if word.is_empty() => return LineMeaning::OfField(OfField::Keep),
        Step::Filling(_) => return LineMeaning::OfField(OfField::Is(line.to_owned())),
        Step::Reason => Action::Fill(line.to_owned()),
        Step::Review(_) | Step::Reread(_) if word.is_empty() => Action::Send,
        Step::Opened(_) if word.is_empty() => Action::Done,
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
                Some(index) => LineMeaning::OfField(OfField::Reopen(index)),
                None => LineMeaning::Unclear("Enter sends; the number of a field opens it again"),
            };
        }
        Step::Reread(_) => return LineMeaning::Unclear("Enter sends; /edit writes it anew"),
        Step::Opened(_) => return LineMeaning::Unclear("press Enter when you are done there"),
        Step::Returning(_) if word.is_empty() => {
            return LineMeaning::Unclear("paste the address the browser ended at, or type /cancel");
        }
        Step::Returning(_) => Action::Fill(word.to_owned()),
        Step::Write(_) | Step::Rewrite(..) => return LineMeaning::Lines,
        Step::Request(_) if word.is_empty() => Action::Run(Permission::Ask),
        Step::Request(_) => {
            return LineMeaning::Unclear("Enter runs it; /help lists what else can be done");
        }
        Step::Replied(_) if word.is_empty() => Action::Send,
        Step::Replied(_) => {
            return LineMeaning::Unclear("Enter sends; /help lists what else can be done");
        }
        Step::Running(_) => return LineMeaning::Unclear("the model is asked; /back stops that"),
        _ if yes => Action::Yes,
        _ if no => Action::Decline(None),
        Step::Folders(_) if !word.is_empty() => Action::Folder(word.to_owned()),
        Step::Folders(_) => return LineMeaning::Unclear("type yes, or the path of a folder"),
        Step::Secret(_) | Step::Confirm | Step::Consent(_) | Step::Sure(_) => {
            return LineMeaning::Unclear("type yes, /decline or /cancel");
        }
    })
}
