//! The host's state, without a front end.
//!
//! Everything here is `state, event -> state, effects`. A [`Conversation`] applies each [`Change`].
//! A front end shows the conversation and the [`Front`] of its current [`Desk`], turns the user's
//! input into an [`Action`], and carries out each [`Effect`]. Front ends decide nothing.

mod action;
mod conversation;
mod desk;
mod draft;
pub mod link;
mod offers;
mod repeat;
mod sampling;
mod step;

use askback::{
    client::CallTarget,
    forms::{Content, FormSchema},
    protocol::{CreateMessageParams, CreateMessageResult, Implementation, Root},
};
use serde::{Deserialize, Serialize};

pub use action::{Action, Effect, Notice, Permission, SuggestionRequest, Suggestions};
pub use conversation::{
    Catalog, Change, Conversation, Far, History, How, Presence, Server, UnderWay,
};
pub use desk::{Cause, Desk, Event, EventOutcome, Front};
pub use draft::{
    Draft, Typed, TypedChange, TypedValue, having, marks, missing, options, read_field,
};
pub use offers::{About, Offer, Offers, OtherLine, ServerOffer};
pub(crate) use sampling::{PERSON, calls, content_of, mode};
pub use sampling::{Part, Sampling};
pub use step::Step;

use crate::text::{PeerText, Words};

/// The server that asks: the name that the user gave it, and its own name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asker {
    /// The name that the user gave the server, or a name taken from the typed command or address.
    /// The server cannot choose it.
    pub name: String,
    pub reached: Origin,
    /// The server's own name and version, once it has sent them.
    pub claims: Option<Implementation>,
}

/// The command that started a server, or its address.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Origin {
    Typed(String),
    /// From a file of servers, which is not trusted.
    Listed(PeerText),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Call {
    Tool(String),
    /// A tool call that runs in the background.
    Task {
        /// The number that the user sees.
        number: u32,
        tool: String,
    },
    Prompt(String),
    /// A resource that is read, by its URI.
    Resource(String),
}

#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    pub call: Option<Call>,
    pub key: Option<String>,
    pub ask: Ask,
}

impl Question {
    /// Whether it is a link from an error response (2025-11-25). No call waits for its page, and
    /// the server may report when the page is completed.
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

/// The kind of a question, with what its answer depends on.
#[derive(Debug, Clone, PartialEq)]
pub enum Ask {
    Form {
        message: String,
        schema: FormSchema,
    },
    Link {
        message: String,
        /// The link, as the server wrote it.
        url: String,
        /// The id that the completion notification repeats.
        id: Option<String>,
        /// Whether the answer makes the client send the call again. If so, the call waits until the
        /// user is back.
        retried: bool,
        /// Whether the user already opened it in this call. The server asks again because the page
        /// is not finished.
        again: bool,
    },
    Sample(Box<CreateMessageParams>),
    /// Say which folders the server may work in.
    Roots,
    /// Fill in the arguments of a call. This is our own question, not a server's.
    Arguments {
        /// The server's description of what is called.
        about: Option<String>,
        schema: FormSchema,
        preset: Content,
        /// Whether values are suggested for its fields.
        suggests: bool,
        /// Arguments that the user gave before. They are sent as they are.
        given: Content,
        /// Whether the server says that the call may change or delete something.
        is_destructive: bool,
    },
    /// Say whether to repeat a call whose connection was lost. This is our own question.
    Retry {
        /// Our description of what happened.
        why: Words,
        /// The server's or the connection's description.
        quoted: Option<PeerText>,
        /// Whether text of the user is kept for the repeated call.
        written: bool,
        /// Whether the call asked for a secret. Secrets are not kept.
        secret: bool,
    },
    /// Say whether to repeat a call in an older revision, because the server could not ask in it.
    /// This is our own question.
    Older {
        revision: &'static str,
    },
    /// Agree to register this client with an authorization server, so that the user can sign in
    /// there. This is our own question.
    Register {
        issuer: String,
    },
    /// Name a client that was registered by hand, because the authorization server does not
    /// register clients itself. This is our own question. The answer is a form with the field
    /// [`Ask::CLIENT_ID`].
    Client {
        issuer: String,
        /// The redirect URI registered for the client.
        returns_to: String,
    },
    /// Sign in to the server in a browser, because it refused us. This is our own question.
    SignIn {
        url: String,
        issuer: String,
        /// The requested scopes, unless the authorization server chooses them.
        scopes: Option<String>,
        /// The scopes that an earlier sign-in did not request.
        more: Option<String>,
        /// The start of the address at which the browser ends.
        returns_to: String,
    },
}

/// A question that was refused without asking the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    pub call: Option<Call>,
    /// What was asked: `for folders in a way …`.
    pub what: &'static str,
    /// The server's reason for asking.
    pub message: Option<String>,
    /// Why it was refused. May contain text from the server.
    pub reason: String,
    /// Whether the user was told by other means.
    pub is_told: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    Form(Content),
    /// The user opened the link.
    Link,
    /// A reply that the user wrote instead of a model.
    Text(String),
    Sampled(Box<CreateMessageResult>),
    Roots(Vec<Root>),
    /// The address at which the browser ended after a sign-in.
    Returned(String),
    Declined {
        by: By,
        /// The reason, for the server.
        reason: Option<String>,
    },
    /// Neither accepted nor declined.
    Cancelled(Why),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    Person,
    /// A rule of the answers file.
    Rule {
        /// Whether the rule expects the decline.
        expected: bool,
    },
    /// A built-in rule, such as the rules for links.
    Policy,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    Person,
    EndOfInput,
    Nobody,
    /// A rule of the answers file.
    Rule {
        /// Whether the rule expects it.
        expected: bool,
    },
    /// No rule of the answers file matches.
    Unmatched,
    Muted,
    Flood,
}

impl From<CallTarget> for Call {
    fn from(target: CallTarget) -> Self {
        match target {
            CallTarget::Tool(name) => Self::Tool(name),
            CallTarget::Prompt(name) => Self::Prompt(name),
            CallTarget::Resource(uri) => Self::Resource(uri),
        }
    }
}

impl Call {
    pub fn is_task(&self) -> bool {
        matches!(self, Self::Task { .. })
    }

    pub fn tool(&self) -> Option<&str> {
        match self {
            Self::Tool(tool) | Self::Task { tool, .. } => Some(tool),
            Self::Prompt(_) | Self::Resource(_) => None,
        }
    }

    pub fn prompt(&self) -> Option<&str> {
        match self {
            Self::Prompt(prompt) => Some(prompt),
            Self::Tool(_) | Self::Task { .. } | Self::Resource(_) => None,
        }
    }
}

impl Ask {
    /// The field of [`Ask::Client`] that holds the client id.
    pub const CLIENT_ID: &str = "client_id";

    /// Returns the server's reason for asking, or its description of what is called.
    pub fn message(&self) -> Option<&str> {
        match self {
            Self::Form { message, .. } | Self::Link { message, .. } => Some(message),
            Self::Arguments { about, .. } => about.as_deref(),
            _ => None,
        }
    }

    /// Whether it is a form that seems to ask for secrets.
    pub fn asks_for_secrets(&self) -> bool {
        match self {
            Self::Form { message, schema } => schema.secret_fields(message).next().is_some(),
            _ => false,
        }
    }

    /// Whether it is our own question, with no server to decline it to.
    pub fn is_ours(&self) -> bool {
        self.is_retry() || matches!(self, Self::Arguments { .. }) || self.signs_in()
    }

    pub fn is_retry(&self) -> bool {
        matches!(self, Self::Retry { .. } | Self::Older { .. })
    }

    pub fn signs_in(&self) -> bool {
        matches!(
            self,
            Self::Register { .. } | Self::Client { .. } | Self::SignIn { .. }
        )
    }
}

impl Reply {
    pub fn is_refusal(&self) -> bool {
        matches!(self, Self::Declined { .. } | Self::Cancelled(_))
    }
}

/// The worst outcome of the questions of a run. Later variants outweigh earlier ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum WorstEnd {
    #[default]
    Answered,
    /// At least one was declined or cancelled by a rule that expects it.
    Expected,
    /// At least one was declined or cancelled otherwise.
    Refused,
    /// At least one was cancelled because no user and no rule could answer it.
    Unanswered,
    /// The questions were not those that the answers file expects.
    Unexpected,
}

impl Reply {
    /// Like [`Reply::ended`], except that a server's question for folders at its start may stay
    /// unanswered: no call waits for it.
    pub(crate) fn ended_for(&self, question: &Question) -> WorstEnd {
        match (&question.ask, self) {
            (Ask::Roots, Self::Cancelled(Why::Nobody)) if question.key.is_none() => {
                WorstEnd::Answered
            }
            _ => self.ended(),
        }
    }

    /// Returns the outcome of a question with this reply.
    pub fn ended(&self) -> WorstEnd {
        match self {
            Self::Declined { by, .. } => match by {
                By::Rule { expected: true } => WorstEnd::Expected,
                By::Person | By::Rule { expected: false } | By::Policy => WorstEnd::Refused,
            },
            Self::Cancelled(why) => match why {
                Why::Rule { expected: true } => WorstEnd::Expected,
                Why::Person | Why::EndOfInput | Why::Muted | Why::Rule { expected: false } => {
                    WorstEnd::Refused
                }
                Why::Nobody | Why::Unmatched | Why::Flood => WorstEnd::Unanswered,
            },
            _ => WorstEnd::Answered,
        }
    }
}
