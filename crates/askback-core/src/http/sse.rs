//! Server-sent events: an incremental parser, and a writer (HTML Living Standard, Server-sent
//! events, Interpreting an event stream).

use alloc::{
    string::{String, ToString},
    vec::Vec,
};
use core::{mem, time::Duration};

use memchr::{memchr, memchr2};

use crate::limits::WireLimits;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SseEvent {
    /// The id in this event. [`Parser::last_event_id`] is the id to resume after.
    pub id: Option<String>,
    /// The type of the event. If absent, `message`.
    pub event: Option<String>,
    /// The data, with its lines joined by `\n`. Empty in an event that only carries an id to resume
    /// after.
    pub data: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SseLimitError {
    #[error("an event of the stream is longer than the {0} bytes accepted here")]
    Event(usize),
    #[error("the id of an event is longer than the {0} bytes accepted here")]
    Id(usize),
}

/// Parses a stream in pieces, which may break anywhere, even inside of a character or a line end.
#[derive(Debug)]
pub struct Parser {
    event_bytes: usize,
    id_bytes: usize,
    /// The beginning of an incomplete line.
    line: Vec<u8>,
    /// The incomplete line is a comment and is not stored.
    in_comment: bool,
    /// The last line ended with a carriage return, so a line feed that follows belongs to it.
    after_return: bool,
    past_first_line: bool,
    event: SseEvent,
    /// Each line of data is followed by a line feed, to tell an empty line from no line.
    data: Vec<u8>,
    last_event_id: Option<String>,
    retry: Option<Duration>,
}

impl Parser {
    /// Makes a parser for data of up to
    /// [`limits.wire.message_bytes`](crate::limits::WireLimits::message_bytes) and ids of up to
    /// [`limits.wire.id_bytes`](crate::limits::WireLimits::id_bytes).
    pub fn new(limits: &WireLimits) -> Self {
        Self {
            event_bytes: limits.message_bytes,
            id_bytes: limits.id_bytes,
            line: Vec::new(),
            in_comment: false,
            after_return: false,
            past_first_line: false,
            event: SseEvent::default(),
            data: Vec::new(),
            last_event_id: None,
            retry: None,
        }
    }

    /// Reads up to the end of the next event and advances `input`. Returns `None` if `input` ends
    /// before: the next piece continues the event. At the end of a stream, an incomplete event is
    /// dropped.
    ///
    /// # Errors
    ///
    /// [`SseLimitError`]. The stream cannot be read any further.
    pub fn read(&mut self, input: &mut &[u8]) -> Result<Option<SseEvent>, SseLimitError> {
        loop {
            // An empty piece does not show whether a line feed follows.
            if let Some(next) = input.first()
                && mem::take(&mut self.after_return)
                && *next == b'\n'
            {
                *input = &input[1..];
            }
            let Some(end) = memchr2(b'\n', b'\r', input) else {
                self.keep(mem::take(input))?;
                return Ok(None);
            };
            let (piece, rest) = input.split_at(end);
            self.after_return = rest.first() == Some(&b'\r');
            *input = &rest[1..];
            if let Some(event) = self.end_line(piece)? {
                return Ok(Some(event));
            }
        }
    }

    /// Returns the id of the last complete event that had one, to resume the stream after it.
    pub fn last_event_id(&self) -> Option<&str> {
        self.last_event_id.as_deref()
    }

    /// Returns the time that the server asked clients to wait before they reconnect.
    pub fn retry(&self) -> Option<Duration> {
        self.retry
    }

    fn keep(&mut self, piece: &[u8]) -> Result<(), SseLimitError> {
        if self.line.is_empty() && piece.first() == Some(&b':') {
            self.in_comment = true;
        }
        if self.in_comment {
            return Ok(());
        }
        self.bound(self.line.len() + piece.len())?;
        self.line.extend_from_slice(piece);
        Ok(())
    }

    /// Rejects a line that is longer than any useful line.
    fn bound(&self, length: usize) -> Result<(), SseLimitError> {
        if length > self.event_bytes + FIELD_BYTES {
            return Err(SseLimitError::Event(self.event_bytes));
        }
        Ok(())
    }

    fn end_line(&mut self, piece: &[u8]) -> Result<Option<SseEvent>, SseLimitError> {
        if mem::take(&mut self.in_comment) {
            return Ok(None);
        }
        if self.line.is_empty() {
            if !piece.starts_with(b":") {
                self.bound(piece.len())?;
            }
            return self.take_line(piece);
        }
        self.keep(piece)?;
        let mut line = mem::take(&mut self.line);
        let event = self.take_line(&line);
        // The next line reuses the memory.
        line.clear();
        self.line = line;
        event
    }

    fn take_line(&mut self, line: &[u8]) -> Result<Option<SseEvent>, SseLimitError> {
        let first = !mem::replace(&mut self.past_first_line, true);
        let line = match line.strip_prefix(BYTE_ORDER_MARK) {
            Some(rest) if first => rest,
            _ => line,
        };
        if line.is_empty() {
            return Ok(self.end_event());
        }
        let colon = memchr(b':', line);
        let (field, value) = match colon {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line, &[][..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" => self.take_data(value)?,
            b"id" => self.take_id(value)?,
            b"event" => self.event.event = Some(String::from_utf8_lossy(value).into_owned()),
            b"retry" => self.take_retry(value),
            _ => {}
        }
        Ok(None)
    }

    fn take_data(&mut self, value: &[u8]) -> Result<(), SseLimitError> {
        if self.data.len() + value.len() > self.event_bytes {
            return Err(SseLimitError::Event(self.event_bytes));
        }
        self.data.reserve_exact(value.len() + 1);
        self.data.extend_from_slice(value);
        self.data.push(b'\n');
        Ok(())
    }

    fn take_id(&mut self, value: &[u8]) -> Result<(), SseLimitError> {
        if value.len() > self.id_bytes {
            return Err(SseLimitError::Id(self.id_bytes));
        }
        if !value.contains(&0) {
            self.event.id = Some(String::from_utf8_lossy(value).into_owned());
        }
        Ok(())
    }

    fn take_retry(&mut self, value: &[u8]) {
        if value.is_empty() || !value.iter().all(u8::is_ascii_digit) {
            return;
        }
        let digits = core::str::from_utf8(value).ok();
        let milliseconds = digits.and_then(|digits| digits.parse().ok());
        // A number with too many digits is a very long time.
        self.retry = Some(Duration::from_millis(milliseconds.unwrap_or(u64::MAX)));
    }

    /// Ends an event at an empty line. An event without data only sets the id.
    fn end_event(&mut self) -> Option<SseEvent> {
        let mut event = mem::take(&mut self.event);
        if let Some(id) = &event.id {
            // An empty id resets the last id.
            self.last_event_id = Some(id.clone()).filter(|id| !id.is_empty());
        }
        event.data = mem::take(&mut self.data);
        event.data.pop().map(|_| event)
    }
}

/// Writes an event. JSON has line breaks only between tokens, so each line of `data` can become a
/// line of the event. An empty id, or one with a line break or NUL, cannot be parsed, so it is left
/// out.
pub fn write_event(out: &mut Vec<u8>, id: Option<&str>, data: &[u8]) {
    write_id(out, id);
    write_data(out, data);
}

/// Writes an event with a type, such as `endpoint` in the old transport (2024-11-05,
/// basic/transports, HTTP with SSE). The type ends at a line break.
pub fn write_named_event(out: &mut Vec<u8>, event: &str, data: &[u8]) {
    write_field(out, b"event", first_line(event).as_bytes());
    write_data(out, data);
}

/// Writes an event with an id and no data, so that a client can resume a stream on which nothing
/// was sent yet (2025-11-25, basic/transports, Sending Messages to the Server).
pub fn write_priming_event(out: &mut Vec<u8>, id: &str) {
    write_event(out, Some(id), b"");
}

/// Writes a comment, which clients ignore and which keeps a connection alive. The comment ends at a
/// line break.
pub fn write_comment(out: &mut Vec<u8>, text: &str) {
    write_field(out, b"", first_line(text).as_bytes());
    out.push(b'\n');
}

/// Writes the time that clients wait before they reconnect, in whole milliseconds.
pub fn write_retry(out: &mut Vec<u8>, wait: Duration) {
    write_field(out, b"retry", wait.as_millis().to_string().as_bytes());
    out.push(b'\n');
}

/// More than a byte order mark and the longest known field name, colon and space.
const FIELD_BYTES: usize = 16;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

fn write_id(out: &mut Vec<u8>, id: Option<&str>) {
    let readable = |id: &&str| !id.is_empty() && !id.contains(['\r', '\n', '\0']);
    if let Some(id) = id.filter(readable) {
        write_field(out, b"id", id.as_bytes());
    }
}

fn write_data(out: &mut Vec<u8>, data: &[u8]) {
    out.reserve(data.len() + 8);
    let mut rest = data;
    while let Some(end) = memchr2(b'\n', b'\r', rest) {
        write_field(out, b"data", &rest[..end]);
        let length = if rest[end..].starts_with(b"\r\n") {
            2
        } else {
            1
        };
        rest = &rest[end + length..];
    }
    write_field(out, b"data", rest);
    out.push(b'\n');
}

fn write_field(out: &mut Vec<u8>, name: &[u8], value: &[u8]) {
    out.extend_from_slice(name);
    out.push(b':');
    if !value.is_empty() {
        out.push(b' ');
        out.extend_from_slice(value);
    }
    out.push(b'\n');
}

fn first_line(text: &str) -> &str {
    text.split(['\r', '\n']).next().unwrap_or_default()
}
