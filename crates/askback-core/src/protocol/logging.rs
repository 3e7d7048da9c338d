//! Log lines a server sends to its client.

use alloc::{boxed::Box, string::String};

use serde::{Deserialize, Serialize};

use super::{LoggingLevel, Meta, RawJson, meta::has_meta};

/// The parameters of `logging/setLevel` (handshake revisions).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SetLevelParams {
    /// The least level to send from now on.
    pub level: LoggingLevel,
    /// The `_meta`.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Box<Meta>>,
}

/// The parameters of `notifications/message`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LoggingMessageParams {
    /// How grave it is.
    pub level: LoggingLevel,
    /// Which part of the server says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub logger: Option<String>,
    /// The content: any JSON.
    pub data: RawJson,
    /// The `_meta`.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Box<Meta>>,
}

has_meta! {
    SetLevelParams, LoggingMessageParams,
}
