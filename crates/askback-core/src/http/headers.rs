//! The headers that repeat parts of a message, and the encoding of their values (2026-07-28,
//! basic/transports/streamable-http, Request Metadata).

use alloc::{borrow::Cow, string::String};

use base64::{Engine as _, engine::general_purpose::STANDARD};

use super::Mismatch;

/// The revision of a message (from 2025-06-18 on).
pub const PROTOCOL_VERSION: &str = "mcp-protocol-version";
/// The method of a request (from 2026-07-28 on).
pub const METHOD: &str = "mcp-method";
/// The target of a request: `params.name`, `params.uri` or, for tasks, `params.taskId` (from
/// 2026-07-28 on).
pub const NAME: &str = "mcp-name";
/// The id of the session (2025-03-26 to 2025-11-25).
pub const SESSION_ID: &str = "mcp-session-id";
/// The event after which to resume a broken stream (2025-03-26 to 2025-11-25).
pub const LAST_EVENT_ID: &str = "last-event-id";
/// The prefix of headers that repeat arguments (from 2026-07-28 on).
pub const PARAM_PREFIX: &str = "mcp-param-";

/// The headers of a request that repeat its body, undecoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MirroredHeaders<'a> {
    pub version: Option<&'a [u8]>,
    pub method: Option<&'a [u8]>,
    pub name: Option<&'a [u8]>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BodySummary<'a> {
    pub version: &'a str,
    pub method: &'a str,
    /// The target, if the method has one; see [`NAME`].
    pub name: Option<&'a str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the header holds invalid characters or invalid base64")]
pub struct HeaderDecodeError;

impl<'a> MirroredHeaders<'a> {
    /// Picks these headers out of all headers of a request, ignoring the case of their names.
    ///
    /// # Errors
    ///
    /// [`Mismatch::Repeated`] if one of them occurs twice.
    pub fn of(headers: impl IntoIterator<Item = (&'a str, &'a [u8])>) -> Result<Self, Mismatch> {
        let mut mirrored = Self::default();
        for (name, value) in headers {
            // Most clients write them in small letters, and to compare those is quicker.
            let is = |expected| name == expected || name.eq_ignore_ascii_case(expected);
            let (held, shown) = if is(PROTOCOL_VERSION) {
                (&mut mirrored.version, VERSION_SHOWN)
            } else if is(METHOD) {
                (&mut mirrored.method, METHOD_SHOWN)
            } else if is(NAME) {
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

/// Checks that the headers of a request match its body. Values are compared exactly, except for
/// surrounding white space. If the body has no target, [`NAME`] must only be well-formed.
///
/// # Errors
///
/// The first [`Mismatch`].
pub fn check(headers: &MirroredHeaders<'_>, body: BodySummary<'_>) -> Result<(), Mismatch> {
    check_plain(headers.version, body.version, VERSION_SHOWN)?;
    check_plain(headers.method, body.method, METHOD_SHOWN)?;
    if let (Some(header), Some(body)) = (headers.name, body.name)
        && header == body.as_bytes()
        && header.iter().all(u8::is_ascii_graphic)
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

/// Encodes a value for a header: in base64 if it has control or non-ASCII characters, begins or
/// ends with a space, or looks encoded already, otherwise unchanged (Value Encoding).
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

/// Decodes a value written by [`encode`]. Surrounding white space is ignored. A value with only the
/// start or only the end of the encoding is returned unchanged.
///
/// # Errors
///
/// [`HeaderDecodeError`] if a character is forbidden or the base64 is not UTF-8.
pub fn decode(value: &[u8]) -> Result<Cow<'_, str>, HeaderDecodeError> {
    let value = plain(value)?;
    let Some(rest) = value.strip_prefix(ENCODED_START) else {
        return Ok(Cow::Borrowed(value));
    };
    if !value.ends_with(ENCODED_END) {
        return Ok(Cow::Borrowed(value));
    }
    // In `=?base64?=` start and end overlap; `encode` does not write that.
    let encoded = rest.strip_suffix(ENCODED_END).ok_or(HeaderDecodeError)?;
    let bytes = STANDARD.decode(encoded).map_err(|_| HeaderDecodeError)?;
    let text = String::from_utf8(bytes).map_err(|_| HeaderDecodeError)?;
    Ok(Cow::Owned(text))
}

const ENCODED_START: &str = "=?base64?";
const ENCODED_END: &str = "?=";

// The names as the specification writes them, for messages.
const VERSION_SHOWN: &str = "MCP-Protocol-Version";
const METHOD_SHOWN: &str = "Mcp-Method";
const NAME_SHOWN: &str = "Mcp-Name";

/// Compares a header that is never encoded.
fn check_plain(header: Option<&[u8]>, body: &str, shown: &'static str) -> Result<(), Mismatch> {
    let header = header.ok_or_else(|| Mismatch::Missing(shown.into()))?;
    // Nearly every header is equal, and this takes a tenth of the time.
    if header == body.as_bytes() && header.iter().all(u8::is_ascii_graphic) {
        return Ok(());
    }
    match plain(header) {
        Err(HeaderDecodeError) => Err(Mismatch::Invalid(shown.into())),
        Ok(header) if header == body => Ok(()),
        Ok(_) => Err(Mismatch::Differs(shown.into())),
    }
}

/// Returns a header value without surrounding white space, if its characters are allowed.
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
