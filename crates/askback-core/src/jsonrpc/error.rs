//! Why a request failed.

use alloc::{format, string::String};

use serde::{Deserialize, Deserializer, Serialize, de};
use serde_json::Value;

use super::{INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, RequestId};
use crate::quote::{QuotedName, clipped};

/// A JSON-RPC error.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[error("{message} ({code})")]
pub struct ErrorObject {
    /// The error code. The codes of JSON-RPC are in [`jsonrpc`](super), the codes of MCP in
    /// [`protocol::codes`](crate::protocol::codes).
    #[serde(deserialize_with = "code")]
    pub code: i64,
    /// A sentence that says what is wrong.
    pub message: String,
    /// The machine-readable part.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "present"
    )]
    pub data: Option<Value>,
}

impl ErrorObject {
    /// The longest message of an error made here, in bytes. It limits how much of a peer's text is
    /// sent back.
    pub const MESSAGE_BYTES: usize = 4 << 10;

    /// Makes an error without data. A message longer than [`Self::MESSAGE_BYTES`] is cut.
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        let mut message = message.into();
        if message.len() > Self::MESSAGE_BYTES {
            message = clipped(&message, Self::MESSAGE_BYTES);
        }
        Self {
            code,
            message,
            data: None,
        }
    }

    /// Sets the data.
    #[must_use]
    pub fn with_data(mut self, data: Value) -> Self {
        self.data = Some(data);
        self
    }

    /// Makes a [`METHOD_NOT_FOUND`] error that names the method.
    pub fn method_not_found(method: &str) -> Self {
        let method = QuotedName(method);
        Self::new(METHOD_NOT_FOUND, format!("unknown method {method}"))
    }

    /// Makes an [`INVALID_PARAMS`] error with this reason.
    pub fn invalid_params(reason: impl Into<String>) -> Self {
        Self::new(INVALID_PARAMS, reason)
    }

    /// Makes an [`INTERNAL_ERROR`] with this reason.
    pub fn internal(reason: impl Into<String>) -> Self {
        Self::new(INTERNAL_ERROR, reason)
    }
}

/// Reads a code in the same way as a numeric id.
fn code<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i64, D::Error> {
    match RequestId::deserialize(deserializer)? {
        RequestId::Number(code) => Ok(code),
        RequestId::String(_) => Err(de::Error::custom("the code of an error is an integer")),
    }
}

/// Reads a member that is present, so that `null` is a value and not an absence.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}
