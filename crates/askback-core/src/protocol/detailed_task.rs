//! Tasks of the extension `io.modelcontextprotocol/tasks`: a call whose result is fetched later
//! (SEP-2663).

use alloc::string::String;

use serde::Deserialize;

use super::{InputRequests, InputResponses, RawJson, TaskStatus, lenient, messages::messages, raw};
use crate::jsonrpc::ErrorObject;

messages! {
    /// A task of the extension, with what its status brings along.
    ///
    /// It is what a call answers that became a task (there, only how it stands), the result of
    /// `tasks/get`, and what `notifications/tasks` says. It is not the [`Task`](super::Task) of the core
    /// protocol of 2025-11-25.
    #[derive(Deserialize)]
    struct DetailedTask {
        /// Its name.
        task_id: String;
        /// How it stands.
        status: TaskStatus;
        /// How it stands, in words.
        status_message?: String;
        /// When it began, as ISO 8601.
        created_at: String;
        /// When it last changed, as ISO 8601.
        last_updated_at: String;
        /// For how long after it began it is kept, in milliseconds; none, which is written as `null`,
        /// means without end. It may change.
        #[serde(default, deserialize_with = "lenient::optional_integer")]
        ttl_ms: Option<u64>;
        /// How often to ask, in milliseconds. It may change.
        poll_interval_ms?: u64 = "lenient::optional_integer";
        /// The questions that wait for an answer, where it waits for input.
        input_requests?: InputRequests;
        /// The result of the request, where it is completed.
        result?: RawJson = "raw::present";
        /// The error of the request, where it failed.
        error?: ErrorObject;
        meta;
    }

    /// The parameters of `tasks/update`: answers to questions of a task.
    #[derive(Default, Deserialize)]
    struct UpdateTaskParams {
        /// The name of the task.
        task_id: String;
        /// The answers, by the keys of their questions; not all need be there.
        input_responses: InputResponses;
        meta;
    }
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
