//! Messages as lines of JSON, for other programs.

use std::{
    collections::BTreeMap,
    time::{Duration, SystemTime},
};

use askback::transport::{WireHeader, WireValue};
use jiff::Timestamp;
use serde::Serialize;
use serde_json::value::RawValue;

use super::{Entry, Exchange};
use crate::text;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Line<'a> {
    number: u64,
    time: String,
    direction: &'static str,
    bytes: usize,
    /// The number of the first message of the call.
    call: u64,
    /// How long the request waited, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    http: Option<Http<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a RawValue>,
    /// The received text, if it is not JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Http<'a> {
    exchange: u64,
    method: &'a str,
    url: &'a str,
    headers: BTreeMap<&'a str, Vec<Option<&'a str>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_headers: Option<BTreeMap<&'a str, Vec<Option<&'a str>>>>,
}

/// A message as one line of JSON, without the line break. Line breaks in the message become blanks;
/// control and invisible characters become JSON escapes.
pub fn line(began: SystemTime, entry: &Entry) -> String {
    let joined = text::json(&String::from_utf8_lossy(&entry.message)).replace(['\n', '\r'], " ");
    let message: Option<&RawValue> = serde_json::from_str(&joined).ok();
    let is_text = message.is_none() && !entry.message.is_empty();
    let line = Line {
        number: entry.number,
        time: time(began, entry.at),
        direction: if entry.is_sent { "sent" } else { "received" },
        bytes: entry.message.len(),
        call: entry.call,
        after: entry.took.map(|took| took.as_secs_f64()),
        http: entry.http.as_deref().map(http),
        message,
        text: is_text.then_some(&*joined),
    };
    // Serialization fails only for maps with keys that are not strings.
    serde_json::to_string(&line).unwrap_or_default()
}

/// Formats `began + at` as RFC 3339.
pub(super) fn time(began: SystemTime, at: Duration) -> String {
    let when = began.checked_add(at).unwrap_or(began);
    let time = Timestamp::try_from(when)
        .and_then(|time| Timestamp::from_millisecond(time.as_millisecond()));
    time.map_or_else(|_| String::new(), |time| time.to_string())
}

fn http(exchange: &Exchange) -> Http<'_> {
    let response = exchange.response.as_ref();
    Http {
        exchange: exchange.number,
        method: &exchange.method,
        url: &exchange.url,
        headers: headers(&exchange.headers),
        status: response.map(|response| response.status),
        response_headers: response.map(|response| headers(&response.headers)),
    }
}

/// The values of each header; `null` if a value is hidden.
fn headers(headers: &[WireHeader]) -> BTreeMap<&str, Vec<Option<&str>>> {
    let mut named: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for header in headers {
        let value = match &header.value {
            WireValue::Shown(value) => Some(value.as_str()),
            _ => None,
        };
        named.entry(header.name.as_str()).or_default().push(value);
    }
    named
}
