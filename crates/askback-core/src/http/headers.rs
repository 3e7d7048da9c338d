//! The headers that mirror a message, and how a value is written in one
//! (2026-07-28, basic/transports/streamable-http, Request Metadata).

use alloc::{borrow::Cow, string::String};

use base64::{Engine as _, engine::general_purpose::STANDARD};

use super::Mismatch;

/// Names the revision of a message (from 2025-06-18 on).
pub const PROTOCOL_VERSION: &str = "mcp-protocol-version";
/// Mirrors the method of a request (from 2026-07-28 on).
pub const METHOD: &str = "mcp-method";
/// Mirrors what a request is about: `params.name`, `params.uri` or, for tasks, `params.taskId`
/// (from 2026-07-28 on).
pub const NAME: &str = "mcp-name";
/// Names the session (2025-03-26 to 2025-11-25).
pub const SESSION_ID: &str = "mcp-session-id";
/// Says where a broken stream is to go on (2025-03-26 to 2025-11-25).
pub const LAST_EVENT_ID: &str = "last-event-id";
/// The prefix of headers that mirror arguments (from 2026-07-28 on).
pub const PARAM_PREFIX: &str = "mcp-param-";

/// The headers of a request that mirror its body, as they came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MirroredHeaders<'a> {
    /// The value of [`PROTOCOL_VERSION`].
    pub version: Option<&'a [u8]>,
    /// The value of [`METHOD`].
    pub method: Option<&'a [u8]>,
    /// The value of [`NAME`].
    pub name: Option<&'a [u8]>,
}

/// The facts of a request's body that its headers repeat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BodySummary<'a> {
    /// The revision in its `_meta`.
    pub version: &'a str,
    /// Its method.
    pub method: &'a str,
    /// The target, where the method has one; see [`NAME`].
    pub name: Option<&'a str>,
}

/// A header value with characters that no header may hold, or with base64 that is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the header holds invalid characters or invalid base64")]
pub struct HeaderDecodeError;

impl<'a> MirroredHeaders<'a> {
    /// Picks the headers out of all of a request, in whatever case their names are written.
    ///
    /// # Errors
    ///
    /// [`Mismatch::Repeated`] if one of them is there twice.
    pub fn of(headers: impl IntoIterator<Item = (&'a str, &'a [u8])>) -> Result<Self, Mismatch> {
        let mut mirrored = Self::default();
        for (name, value) in headers {
            let (held, shown) = if name.eq_ignore_ascii_case(PROTOCOL_VERSION) {
                (&mut mirrored.version, VERSION_SHOWN)
            } else if name.eq_ignore_ascii_case(METHOD) {
                (&mut mirrored.method, METHOD_SHOWN)
            } else if name.eq_ignore_ascii_case(NAME) {
                (&mut mirrored.name, NAME_SHOWN)
            } else {
                continue;
            };
            if held.replace(value).is_some() {
                return Err(Mismatch::Repeated(shown.into()));
            }
        }
        Ok(mirrored)
    }
}

/// The member of `params` that [`NAME`] mirrors, for the methods that have one (Standard Request
/// Headers; for tasks, SEP-2663).
pub fn name_member(method: &str) -> Option<&'static str> {
    match method {
        "tools/call" | "prompts/get" => Some("name"),
        "resources/read" => Some("uri"),
        "tasks/get" | "tasks/update" | "tasks/cancel" => Some("taskId"),
        _ => None,
    }
}

/// Whether the headers of a request say what its body says. Values are compared exactly, but for
/// white space around them. Where the body has no name, a name in the headers mirrors nothing and
/// need only be well-formed.
///
/// # Errors
///
/// The first [`Mismatch`].
pub fn check(headers: &MirroredHeaders<'_>, body: BodySummary<'_>) -> Result<(), Mismatch> {
    check_plain(headers.version, body.version, VERSION_SHOWN)?;
    check_plain(headers.method, body.method, METHOD_SHOWN)?;
    if let (Some(header), Some(body)) = (headers.name, body.name)
        && is_repeated(header, body)
        && !body.starts_with(ENCODED_START)
    {
        return Ok(());
    }
    let name = headers.name.map(decode).transpose();
    let name = name.map_err(|HeaderDecodeError| Mismatch::Invalid(NAME_SHOWN.into()))?;
    match (name, body.name) {
        (_, None) => Ok(()),
        (None, Some(_)) => Err(Mismatch::Missing(NAME_SHOWN.into())),
        (Some(header), Some(body)) if header == body => Ok(()),
        (Some(_), Some(_)) => Err(Mismatch::Differs(NAME_SHOWN.into())),
    }
}

/// Writes a value so that it can stand in a header: as it is, or in base64 if it holds control
/// characters or others outside ASCII, begins or ends with white space, or looks encoded already
/// (Value Encoding).
pub fn encode(value: &str) -> Cow<'_, str> {
    let safe = value.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    let padded = value.starts_with(' ') || value.ends_with(' ');
    let looks_encoded = value.starts_with(ENCODED_START) && value.ends_with(ENCODED_END);
    if safe && !padded && !looks_encoded {
        return Cow::Borrowed(value);
    }
    let mut encoded = String::from(ENCODED_START);
    STANDARD.encode_string(value, &mut encoded);
    encoded += ENCODED_END;
    Cow::Owned(encoded)
}

/// Reads a value that was written by [`encode`]. White space around it does not count.
///
/// # Errors
///
/// [`HeaderDecodeError`], also if the base64 holds no UTF-8. A value that only begins or only ends as
/// an encoded one does is taken as it stands.
pub fn decode(value: &[u8]) -> Result<Cow<'_, str>, HeaderDecodeError> {
    let value = plain(value)?;
    let Some(rest) = value.strip_prefix(ENCODED_START) else {
        return Ok(Cow::Borrowed(value));
    };
    if !value.ends_with(ENCODED_END) {
        return Ok(Cow::Borrowed(value));
    }
    // In `=?base64?=` the end stands inside the start: a value `encode` does not write.
    let encoded = rest.strip_suffix(ENCODED_END).ok_or(HeaderDecodeError)?;
    let bytes = STANDARD.decode(encoded).map_err(|_| HeaderDecodeError)?;
    let text = String::from_utf8(bytes).map_err(|_| HeaderDecodeError)?;
    Ok(Cow::Owned(text))
}

const ENCODED_START: &str = "=?base64?";
const ENCODED_END: &str = "?=";

// The names as the specification writes them, for people.
const VERSION_SHOWN: &str = "MCP-Protocol-Version";
const METHOD_SHOWN: &str = "Mcp-Method";
const NAME_SHOWN: &str = "Mcp-Name";

/// Compares a header whose value is never encoded.
fn check_plain(header: Option<&[u8]>, body: &str, shown: &'static str) -> Result<(), Mismatch> {
    let header = header.ok_or(Mismatch::Missing(shown.into()))?;
    if is_repeated(header, body) {
        return Ok(());
    }
    match plain(header) {
        Err(HeaderDecodeError) => Err(Mismatch::Invalid(shown.into())),
        Ok(header) if header == body => Ok(()),
        Ok(_) => Err(Mismatch::Differs(shown.into())),
    }
}

/// Whether a header repeats a text of the body byte for byte, and has nothing in it that would be read
/// in another way: white space or what no header may hold. Nearly all do.
fn is_repeated(header: &[u8], body: &str) -> bool {
    header == body.as_bytes() && header.iter().all(u8::is_ascii_graphic)
}

/// A value of characters that a header may hold, without the white space around it.
fn plain(value: &[u8]) -> Result<&str, HeaderDecodeError> {
    let is_space = |byte: &u8| matches!(byte, b' ' | b'\t');
    let start = value.iter().position(|byte| !is_space(byte));
    let end = value.iter().rposition(|byte| !is_space(byte));
    let value = match (start, end) {
        (Some(start), Some(end)) => &value[start..=end],
        _ => &[],
    };
    if !value.iter().all(|byte| matches!(byte, b'\t' | b' '..=b'~')) {
        return Err(HeaderDecodeError);
    }
    core::str::from_utf8(value).map_err(|_| HeaderDecodeError)
}
