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

/// The message for a client if its call's state cannot be stored or read.
#[cfg(feature = "server")]
const NOT_KEPT: &str = "The server could not keep the state of this call; its operator finds the \
                        cause in the log.";

/// The message for a client if anything else on the server's machine fails.
const FAILED: &str =
    "The server failed while it handled this request; its operator finds the cause in the log.";

/// The result type of handlers.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a handler failed.
///
/// `?` converts any `std::error::Error`, and also a user's refusal ([`Answer::accepted`](crate::Answer::accepted)).
/// Convert a string with `.map_err(Error::new)?`, a boxed error with `.map_err(Error::internal)?`, and an
/// `anyhow::Error` with `?` and the feature `anyhow`: the client then sees the outermost message, and the causes are
/// logged. The guide has a table of what clients see for each error, in `docs/guide/tools.md` of the repository.
///
/// I/O errors name paths, modes and addresses. The client is told only that the server failed, and the log has the
/// details for the operator. To tell the client more, write your own message with [`Error::new`].
///
/// Like `anyhow::Error`, it does not implement `std::error::Error` itself.
pub struct Error {
    kind: Kind,
    message: String,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

#[derive(Debug)]
pub(crate) enum Kind {
    /// The author's error, or any other error that `?` converted.
    Failed,
    /// The user declined. Has the tool's result for this case, if its author set one.
    #[cfg_attr(not(feature = "server"), expect(dead_code))]
    NotDone(Option<Box<CallToolResult>>),
    Ask(AskError),
    InvalidParams,
    NotFound,
    Protocol(Box<ErrorObject>),
    #[cfg(feature = "server")]
    UrlRequired(Box<UrlElicitationRequired>),
    #[cfg(feature = "server")]
    ClientLacks(Box<ClientCapabilities>),
    #[cfg(feature = "server")]
    Panicked,
    /// The call is stored, and continues when its answers arrive. Clients never see this error.
    #[cfg(feature = "server")]
    Parked,
}

impl Error {
    /// Creates an error with a message for the caller.
    pub fn new(message: impl fmt::Display) -> Self {
        Self::of(Kind::Failed, message.to_string())
    }

    /// Creates an error with a message for the operator only. The message and its sources are logged, and the client is
    /// told that the server failed. Use it for errors that do not implement `std::error::Error` or that were not
    /// written for clients, such as boxed errors.
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

    /// Creates an error for a call that a user has refused, as [`Answer::accepted`](crate::Answer::accepted) does. Use
    /// it for a form with its own way to say no, or in a client, if the user does not allow a model request or access
    /// to folders.
    pub fn not_done(message: impl fmt::Display) -> Self {
        Self::of(Kind::NotDone(None), message.to_string())
    }

    /// Creates an error for invalid input of the caller: a tool error, or -32602. The message often quotes the input,
    /// so it is cut at [`ErrorObject::MESSAGE_BYTES`].
    pub fn invalid_params(message: impl fmt::Display) -> Self {
        let error = ErrorObject::invalid_params(message.to_string());
        Self::of(Kind::InvalidParams, error.message)
    }

    /// Creates an error for something that does not exist. Reading a resource then fails with the revision's code
    /// (-32002, since 2026-07-28 -32602), and a tool returns an error result. For a resource, the server chooses the
    /// message, so that a client cannot distinguish a hidden resource from a missing one.
    pub fn not_found(message: impl fmt::Display) -> Self {
        Self::of(Kind::NotFound, message.to_string())
    }

    /// Creates a JSON-RPC error with your own code and data.
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

    /// Creates the error that links must be completed before the request can be processed (2025-11-25,
    /// client/elicitation, URL Elicitation Required Error).
    ///
    /// It is only for clients of the revision that has this error, and that open links. Other clients get the error for
    /// an unsupported question. Clients of 2026-07-28 get an error that says so: ask them with
    /// [`Ctx::elicit_url`](crate::Ctx::elicit_url).
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

    /// Returns the message.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns why a question has no answer, if that ended the call.
    #[must_use]
    pub fn as_ask(&self) -> Option<&AskError> {
        match &self.kind {
            Kind::Ask(error) => Some(error),
            _ => None,
        }
    }

    #[cfg(feature = "server")]
    pub(crate) fn parked() -> Self {
        Self::of(Kind::Parked, String::new())
    }

    #[cfg(feature = "server")]
    pub(crate) fn is_parked(&self) -> bool {
        matches!(self.kind, Kind::Parked)
    }

    /// Whether a user declined or cancelled.
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

    /// Converts to a JSON-RPC error, for methods that have no error result. Every client gets the same code.
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

/// A type that `?` converts to an [`Error`]: everything that implements `std::error::Error`. It is a separate trait so
/// that the compiler's message can say how to convert other types.
#[diagnostic::on_unimplemented(
    message = "`?` cannot make an `askback::Error` of `{Self}`",
    label = "write `.map_err(Error::new)?` if the client may read its words, else `.map_err(Error::internal)?`"
)]
pub trait Cause {
    /// Converts to the handler's error.
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

/// Returns the message for the client if the error comes from the server's machine; `None` if the author wrote the
/// message.
fn told(error: &(dyn StdError + 'static)) -> Option<&'static str> {
    #[cfg(feature = "server")]
    match error.downcast_ref::<StoreError>() {
        // The client can act on this one.
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
    // A panicked task has the panic message in its error.
    let is_beneath = error.is::<io::Error>() || error.is::<tokio::task::JoinError>();
    is_beneath.then_some(FAILED)
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// Prints the message, which is what Rust shows if `main` returns the error; `{:#?}` prints everything.
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
