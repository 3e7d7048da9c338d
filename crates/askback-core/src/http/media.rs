//! Media types: `Accept` and `Content-Type` (RFC 9110, 8.3 and 12.5.1).

pub const JSON: &str = "application/json";
pub const EVENT_STREAM: &str = "text/event-stream";

/// The `Accept` header of nearly every client. To parse it would be 4 % of a call.
const BOTH: &[u8] = b"application/json, text/event-stream";

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Media {
    Json,
    EventStream,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AcceptedMedia {
    pub json: bool,
    pub event_stream: bool,
}

impl Media {
    /// Parses a `Content-Type` header. Returns `None` for any other type, and for an encoding other
    /// than UTF-8.
    pub fn of(content_type: &[u8]) -> Option<Self> {
        if content_type == JSON.as_bytes() {
            return Some(Self::Json);
        }
        let mut parts = split(content_type, b';');
        let media = Self::named(parts.next()?)?;
        let readable = parts.all(|parameter| match parameter_of(parameter) {
            Some((name, value)) if name.eq_ignore_ascii_case(b"charset") => {
                value.eq_ignore_ascii_case(b"utf-8")
            }
            _ => true,
        });
        readable.then_some(media)
    }

    fn named(name: &[u8]) -> Option<Self> {
        if name.eq_ignore_ascii_case(JSON.as_bytes()) {
            Some(Self::Json)
        } else if name.eq_ignore_ascii_case(EVENT_STREAM.as_bytes()) {
            Some(Self::EventStream)
        } else {
            None
        }
    }
}

impl AcceptedMedia {
    /// Parses the `Accept` headers of a request. Weights are ignored, so a type of weight 0 is
    /// accepted, too. Without the header everything is accepted; servers reject such a client if it
    /// had to list both types.
    pub fn of<'a>(headers: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut headers = headers.into_iter().peekable();
        if headers.peek().is_none_or(|first| *first == BOTH) {
            return Self {
                json: true,
                event_stream: true,
            };
        }
        let mut accepted = Self {
            json: false,
            event_stream: false,
        };
        for range in headers.flat_map(|header| split(header, b',')) {
            let name = split(range, b';').next().unwrap_or_default();
            let is = |ranges: [&str; 3]| {
                let mut ranges = ranges.into_iter();
                ranges.any(|range| name.eq_ignore_ascii_case(range.as_bytes()))
            };
            accepted.json |= is([JSON, "application/*", "*/*"]);
            accepted.event_stream |= is([EVENT_STREAM, "text/*", "*/*"]);
        }
        accepted
    }
}

fn parameter_of(parameter: &[u8]) -> Option<(&[u8], &[u8])> {
    let equals = parameter.iter().position(|byte| *byte == b'=')?;
    let (name, value) = (&parameter[..equals], &parameter[equals + 1..]);
    let unquoted = value
        .strip_prefix(b"\"")
        .and_then(|value| value.strip_suffix(b"\""));
    Some((name, unquoted.unwrap_or(value)))
}

/// Splits at separators, in quotes too, and trims white space.
fn split(text: &[u8], separator: u8) -> impl Iterator<Item = &[u8]> {
    text.split(move |byte| *byte == separator)
        .map(<[u8]>::trim_ascii)
}
