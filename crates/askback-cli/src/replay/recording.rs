//! The file of a recording: messages as lines of JSON, as they are kept and traced.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, Read},
    path::Path,
    str::FromStr,
};

use askback_core::revision::Revision;
use askback_host::{
    text::{Words, given},
    words,
};
use serde::Deserialize;
use serde_json::Value;

/// The extension of the file beside a suite.
pub const EXTENSION: &str = "jsonl";

/// The most bytes of a recording.
const MOST: u64 = 64 << 20;

/// The member of a request's `_meta` that says which revision it is in, where each says so itself.
const REVISION: &str = "/params/_meta/io.modelcontextprotocol~1protocolVersion";

/// The messages of a session, by the calls that they belong to.
#[derive(Debug, Default)]
pub(super) struct Recording {
    pub(super) calls: Vec<Call>,
    pub(super) revisions: Vec<Revision>,
}

/// A request, and all that belongs to it: its rounds, the questions in it, progress, the response.
#[derive(Debug, Default)]
pub(super) struct Call {
    pub(super) messages: Vec<Message>,
}

/// A message.
#[derive(Debug)]
pub(super) struct Message {
    /// The number that it has in the file.
    pub(super) number: u64,
    pub(super) is_sent: bool,
    pub(super) kind: Kind,
    pub(super) json: Value,
    /// Where values were left out, as JSON pointers.
    pub(super) left_out: Vec<String>,
    /// The revision that the server answered with, where it was offered one.
    pub(super) agreed: Option<Value>,
    /// The status of the response to the request over HTTP that it was.
    pub(super) status: Option<u16>,
    /// The calls that the server begins behind it.
    pub(super) followers: Vec<usize>,
}

/// The kinds of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Request,
    Notification,
    Response,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line {
    number: u64,
    direction: Direction,
    call: u64,
    /// Whether it travelled on a connection beside that of the session.
    #[serde(default)]
    beside: bool,
    http: Option<Http>,
    /// Absent where something came in the place of a message.
    message: Option<Value>,
    #[serde(default)]
    left_out: Vec<String>,
}

#[derive(Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum Direction {
    Sent,
    Received,
}

#[derive(Deserialize)]
struct Http {
    status: Option<u16>,
}

/// A recording that is read line by line.
#[derive(Default)]
struct Reading {
    recording: Recording,
    /// The places of calls, by the number that they have in the file.
    places: BTreeMap<u64, usize>,
    /// The last message that was read, and not one that the client sends whenever it likes.
    last: Option<(usize, usize)>,
    /// The last number.
    number: u64,
}

impl Kind {
    /// The kind of a message.
    pub(super) fn of(message: &Value) -> Self {
        match (message.get("method"), message.get("id")) {
            (Some(_), Some(_)) => Self::Request,
            (Some(_), None) => Self::Notification,
            (None, _) => Self::Response,
        }
    }
}

impl Recording {
    /// Reads a file.
    ///
    /// # Errors
    ///
    /// Says why it cannot be read, or which of its lines is no message.
    pub(super) fn load(file: &Path) -> Result<Self, Words> {
        let shown = given(file.display());
        let text = read(file)
            .map_err(|error| words!("{} cannot be read: {}", shown.clone(), given(error)))?;
        Self::parse(&text).map_err(|why| words!("{}: {}", shown, why))
    }

    /// Reads the text of a file.
    ///
    /// # Errors
    ///
    /// Says which of its lines is no message.
    pub(super) fn parse(text: &str) -> Result<Self, Words> {
        let mut reading = Reading::default();
        for (index, line) in text.lines().enumerate() {
            if line.trim().is_empty() {
                continue;
            }
            let line = serde_json::from_str(line).map_err(|error| {
                let number = index.saturating_add(1);
                words!(
                    "line {} is no message: {}",
                    number,
                    given(askback_core::json::explain(&error))
                )
            })?;
            reading.take(line);
        }
        let Reading { mut recording, .. } = reading;
        if recording.calls.is_empty() {
            return Err("no message is in it".into());
        }
        recording.find_revisions();
        Ok(recording)
    }

    /// Finds the revisions in which the server answered.
    fn find_revisions(&mut self) {
        for call in &mut self.calls {
            let Some((request, rest)) = call.messages.split_first_mut() else {
                continue;
            };
            let mut received = rest.iter().filter(|message| !message.is_sent);
            let result = received.find_map(|message| message.json.get("result"));
            let Some(result) = result.filter(|_| request.is_sent) else {
                continue;
            };
            request.agreed = result.get("protocolVersion").cloned();
            let named = request.agreed.as_ref();
            let named = named.or_else(|| request.json.pointer(REVISION));
            let revision = named.and_then(Value::as_str);
            if let Some(Ok(revision)) = revision.map(Revision::from_str)
                && !self.revisions.contains(&revision)
            {
                self.revisions.push(revision);
            }
        }
    }
}

impl Reading {
    fn take(&mut self, line: Line) {
        let status = line.http.and_then(|http| http.status);
        if line.number <= self.number {
            // The same again, with the head of its response.
            let messages = self.recording.calls.iter_mut();
            let mut messages = messages.flat_map(|call| &mut call.messages);
            if let Some(message) = messages.find(|message| message.number == line.number) {
                message.status = status;
            }
            return;
        }
        self.number = line.number;
        // It is no part of the conversation.
        if line.beside {
            return;
        }
        let is_sent = line.direction == Direction::Sent;
        let (number, left_out) = (line.number, line.left_out);
        let message = |json: Value, left_out| Message {
            number,
            is_sent,
            kind: Kind::of(&json),
            json,
            left_out,
            agreed: None,
            status,
            followers: Vec::new(),
        };
        match line.message {
            Some(json @ Value::Object(_)) => self.add(message(json, left_out), line.call),
            Some(Value::Array(batch)) => {
                for json in batch {
                    let of = self.call_of(&json, is_sent).unwrap_or(line.call);
                    self.add(message(json, Vec::new()), of);
                }
            }
            _ => {}
        }
    }

    /// The call that a response in a batch belongs to.
    fn call_of(&self, json: &Value, is_sent: bool) -> Option<u64> {
        if Kind::of(json) != Kind::Response {
            return None;
        }
        let is_asked = |asked: &Message| {
            asked.kind == Kind::Request
                && asked.is_sent != is_sent
                && asked.json["id"] == json["id"]
        };
        let mut places = self.places.iter();
        let found = places.rfind(|(_, place)| {
            let call = self.recording.calls.get(**place);
            call.is_some_and(|call| call.messages.iter().any(is_asked))
        });
        found.map(|(call, _)| *call)
    }

    fn add(&mut self, message: Message, call: u64) {
        let calls = &mut self.recording.calls;
        let is_first = !self.places.contains_key(&call);
        let place = *self.places.entry(call).or_insert(calls.len());
        if is_first {
            calls.push(Call::default());
            let behind = self.last.filter(|_| !message.is_sent);
            let behind = behind.and_then(|(call, at)| calls.get_mut(call)?.messages.get_mut(at));
            if let Some(message) = behind {
                message.followers.push(place);
            }
        }
        let is_free = message.is_free();
        let Some(call) = calls.get_mut(place) else {
            return;
        };
        call.messages.push(message);
        if !is_free {
            self.last = Some((place, call.messages.len().saturating_sub(1)));
        }
    }
}

/// Reads a file of up to [`MOST`] bytes.
fn read(file: &Path) -> io::Result<String> {
    let mut text = String::new();
    let file = File::open(file)?;
    let read = file
        .take(MOST.saturating_add(1))
        .read_to_string(&mut text)?;
    match u64::try_from(read).is_ok_and(|read| read <= MOST) {
        true => Ok(text),
        false => Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            "it is larger than 64 MiB",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_no_message_is_named() {
        #[track_caller]
        fn check(text: &str, why: &str) {
            let error = Recording::parse(text).expect_err("it is none");
            assert!(error.as_str().starts_with(why), "{error}");
        }
        check("", "no message is in it");
        check(
            "{",
            "line 1 is no message: it is not JSON: it ends too early",
        );
        check(
            "{\"number\":1,\"direction\":\"sent\",\"call\":1,\"text\":\"x\"}\n\nserver: x\n",
            "line 3 is no message: it is not JSON",
        );
        check(
            "{\"number\":1,\"direction\":\"up\",\"call\":1}",
            "line 1 is no message: `up` is not known here",
        );
    }

    #[test]
    fn messages_are_grouped_by_calls_and_those_of_the_server_follow() {
        let recording = Recording::parse(
            "{\"number\":1,\"direction\":\"sent\",\"call\":1,\"message\":{\"id\":1,\"method\":\"initialize\"}}
             {\"number\":2,\"direction\":\"received\",\"call\":1,\"message\":{\"id\":1,\"result\":{\"protocolVersion\":\"2025-03-26\"}}}
             {\"number\":3,\"direction\":\"sent\",\"call\":3,\"message\":{\"method\":\"notifications/initialized\"}}
             {\"number\":4,\"direction\":\"received\",\"call\":4,\"message\":{\"id\":1,\"method\":\"roots/list\"}}
             {\"number\":5,\"direction\":\"received\",\"call\":5,\"message\":[{\"id\":1,\"error\":{}},{\"method\":\"x\"}]}
             {\"number\":6,\"direction\":\"sent\",\"call\":6,\"beside\":true,\"message\":{\"id\":1,\"method\":\"ping\"}}
             {\"number\":1,\"direction\":\"sent\",\"call\":1,\"http\":{\"status\":200}}",
        );
        let recording = recording.expect("it is one");
        let numbers = |call: &Call| {
            let numbers = call.messages.iter().map(|message| message.number);
            numbers.collect::<Vec<_>>()
        };
        let calls: Vec<_> = recording.calls.iter().map(numbers).collect();
        assert_eq!(calls, [vec![1, 2, 5], vec![3], vec![4], vec![5]]);
        let first = &recording.calls[0].messages;
        assert_eq!(
            (first[0].status, &*first[1].followers),
            (Some(200), &[2][..])
        );
        let revisions: Vec<_> = recording.revisions.iter().map(|one| one.as_str()).collect();
        assert_eq!(revisions, ["2025-03-26"]);
    }
}
