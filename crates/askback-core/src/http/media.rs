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
    /// Parses the `Accept` headers of a request. The most specific range that matches a type
    /// decides; weight 0 excludes the type. Without the header everything is accepted; servers
    /// reject such a client if it had to list both types.
    pub fn of<'a>(headers: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut headers = headers.into_iter().peekable();
        if headers.peek().is_none_or(|first| *first == BOTH) {
            return Self {
                json: true,
                event_stream: true,
            };
        }
        // The specificity of the deciding range, from 1 on, and whether it accepts the type.
        let (mut json, mut event_stream) = ((0, false), (0, false));
        let ranges = headers.flat_map(|header| split(header, b','));
        for range in ranges {
            let mut parts = split(range, b';');
            let name = parts.next().unwrap_or_default();
            let taken = parts.all(|parameter| !is_weight_zero(parameter));
            for (media, decided) in [(JSON, &mut json), (EVENT_STREAM, &mut event_stream)] {
                let exactness = exactness(name, media.as_bytes());
                if exactness > decided.0 {
                    *decided = (exactness, taken);
                }
            }
        }
        Self {
            json: json.1,
            event_stream: event_stream.1,
        }
    }
}

/// The specificity of a range for a type; 0 if it does not match.
fn exactness(range: &[u8], media: &[u8]) -> u8 {
    let group = media.split(|byte| *byte == b'/').next().unwrap_or_default();
    if range.eq_ignore_ascii_case(media) {
        3
    } else if range
        .strip_suffix(b"/*")
        .is_some_and(|range| range.eq_ignore_ascii_case(group))
    {
        2
    } else {
        u8::from(range == b"*/*")
    }
}

/// Whether a parameter is an invalid weight or a weight of 0.
fn is_weight_zero(parameter: &[u8]) -> bool {
    match parameter_of(parameter) {
        Some((name, value)) if name.eq_ignore_ascii_case(b"q") => {
            let number = |byte: &u8| byte.is_ascii_digit() || *byte == b'.';
            !value.iter().all(number) || !value.iter().any(|byte| matches!(byte, b'1'..=b'9'))
        }
        _ => false,
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

/// Splits at separators outside of quotes and trims white space.
fn split(text: &[u8], separator: u8) -> impl Iterator<Item = &[u8]> {
    let (mut quoted, mut escaped) = (false, false);
    text.split(move |byte| {
        let was_escaped = core::mem::take(&mut escaped);
        match byte {
            b'"' if !was_escaped => quoted = !quoted,
            b'\\' if quoted && !was_escaped => escaped = true,
            _ => return *byte == separator && !quoted,
        }
        false
    })
    .map(<[u8]>::trim_ascii)
}
