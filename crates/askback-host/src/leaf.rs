//! The interface of a front end.

use std::{
    task::{Context, Poll},
    time::SystemTime,
};

use askback::witness::Renderer;

use crate::{
    content::CallOutcome,
    model::{Action, Call, Conversation, Desk, EventOutcome, Reply, WorstEnd},
    page::{Page, Rows, Style, out, out::Unwritten},
    remarks::{Remark, Remarks},
    server_id::ServerId,
    tasks::Tasks,
    text::{Words, given},
    wire::{MessageSelection, SharedWire},
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkOpening {
    Started,
    /// It shows the link, and the user opens it there.
    Shown,
    Failed,
}

/// A front end: shows the conversation and returns the user's actions.
pub trait Leaf {
    /// Cancel safe.
    fn poll_did(&mut self, talk: &Conversation, context: &mut Context<'_>) -> Poll<Did>;

    fn happened(&mut self, desk: &Desk, happened: &EventOutcome);

    /// Shows a remark of the server, now or later. Returns an older remark that is dropped for it.
    #[must_use]
    fn remark(&mut self, desk: &Desk, remark: Remark) -> Option<Remark> {
        let name = given(&desk.asker().name).short();
        Remarks::put(self.page(), &name, remark);
        None
    }

    fn tell(&mut self, words: Words) {
        self.page().say(Style::Plain, words);
    }

    /// Opens a link in the system's browser and says so.
    fn open(&mut self, url: &str) -> LinkOpening;

    /// Updates the screen: shows the current question, or else the prompt if a line is wanted.
    fn show(&mut self, talk: &Conversation, prompt: Option<&Words>);

    /// The page for text outside of questions.
    fn page(&mut self) -> &mut Page;

    /// Writes the rows of a result, to stdout unless the front end uses the terminal.
    fn print(&mut self, rows: Rows) -> Result<(), Unwritten> {
        out::print(&rows)
    }

    /// Shows the result of a call, if the front end does not get it from [`Leaf::print`].
    fn result(&mut self, _: &Desk, _: &Call, _: &CallOutcome) {}

    /// Receives the messages of a server, for a front end that shows them without a command.
    fn wire(&mut self, _: ServerId, _: &SharedWire) {}

    /// Receives the calls in the background, for a front end that shows them without a command.
    fn tasks(&mut self, _: &Tasks) {}

    /// Whether the prompt lists what the user can type.
    fn shows_offers(&self) -> bool {
        false
    }

    /// Whether the front end itself shows how long the user has waited and the progress of a call.
    fn shows_waiting(&self) -> bool {
        false
    }

    /// The kind of front end that the user used last, for receipts.
    fn renderer(&self) -> Renderer;

    /// When the front end that the user used last drew the question, for receipts. `None` if
    /// [`Leaf::show`] draws it.
    fn drawn(&self) -> Option<SystemTime> {
        None
    }

    /// Whether a user can try again. False for an answers file.
    fn is_person(&self) -> bool;

    /// The worst end of the questions, by this front end's expectations.
    fn ended(&self) -> WorstEnd {
        WorstEnd::Answered
    }

    /// Reports what is known only at the end of the run.
    fn end(&mut self) {}
}

#[derive(Debug, Clone, PartialEq)]
pub enum Did {
    /// Actions about the current question. If empty, only redraw.
    Action(Vec<Action>),
    /// A file of the user answered the current question.
    Answered(Reply),
    /// Show messages before the question is answered.
    Wire(MessageSelection),
    Line(String),
    /// The input ended. At a terminal it may continue.
    End,
    Interrupt,
}
