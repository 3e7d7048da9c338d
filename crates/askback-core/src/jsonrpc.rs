//! JSON-RPC 2.0 messages: strict, bounded reading and direct writing.
//!
//! [`parse`] looks at the envelope only and keeps `params` and `result` as the text they came as;
//! whoever knows the method decodes them. Skipping over a value is iterative, and decoding it later
//! is bounded by the depth limit of `serde_json`, so no nesting a peer can write exhausts the
//! stack. The `write_*` functions put a typed value straight into its envelope.

use alloc::{
    borrow::{Cow, ToOwned},
    boxed::Box,
    format,
    string::String,
    vec::Vec,
};
use core::fmt;

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{self, IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use serde_json::{Value, error::Category, value::RawValue};

use crate::limits::Limits;

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

/// What ties a response to its request: a string or an integer, never null or a fraction.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RequestId {
    /// An integer.
    Number(i64),
    /// A string.
    String(String),
}

/// Why a request failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[error("{message} ({code})")]
pub struct ErrorObject {
    /// The kind of error; the codes of JSON-RPC stand in this module, those of MCP in
    /// [`protocol::codes`](crate::protocol::codes).
    pub code: i64,
    /// One sentence that says what is wrong.
    pub message: String,
    /// What a program can act on.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "present"
    )]
    pub data: Option<Value>,
}

/// A request: it will be answered by a [`Response`] with the same id.
#[derive(Debug, Clone)]
pub struct Request {
    /// What the response will carry.
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

/// What one line, body or event held.
#[derive(Debug, Clone)]
pub enum Incoming {
    /// One message.
    Single(Message),
    /// A batch, never empty; whether the revision in use has batches is for the caller to say.
    Batch(Vec<Result<Message, Malformed>>),
}

/// A message that could not be read.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{error}")]
pub struct Malformed {
    /// The id of the message, where it could be read.
    pub id: Option<RequestId>,
    /// What to answer with.
    pub error: ErrorObject,
    /// Whether it looked like a response. Its id is then one of ours: the request it names has
    /// failed, and nothing is sent back.
    pub response: bool,
}

/// Reads one message or one batch.
///
/// # Errors
///
/// [`Malformed`] with [`PARSE_ERROR`] for what is not JSON in UTF-8, and [`INVALID_REQUEST`] for
/// what is JSON but no message, or longer than [`Limits::message_bytes`] or
/// [`Limits::batch_messages`] allow. A bad message inside a batch costs only itself.
pub fn parse(bytes: &[u8], limits: &Limits) -> Result<Incoming, Malformed> {
    if bytes.len() > limits.message_bytes {
        return Err(Malformed::invalid(format!(
            "the message has {} bytes, more than the {} accepted here",
            bytes.len(),
            limits.message_bytes
        )));
    }
    let text = core::str::from_utf8(bytes)
        .map_err(|error| Malformed::unreadable(format!("the message is not UTF-8: {error}")))?;
    if text.trim_ascii_start().starts_with('[') {
        return parse_batch(text, limits.batch_messages);
    }
    parse_single(text).map(Incoming::Single)
}

/// Writes a request; `params` are left out where there are none.
///
/// # Panics
///
/// If `params` cannot be written as JSON, which no type of [`protocol`](crate::protocol) does.
pub fn write_request<T: Serialize + ?Sized>(
    id: &RequestId,
    method: &str,
    params: Option<&T>,
) -> Vec<u8> {
    encode(&Call {
        jsonrpc: VERSION,
        id: Some(id),
        method,
        params,
    })
}

/// Writes a notification; `params` are left out where there are none.
///
/// # Panics
///
/// If `params` cannot be written as JSON, which no type of [`protocol`](crate::protocol) does.
pub fn write_notification<T: Serialize + ?Sized>(method: &str, params: Option<&T>) -> Vec<u8> {
    encode(&Call {
        jsonrpc: VERSION,
        id: None,
        method,
        params,
    })
}

/// Writes the response to a request that succeeded.
///
/// # Panics
///
/// If `result` cannot be written as JSON, which no type of [`protocol`](crate::protocol) does.
pub fn write_result<T: Serialize + ?Sized>(id: &RequestId, result: &T) -> Vec<u8> {
    encode(&Success {
        jsonrpc: VERSION,
        id,
        result,
    })
}

/// Writes the response to a request that failed; an id that could not be read is left out.
pub fn write_error(id: Option<&RequestId>, error: &ErrorObject) -> Vec<u8> {
    encode(&Failure {
        jsonrpc: VERSION,
        id,
        error,
    })
}

/// Joins messages that were already written into one batch (2025-03-26, Basic, Batching).
pub fn write_batch<M: AsRef<[u8]>>(messages: &[M]) -> Vec<u8> {
    let length: usize = messages.iter().map(|m| m.as_ref().len() + 1).sum();
    let mut batch = Vec::with_capacity(length + 1);
    for (index, message) in messages.iter().enumerate() {
        batch.push(if index == 0 { b'[' } else { b',' });
        batch.extend_from_slice(message.as_ref());
    }
    if batch.is_empty() {
        batch.push(b'[');
    }
    batch.push(b']');
    batch
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::String(string) => string.fmt(f),
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

impl ErrorObject {
    /// An error without data.
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            data: None,
        }
    }

    /// The same error with data.
    #[must_use]
    pub fn with_data(mut self, data: Value) -> Self {
        self.data = Some(data);
        self
    }

    /// [`METHOD_NOT_FOUND`], naming the method.
    pub fn method_not_found(method: &str) -> Self {
        Self::new(
            METHOD_NOT_FOUND,
            format!("there is no method {method:?} here"),
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

impl Malformed {
    fn unreadable(reason: String) -> Self {
        Self {
            id: None,
            error: ErrorObject::new(PARSE_ERROR, reason),
            response: false,
        }
    }

    fn invalid(reason: String) -> Self {
        Self {
            id: None,
            error: ErrorObject::new(INVALID_REQUEST, reason),
            response: false,
        }
    }

    /// Tells text that is not JSON from JSON that is not a message.
    fn from_json(error: &serde_json::Error) -> Self {
        match error.classify() {
            Category::Data => Self::invalid(format!("not a JSON-RPC message: {error}")),
            Category::Syntax | Category::Eof | Category::Io => {
                Self::unreadable(format!("the message is not JSON: {error}"))
            }
        }
    }
}

const VERSION: &str = "2.0";

#[derive(Serialize)]
struct Call<'a, T: ?Sized> {
    jsonrpc: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a RequestId>,
    method: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    params: Option<&'a T>,
}

#[derive(Serialize)]
struct Success<'a, T: ?Sized> {
    jsonrpc: &'static str,
    id: &'a RequestId,
    result: &'a T,
}

#[derive(Serialize)]
struct Failure<'a> {
    jsonrpc: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a RequestId>,
    error: &'a ErrorObject,
}

fn encode<T: Serialize>(message: &T) -> Vec<u8> {
    // Writing to memory cannot fail, and a value fails only through a map whose keys are not
    // strings or a `Serialize` that refuses: the callers' contract rules both out.
    let mut bytes =
        serde_json::to_vec(message).expect("a message is made of string-keyed maps only");
    // JSON that is carried as text may have been laid out over several lines. A line break inside
    // a string is escaped, so any that stands there is white space, and it would end the message
    // on transports that go by lines.
    let is_break = |byte: &u8| matches!(byte, b'\n' | b'\r');
    if bytes.iter().any(is_break) {
        bytes.retain(|byte| !is_break(byte));
    }
    bytes
}

fn parse_single(text: &str) -> Result<Message, Malformed> {
    let envelope: Envelope<'_> =
        serde_json::from_str(text).map_err(|error| Malformed::from_json(&error))?;
    envelope.into_message()
}

fn parse_batch(text: &str, limit: usize) -> Result<Incoming, Malformed> {
    let mut json = serde_json::Deserializer::from_str(text);
    let elements = json
        .deserialize_seq(BatchVisitor { limit })
        .and_then(|elements| json.end().map(|()| elements))
        .map_err(|error| Malformed::from_json(&error))?;
    if elements.is_empty() {
        return Err(Malformed::invalid("a batch must not be empty".to_owned()));
    }
    let messages = elements.into_iter().map(|raw| parse_single(raw.get()));
    Ok(Incoming::Batch(messages.collect()))
}

/// Reads a member that is present, so that `null` is a value and not an absence.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

/// The members of a message, each as the text it came as.
#[derive(Default)]
struct Envelope<'a> {
    jsonrpc: Option<&'a RawValue>,
    id: Option<&'a RawValue>,
    method: Option<&'a RawValue>,
    params: Option<&'a RawValue>,
    result: Option<&'a RawValue>,
    error: Option<&'a RawValue>,
    /// The name of a member that came twice: the message is refused, but only after its id was
    /// read.
    twice: Option<&'static str>,
}

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "lowercase")]
enum Member {
    Jsonrpc,
    Id,
    Method,
    Params,
    Result,
    Error,
    #[serde(other)]
    Unknown,
}

impl<'a> Envelope<'a> {
    fn into_message(self) -> Result<Message, Malformed> {
        let id = match (self.id, self.twice) {
            (Some(raw), twice) if twice != Some("id") => serde_json::from_str(raw.get()).ok(),
            _ => None,
        };
        let response = self.method.is_none() && (self.result.is_some() || self.error.is_some());
        self.judge(id.clone()).map_err(|reason| Malformed {
            id,
            error: ErrorObject::new(INVALID_REQUEST, reason),
            response,
        })
    }

    /// The message these members make, or why they make none.
    fn judge(self, id: Option<RequestId>) -> Result<Message, String> {
        if let Some(name) = self.twice {
            return Err(format!("the message has two members {name:?}"));
        }
        let version: Option<Cow<'a, str>> = self.jsonrpc.and_then(string);
        if version.as_deref() != Some(VERSION) {
            return Err("the message must say \"jsonrpc\": \"2.0\"".to_owned());
        }
        match (self.method, self.result, self.error) {
            (Some(method), None, None) => {
                let method = string(method).ok_or("\"method\" must be a string")?;
                self.call(id, method.into_owned())
            }
            (None, Some(result), None) => match id {
                Some(id) => Ok(Message::Response(Response {
                    id: Some(id),
                    outcome: Ok(result.to_owned()),
                })),
                None => Err("a result needs the id of its request".to_owned()),
            },
            (None, None, Some(error)) => self.failure(id, error),
            (None, None, None) => {
                Err("a message has one of \"method\", \"result\" and \"error\"".to_owned())
            }
            _ => Err("a message has only one of \"method\", \"result\" and \"error\"".to_owned()),
        }
    }

    fn call(self, id: Option<RequestId>, method: String) -> Result<Message, String> {
        // Several writers say `"params": null` where they mean none; nothing else can be meant.
        let params = self.params.filter(|raw| raw.get() != "null");
        if params.is_some_and(|raw| !raw.get().starts_with('{')) {
            return Err("\"params\" must be an object".to_owned());
        }
        let params = params.map(ToOwned::to_owned);
        match (id, self.id) {
            (Some(id), _) => Ok(Message::Request(Request { id, method, params })),
            (None, None) => Ok(Message::Notification(Notification { method, params })),
            (None, Some(_)) => Err("the id of a request is a string or an integer".to_owned()),
        }
    }

    fn failure(self, id: Option<RequestId>, error: &RawValue) -> Result<Message, String> {
        if id.is_none() && self.id.is_some_and(|raw| raw.get() != "null") {
            return Err("the id of a response is a string or an integer".to_owned());
        }
        let error = serde_json::from_str(error.get())
            .map_err(|error| format!("\"error\" is not an error object: {error}"))?;
        Ok(Message::Response(Response {
            id,
            outcome: Err(error),
        }))
    }
}

fn string(raw: &RawValue) -> Option<Cow<'_, str>> {
    serde_json::from_str(raw.get()).ok()
}

impl<'de> Deserialize<'de> for Envelope<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(EnvelopeVisitor)
    }
}

struct EnvelopeVisitor;

impl<'de> Visitor<'de> for EnvelopeVisitor {
    type Value = Envelope<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut envelope = Envelope::default();
        while let Some(member) = map.next_key()? {
            let (slot, name) = match member {
                Member::Jsonrpc => (&mut envelope.jsonrpc, "jsonrpc"),
                Member::Id => (&mut envelope.id, "id"),
                Member::Method => (&mut envelope.method, "method"),
                Member::Params => (&mut envelope.params, "params"),
                Member::Result => (&mut envelope.result, "result"),
                Member::Error => (&mut envelope.error, "error"),
                Member::Unknown => {
                    map.next_value::<IgnoredAny>()?;
                    continue;
                }
            };
            if slot.replace(map.next_value()?).is_some() {
                envelope.twice = Some(name);
            }
        }
        Ok(envelope)
    }
}

struct BatchVisitor {
    limit: usize,
}

impl<'de> Visitor<'de> for BatchVisitor {
    type Value = Vec<&'de RawValue>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at most {} messages", self.limit)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut elements = Vec::new();
        while let Some(element) = seq.next_element()? {
            if elements.len() == self.limit {
                return Err(de::Error::invalid_length(self.limit + 1, &self));
            }
            elements.push(element);
        }
        Ok(elements)
    }
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

    fn visit_str<E: de::Error>(self, string: &str) -> Result<Self::Value, E> {
        Ok(RequestId::String(string.to_owned()))
    }

    fn visit_string<E: de::Error>(self, string: String) -> Result<Self::Value, E> {
        Ok(RequestId::String(string))
    }
}
