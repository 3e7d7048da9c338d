//! The error of a call.

#[cfg(feature = "anyhow")]
mod anyhow;
#[cfg(feature = "server")]
mod handled;
#[cfg(feature = "server")]
mod step_result;

use std::{error::Error as StdError, fmt, io};

#[cfg(feature = "server")]
use askback_core::protocol::{ClientCapabilities, ElicitUrlParams, UrlElicitationRequired};
use askback_core::{
    ask::AskError,
    forms::Issues,
    jsonrpc::{self, ErrorObject},
    protocol::CallToolResult,
};

#[cfg(feature = "server")]
pub(crate) use self::step_result::{CommitPlace, StepResult, read_commit};
#[cfg(feature = "server")]
use crate::{keys::KeyError, store::StoreError};

/// The message for a client whose call's state cannot be stored or read.
#[cfg(feature = "server")]
const NOT_KEPT: &str = "The server could not keep the state of this call; its operator finds the \
                        cause in the log.";

/// The message for a client where anything else under the server fails.
const FAILED: &str =
    "The server failed while it handled this request; its operator finds the cause in the log.";

/// The result of a handler.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a handler ended without its result.
///
/// Any `std::error::Error` becomes one through `?`, and so does a person's no through
/// [`Answer::accepted`](crate::Answer::accepted). A text becomes one with `.map_err(Error::new)?`, a
/// boxed error with `.map_err(Error::internal)?`, and an `anyhow::Error` through `?` with the feature `anyhow`: the
/// client then reads its outermost words, and the causes are logged. The table of what clients see for each error is in
/// the guide, `docs/guide/tools.md` of the repository.
///
/// Errors of the machine under a server name paths, modes and addresses. The client is told only
/// that the server failed, and the operator finds the rest in the log. An author who wants the
/// client to know more says so in their own words, with [`Error::new`].
///
/// Like `anyhow::Error` it does not implement `std::error::Error` itself.
pub struct Error {
    kind: Kind,
    message: String,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

#[derive(Debug)]
pub(crate) enum Kind {
    /// The author's error, or any other that `?` brought.
    Failed,
    /// A person's no, and the result of the tool for that, where its author gives one.
    #[cfg_attr(not(feature = "server"), expect(dead_code))]
    NotDone(Option<Box<CallToolResult>>),
    /// A question without an answer.
    Ask(AskError),
    /// The peer's message is wrong.
    InvalidParams,
    /// There is no such resource.
    NotFound,
    /// A JSON-RPC error of the author's choice.
    Protocol(Box<ErrorObject>),
    /// Links must be opened first.
    #[cfg(feature = "server")]
    UrlRequired(Box<UrlElicitationRequired>),
    #[cfg(feature = "server")]
    ClientLacks(Box<ClientCapabilities>),
    #[cfg(feature = "server")]
    Panicked,
    /// The call is written down, and goes on with its answers. No client sees this.
    #[cfg(feature = "server")]
    Parked,
}

impl Error {
    /// An error with words for whoever called.
    pub fn new(message: impl fmt::Display) -> Self {
        Self::of(Kind::Failed, message.to_string())
    }

    /// Makes an error whose words only the operator reads: they are logged, with those of its sources, and
    /// the client is told that the server failed. For errors that do not implement `std::error::Error` or
    /// that were not written for clients, such as a boxed error.
    ///
    /// ```
    /// use askback::{Error, Result};
    /// # fn load() -> std::result::Result<String, Box<dyn std::error::Error + Send + Sync>> {
    /// #     Ok("a rate".to_owned())
    /// # }
    ///
    /// async fn rate() -> Result<String> {
    ///     // Where the client may read the words, it is `Error::new`.
    ///     let rate = load().map_err(Error::internal)?;
    ///     Ok(rate)
    /// }
    /// ```
    pub fn internal(error: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        let error = error.into();
        tracing::error!(cause = chain(&*error), "a handler failed");
        Self {
            kind: Kind::Failed,
            message: FAILED.to_owned(),
            source: Some(error),
        }
    }

    /// Nothing was done because a person said no, as with
    /// [`Answer::accepted`](crate::Answer::accepted): for a form in which the person can say so. In
    /// a client, that somebody refuses to let a model be asked or folders be named.
    pub fn not_done(message: impl fmt::Display) -> Self {
        Self::of(Kind::NotDone(None), message.to_string())
    }

    /// The caller sent something wrong: a tool error, or -32602. Such a message often names what was
    /// sent: of one that is longer than [`ErrorObject::MESSAGE_BYTES`] the beginning is kept.
    pub fn invalid_params(message: impl fmt::Display) -> Self {
        let error = ErrorObject::invalid_params(message.to_string());
        Self::of(Kind::InvalidParams, error.message)
    }

    /// There is no such thing: reading a resource answers with the code the revision has for that
    /// (-32002, from 2026-07-28 on -32602), a tool with an error result. Reading says so in the server's
    /// words, so that nobody can tell a resource that is hidden from one that never was.
    pub fn not_found(message: impl fmt::Display) -> Self {
        Self::of(Kind::NotFound, message.to_string())
    }

    /// A JSON-RPC error with code and data of the author's choice.
    ///
    /// ```
    /// use askback::{Error, Result, protocol::ErrorObject};
    ///
    /// async fn brew() -> Result<String> {
    ///     Err(Error::protocol(ErrorObject::new(418, "I am a teapot.")))
    /// }
    /// ```
    #[must_use]
    pub fn protocol(error: ErrorObject) -> Self {
        let message = error.message.clone();
        Self::of(Kind::Protocol(Box::new(error)), message)
    }

    /// The request cannot be processed until these links were opened and finished
    /// (2025-11-25, client/elicitation, URL Elicitation Required Error).
    ///
    /// Only for clients of the revision that has this error, and that open links. Any other is
    /// answered as where it cannot be asked, and in 2026-07-28, where links are asked by
    /// [`Ctx::elicit_url`](crate::Ctx::elicit_url), with an error that says so.
    #[cfg(feature = "server")]
    #[must_use]
    pub fn url_required(
        link: ElicitUrlParams,
        others: impl IntoIterator<Item = ElicitUrlParams>,
    ) -> Self {
        let links = UrlElicitationRequired::new(link, others);
        Self::of(
            Kind::UrlRequired(Box::new(links)),
            "This request requires more information.".to_owned(),
        )
    }

    /// The words.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Why a question has no answer, if that is what ended the call.
    #[must_use]
    pub fn as_ask(&self) -> Option<&AskError> {
        match &self.kind {
            Kind::Ask(error) => Some(error),
            _ => None,
        }
    }

    /// The end of a call in this process that is written down.
    #[cfg(feature = "server")]
    pub(crate) fn parked() -> Self {
        Self::of(Kind::Parked, String::new())
    }

    #[cfg(feature = "server")]
    pub(crate) fn is_parked(&self) -> bool {
        matches!(self.kind, Kind::Parked)
    }

    /// Whether a person declined or cancelled.
    #[must_use]
    pub fn is_not_done(&self) -> bool {
        matches!(self.kind, Kind::NotDone(_))
    }

    #[cfg(feature = "client")]
    pub(crate) fn into_answer(self) -> ErrorObject {
        match self.kind {
            Kind::NotDone(_) => {
                ErrorObject::new(askback_core::protocol::codes::USER_REJECTED, self.message)
            }
            _ => self.into_object(),
        }
    }

    /// The JSON-RPC error for an error that no tool result can carry, with the code that every client gets.
    pub(crate) fn into_object(self) -> ErrorObject {
        let code = match self.kind {
            Kind::Protocol(object) => return *object,
            Kind::InvalidParams | Kind::NotFound => jsonrpc::INVALID_PARAMS,
            Kind::Failed | Kind::NotDone(_) | Kind::Ask(_) => jsonrpc::INTERNAL_ERROR,
            #[cfg(feature = "server")]
            Kind::UrlRequired(_) | Kind::ClientLacks(_) | Kind::Panicked | Kind::Parked => {
                jsonrpc::INTERNAL_ERROR
            }
        };
        ErrorObject::new(code, self.message)
    }

    /// The error of a call that failed for this reason.
    fn from_source(source: Box<dyn StdError + Send + Sync>) -> Self {
        let message = match told(&*source) {
            Some(told) => {
                tracing::error!(cause = %source, "what the server runs on failed");
                told.to_owned()
            }
            None => source.to_string(),
        };
        let kind = if let Some(ask) = source.downcast_ref::<AskError>() {
            Kind::Ask(ask.clone())
        } else if source.is::<Issues>() {
            Kind::InvalidParams
        } else {
            Kind::Failed
        };
        Self {
            kind,
            message,
            source: Some(source),
        }
    }

    fn of(kind: Kind, message: String) -> Self {
        Self {
            kind,
            message,
            source: None,
        }
    }
}

/// A type that `?` turns into an [`Error`]: all that implement `std::error::Error`. It is a trait
/// of its own so that the compiler can say what to write for others.
#[diagnostic::on_unimplemented(
    message = "`?` cannot make an `askback::Error` of `{Self}`",
    label = "write `.map_err(Error::new)?` if the client may read its words, else `.map_err(Error::internal)?`"
)]
pub trait Cause {
    /// The error that a handler ends with.
    fn into_error(self) -> Error;
}

impl<E: Cause> From<E> for Error {
    fn from(error: E) -> Self {
        error.into_error()
    }
}

#[cfg(not(feature = "anyhow"))]
#[diagnostic::do_not_recommend]
impl<E: StdError + Send + Sync + 'static> Cause for E {
    fn into_error(self) -> Error {
        Error::from_source(Box::new(self))
    }
}

/// The words of an error and of its sources.
fn chain(error: &dyn StdError) -> String {
    let mut words = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        words.push_str(": ");
        words.push_str(&error.to_string());
        source = error.source();
    }
    words
}

/// Returns the message for the client, where the error comes from the machine under the server;
/// `None` for any other, whose words are the author's.
fn told(error: &(dyn StdError + 'static)) -> Option<&'static str> {
    #[cfg(feature = "server")]
    match error.downcast_ref::<StoreError>() {
        // What its client can do something about.
        Some(StoreError::ShareFull) => return None,
        Some(_) => return Some(NOT_KEPT),
        None => {}
    }
    #[cfg(feature = "server")]
    if error.is::<KeyError>() {
        return Some(NOT_KEPT);
    }
    #[cfg(feature = "sqlite")]
    if error.is::<crate::store::rusqlite::Error>() {
        return Some(FAILED);
    }
    // A task that panicked says with which words.
    let is_beneath = error.is::<io::Error>() || error.is::<tokio::task::JoinError>();
    is_beneath.then_some(FAILED)
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// The words, which are what Rust prints of an error that `main` returns; all of it with `{:#?}`.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !f.alternate() {
            return f.write_str(&self.message);
        }
        f.debug_struct("Error")
            .field("kind", &self.kind)
            .field("message", &self.message)
            .field("source", &self.source)
            .finish()
    }
}
