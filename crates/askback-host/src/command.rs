//! The syntax of commands: `/word`.

use crate::{
    model::{Action, Part, Permission, Step},
    wire::MessageSelection,
};

const WIRE: &str = "at a question, write /wire, /wire all or /wire NUMBER";

/// The response to `/suggest` if the server suggests nothing.
pub(crate) const UNSUGGESTED: &str = "no values are suggested here";

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InputLine<'a> {
    /// A command without its slash, and its argument.
    Command(&'a str, &'a str),
    /// A text. One leading slash is typed as two.
    Text(String),
}

/// Parses a line that the user typed.
///
/// A command is a slash and a word of letters, digits, `-` and `_`; `/home/ada` is a text.
///
/// ```
/// use askback_host::command::{InputLine, typed};
///
/// assert_eq!(typed("/decline too dear"), InputLine::Command("decline", "too dear"));
/// assert_eq!(typed("/home/ada"), InputLine::Text("/home/ada".into()));
/// assert_eq!(typed("//decline"), InputLine::Text("/decline".into()));
/// ```
pub fn typed(line: &str) -> InputLine<'_> {
    let Some(rest) = line.trim_start().strip_prefix('/') else {
        return InputLine::Text(line.to_owned());
    };
    if rest.starts_with('/') {
        return InputLine::Text(rest.to_owned());
    }
    let (word, behind) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let is_word = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
    match !word.is_empty() && word.chars().all(is_word) {
        true => InputLine::Command(word, behind.trim()),
        false => InputLine::Text(line.to_owned()),
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LineMeaning {
    Action(Action),
    OfField(OfField),
    /// Start a text of several lines that ends with a line with only a dot.
    Lines,
    More,
    /// Show only the link, to be copied.
    Link,
    Code,
    Wire(MessageSelection),
    Help,
    Unclear(&'static str),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum OfField {
    Is(String),
    Keep,
    Clear,
    Before,
    /// Keep it and all fields after it.
    Last,
    Reopen(usize),
    Suggest(String),
}

pub(crate) fn at_question(step: &Step, name: &str, rest: &str) -> LineMeaning {
    LineMeaning::Action(match (name, step) {
        // The question is already declined; the text is the reason.
        ("decline", Step::Reason(_)) => Action::Fill(String::new()),
        ("decline", _) => {
            Action::Decline(Some(rest.trim().to_owned()).filter(|why| !why.is_empty()))
        }
        ("cancel", _) => Action::Cancel,
        ("mute", _) => Action::Mute,
        ("back", Step::Filling(_)) => return LineMeaning::OfField(OfField::Before),
        ("review", Step::Filling(_)) => return LineMeaning::OfField(OfField::Last),
        ("none", Step::Filling(_)) => return LineMeaning::OfField(OfField::Clear),
        ("back", _) | ("edit", Step::Reread(..)) => Action::Back,
        ("edit", Step::Request(_)) => Action::Rewrite(Part::Message),
        ("edit", Step::Replied(_)) => Action::Rewrite(Part::Reply),
        ("system", Step::Request(_)) => Action::Rewrite(Part::System),
        ("write", Step::Request(_)) => Action::WriteMyself,
        ("session", Step::Request(_)) => Action::Run(Permission::Session),
        ("always", Step::Request(_)) => Action::Run(Permission::Always),
        ("again", Step::Replied(_)) => Action::Run(Permission::Ask),
        ("never", Step::Request(_) | Step::Replied(_) | Step::Write(_)) => Action::Never,
        ("open", Step::Opened(_) | Step::Returning(_)) => Action::OpenAgain,
        ("lines", Step::Filling(_)) => return LineMeaning::Lines,
        ("suggest", Step::Filling(_)) => {
            return LineMeaning::OfField(OfField::Suggest(rest.trim().to_owned()));
        }
        ("link", step) if step.link().is_some() => return LineMeaning::Link,
        ("qr", step) if step.link().is_some() => return LineMeaning::Code,
        ("more", _) => return LineMeaning::More,
        ("wire", _) => {
            return match MessageSelection::read(rest) {
                Some(shown) => LineMeaning::Wire(shown),
                None => LineMeaning::Unclear(WIRE),
            };
        }
        ("help", _) => return LineMeaning::Help,
        ("quit" | "exit", _) => {
            return LineMeaning::Unclear("a question is open: answer it first, or type /cancel");
        }
        _ => {
            return LineMeaning::Unclear(
                "unknown command; /help lists the commands, and // begins a text with /",
            );
        }
    })
}
