//! Progress and cancellation.

use alloc::string::String;

use serde::Deserialize;

use super::{ProgressToken, messages::messages, number};
use crate::{jsonrpc::RequestId, quote::excerpt};

messages! {
    /// The parameters of `notifications/progress`.
    #[derive(Deserialize)]
    struct ProgressParams {
        /// The token the requester chose.
        progress_token: ProgressToken;
        /// How far the work has come; it only grows.
        #[serde(serialize_with = "number::serialize")]
        progress: f64;
        /// How far it has to come, where that is known.
        #[serde(serialize_with = "number::serialize_some")]
        total?: f64;
        /// The current step, in words (from 2025-03-26 on).
        message?: String;
        meta;
    }

    /// The parameters of `notifications/cancelled`.
    #[derive(Default, Deserialize)]
    struct CancelledParams {
        /// The request that is no longer wanted; 2025-11-25 lets it be absent where a task is meant.
        request_id?: RequestId;
        /// Why, for a log or a person.
        reason?: String;
        meta;
    }
}

impl CancelledParams {
    /// The reason as it may stand in a log: of at most 200 characters, with everything escaped that
    /// is not printed as itself.
    #[must_use]
    pub fn logged_reason(&self) -> Option<String> {
        self.reason.as_deref().map(excerpt)
    }
}
