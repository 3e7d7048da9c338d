//! The events of a client, apart from results and questions.

use alloc::{boxed::Box, string::String};
use core::time::Duration;

use serde_json::value::RawValue;

use super::{CallId, CallTarget, ServerEnd};
use crate::{
    jsonrpc::ErrorObject,
    protocol::{Implementation, LoggingLevel, RawJson, ServerCapabilities, TaskStatus},
    revision::Revision,
};

/// Something that a host may want to show or act on.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// Progress of a call.
    Progress {
        /// The call, to tell it apart from other calls of the same tool.
        call: CallId,
        /// The target of the call.
        target: Option<CallTarget>,
        /// The progress so far. It only grows.
        progress: f64,
        /// The final value of `progress`, if known.
        total: Option<f64>,
        /// The current step, as text.
        message: Option<String>,
    },
    /// The status of the task that a call became. With its id and the tool's name it can be
    /// [resumed](super::Connection::resume_task) on another connection.
    Task {
        /// The call that became the task.
        call: CallId,
        /// The target of the call.
        target: Option<CallTarget>,
        /// The server's id of the task.
        task_id: String,
        /// The status.
        status: TaskStatus,
        /// The status, as text.
        message: Option<String>,
        /// How long after creation the server stores the task. `None` means no limit.
        ttl: Option<Duration>,
    },
    /// A log message of the server.
    Log {
        /// The severity.
        level: LoggingLevel,
        /// The part of the server that logs.
        logger: Option<String>,
        /// The content.
        data: RawJson,
    },
    /// The list of tools changed.
    ToolsChanged,
    /// The list of prompts changed.
    PromptsChanged,
    /// The list of resources, or of resource templates, changed.
    ResourcesChanged,
    /// The resource at this URI changed.
    ResourceUpdated(String),
    /// The user has finished at a link (2025-11-25).
    UrlCompleted {
        /// The `elicitationId` of the link's question.
        elicitation_id: String,
    },
    /// The server withdrew a question or ended a subscription, and gave a reason (2026-07-28,
    /// basic/patterns/cancellation).
    Cancelled {
        /// The reason, escaped for a log, at most 200 characters.
        reason: String,
    },
    /// A question was refused without asking the host.
    Refused(Box<RefusedQuestion>),
    /// A line that the server's process wrote to its standard error; not necessarily an error. The
    /// driver that runs the process emits it, not the engine.
    ServerStderr(String),
    /// The server ended instead of answering the first message, as some servers do that only know
    /// the handshake. It is started once more.
    StartedOver(ServerEnd),
    /// The server went away while no call was in progress. It is started or connected again for the
    /// next call.
    Disconnected(ServerEnd),
    /// The server went away with open questions. They are withdrawn, and their calls end with the
    /// reason.
    QuestionsLost,
    /// A message for the log, such as: the server was restarted, wrote an unreadable message, or
    /// asked too often.
    Note(String),
}

/// A question that was refused without asking the host: the client did not declare it, it cannot be
/// read, it does not fit the limits, or the server sent it as a request in 2026-07-28, which has no
/// such requests.
#[derive(Debug, Clone, PartialEq)]
pub struct RefusedQuestion {
    /// Its call, if known.
    pub call: Option<CallId>,
    /// The target of that call.
    pub target: Option<CallTarget>,
    /// Its method, such as `elicitation/create`.
    pub method: String,
    /// Its parameters as they arrived.
    pub params: Option<RawJson>,
    /// The error for the server. Over HTTP in 2026-07-28 it cannot be sent.
    pub error: ErrorObject,
}

/// How a server described itself when the connection opened.
#[derive(Debug, Clone)]
pub struct Greeting {
    /// The revision in use.
    pub revision: Revision,
    /// The server's name and version, unverified.
    pub server: Option<Implementation>,
    /// The server's capabilities.
    pub capabilities: ServerCapabilities,
    /// Instructions for a model.
    pub instructions: Option<String>,
    /// The result of `server/discover` or `initialize` as it arrived.
    pub result: Box<RawValue>,
}
