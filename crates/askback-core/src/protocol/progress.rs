//! Progress and cancellation.

use alloc::string::String;

use serde::Deserialize;

use super::{ProgressToken, messages::messages, number};
use crate::{jsonrpc::RequestId, quote::excerpt};

messages! {
    /// The parameters of `notifications/progress`.
    #[derive(Deserialize)]
    struct ProgressParams {
        /// The token that the sender of the request chose.
        progress_token: ProgressToken;
        /// The progress so far. It only grows.
        #[serde(serialize_with = "number::serialize")]
        progress: f64;
        /// The final value of `progress`, if known.
        #[serde(serialize_with = "number::serialize_some")]
        total?: f64;
        /// The current step, as text (from 2025-03-26 on).
        message?: String;
        meta;
    }

    /// The parameters of `notifications/cancelled`.
    #[derive(Default, Deserialize)]
    struct CancelledParams {
        /// The request to cancel. In 2025-11-25 it may be absent if a task is meant.
        request_id?: RequestId;
        /// The reason, for a log or a person.
        reason?: String;
        meta;
    }
}

impl CancelledParams {
    /// Returns the reason escaped for a log, at most 200 characters.
    #[must_use]
    pub fn logged_reason(&self) -> Option<String> {
        self.reason.as_deref().map(excerpt)
    }
}
