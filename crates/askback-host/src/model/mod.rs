//! The host, without a front end: the servers, what they offer and ask, how far the person is with it, and
//! what is to be done next.
//!
//! Everything here is `state, event -> state, effects`. A [`Conversation`] takes in each [`Change`]. Front ends show
//! it, and the [`Front`] of the [`Desk`] that is seen in it, turn what a person does into [`Action`], and carry out
//! each [`Effect`]; they decide nothing.

mod conversation;
mod desk;
mod draft;
mod folders;
mod kept;
pub mod link;
mod nested;
mod offers;
mod options;
mod repeat;
mod sampling;
mod server;
mod stage;
mod step;
mod under_way;

use askback::{
    forms::{Content, FormSchema},
    protocol::{CreateMessageParams, CreateMessageResult, Root},
};

pub use conversation::{Change, Conversation, History};
pub use desk::{Cause, Desk, Event, EventOutcome, Front};
pub use draft::{Draft, missing, read_field};
pub use folders::Folders;
pub use offers::{About, Completions, Offer, Offers};
pub use options::{having, marks, options};
pub(crate) use sampling::{PERSON, calls, mode};
pub use sampling::{Part, Sampling};
pub use server::{Catalog, Presence, Server};
pub use step::{Action, Effect, Notice, Permission, Step, Suggestions};
pub use under_way::{Far, How, Round, UnderWay};

use crate::text::{PeerText, Words};

/// The server that asks: the name that the user gave it, and its own name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asker {
    /// The name that the user gave the server, or a name taken from the typed command or address.
    /// The server cannot choose it.
    pub name: String,
    /// How it is reached.
    pub reached: Origin,
    /// The server's own name and version, once it has sent them.
    pub claims: Option<Claims>,
}

/// The command that started a server, or its address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// Typed by the user.
    Typed(String),
    /// From a file of servers, which is not trusted.
    Listed(PeerText),
}

/// A server's own name and version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claims {
    /// Its name for programs.
    pub name: String,
    /// Its name for people.
    pub title: Option<String>,
    /// Its version.
    pub version: String,
}

/// The call a question belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Call {
    /// A call of a tool.
    Tool(String),
    /// A tool call that runs in the background.
    Task {
        /// The number that the user sees.
        number: u32,
        /// The tool.
        tool: String,
    },
    /// A prompt.
    Prompt(String),
    /// A resource that is read, by its URI.
    Resource(String),
}

/// A question.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// The call it belongs to, if known.
    pub call: Option<Call>,
    /// Its key, if it has one.
    pub key: Option<String>,
    /// The question.
    pub ask: Ask,
}

impl Question {
    /// Whether it is a request that the person edits before it is sent.
    pub(crate) fn edits_request(&self) -> bool {
        self.call.is_none() && matches!(self.ask, Ask::Arguments { .. })
    }

    /// Whether it is a link that came in an error (2025-11-25): nothing waits for the page behind it, and the
    /// server may say when that is done.
    pub(crate) fn is_of_error(&self) -> bool {
        let is_link = matches!(
            self.ask,
            Ask::Link {
                id: Some(_),
                retried: true,
                ..
            }
        );
        is_link && self.key.is_none()
    }
}

/// The question.
#[derive(Debug, Clone, PartialEq)]
pub enum Ask {
    /// Fill in a form.
    Form {
        /// Why.
        message: String,
        /// The form.
        schema: FormSchema,
    },
    /// Open a link.
    Link {
        /// Why.
        message: String,
        /// The link, as the server wrote it.
        url: String,
        /// The id that the completion notification repeats.
        id: Option<String>,
        /// Whether the answer makes the client send the call again. If so, it waits until the user is back.
        retried: bool,
        /// Whether the user already opened it in this call. The server asks again because the page is not finished.
        again: bool,
    },
    /// Reply to a sampling request.
    Sample(Box<CreateMessageParams>),
    /// Say which folders the server may work in.
    Roots,
    /// Fill in the arguments of a call. This is our own question, not a server's.
    Arguments {
        /// The server's description of what is called.
        about: Option<String>,
        /// The form.
        schema: FormSchema,
        /// The preset values.
        preset: Content,
        /// Whether values are suggested for its fields.
        suggests: bool,
    },
    /// Say whether to repeat a call whose connection was lost. This is our own question.
    Retry {
        /// A sentence of ours on what happened.
        why: Words,
        /// The words of the other side on it.
        quoted: Option<PeerText>,
        /// Whether the person wrote what is kept for it.
        written: bool,
        /// Whether the call asked for a secret, which is not kept.
        secret: bool,
    },
    /// Say whether a call that its server could not ask in is made again in an older revision: asked by
    /// ourselves.
    Older {
        /// The revision.
        revision: &'static str,
    },
    /// Agree that this client becomes known to an authorization server, so that the person can sign in
    /// there: asked by ourselves.
    Register {
        /// The authorization server, by its name.
        issuer: String,
    },
    /// Name the client that was registered by hand with an authorization server which registers none itself: asked by
    /// ourselves. The answer is a form with the field [`Ask::CLIENT_ID`].
    Client {
        /// The authorization server, by its name.
        issuer: String,
        /// The address at which the browser ends, which is registered with the client.
        returns_to: String,
    },
    /// Sign in to the server, in a browser: asked by ourselves, for it refused us.
    SignIn {
        /// Where.
        url: String,
        /// The authorization server that asks, by its name.
        issuer: String,
        /// The requested scopes, where the authorization server does not choose.
        scopes: Option<String>,
        /// Those among them that an earlier sign-in did not ask for.
        more: Option<String>,
        /// How the address begins at which the browser ends.
        returns_to: String,
    },
}

/// A question that was refused without being put before the person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// The call it belongs to, if known.
    pub call: Option<Call>,
    /// The kind of the question.
    pub wants: Wants,
    /// Why it is asked, in the words of the server.
    pub message: Option<String>,
    /// Why it was refused. Words of the server may stand in it.
    pub reason: String,
    /// Whether the person was told otherwise.
    pub is_told: bool,
}

/// The kind of a [`Refused`] question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wants {
    /// A form to be filled in, or a link to be opened.
    Answer,
    /// A text that a model would write.
    Sample,
    /// The folders the server may work in.
    Roots,
}

/// An answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// A form, filled in.
    Form(Content),
    /// Yes, the link was opened.
    Link,
    /// The text in place of a model's.
    Text(String),
    /// The reply of a model.
    Sampled(Box<CreateMessageResult>),
    /// The folders.
    Roots(Vec<Root>),
    /// The address at which the browser ended after a sign-in.
    Returned(String),
    /// No.
    Declined {
        /// The party that said no.
        by: By,
        /// Why, for the server.
        reason: Option<String>,
    },
    /// Neither yes nor no.
    Cancelled(Why),
}

/// The party that declined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// The person.
    Person,
    /// A rule of the answers file.
    Rule {
        /// Whether the rule says that a no is expected.
        expected: bool,
    },
    /// A rule of ours, such as the one for links.
    Policy,
}

/// Why a question was cancelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// The person said so.
    Person,
    /// The input of the person has ended.
    EndOfInput,
    /// There is nobody to ask.
    Nobody,
    /// A rule of the answers file.
    Rule {
        /// Whether the rule says that this is expected.
        expected: bool,
    },
    /// No rule of the answers file fits.
    Unmatched,
    /// The person wants no more questions of this server.
    Muted,
    /// Too many questions wait.
    Flood,
    /// The person has stopped its call.
    Stopped,
}

impl Call {
    /// Whether it goes on while the person does something else.
    pub fn is_task(&self) -> bool {
        matches!(self, Self::Task { .. })
    }

    /// The tool that is called, if one is.
    pub fn tool(&self) -> Option<&str> {
        match self {
            Self::Tool(tool) | Self::Task { tool, .. } => Some(tool),
            Self::Prompt(_) | Self::Resource(_) => None,
        }
    }

    /// The prompt that is wanted, if one is.
    pub fn prompt(&self) -> Option<&str> {
        match self {
            Self::Prompt(prompt) => Some(prompt),
            Self::Tool(_) | Self::Task { .. } | Self::Resource(_) => None,
        }
    }
}

impl Ask {
    /// The field of [`Ask::Client`] that holds the id of the client.
    pub const CLIENT_ID: &str = "client_id";

    /// Why it is asked, or what is called, in the words of the server.
    pub fn message(&self) -> Option<&str> {
        match self {
            Self::Form { message, .. } | Self::Link { message, .. } => Some(message),
            Self::Arguments { about, .. } => about.as_deref(),
            Self::Sample(_) | Self::Roots | Self::Retry { .. } | Self::Older { .. } => None,
            Self::Register { .. } | Self::Client { .. } | Self::SignIn { .. } => None,
        }
    }

    /// Whether it is a form that seems to ask for secrets.
    pub fn asks_for_secrets(&self) -> bool {
        match self {
            Self::Form { message, schema } => schema.secret_fields(message).next().is_some(),
            _ => false,
        }
    }

    /// Whether we ask it ourselves, so that there is nobody to decline to.
    pub fn is_ours(&self) -> bool {
        self.is_retry() || matches!(self, Self::Arguments { .. }) || self.signs_in()
    }

    /// Whether a call may be made again.
    pub fn is_retry(&self) -> bool {
        matches!(self, Self::Retry { .. } | Self::Older { .. })
    }

    /// Whether it is a part of signing in.
    pub fn signs_in(&self) -> bool {
        matches!(
            self,
            Self::Register { .. } | Self::Client { .. } | Self::SignIn { .. }
        )
    }
}

impl Reply {
    /// Whether the question was declined or cancelled.
    pub fn is_refusal(&self) -> bool {
        matches!(self, Self::Declined { .. } | Self::Cancelled(_))
    }
}

/// How the questions of a run ended, at worst: each of these outweighs those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum WorstEnd {
    /// Each was answered.
    #[default]
    Answered,
    /// One was declined or cancelled by a rule that says that this is expected.
    Expected,
    /// One was declined or cancelled otherwise.
    Refused,
    /// One was cancelled because no person and no rule could answer it.
    Unanswered,
    /// They were not those that the answers file expects.
    Unexpected,
}

impl Reply {
    /// Returns how this question ended by this reply. No call waits for folders that a server wants at
    /// its start: without an answer, nothing is left undone.
    pub(crate) fn ended_for(&self, question: &Question) -> WorstEnd {
        match (&question.ask, self) {
            (Ask::Roots, Self::Cancelled(Why::Nobody)) if question.key.is_none() => {
                WorstEnd::Answered
            }
            _ => self.ended(),
        }
    }

    /// Returns how the question ended by this reply.
    pub fn ended(&self) -> WorstEnd {
        match self {
            Self::Declined { by, .. } => match by {
                By::Rule { expected: true } => WorstEnd::Expected,
                By::Person | By::Rule { expected: false } | By::Policy => WorstEnd::Refused,
            },
            Self::Cancelled(why) => match why {
                Why::Rule { expected: true } => WorstEnd::Expected,
                Why::Person
                | Why::EndOfInput
                | Why::Muted
                | Why::Stopped
                | Why::Rule { expected: false } => WorstEnd::Refused,
                Why::Nobody | Why::Unmatched | Why::Flood => WorstEnd::Unanswered,
            },
            _ => WorstEnd::Answered,
        }
    }
}

/// The way in which the questions of a server are answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Stance {
    /// By the person.
    #[default]
    Person,
    /// Each is declined.
    Decline,
    /// Each is cancelled.
    Cancel,
    /// None is.
    Silence,
}

impl Stance {
    /// The fate of each question, as the end of a sentence; none where the person answers it.
    pub fn words(self) -> Option<&'static str> {
        match self {
            Self::Person => None,
            Self::Decline => Some("declined"),
            Self::Cancel => Some("cancelled"),
            Self::Silence => Some("left without an answer"),
        }
    }

    /// The reply to a question, if it gets one; none where the person answers it.
    fn reply(self) -> Option<Option<Reply>> {
        match self {
            Self::Person => None,
            Self::Decline => Some(Some(Reply::Declined {
                by: By::Person,
                reason: None,
            })),
            Self::Cancel => Some(Some(Reply::Cancelled(Why::Person))),
            Self::Silence => Some(None),
        }
    }
}
