//! JSON-RPC 2.0 messages: bounded reading and direct writing.
//!
//! [`parse`] looks at the envelope only and keeps `params` and `result` as the text they came as;
//! whoever knows the method decodes them. [`parse_request`] reads what is nearly always sent, a
//! request whose parameters follow its method, in one go. Skipping over a value is iterative, and decoding it later
//! is bounded by the depth limit of `serde_json`, so no nesting a peer can write exhausts the
//! stack. The `write_*` functions put a typed value straight into its envelope.

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
use core::fmt::{self, Write};

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{self, Visitor},
};
use serde_json::{Value, value::RawValue};

pub use error::ErrorObject;
pub use long::KEPT_ENDS;
pub use read::{ReadParams, parse, parse_request};
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
/// The method does not exist here, or its capability was not declared.
pub const METHOD_NOT_FOUND: i64 = -32601;
/// The parameters do not fit the method.
pub const INVALID_PARAMS: i64 = -32602;
/// The receiver failed for a reason of its own.
pub const INTERNAL_ERROR: i64 = -32603;

/// The id that ties a response to its request: a string or an integer, never null or a fraction.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RequestId {
    /// An integer.
    Number(i64),
    /// A string.
    String(String),
}

/// A request: it will be answered by a [`Response`] with the same id.
#[derive(Debug, Clone)]
pub struct Request {
    /// The id of the request.
    pub id: RequestId,
    /// The name of the method.
    pub method: String,
    /// The parameters as they came: an object.
    pub params: Option<Box<RawValue>>,
}

/// A message that is not answered.
#[derive(Debug, Clone)]
pub struct Notification {
    /// The name of the notification.
    pub method: String,
    /// The parameters as they came: an object.
    pub params: Option<Box<RawValue>>,
}

/// The answer to a [`Request`].
#[derive(Debug, Clone)]
pub struct Response {
    /// The id of the request; absent only on an error whose request could not be read.
    pub id: Option<RequestId>,
    /// The result as it came, or the error.
    pub outcome: Result<Box<RawValue>, ErrorObject>,
}

/// One message.
#[derive(Debug, Clone)]
pub enum Message {
    /// A request.
    Request(Request),
    /// A notification.
    Notification(Notification),
    /// A response.
    Response(Response),
}

/// The content of one line, body or event.
#[derive(Debug, Clone)]
pub enum Payload {
    /// One message.
    Single(Message),
    /// A batch, never empty; whether the revision in use has batches is for the caller to say.
    Batch(Vec<Result<Message, MalformedMessage>>),
}

/// A message that could not be read.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{error}")]
pub struct MalformedMessage {
    /// The id of the message, where it could be read.
    pub id: Option<RequestId>,
    /// The error to answer with.
    pub error: ErrorObject,
    /// Whether it looked like a response. Its id is then one of ours: the request it names has
    /// failed, and nothing is sent back.
    pub response: bool,
    /// Whether it looked like a notification, with a method and without an id. It is not answered
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

    /// Writes the id as JSON at the end of a message.
    fn append_to(&self, message: &mut Vec<u8>) {
        match self {
            Self::Number(number) => {
                // Writing to memory does not fail.
                let _ = write!(ByteWriter(message), "{number}");
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

impl Message {
    /// The message as JSON, without a newline.
    pub fn to_vec(&self) -> Vec<u8> {
        match self {
            Self::Request(request) => request.to_vec(),
            Self::Notification(notification) => notification.to_vec(),
            Self::Response(response) => response.to_vec(),
        }
    }
}

impl Request {
    /// The request as JSON, without a newline.
    pub fn to_vec(&self) -> Vec<u8> {
        write_request(&self.id, &self.method, self.params.as_deref())
    }
}

impl Notification {
    /// The notification as JSON, without a newline.
    pub fn to_vec(&self) -> Vec<u8> {
        write_notification(&self.method, self.params.as_deref())
    }
}

impl Response {
    /// The response as JSON, without a newline.
    pub fn to_vec(&self) -> Vec<u8> {
        match (&self.id, &self.outcome) {
            (Some(id), Ok(result)) => write_result(id, result),
            (id, Err(error)) => write_error(id.as_ref(), error),
            (None, Ok(_)) => write_error(
                None,
                &ErrorObject::internal("a result needs the id of its request"),
            ),
        }
    }
}

pub(crate) const VERSION: &str = "2.0";

/// Formats values at the end of a message.
struct ByteWriter<'a>(&'a mut Vec<u8>);

impl Write for ByteWriter<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.extend_from_slice(text.as_bytes());
        Ok(())
    }
}

/// The greatest magnitude up to which every whole number is exact in an `f64`.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// The integer that a number is, if it has no fraction. Writers in languages with one type of number write `1.0` for it.
pub(crate) fn whole(number: f64) -> Option<i64> {
    // The cast is exact within these bounds; `f64::fract` is not in `core`.
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
