//! Progress and cancellation.

use alloc::{boxed::Box, string::String};

use serde::{Deserialize, Serialize};

use super::{Meta, ProgressToken, meta::has_meta, number};
use crate::{jsonrpc::RequestId, quote::excerpt};

/// The parameters of `notifications/progress`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProgressParams {
    /// The token the requester chose.
    pub progress_token: ProgressToken,
    /// How far the work has come; it only grows.
    #[serde(serialize_with = "number::serialize")]
    pub progress: f64,
    /// How far it has to come, where that is known.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        serialize_with = "number::serialize_some"
    )]
    pub total: Option<f64>,
    /// The current step, in words (from 2025-03-26 on).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The `_meta`.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Box<Meta>>,
}

/// The parameters of `notifications/cancelled`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CancelledParams {
    /// The request that is no longer wanted; 2025-11-25 lets it be absent where a task is meant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<RequestId>,
    /// Why, for a log or a person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The `_meta`.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Box<Meta>>,
}

impl CancelledParams {
    /// The reason as it may stand in a log: of at most 200 characters, with everything escaped that
    /// is not printed as itself.
    #[must_use]
    pub fn logged_reason(&self) -> Option<String> {
        self.reason.as_deref().map(excerpt)
    }
}

has_meta! {
    ProgressParams, CancelledParams,
}
