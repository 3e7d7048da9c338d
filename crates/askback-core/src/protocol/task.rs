//! Tasks of the core protocol: long work that is polled (2025-11-25, basic/utilities/tasks).

use alloc::{string::String, vec::Vec};

use serde::{Deserialize, Serialize};

use super::{lenient, messages::messages};

messages! {
    /// A task of the core protocol.
    #[derive(Eq, Deserialize)]
    struct Task {
        /// The id.
        task_id: String;
        /// The status.
        status: TaskStatus;
        /// The status, as text.
        status_message?: String;
        /// When the task was created, in ISO 8601.
        created_at: String;
        /// When the status last changed, in ISO 8601.
        last_updated_at: String;
        /// How long after its creation the task is stored, in milliseconds. `None` means no limit.
        #[serde(default, deserialize_with = "lenient::optional_integer")]
        ttl: Option<u64>;
        /// The polling interval in milliseconds.
        poll_interval?: u64 = "lenient::optional_integer";
    }
}

/// The status of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskStatus {
    /// The task is running.
    Working,
    /// The task waits for answers.
    InputRequired,
    /// The task has a result.
    Completed,
    /// The task failed.
    Failed,
    /// The task was cancelled.
    Cancelled,
}

messages! {
    /// Asks for a request to become a task.
    #[derive(Eq, Default, Deserialize)]
    struct TaskMetadata {
        /// How long after its creation to store the task, in milliseconds.
        ttl?: u64 = "lenient::optional_integer";
    }

    /// The result of a request that became a task.
    #[derive(Deserialize)]
    struct CreateTaskResult {
        /// The task.
        task: Task;
        meta;
    }

    /// The parameters of `tasks/get`, `tasks/result` and `tasks/cancel`, in the extension and in
    /// 2025-11-25.
    #[derive(Default, Deserialize)]
    struct TaskParams {
        /// The id of the task.
        task_id: String;
        meta;
    }

    /// The result of `tasks/get` and `tasks/cancel`, and the parameters of
    /// `notifications/tasks/status`. (The result of `tasks/result` is the result of the original
    /// request.)
    #[derive(Deserialize)]
    struct TaskState {
        /// The task.
        #[serde(flatten)]
        task: Task;
        meta;
    }

    /// The result of `tasks/list`.
    #[derive(Default, Deserialize)]
    struct ListTasksResult {
        /// The tasks of this page.
        tasks: Vec<Task>;
        /// The cursor of the next page.
        next_cursor?: String;
        meta;
    }
}
