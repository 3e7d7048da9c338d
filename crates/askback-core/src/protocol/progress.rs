//! Progress and cancellation.

use alloc::{boxed::Box, string::String};

use serde::{Deserialize, Serialize};

use super::{Meta, ProgressToken, meta::has_meta, number};
use crate::jsonrpc::RequestId;

/// What `notifications/progress` says.
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
    /// What is being done, in words (from 2025-03-26 on).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// What travels beside.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Box<Meta>>,
}

/// What `notifications/cancelled` says.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CancelledParams {
    /// The request that is no longer wanted; 2025-11-25 lets it be absent where a task is meant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<RequestId>,
    /// Why, for a log or a person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What travels beside.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Box<Meta>>,
}

has_meta! {
    ProgressParams, CancelledParams,
}
