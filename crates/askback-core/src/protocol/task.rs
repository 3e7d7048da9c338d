//! Tasks of the core protocol: long work that is polled (2025-11-25, basic/utilities/tasks).

use alloc::{boxed::Box, string::String, vec::Vec};

use serde::{Deserialize, Serialize};

use super::{Meta, lenient, meta::has_meta};

/// Long work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Task {
    /// Its name.
    pub task_id: String,
    /// How it stands.
    pub status: TaskStatus,
    /// How it stands, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status_message: Option<String>,
    /// When it began, as ISO 8601.
    pub created_at: String,
    /// When its status last changed, as ISO 8601.
    pub last_updated_at: String,
    /// For how long after it began it is kept, in milliseconds; none means without end.
    #[serde(default, deserialize_with = "lenient::optional_integer")]
    pub ttl: Option<u64>,
    /// How often to ask, in milliseconds.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient::optional_integer"
    )]
    pub poll_interval: Option<u64>,
}

/// How a task stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskStatus {
    /// It is worked on.
    Working,
    /// It waits for an answer.
    InputRequired,
    /// It is done.
    Completed,
    /// It failed.
    Failed,
    /// It was cancelled.
    Cancelled,
}

/// Says that a request shall be a task.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TaskMetadata {
    /// For how long to keep it after it began, in milliseconds.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient::optional_integer"
    )]
    pub ttl: Option<u64>,
}

/// The result of a request that became a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CreateTaskResult {
    /// The task.
    pub task: Task,
    /// The `_meta`.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Box<Meta>>,
}

/// The parameters of `tasks/get`, `tasks/result` and `tasks/cancel`, in the extension and in
/// 2025-11-25.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskParams {
    /// The name of the task.
    pub task_id: String,
    /// The `_meta`.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Box<Meta>>,
}

/// A task by itself: the result of `tasks/get` and `tasks/cancel`, and what
/// `notifications/tasks/status` says. The result of `tasks/result` is that of the request the task
/// stands for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskState {
    /// The task.
    #[serde(flatten)]
    pub task: Task,
    /// The `_meta`.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Box<Meta>>,
}

/// The result of `tasks/list`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListTasksResult {
    /// The tasks of this page.
    pub tasks: Vec<Task>,
    /// Where the next page begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// The `_meta`.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Box<Meta>>,
}

has_meta! {
    CreateTaskResult, TaskParams, TaskState, ListTasksResult,
}
