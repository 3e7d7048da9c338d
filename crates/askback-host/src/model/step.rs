//! The steps of a person, what they say at one, and what follows.

use askback_core::{forms::Field, protocol::Root};
use serde_json::Value;

use super::{
    Draft, Reply,
    link::{Link, Refusal},
};

/// A step of the person.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Step<'a> {
    /// To say yes before fields are filled in that seem to ask for secrets.
    Secret(&'a Draft),
    /// To fill in a field.
    Field {
        /// The form.
        draft: &'a Draft,
        /// Which of its fields.
        index: usize,
        /// The field.
        field: &'a Field,
        /// The content.
        value: Option<&'a Value>,
    },
    /// To look over a form and send it.
    Review(&'a Draft),
    /// To say yes to a form without fields.
    Confirm,
    /// To agree to opening a link.
    Consent(&'a Link),
    /// To agree once more, for the link may mislead.
    Sure(&'a Link),
    /// To say when what is behind the link is done.
    Opened(&'a Link),
    /// To sign in in the browser, or to give the address at which it ended.
    Returning(&'a Link),
    /// To write what a model would.
    Write,
    /// To look over that text and send it.
    Reread(&'a str),
    /// To choose a folder; this one is offered.
    Folders(Option<&'a Root>),
    /// To say why not.
    Reason,
}

/// A person's input for the question in front.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    /// This is the value, or the reason, or the text.
    Fill(String),
    /// Go on with what is there. In a review: send it.
    Keep,
    /// Leave the field empty.
    Clear,
    /// Back to what came before.
    Back,
    /// Open that field of the form, or the text, again.
    Reopen(usize),
    /// Yes.
    Yes,
    /// This folder.
    Folder(String),
    /// Open the link again.
    OpenAgain,
    /// No; and why, if that is said at once.
    Decline(Option<String>),
    /// Neither yes nor no.
    Cancel,
    /// No more questions of this server.
    Mute,
}

/// An effect of an [`Event`](super::Event).
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Answer the question of that number.
    Answer(u64, Reply),
    /// Open a link in the browser of the system.
    Open(String),
    /// See whether a folder is there and tell with [`Event::Folder`](super::Event::Folder).
    CheckFolder(String),
    /// Tell the person.
    Tell(Notice),
}

/// A notice to the person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// The server took its question back.
    Withdrawn,
    /// A link was declined without asking.
    LinkRefused {
        /// The server's message.
        message: String,
        /// The link, as the server wrote it.
        url: String,
        /// Why it is not opened.
        refusal: Refusal,
    },
    /// Questions are cancelled from now on.
    Muted,
    /// A question was cancelled, for too many wait.
    Flood,
    /// The person is back from the link, says the server.
    LinkDone,
    /// The browser is back from a sign-in.
    BrowserBack,
}
