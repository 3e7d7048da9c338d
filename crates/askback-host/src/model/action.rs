//! The user's actions at a question, and their effects.

use askback::{forms::Content, protocol::CreateMessageParams};

use super::{Refused, Reply, link::Refusal, sampling::Part};
use crate::{
    ending::QuestionEnd,
    text::{PeerText, Words},
};

/// The user's input for the question in front. Input that does not fit the current step is ignored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Set the text of a field. Empty text clears it.
    Write {
        field: usize,
        text: String,
    },
    /// Select an option, or toggle it if several can be selected. In a yes/no field, yes is option
    /// 0.
    Choose {
        field: usize,
        option: usize,
    },
    Clear(usize),
    /// Request suggestions for a field that start with this text.
    Suggest {
        field: usize,
        text: String,
    },
    /// Finish filling in the form and review it.
    Submit,
    /// Send what was reviewed.
    Send,
    /// Submit text: the reason, the reply instead of a model's, or the address at which the browser
    /// ended.
    Fill(String),
    /// Save unfinished text. It is kept even if the question is withdrawn.
    Draft(String),
    Run(Permission),
    /// Decline this sampling request and all others of this server.
    Never,
    /// Rewrite this part of the request or the reply.
    Rewrite(Part),
    /// Let the user write the reply instead of the model.
    WriteMyself,
    Back,
    Yes,
    Folder(String),
    OpenAgain,
    /// The page behind the link is completed.
    Done,
    Decline(Option<String>),
    /// Cancel: neither accept nor decline.
    Cancel,
    /// Cancel all further questions of this server.
    Mute,
}

/// How far a server may use a model without asking the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Permission {
    #[default]
    Ask,
    /// Allowed until the session ends.
    Session,
    Always,
    /// Never allowed: its requests are declined.
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

#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    Answer(u64, Reply),
    /// Open a link in the system's browser, and report with
    /// [`Event::Browser`](super::Event::Browser).
    Open(String),
    /// Send this request to the model, for the question in front, and report with
    /// [`Event::Sampled`](super::Event::Sampled).
    Run(Box<CreateMessageParams>),
    /// Save the user's permission for this server beyond the session.
    Remember(Permission),
    /// Check that a folder exists, and report with [`Event::Folder`](super::Event::Folder).
    CheckFolder(String),
    /// Request suggestions for a field of the form in front, and report with
    /// [`Event::Suggested`](super::Event::Suggested).
    Suggest(SuggestionRequest),
    Tell(Notice),
}

#[derive(Debug, Clone, PartialEq)]
pub struct SuggestionRequest {
    pub field: usize,
    pub name: String,
    /// The text that they start with.
    pub text: String,
    /// The values of the other fields.
    pub others: Content,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suggestions {
    pub field: usize,
    /// The text that all values start with.
    pub text: String,
    pub values: Vec<String>,
    pub has_more: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// The question ended without an answer of the user.
    Ended(QuestionEnd),
    /// The server disconnected before its question was answered. The reason is reported separately.
    Lost,
    /// The user refused a link from an error of the server: the call fails, and the server is not
    /// told.
    LinkNeeded,
    /// A link was declined without asking.
    LinkRefused {
        message: String,
        /// The link, as the server wrote it.
        url: String,
        refusal: Refusal,
    },
    /// A question got the same answer as in the previous call.
    Repeated {
        message: String,
    },
    /// The model did not reply: our reason, and the details from its provider or from the
    /// connection to it.
    ModelFailed(Words, PeerText),
    /// A sampling request was declined, because the user never allows them for this server.
    NoModel,
    /// A question was refused without asking.
    Refused(Refused),
    /// Further refused questions are not reported.
    RefusedMore,
    /// The text of a withdrawn form was restored, or the text that was typed in another front end.
    Restored,
    /// Another front end fills in the same form. Reported once for each question.
    TypedElsewhere,
    Muted,
    CancelledByMute {
        message: String,
    },
    /// Too many questions wait. New ones are cancelled until the user answers one.
    Flood,
    /// The server says that the user finished at the link.
    LinkDone,
    /// The browser returned from a sign-in.
    BrowserBack,
}
