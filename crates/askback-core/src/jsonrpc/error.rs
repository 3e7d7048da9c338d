//! Why a request failed.

use alloc::{format, string::String};

use serde::{Deserialize, Deserializer, Serialize, de};
use serde_json::Value;

use super::{INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, RequestId};
use crate::quote::{QuotedName, clipped};

/// Why a request failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[error("{message} ({code})")]
pub struct ErrorObject {
    /// The kind of error; the codes of JSON-RPC stand in [`jsonrpc`](super), those of MCP in
    /// [`protocol::codes`](crate::protocol::codes).
    #[serde(deserialize_with = "code")]
    pub code: i64,
    /// One sentence that says what is wrong.
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
    /// The longest message of an error made here, in bytes. What a peer sent may be part of it, and
    /// is not to come back whole.
    pub const MESSAGE_BYTES: usize = 4 << 10;

    /// An error without data. Of a message that is longer than [`Self::MESSAGE_BYTES`] the beginning
    /// is kept.
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

    /// [`METHOD_NOT_FOUND`], naming the method.
    pub fn method_not_found(method: &str) -> Self {
        let method = QuotedName(method);
        Self::new(
            METHOD_NOT_FOUND,
            format!("there is no method {method} here"),
        )
    }

    /// [`INVALID_PARAMS`] with the reason.
    pub fn invalid_params(reason: impl Into<String>) -> Self {
        Self::new(INVALID_PARAMS, reason)
    }

    /// [`INTERNAL_ERROR`] with the reason.
    pub fn internal(reason: impl Into<String>) -> Self {
        Self::new(INTERNAL_ERROR, reason)
    }
}

/// Reads a code: an id that is a number is read alike.
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
