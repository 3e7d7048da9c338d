//! The events of a client beside results and questions.

use alloc::{boxed::Box, string::String};
use core::time::Duration;

use serde_json::value::RawValue;

use super::{CallId, CallTarget, ServerEnd};
use crate::{
    jsonrpc::ErrorObject,
    protocol::{Implementation, LoggingLevel, RawJson, ServerCapabilities, TaskStatus},
    revision::Revision,
};

/// Something a host may want to show or act on.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// How far a call has come.
    Progress {
        /// The call, which tells it apart from another of the same tool.
        call: CallId,
        /// The target of the call.
        target: Option<CallTarget>,
        /// How far it has come; it only grows.
        progress: f64,
        /// How far it has to come, where that is known.
        total: Option<f64>,
        /// The current step, in words.
        message: Option<String>,
    },
    /// How the task stands that a call became. With its id and the name of the tool it can be
    /// [taken up](super::Connection::resume_task) on another connection.
    Task {
        /// The call that became the task.
        call: CallId,
        /// The target of the call.
        target: Option<CallTarget>,
        /// The server's name for the task.
        task_id: String,
        /// How it stands.
        status: TaskStatus,
        /// How it stands, in words.
        message: Option<String>,
        /// For how long after it began the server keeps it; none where that has no end.
        ttl: Option<Duration>,
    },
    /// A log line of the server.
    Log {
        /// How much it matters.
        level: LoggingLevel,
        /// Which part of the server says it.
        logger: Option<String>,
        /// The content.
        data: RawJson,
    },
    /// The list of tools changed.
    ToolsChanged,
    /// The list of prompts changed.
    PromptsChanged,
    /// The list of resources, or of their templates, changed.
    ResourcesChanged,
    /// The resource of this URI changed.
    ResourceUpdated(String),
    /// The task behind a link is done (2025-11-25).
    UrlCompleted {
        /// The `elicitationId` of the question that held the link.
        elicitation_id: String,
    },
    /// The server withdrew a question, or ended a subscription, and said why; the reason is as it may
    /// stand in a log (2026-07-28, basic/patterns/cancellation).
    Cancelled {
        /// Why, in at most 200 characters, with everything escaped that is not printed as itself.
        reason: String,
    },
    /// A question was refused without asking the host.
    Refused(Box<RefusedQuestion>),
    /// A line the server's process wrote to its standard error. It need not be an error. The
    /// engine never says this; whoever runs the process does.
    ServerStderr(String),
    /// The server ended instead of answering the first message, as some do that know only a handshake: it is started
    /// once more, for one.
    StartedOver(ServerEnd),
    /// The server went away while no call was with it. It is started or reached again for the next.
    Disconnected(ServerEnd),
    /// The server went away while questions of it waited: they are withdrawn. The calls that they belong to end with the
    /// reason.
    QuestionsLost,
    /// Something worth a line in a log: the server was started again, wrote something unreadable,
    /// asked too often.
    Note(String),
}

/// A question that was refused without asking the host: the client did not declare it, it cannot be
/// read, there is no room for it, or the server sent it as a request in 2026-07-28, which has none.
#[derive(Debug, Clone, PartialEq)]
pub struct RefusedQuestion {
    /// The call it belongs to, where that is known.
    pub call: Option<CallId>,
    /// The target of that call.
    pub target: Option<CallTarget>,
    /// Its method, such as `elicitation/create`.
    pub method: String,
    /// Its parameters, as they came.
    pub params: Option<RawJson>,
    /// The answer to the server. Over HTTP in 2026-07-28 none can be sent.
    pub error: ErrorObject,
}

/// A server's description of itself, from the opening of the connection.
#[derive(Debug, Clone)]
pub struct Greeting {
    /// The revision that is spoken.
    pub revision: Revision,
    /// The server's own name and version, unverified.
    pub server: Option<Implementation>,
    /// The capabilities.
    pub capabilities: ServerCapabilities,
    /// How to use it, for a model.
    pub instructions: Option<String>,
    /// The result of `server/discover` or `initialize`, as it was received.
    pub result: Box<RawValue>,
}
