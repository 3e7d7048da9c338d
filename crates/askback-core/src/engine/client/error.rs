//! Why a call, or a connection, came to nothing.

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

/// Why a call came to nothing. Each kind names who is to blame.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// The server answered with an error.
    #[error("the server answered: {0}")]
    Server(ErrorObject),
    /// The server said something the protocol does not allow.
    #[error("the server broke the protocol: {0}")]
    Protocol(String),
    /// A message of the server is larger than [`message_bytes`](crate::limits::WireLimits::message_bytes)
    /// allows.
    #[error("a message of the server is larger than {0} bytes, the limit `wire.message_bytes`")]
    TooLarge(usize),
    /// The server answered, and the answer cannot be read.
    #[error("the server broke the protocol: its answer cannot be read: {why}")]
    Unreadable {
        /// The fault.
        why: String,
        /// The answer, as it came. Bytes that are no text are replaced; of one that is too long, the middle is left out.
        received: String,
    },
    /// The server speaks no revision this client may speak.
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
    /// The server cannot be reached: its process cannot be started, its address not be found.
    #[error("the server cannot be reached: {0}")]
    Unreachable(String),
    /// The server went away while the call was with it.
    #[error("the server went away: {0}")]
    Crashed(ServerEnd),
    /// The server went away after its questions were answered. Whether it has acted on them is
    /// unknown, so they are not sent again by themselves.
    #[error(
        "the server went away after its questions were answered, so what the call has done is unknown ({0}): \
         check before you make it again"
    )]
    OutcomeUnknown(ServerEnd),
    /// The server, or something on the way to it, answered a request over HTTP with a status that
    /// holds no message.
    #[error("the server answered with HTTP status {status}: {why}")]
    Http {
        /// The status.
        status: u16,
        /// The meaning of the status in this place.
        why: String,
    },
    /// The server wants the client to be authorized (2026-07-28, basic/authorization).
    #[error("the server answered with HTTP status {status}: the client is not authorized")]
    Unauthorized {
        /// 401 for a client it does not know, 403 for one that may not do this.
        status: u16,
        /// The values of the `WWW-Authenticate` headers: how to become authorized.
        challenges: Vec<String>,
    },
    /// The server wants the client to be authorized, and the client did not become it.
    #[error("the client is not authorized: {0}")]
    Authorization(AuthorizationError),
    /// The server took too long. The time a person was asked is not counted.
    #[error("the server did not answer within {0:?}")]
    TimedOut(Duration),
    /// The result of a tool does not fit the output schema the server has listed for it.
    #[error("the result of the tool {} does not fit its output schema: {why}", QuotedName(.tool))]
    Output {
        /// The tool.
        tool: String,
        /// Where it does not fit, and what is expected there.
        why: String,
        /// The result, for a person to look at. Nothing in it may be relied on.
        result: Box<CallToolResult>,
    },
    /// The server kept asking.
    #[error("the server asked for more than {0} rounds; the call was given up")]
    TooManyRounds(u32),
    /// A question of the server was refused on this side: by a person, or because it asked too
    /// often.
    #[error("a question of the server was refused: {0}")]
    QuestionRefused(ErrorObject),
    /// The host of this client gave an answer that must not be sent, or none.
    #[error("the host failed to answer the server: {0}")]
    Host(String),
    /// The call became a task, which somebody else cancelled; with the server's words for it.
    #[error("the task was cancelled{}", words(.0))]
    TaskCancelled(Option<String>),
    /// The call became a task, of which the server knows nothing any more: its time is over, or
    /// the process that worked on it is gone.
    #[error("the server has lost the task of this call: {0}")]
    TaskLost(String),
    /// The arguments of a call are not what a server takes: they cannot be written as JSON, or are
    /// not an object.
    #[error("the arguments of `{name}` cannot be sent: {why}")]
    Arguments {
        /// The target of the call.
        name: String,
        /// The fault.
        why: String,
    },
    /// The result of a tool is not what was expected of it.
    #[error(transparent)]
    ToolResult(#[from] ToolResultError),
    /// The server, the revision in use or this client does not have the method or feature.
    #[error("{0}")]
    Unsupported(String),
    /// The client declares an extension by a name or with settings that servers do not accept.
    #[error("the extension `{name}` cannot be declared: {why}")]
    Extension {
        /// The extension.
        name: String,
        /// Returns the issues.
        why: String,
    },
    /// No server is known by this name, among several.
    #[error("no server is called `{0}`")]
    NoServer(String),
    /// The caller has too many calls in progress.
    #[error("{0} calls are in progress, which is the most; wait for one to end")]
    Busy(usize),
    /// The client was closed by its owner.
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
    /// The exit code, where the server was a process and has ended with one.
    pub code: Option<i32>,
    /// The circumstances, in words.
    pub why: String,
}

impl ServerEnd {
    /// Returns the end of a process with this exit code.
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
