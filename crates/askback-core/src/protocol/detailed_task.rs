//! Tasks of the extension `io.modelcontextprotocol/tasks`: a call whose result is fetched later
//! (SEP-2663).

use alloc::{boxed::Box, string::String};

use serde::{Deserialize, Serialize};

use super::{
    InputRequests, InputResponses, Meta, RawJson, TaskStatus, lenient, meta::has_meta, raw,
};
use crate::jsonrpc::ErrorObject;

/// A task of the extension, with what its status brings along.
///
/// It is what a call answers that became a task (there, only how it stands), the result of
/// `tasks/get`, and what `notifications/tasks` says. It is not the [`Task`](super::Task) of the core
/// protocol of 2025-11-25.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DetailedTask {
    /// Its name.
    pub task_id: String,
    /// How it stands.
    pub status: TaskStatus,
    /// How it stands, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status_message: Option<String>,
    /// When it began, as ISO 8601.
    pub created_at: String,
    /// When it last changed, as ISO 8601.
    pub last_updated_at: String,
    /// For how long after it began it is kept, in milliseconds; none, which is written as `null`,
    /// means without end. It may change.
    #[serde(default, deserialize_with = "lenient::optional_integer")]
    pub ttl_ms: Option<u64>,
    /// How often to ask, in milliseconds. It may change.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient::optional_integer"
    )]
    pub poll_interval_ms: Option<u64>,
    /// The questions that wait for an answer, where it waits for input.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_requests: Option<InputRequests>,
    /// The result of the request, where it is completed.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "raw::present"
    )]
    pub result: Option<RawJson>,
    /// The error of the request, where it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorObject>,
    /// The `_meta`.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Box<Meta>>,
}

/// The parameters of `tasks/update`: answers to questions of a task.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UpdateTaskParams {
    /// The name of the task.
    pub task_id: String,
    /// The answers, by the keys of their questions; not all need be there.
    pub input_responses: InputResponses,
    /// The `_meta`.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Box<Meta>>,
}

has_meta! {
    DetailedTask, UpdateTaskParams,
}

impl TaskStatus {
    /// Whether the task has ended: from here on nothing changes.
    pub const fn is_terminal(self) -> bool {
        match self {
            Self::Completed | Self::Failed | Self::Cancelled => true,
            Self::Working | Self::InputRequired => false,
        }
    }
}
