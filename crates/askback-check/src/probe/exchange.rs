//! Exchanges with a server: what is sent, and everything that comes back.

use std::{borrow::Cow, time::Duration};

use askback::internal::json;
use http::{HeaderMap, Method, header::CONTENT_TYPE};
use serde_json::{Value, value::RawValue};

#[derive(Debug, Clone)]
pub(crate) struct ProbeRequest {
    /// A message, or invalid bytes.
    pub(crate) body: Vec<u8>,
    pub(crate) wait: Wait,
    /// HTTP only.
    pub(crate) method: Method,
    /// Headers that differ from the message's own; `None` removes one. HTTP only.
    pub(crate) headers: Vec<(String, Option<String>)>,
}

/// The answer to wait for. Over HTTP, the response is awaited in any case.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Wait {
    For(Value),
    Any,
    Nothing,
}

/// Everything that came back in one exchange.
#[derive(Debug, Clone, Default)]
pub(crate) struct Reply {
    pub(crate) sent: String,
    pub(crate) status: Option<u16>,
    pub(crate) headers: HeaderMap,
    /// The number of bytes read: of the messages, or of the HTTP body.
    pub(crate) bytes: usize,
    /// The answer: the one with the id, or over HTTP any.
    pub(crate) answer: Option<Value>,
    pub(crate) strays: Vec<Value>,
    pub(crate) notifications: Vec<Value>,
    pub(crate) asked: Vec<Value>,
    /// The received messages and batches, in order.
    pub(crate) came: Vec<String>,
    /// The lines and bodies that are not messages.
    pub(crate) noise: Vec<String>,
    /// The faults of the messages, each kind once, with the first message that has it.
    pub(crate) faults: Vec<(Fault, String)>,
    /// The last lines of standard error; if the server went away, since its start.
    pub(crate) stderr: Vec<String>,
    pub(crate) end: End,
    pub(crate) took: Duration,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) enum End {
    #[default]
    Done,
    Silent(Duration),
    Closed(String),
    /// Nothing could be sent, or the server already went away in an earlier exchange.
    Unreachable(String),
    TooMuch,
}

/// The maximum number of characters of an exchange that are shown.
const SHOWN: usize = 1_000;

impl ProbeRequest {
    pub(crate) fn message(message: &Value, wait: Wait) -> Self {
        Self::bytes(message.to_string().into_bytes(), wait)
    }

    pub(crate) fn request(message: &Value) -> Self {
        Self::message(message, Wait::For(message["id"].clone()))
    }

    pub(crate) fn bytes(body: Vec<u8>, wait: Wait) -> Self {
        Self {
            body,
            wait,
            method: Method::POST,
            headers: Vec::new(),
        }
    }

    pub(crate) fn bare(method: Method) -> Self {
        Self {
            method,
            ..Self::bytes(Vec::new(), Wait::Nothing)
        }
    }

    #[must_use]
    pub(crate) fn header(mut self, name: impl Into<String>, value: Option<&str>) -> Self {
        self.headers.push((name.into(), value.map(str::to_owned)));
        self
    }

    pub(super) fn shown(&self) -> String {
        let mut parts = Vec::new();
        if self.method != Method::POST {
            parts.push(self.method.to_string());
        }
        parts.extend(self.headers.iter().map(|(name, value)| match value {
            Some(value) => format!("{name}: {value}"),
            None => format!("no {name}"),
        }));
        if !self.body.is_empty() {
            parts.push(cut(&String::from_utf8_lossy(&self.body)));
        }
        parts.join("\n")
    }
}

impl Reply {
    pub(super) fn unsent(sent: &ProbeRequest) -> Self {
        let why = "the server was gone before".to_owned();
        Self {
            sent: sent.shown(),
            end: End::Unreachable(why),
            ..Self::default()
        }
    }

    /// Null if there is none.
    pub(crate) fn result(&self) -> &Value {
        self.member("result")
    }

    /// Null if there is none.
    pub(crate) fn error(&self) -> &Value {
        self.member("error")
    }

    fn member(&self, name: &str) -> &Value {
        self.answer.as_ref().map_or(&Value::Null, |it| &it[name])
    }

    pub(crate) fn has_code(&self, code: i64) -> bool {
        self.error()["code"].as_i64() == Some(code)
    }

    pub(crate) fn has_status(&self, status: u16) -> bool {
        self.status == Some(status)
    }

    pub(crate) fn header(&self, name: &str) -> Option<Cow<'_, str>> {
        let value = self.headers.get(name)?;
        Some(String::from_utf8_lossy(value.as_bytes()))
    }

    pub(crate) fn media(&self) -> String {
        let media = self.header(CONTENT_TYPE.as_str()).unwrap_or_default();
        media.to_ascii_lowercase()
    }

    /// Returns whether the server went away instead of answering.
    pub(crate) fn is_gone(&self) -> bool {
        matches!(self.end, End::Closed(_)) && self.status.is_none()
    }

    pub(crate) fn is_silent(&self) -> bool {
        matches!(self.end, End::Silent(_))
    }

    pub(crate) fn is_refused(&self) -> bool {
        self.status.is_some_and(|status| status >= 400)
    }

    /// Returns the whole reply as text. It contains text from the server.
    pub(crate) fn shown(&self) -> String {
        let mut parts = Vec::new();
        if let Some(status) = self.status {
            parts.push(match self.header(CONTENT_TYPE.as_str()) {
                Some(media) => format!("HTTP {status}, {media}"),
                None => format!("HTTP {status}"),
            });
        }
        parts.extend(self.came.iter().chain(&self.noise).map(|text| cut(text)));
        match &self.end {
            End::Done => {}
            End::Silent(time) => {
                parts.push(format!("nothing more within {} s", time.as_secs_f64()))
            }
            End::Closed(why) | End::Unreachable(why) => parts.push(why.clone()),
            End::TooMuch => parts.push("more than is read".to_owned()),
        }
        if parts.is_empty() {
            return "nothing".to_owned();
        }
        cut(&parts.join("\n"))
    }

    pub(super) fn count(&mut self, bytes: usize, most: usize) -> Result<(), End> {
        self.bytes = self.bytes.saturating_add(bytes);
        match self.bytes > most {
            true => Err(End::TooMuch),
            false => Ok(()),
        }
    }

    /// Adds input that should be a message. Returns whether it is the expected answer.
    pub(crate) fn take(&mut self, bytes: &[u8], wait: &Wait) -> bool {
        let text = String::from_utf8_lossy(bytes);
        // Decodes the message as a client does.
        let message = json::message_text(bytes).unwrap_or_default();
        let taken = match serde_json::from_str(&message) {
            Ok(Value::Array(batch)) => {
                // The message is valid JSON, so its parts can be read.
                let written: Vec<&RawValue> = serde_json::from_str(&message).unwrap_or_default();
                let messages = batch.into_iter().zip(written);
                messages
                    .map(|(message, written)| self.take_one(message, wait, written.get()))
                    .collect()
            }
            Ok(one) => vec![self.take_one(one, wait, &message)],
            Err(_) => vec![None],
        };
        match taken.contains(&None) {
            true => self.noise.push(cut(&text)),
            false => self.came.push(text.into_owned()),
        }
        taken.contains(&Some(true))
    }

    /// Adds one message. Returns whether it is the expected answer, or `None` if it is not a
    /// message.
    fn take_one(&mut self, message: Value, wait: &Wait, written: &str) -> Option<bool> {
        let is_any = *wait == Wait::Any;
        let has = |member: &str| message.get(member).is_some();
        if !["method", "result", "error", "id"].into_iter().any(has) {
            return None;
        }
        for fault in Fault::of(&message, wait) {
            if !self.faults.iter().any(|(known, _)| *known == fault) {
                self.faults.push((fault, cut(written)));
            }
        }
        if has("method") {
            match has("id") {
                true => self.asked.push(message),
                false => self.notifications.push(message),
            }
            return Some(is_any);
        }
        let is_wanted = match wait {
            // The error for an unreadable request has no id.
            Wait::For(id) => {
                is_same_text(&message["id"], id)
                    || self.status.is_some()
                    || message["id"].is_null() && has("error")
            }
            Wait::Any | Wait::Nothing => self.status.is_some() || is_any,
        };
        match is_wanted && self.answer.is_none() {
            true => self.answer = Some(message),
            false => self.strays.push(message),
        }
        Some(is_wanted)
    }
}

/// How a message violates JSON-RPC 2.0, and what to do about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fault(pub(crate) &'static str, pub(crate) &'static str);

impl Fault {
    pub(crate) const VERSION: Self = Self(
        "its messages do not say \"jsonrpc\": \"2.0\":",
        "Clients refuse such messages: add the member to each of them.",
    );
    pub(crate) const BOTH: Self = Self(
        "it answers with a result and an error at once:",
        "Clients refuse such answers: each has one of `result` and `error`.",
    );
    pub(crate) const NEITHER: Self = Self(
        "it answers with neither a result nor an error:",
        Self::BOTH.1,
    );
    pub(crate) const OTHER_ID: Self = Self(
        "it answers with another id than that of the request:",
        "Clients then wait in vain: send each id back as it came, a number as a number.",
    );

    fn of(message: &Value, wait: &Wait) -> impl Iterator<Item = Self> {
        let has = |member: &str| message.get(member).is_some();
        let (is_answer, id) = (!has("method"), &message["id"]);
        // The error for an unreadable request may have no id.
        let is_nameless = has("error") && id.is_null();
        let is_other =
            matches!(wait, Wait::For(awaited) if id != awaited && is_same_text(id, awaited));
        let faults = [
            (Self::VERSION, message["jsonrpc"] != "2.0"),
            (Self::BOTH, is_answer && has("result") && has("error")),
            (Self::NEITHER, is_answer && !has("result") && !has("error")),
            (Self::OTHER_ID, is_answer && !is_nameless && is_other),
        ];
        faults
            .into_iter()
            .filter_map(|(fault, is_so)| is_so.then_some(fault))
    }
}

/// Whether two ids are equal as text, ignoring their types: `7.0` equals 7 too.
fn is_same_text(id: &Value, other: &Value) -> bool {
    let text = |id: &Value| match id {
        Value::String(text) => Some(text.clone()),
        id => id.as_f64().map(|number| number.to_string()),
    };
    text(id).is_some_and(|id| text(other) == Some(id))
}

fn cut(text: &str) -> String {
    let (head, more) = askback_host::text::head(text, SHOWN);
    match more {
        0 => head.to_owned(),
        _ => format!("{head}…"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn received_messages_are_shown_as_they_were_written() {
        let mut reply = Reply::default();
        let asks = r#"{"method":"a","id":1.50}"#;
        let batch =
            format!(r#"[{asks}, {{"z":1,"result":{{"b":12345678901234567890123}},"id":7}}]"#);
        reply.take(batch.as_bytes(), &Wait::For(json!(7)));
        let told = r#"{ "method":"\u0062" }"#;
        reply.take(told.as_bytes(), &Wait::For(json!(7)));
        assert_eq!(reply.shown(), format!("{batch}\n{told}"));
        let written: Vec<_> = reply.faults.iter().map(|(_, written)| written).collect();
        assert_eq!(written, [asks]);
    }

    #[test]
    fn received_messages_are_sorted_by_kind() {
        #[track_caller]
        fn check(wait: &Wait, status: Option<u16>, text: &str, is_wanted: bool, place: &str) {
            let mut reply = Reply {
                status,
                ..Reply::default()
            };
            assert_eq!(reply.take(text.as_bytes(), wait), is_wanted, "{text}");
            let counts = [
                ("answer", usize::from(reply.answer.is_some())),
                ("strays", reply.strays.len()),
                ("notifications", reply.notifications.len()),
                ("asked", reply.asked.len()),
                ("noise", reply.noise.len()),
            ];
            let expected = counts.map(|(name, _)| (name, usize::from(name == place)));
            assert_eq!(counts, expected, "{text}");
            assert_eq!(reply.came.len(), usize::from(place != "noise"));
        }
        let seven = Wait::For(json!(7));
        check(&seven, None, r#"{"id":7,"result":{}}"#, true, "answer");
        // No other answer will come.
        check(&seven, None, r#"{"id":"7","result":{}}"#, true, "answer");
        check(&seven, None, r#"{"id":7}"#, true, "answer");
        check(&seven, None, r#"{"id":8,"result":{}}"#, false, "strays");
        check(&seven, Some(200), r#"{"id":8,"result":{}}"#, true, "answer");
        check(&seven, None, r#"{"id":null,"error":{}}"#, true, "answer");
        check(&seven, None, r#"{"id":null,"result":{}}"#, false, "strays");
        check(&seven, None, r#"[{"id":7,"error":{}}]"#, true, "answer");
        let written = r#"{ "result":{"z":1e3,"a":12345678901234567890123},"id":7}"#;
        check(&seven, None, written, true, "answer");
        check(&seven, None, r#"{"method":"a"}"#, false, "notifications");
        check(&seven, None, r#"{"method":"a","id":7}"#, false, "asked");
        check(&Wait::Any, None, r#"{"method":"a"}"#, true, "notifications");
        for noise in ["listening on 80", "7", "{}", r#""a""#] {
            check(&seven, None, noise, false, "noise");
        }
    }
}
