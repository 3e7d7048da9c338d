//! Tasks of the core protocol: long work that is polled (2025-11-25, basic/utilities/tasks).

use alloc::{string::String, vec::Vec};

use serde::{Deserialize, Serialize};

use super::{lenient, messages::messages};

messages! {
    /// Long work.
    #[derive(Eq, Deserialize)]
    struct Task {
        /// Its name.
        task_id: String;
        /// How it stands.
        status: TaskStatus;
        /// How it stands, in words.
        status_message?: String;
        /// When it began, as ISO 8601.
        created_at: String;
        /// When its status last changed, as ISO 8601.
        last_updated_at: String;
        /// For how long after it began it is kept, in milliseconds; none means without end.
        #[serde(default, deserialize_with = "lenient::optional_integer")]
        ttl: Option<u64>;
        /// How often to ask, in milliseconds.
        poll_interval?: u64 = "lenient::optional_integer";
    }
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

messages! {
    /// Says that a request shall be a task.
    #[derive(Eq, Default, Deserialize)]
    struct TaskMetadata {
        /// For how long to keep it after it began, in milliseconds.
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
        /// The name of the task.
        task_id: String;
        meta;
    }

    /// A task by itself: the result of `tasks/get` and `tasks/cancel`, and what
    /// `notifications/tasks/status` says. The result of `tasks/result` is that of the request the task
    /// stands for.
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
        /// Where the next page begins.
        next_cursor?: String;
        meta;
    }
}
