//! The steps of a person, what they say at one, and what follows.

use askback::{
    forms::Content,
    protocol::{CreateMessageParams, Root},
};

use super::{
    Draft, Refused, Reply, Stance,
    link::{Link, Refusal},
    sampling::{Part, Sampling},
};
use crate::text::{PeerText, Words};

/// A step of the person.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Step<'a> {
    /// To say yes before fields are filled in that seem to ask for secrets.
    Secret(&'a Draft),
    /// To fill in a form, in any order.
    Filling(&'a Draft),
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
    /// To look over a request and have a model reply to it.
    Request(&'a Sampling),
    /// To wait for the reply of a model.
    Running(&'a Sampling),
    /// To look over the reply and send it.
    Replied(&'a Sampling),
    /// To rewrite a part of a request or a reply, which is this text so far.
    Rewrite(Part, &'a str),
    /// To write what a model would.
    Write(&'a Sampling),
    /// To look over that text and send it.
    Reread(&'a str),
    /// To choose a folder; this one is offered.
    Folders(Option<&'a Root>),
    /// To say why not.
    Reason,
}

impl Step<'_> {
    /// Whether characters are a text at this step.
    pub(crate) fn is_typed(&self) -> bool {
        matches!(
            self,
            Self::Filling(_)
                | Self::Rewrite(..)
                | Self::Write(_)
                | Self::Folders(_)
                | Self::Returning(_)
                | Self::Reason
        )
    }
}

/// A person's input for the question in front. What has no place at the current step changes
/// nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// This is written in a field of the form; no text empties it.
    Write {
        /// Which of the fields.
        field: usize,
        /// The whole text of the field.
        text: String,
    },
    /// This option of a field is chosen; of several, it is put in or taken out again. A yes or no
    /// has two: yes is the first.
    Choose {
        /// Which of the fields.
        field: usize,
        /// Which of its options.
        option: usize,
    },
    /// Empty this field of the form.
    Clear(usize),
    /// Write the object or list that this field is in as JSON, or in fields again.
    Fold(usize),
    /// Have values suggested for a field that begins with this text.
    Suggest {
        /// Which of the fields.
        field: usize,
        /// The text.
        text: String,
    },
    /// The form is filled in: look it over.
    Submit,
    /// Send what was looked over.
    Send,
    /// This is the text: the reason, what a model would have said, the address the browser ended
    /// at.
    Fill(String),
    /// This is the text so far, which is not done: it is kept, also where the question goes away.
    Draft(String),
    /// Have a model reply, and this much from now on without asking.
    Run(Permission),
    /// Decline this request to a model, and all others of this server.
    Never,
    /// Rewrite this part of the request or the reply.
    Rewrite(Part),
    /// Reply in place of the model.
    WriteMyself,
    /// Back to what came before.
    Back,
    /// Yes.
    Yes,
    /// This folder.
    Folder(String),
    /// Open the link again.
    OpenAgain,
    /// The page behind the link is done with.
    Done,
    /// No; and why, if that is said at once.
    Decline(Option<String>),
    /// Neither yes nor no.
    Cancel,
    /// No more questions of this server.
    Mute,
}

/// How far a server may have a model reply without asking a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Permission {
    /// The person is asked each time.
    #[default]
    Ask,
    /// It may, until the session ends.
    Session,
    /// It may.
    Always,
    /// It may not: its requests are declined.
    Never,
}

impl Permission {
    /// Whether requests are run, and their replies sent, without asking.
    pub fn is_given(self) -> bool {
        matches!(self, Self::Session | Self::Always)
    }

    /// Whether it outlasts the session.
    pub fn is_kept(self) -> bool {
        matches!(self, Self::Always | Self::Never)
    }
}

/// An effect of an [`Event`](super::Event).
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Answer the question of that number.
    Answer(u64, Reply),
    /// Open a link in the browser of the system, and tell with
    /// [`Event::Browser`](super::Event::Browser).
    Open(String),
    /// Have the model reply to this, for the question in front, and tell with
    /// [`Event::Sampled`](super::Event::Sampled).
    Run(Box<CreateMessageParams>),
    /// Keep what the person said of models and this server beyond the session.
    Remember(Permission),
    /// See whether a folder is there and tell with [`Event::Folder`](super::Event::Folder).
    CheckFolder(String),
    /// Have values suggested for a field of the form in front, and tell with
    /// [`Event::Suggested`](super::Event::Suggested).
    Suggest {
        /// Which of the fields.
        field: usize,
        /// The name of the field.
        name: String,
        /// The text that they begin with.
        text: String,
        /// The values of the other fields.
        others: Content,
    },
    /// Tell the person.
    Tell(Notice),
}

/// Values that are suggested for a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suggestions {
    /// Which of the fields.
    pub field: usize,
    /// The text that they begin with.
    pub text: String,
    /// The values.
    pub values: Vec<String>,
    /// Whether there are more.
    pub has_more: bool,
}

/// A notice to the person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// The server took its question back.
    Withdrawn,
    /// The server asks on for a call that was stopped: its questions are cancelled.
    AsksOn,
    /// The server went away before its question was answered. Why it did is told by itself.
    Lost,
    /// The person refused a link that an error of the server names: the call fails, and the server is not told.
    LinkNeeded,
    /// A link was declined without asking.
    LinkRefused {
        /// The server's message.
        message: String,
        /// The link, as the server wrote it.
        url: String,
        /// Why it is not opened.
        refusal: Refusal,
    },
    /// A question was answered as the person has all of them answered.
    Played {
        /// The server's message.
        message: String,
        /// How they are answered.
        stance: Stance,
    },
    /// A question was answered as the same one was in the call before.
    Repeated {
        /// The server's message.
        message: String,
    },
    /// The model did not reply, for this reason; its provider, or what leads to it, says more.
    ModelFailed(Words, PeerText),
    /// A request to a model was declined, for the person wants none of this server.
    NoModel,
    /// A question was refused without asking.
    Refused(Refused),
    /// Questions that are refused without asking are not told from now on.
    RefusedMore,
    /// The fields of a form that went away have their text again.
    Restored,
    /// Questions are cancelled from now on.
    Muted,
    /// Questions are cancelled until the person has answered one, for too many wait.
    Flood,
    /// The person is back from the link, says the server.
    LinkDone,
    /// The browser is back from a sign-in.
    BrowserBack,
}
