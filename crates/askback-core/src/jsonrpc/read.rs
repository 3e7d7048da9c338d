//! Parses messages.

use alloc::{
    borrow::{Cow, ToOwned},
    format,
    string::String,
    vec::Vec,
};
use core::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{self, IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use serde_json::{error::Category, value::RawValue};

use super::{
    ErrorObject, INVALID_REQUEST, MalformedMessage, Message, Notification, PARSE_ERROR, Payload,
    Request, RequestId, Response, VERSION, long,
};
use crate::{
    json::{explain, has_halves, message_text},
    limits::WireLimits,
};

/// Parses one message or one batch.
///
/// # Errors
///
/// [`MalformedMessage`] with [`PARSE_ERROR`] if the bytes are not JSON in UTF-8. With
/// [`INVALID_REQUEST`] if the JSON is not a message, exceeds
/// [`limits.wire.message_bytes`](crate::limits::WireLimits::message_bytes),
/// [`limits.wire.message_values`](crate::limits::WireLimits::message_values) or
/// [`limits.wire.batch_messages`](crate::limits::WireLimits::batch_messages), or has an id longer
/// than [`limits.wire.request_id_bytes`](crate::limits::WireLimits::request_id_bytes). A malformed
/// message in a batch does not affect the others.
pub fn parse(bytes: &[u8], limits: &WireLimits) -> Result<Payload, MalformedMessage> {
    if bytes.len() > limits.message_bytes {
        let mut malformed = long::malformed(bytes, limits.message_bytes);
        malformed.id = malformed.id.filter(|id| is_short(id, limits));
        return Err(malformed);
    }
    let text = message_text(bytes).map_err(|error| {
        MalformedMessage::unreadable(format!("the message is not UTF-8: {error}"))
    })?;
    let text = &*text;
    if text.trim_ascii_start().starts_with('[') {
        return parse_batch(text, limits);
    }
    parse_single(text, limits).map(Payload::Single)
}

/// Returns a message as text, if its size is accepted and it needs no replacements.
pub(crate) fn text_within<'a>(bytes: &'a [u8], limits: &WireLimits) -> Option<&'a str> {
    if bytes.len() > limits.message_bytes {
        return None;
    }
    let text = core::str::from_utf8(bytes).ok()?;
    let is_usual = !has_halves(text) && !has_more_values(text, limits.message_values);
    is_usual.then_some(text)
}

impl MalformedMessage {
    fn unreadable(reason: String) -> Self {
        Self {
            id: None,
            error: ErrorObject::new(PARSE_ERROR, reason),
            response: false,
            notification: false,
        }
    }

    pub(super) fn invalid(reason: String) -> Self {
        Self {
            id: None,
            error: ErrorObject::new(INVALID_REQUEST, reason),
            response: false,
            notification: false,
        }
    }

    /// Distinguishes invalid JSON from JSON that is not a message.
    pub(super) fn from_json(error: &serde_json::Error) -> Self {
        match error.classify() {
            Category::Data => Self::invalid(format!("not a JSON-RPC message: {}", explain(error))),
            Category::Syntax | Category::Eof | Category::Io => {
                let why = explain(error);
                Self::unreadable(format!("the message {}", why.trim_start_matches("it ")))
            }
        }
    }
}

pub(super) fn parse_single(text: &str, limits: &WireLimits) -> Result<Message, MalformedMessage> {
    let envelope: Envelope<'_> =
        serde_json::from_str(text).map_err(|error| MalformedMessage::from_json(&error))?;
    envelope.into_message(text, limits)
}

/// Whether JSON has more than `most` values. Parsed, each value takes many times its length.
fn has_more_values(text: &str, most: usize) -> bool {
    // Each value has at least one byte.
    if text.len() <= most {
        return false;
    }
    let mut values: usize = 0;
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b',' | b'[' | b'{' => values = values.saturating_add(1),
            b'"' => {
                // Skips to the end of the string, past escaped characters.
                while let Some(inside) = bytes.next() {
                    match inside {
                        b'"' => break,
                        b'\\' => drop(bytes.next()),
                        _ => {}
                    }
                }
            }
            _ => {}
        }
        if values > most {
            return true;
        }
    }
    false
}

fn parse_batch(text: &str, limits: &WireLimits) -> Result<Payload, MalformedMessage> {
    let mut json = serde_json::Deserializer::from_str(text);
    let elements = json
        .deserialize_seq(BatchVisitor {
            limit: limits.batch_messages,
        })
        .and_then(|elements| json.end().map(|()| elements))
        .map_err(|error| MalformedMessage::from_json(&error))?;
    if elements.is_empty() {
        return Err(MalformedMessage::invalid(
            "a batch must not be empty".to_owned(),
        ));
    }
    let messages = elements
        .into_iter()
        .map(|raw| parse_single(raw.get(), limits));
    Ok(Payload::Batch(messages.collect()))
}

#[derive(Default)]
struct Envelope<'a> {
    jsonrpc: Option<&'a RawValue>,
    id: Option<&'a RawValue>,
    method: Option<&'a RawValue>,
    params: Option<&'a RawValue>,
    result: Option<&'a RawValue>,
    error: Option<&'a RawValue>,
    /// The name of a duplicate member. The message is rejected only after its id was read.
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
    fn into_message(self, text: &str, limits: &WireLimits) -> Result<Message, MalformedMessage> {
        let id = match (self.id, self.twice) {
            (Some(raw), twice) if twice != Some("id") => request_id(raw),
            _ => None,
        };
        if id.as_ref().is_some_and(|id| !is_short(id, limits)) {
            return Err(MalformedMessage::invalid(format!(
                "the id has more than the {} bytes accepted here",
                limits.request_id_bytes
            )));
        }
        // A log line may also have an id and a member `error`.
        let outcome = self.result.or(self.error);
        let is_object = |outcome: &RawValue| outcome.get().starts_with('{');
        let is_named = self.jsonrpc.is_some() || id.is_some() && outcome.is_some_and(is_object);
        let has_outcome = outcome.is_some();
        let response = self.method.is_none() && has_outcome && is_named;
        let notification = self.id.is_none() && self.method.and_then(string).is_some();
        let judged = match has_more_values(text, limits.message_values) {
            true => Err(format!(
                "the message holds more than the {} values accepted here",
                limits.message_values
            )),
            false => self.judge(id.clone()),
        };
        judged.map_err(|reason| MalformedMessage {
            id,
            error: ErrorObject::new(INVALID_REQUEST, reason),
            response,
            notification,
        })
    }

    /// Makes a message of these members, or says why they are not a message.
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
        // Several programs write `"params": null` for absent parameters.
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

/// Decodes a JSON string. Nearly all names are unescaped and are borrowed.
fn string(raw: &RawValue) -> Option<Cow<'_, str>> {
    let text = raw.get();
    let plain = text
        .strip_prefix('"')
        .and_then(|text| text.strip_suffix('"'))
        .filter(|text| !text.contains('\\'));
    match plain {
        Some(plain) => Some(Cow::Borrowed(plain)),
        None => serde_json::from_str(text).ok(),
    }
}

/// Whether an id is short enough to be stored while its request runs.
pub(crate) fn is_short(id: &RequestId, limits: &WireLimits) -> bool {
    !matches!(id, RequestId::String(id) if id.len() > limits.request_id_bytes)
}

fn request_id(raw: &RawValue) -> Option<RequestId> {
    if raw.get().starts_with('"') {
        return string(raw).map(|id| RequestId::String(id.into_owned()));
    }
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
