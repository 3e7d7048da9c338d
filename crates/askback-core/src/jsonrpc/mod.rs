//! JSON-RPC 2.0 messages: bounded parsing and direct writing.
//!
//! [`parse`] reads only the envelope and keeps `params` and `result` as raw JSON, which is decoded
//! once the method is known. Skipping a value is iterative, and decoding is bounded by the depth
//! limit of `serde_json`, so no nesting can exhaust the stack. The `write_*` functions serialize a
//! value directly into its envelope.

mod error;
mod long;
mod read;
#[cfg(feature = "client")]
mod recover;
mod walk;
mod write;
mod written_response;

use alloc::{
    borrow::ToOwned,
    boxed::Box,
    string::{String, ToString},
    vec::Vec,
};
use core::fmt;

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{self, Visitor},
};
use serde_json::{Value, value::RawValue};

pub use error::ErrorObject;
pub use long::KEPT_ENDS;
pub use read::parse;
pub(crate) use read::{is_short, text_within};
#[cfg(feature = "client")]
pub(crate) use recover::recover;
pub(crate) use walk::Walk;
#[cfg(feature = "client")]
pub(crate) use write::write_request_of;
pub(crate) use write::write_result_of;
pub use write::{write_batch, write_error, write_notification, write_request, write_result};
pub use written_response::WrittenResponse;

/// The text received is not JSON.
pub const PARSE_ERROR: i64 = -32700;
/// The JSON received is not a JSON-RPC message.
pub const INVALID_REQUEST: i64 = -32600;
/// The method does not exist, or its capability was not declared.
pub const METHOD_NOT_FOUND: i64 = -32601;
/// The parameters are invalid for the method.
pub const INVALID_PARAMS: i64 = -32602;
/// The receiver failed for an internal reason.
pub const INTERNAL_ERROR: i64 = -32603;

/// The id that connects a response to its request: a string or an integer, never null or a
/// fraction.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RequestId {
    Number(i64),
    String(String),
}

/// A message that expects a [`Response`] with the same id.
#[derive(Debug, Clone)]
pub struct Request {
    pub id: RequestId,
    pub method: String,
    /// The parameters as they arrived: an object.
    pub params: Option<Box<RawValue>>,
}

#[derive(Debug, Clone)]
pub struct Notification {
    pub method: String,
    /// The parameters as they arrived: an object.
    pub params: Option<Box<RawValue>>,
}

#[derive(Debug, Clone)]
pub struct Response {
    /// The id of the request. Absent only if the request could not be read.
    pub id: Option<RequestId>,
    /// The result as it arrived, or the error.
    pub outcome: Result<Box<RawValue>, ErrorObject>,
}

#[derive(Debug, Clone)]
pub enum Message {
    Request(Request),
    Notification(Notification),
    Response(Response),
}

/// The content of one line, body or event.
#[derive(Debug, Clone)]
pub enum Payload {
    Single(Message),
    /// A batch, never empty. The caller checks whether the revision has batches.
    Batch(Vec<Result<Message, MalformedMessage>>),
}

#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{error}")]
pub struct MalformedMessage {
    /// The id of the message, if it could be read.
    pub id: Option<RequestId>,
    pub error: ErrorObject,
    /// Whether it looked like a response. Then the id is one of ours: that request has failed, and
    /// no error is sent back.
    pub response: bool,
    /// Whether it looked like a notification, with a method and no id. It gets no response
    /// (2026-07-28, basic, Notifications).
    pub notification: bool,
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::String(string) => string.fmt(f),
        }
    }
}

impl RequestId {
    pub(crate) fn to_json(&self) -> String {
        match self {
            Self::Number(number) => number.to_string(),
            Self::String(string) => Value::from(&**string).to_string(),
        }
    }

    fn append_to(&self, message: &mut Vec<u8>) {
        match self {
            Self::Number(number) => {
                message.extend_from_slice(itoa::Buffer::new().format(*number).as_bytes());
            }
            Self::String(_) => message.extend_from_slice(self.to_json().as_bytes()),
        }
    }
}

impl From<i64> for RequestId {
    fn from(number: i64) -> Self {
        Self::Number(number)
    }
}

impl From<String> for RequestId {
    fn from(string: String) -> Self {
        Self::String(string)
    }
}

impl From<&str> for RequestId {
    fn from(string: &str) -> Self {
        Self::String(string.to_owned())
    }
}

impl Serialize for RequestId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Number(number) => serializer.serialize_i64(*number),
            Self::String(string) => serializer.serialize_str(string),
        }
    }
}

impl<'de> Deserialize<'de> for RequestId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RequestIdVisitor)
    }
}

pub(crate) const VERSION: &str = "2.0";

/// Up to this magnitude, an `f64` represents every whole number exactly.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Converts a number without a fraction to an integer. Languages with a single number type write
/// `1.0`.
pub(crate) fn whole(number: f64) -> Option<i64> {
    // The cast is exact within these bounds; `core` has no `f64::fract`.
    #[allow(clippy::cast_possible_truncation)]
    let integer = number as i64;
    #[allow(clippy::cast_precision_loss, clippy::float_cmp)]
    let is_exact = number.abs() <= EXACT && integer as f64 == number;
    is_exact.then_some(integer)
}

struct RequestIdVisitor;

impl Visitor<'_> for RequestIdVisitor {
    type Value = RequestId;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string or an integer")
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Self::Value, E> {
        Ok(RequestId::Number(number))
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Self::Value, E> {
        i64::try_from(number)
            .map(RequestId::Number)
            .map_err(|_| E::invalid_value(de::Unexpected::Unsigned(number), &self))
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Self::Value, E> {
        whole(number)
            .map(RequestId::Number)
            .ok_or_else(|| E::invalid_value(de::Unexpected::Float(number), &self))
    }

    fn visit_str<E: de::Error>(self, string: &str) -> Result<Self::Value, E> {
        Ok(RequestId::String(string.to_owned()))
    }

    fn visit_string<E: de::Error>(self, string: String) -> Result<Self::Value, E> {
        Ok(RequestId::String(string))
    }
}
