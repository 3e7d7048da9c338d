//! A front end before the questions of a server: what it shows, and what the person does there.

use std::task::{Context, Poll};

use askback::witness::Renderer;

use crate::{
    model::{Action, Conversation, Desk, EventOutcome, Reply, WorstEnd},
    page::{Page, Rows, out, out::Unwritten},
    remarks::Remark,
    text::Words,
    wire::MessageSelection,
};

/// A front end: it shows the conversation, and says what the person does.
pub trait Leaf {
    /// Returns what the person does next. Nothing is lost where that is not waited for to the end.
    fn poll_did(&mut self, talk: &Conversation, context: &mut Context<'_>) -> Poll<Did>;

    /// Shows what came of an event.
    fn happened(&mut self, desk: &Desk, happened: &EventOutcome);

    /// Shows something that the server said, now or when there is room for it. Returns an older
    /// remark that it leaves out for this one.
    #[must_use]
    fn remark(&mut self, desk: &Desk, remark: Remark) -> Option<Remark>;

    /// Shows a sentence of ours.
    fn tell(&mut self, words: Words);

    /// Opens a link in the browser of the system, and says so. Returns whether a browser was started.
    fn open(&mut self, url: &str) -> bool;

    /// Brings what is seen up to date: the question in front, or else the prompt, where a line is
    /// wanted.
    fn show(&mut self, talk: &Conversation, prompt: Option<&Words>);

    /// The page, for what is said outside questions.
    fn page(&mut self) -> &mut Page;

    /// Writes rows of a result, to the standard output unless the terminal is taken.
    ///
    /// # Errors
    ///
    /// If they cannot be written.
    fn print(&mut self, rows: Rows) -> Result<(), Unwritten> {
        out::print(&rows)
    }

    /// Shows a text, which `put` puts on a page of any width, in a pager of the user. Returns false
    /// if no pager is found.
    fn view(&mut self, _: &dyn Fn(&mut Page)) -> bool {
        false
    }

    /// Whether what can be typed at the prompt is shown there.
    fn shows_offers(&self) -> bool {
        false
    }

    /// Whether it shows by itself how long something has been waited for, and how far a call is.
    fn shows_waiting(&self) -> bool {
        false
    }

    /// The kind of front end at which the person acted last. A receipt names it.
    fn renderer(&self) -> Renderer;

    /// Whether a person is there who can try again, and not a file.
    fn is_person(&self) -> bool;

    /// How the questions ended by what this front end expects of them.
    fn ended(&self) -> WorstEnd {
        WorstEnd::Answered
    }

    /// Tells what is known only when the run is over.
    fn end(&mut self) {}
}

/// Something that the person did.
#[derive(Debug, Clone, PartialEq)]
pub enum Did {
    /// Said this about the question in front; or nothing, but wants to see it again.
    Action(Vec<Action>),
    /// Had the question in front answered by a file of theirs.
    Answered(Reply),
    /// Wants to see messages that travelled, before the question is answered.
    Wire(MessageSelection),
    /// Wrote a line at the prompt.
    Line(String),
    /// Has written this much of a line at the prompt.
    Begun(String),
    /// Ended the input; at a terminal it may go on.
    End,
    /// Pressed Ctrl-C.
    Interrupt,
}
