//! Tasks of the extension `io.modelcontextprotocol/tasks`: calls whose result is fetched later
//! (SEP-2663).

use alloc::string::String;

use serde::Deserialize;

use super::{InputRequests, InputResponses, RawJson, TaskStatus, lenient, messages::messages, raw};
use crate::jsonrpc::ErrorObject;

messages! {
    /// A task of the extension, with the data of its status.
    ///
    /// It is the result of a call that became a task (then only with its status), the result of
    /// `tasks/get`, and the content of `notifications/tasks`. It differs from the
    /// [`Task`](super::Task) of the core protocol of 2025-11-25.
    #[derive(Deserialize)]
    struct DetailedTask {
        /// The id.
        task_id: String;
        /// The status.
        status: TaskStatus;
        /// The status, as text.
        status_message?: String;
        /// When the task was created, in ISO 8601.
        created_at: String;
        /// When the task last changed, in ISO 8601.
        last_updated_at: String;
        /// How long after its creation the task is stored, in milliseconds. `None`, written as
        /// `null`, means no limit. It may change.
        #[serde(default, deserialize_with = "lenient::optional_integer")]
        ttl_ms: Option<u64>;
        /// The polling interval in milliseconds. It may change.
        poll_interval_ms?: u64 = "lenient::optional_integer";
        /// The open questions, if it needs input.
        input_requests?: InputRequests;
        /// The result of the request, if it is completed.
        result?: RawJson = "raw::present";
        /// The error of the request, if it failed.
        error?: ErrorObject;
        meta;
    }

    /// The parameters of `tasks/update`: answers to questions of a task.
    #[derive(Default, Deserialize)]
    struct UpdateTaskParams {
        /// The id of the task.
        task_id: String;
        /// The answers by key. Some may be missing.
        input_responses: InputResponses;
        meta;
    }
}

impl TaskStatus {
    /// Whether the task has ended. Its status will not change any more.
    pub const fn is_terminal(self) -> bool {
        match self {
            Self::Completed | Self::Failed | Self::Cancelled => true,
            Self::Working | Self::InputRequired => false,
        }
    }
}
