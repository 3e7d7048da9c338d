//! Why a call or a connection failed.

use alloc::{
    borrow::ToOwned,
    boxed::Box,
    format,
    string::{String, ToString},
    vec::Vec,
};
use core::{fmt, time::Duration};

use crate::{
    auth::AuthorizationError,
    jsonrpc::ErrorObject,
    protocol::{CallToolResult, ToolResultError},
    quote::QuotedName,
    revision::Revision,
};

/// Why a call failed. Each kind names the party to blame.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// The server answered with an error.
    #[error("the server answered: {0}")]
    Server(ErrorObject),
    /// The server violated the protocol.
    #[error("the server broke the protocol: {0}")]
    Protocol(String),
    /// A message from the server is larger than
    /// [`message_bytes`](crate::limits::WireLimits::message_bytes) allows.
    #[error("a message of the server is larger than {0} bytes, the limit `wire.message_bytes`")]
    TooLarge(usize),
    /// The server's response cannot be read.
    #[error("the server broke the protocol: its answer cannot be read: {why}")]
    Unreadable {
        /// The fault.
        why: String,
        /// The response as it arrived. Bytes that are not text are replaced. The middle of a long
        /// response is left out.
        received: String,
    },
    /// Client and server have no revision in common.
    #[error(
        "no protocol revision in common: the server speaks {}, this client {}",
        list(.offered), list(.spoken)
    )]
    Incompatible {
        /// The revisions that this client may speak.
        spoken: Vec<Revision>,
        /// The versions that the server offered.
        offered: Vec<String>,
    },
    /// The server cannot be reached: its process does not start, or its address is not found.
    #[error("the server cannot be reached: {0}")]
    Unreachable(String),
    /// The server went away during the call.
    #[error("the server went away: {0}")]
    Crashed(ServerEnd),
    /// The server went away after its questions were answered. It may have acted on the answers, so
    /// they are not sent again automatically.
    #[error(
        "the server went away after its questions were answered, so what the call has done is unknown ({0}): \
         check before you make it again"
    )]
    OutcomeUnknown(ServerEnd),
    /// The server, or a proxy, answered an HTTP request with an error status and no message.
    #[error("the server answered with HTTP status {status}: {why}")]
    Http {
        status: u16,
        /// The meaning of the status here.
        why: String,
    },
    /// The server requires authorization (2026-07-28, basic/authorization).
    #[error("the server answered with HTTP status {status}: the client is not authorized")]
    Unauthorized {
        /// 401 if the client is not authenticated, 403 if it lacks permission.
        status: u16,
        /// The values of the `WWW-Authenticate` headers.
        challenges: Vec<String>,
    },
    /// The server requires authorization, and it failed.
    #[error("the client is not authorized: {0}")]
    Authorization(AuthorizationError),
    /// The server took too long. Time spent asking the user does not count.
    #[error("the server did not answer within {0:?}")]
    TimedOut(Duration),
    /// The result of a tool does not match the tool's output schema.
    #[error("the result of the tool {} does not fit its output schema: {why}", QuotedName(.tool))]
    Output {
        /// The tool.
        tool: String,
        /// Where it does not match, and what is expected there.
        why: String,
        /// The result, for display only. It must not be relied on.
        result: Box<CallToolResult>,
    },
    /// The server asked for more rounds than allowed.
    #[error("the server asked for more than {0} rounds; the call was given up")]
    TooManyRounds(u32),
    /// One of the server's questions was refused on this side: by the user, or because there were
    /// too many.
    #[error("a question of the server was refused: {0}")]
    QuestionRefused(ErrorObject),
    /// The host's answer was invalid or missing.
    #[error("the host failed to answer the server: {0}")]
    Host(String),
    /// The call became a task, which was cancelled elsewhere. Holds the server's message.
    #[error("the task was cancelled{}", words(.0))]
    TaskCancelled(Option<String>),
    /// The call became a task that the server no longer knows: it has expired, or its process is
    /// gone.
    #[error("the server has lost the task of this call: {0}")]
    TaskLost(String),
    /// The arguments of a call cannot be written as JSON or are not an object.
    #[error("the arguments of `{name}` cannot be sent: {why}")]
    Arguments {
        /// The target of the call.
        name: String,
        /// The fault.
        why: String,
    },
    /// The result of a tool cannot be read as the expected type.
    #[error(transparent)]
    ToolResult(#[from] ToolResultError),
    /// The server, the revision in use or this client lacks the method or feature.
    #[error("{0}")]
    Unsupported(String),
    /// The client declares an extension with a name or settings that servers do not accept.
    #[error("the extension `{name}` cannot be declared: {why}")]
    Extension {
        /// The extension.
        name: String,
        /// The fault.
        why: String,
    },
    /// The caller has too many calls in progress.
    #[error("{0} calls are in progress, which is the limit; wait for one to end")]
    Busy(usize),
    /// The client was closed.
    #[error("the client is closed")]
    Closed,
}

fn words(message: &Option<String>) -> String {
    match message {
        Some(message) => format!(": {message}"),
        None => String::new(),
    }
}

fn list<T: ToString>(revisions: &[T]) -> String {
    match revisions {
        [] => "none".into(),
        revisions => revisions
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join(", "),
    }
}

/// How a server went away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerEnd {
    /// The exit code, if the server was a process and exited with one.
    pub code: Option<i32>,
    /// The circumstances, as text.
    pub why: String,
}

impl ServerEnd {
    /// Makes the end of a process that exited with `code`.
    #[must_use]
    pub fn exited(code: i32) -> Self {
        Self {
            code: Some(code),
            why: alloc::format!("it exited (code {code})"),
        }
    }
}

impl From<String> for ServerEnd {
    fn from(why: String) -> Self {
        Self { code: None, why }
    }
}

impl From<&str> for ServerEnd {
    fn from(why: &str) -> Self {
        why.to_owned().into()
    }
}

impl fmt::Display for ServerEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}
