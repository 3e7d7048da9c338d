//! Prepares JSON text for parsing: removes a byte order mark and replaces halves of surrogate
//! pairs.

use alloc::{borrow::Cow, vec::Vec};
use core::str::Utf8Error;

use memchr::memchr;

/// Some programs write it before their first message, or before each.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The length of an escape such as `\ud83d`.
const ESCAPE: usize = 6;

/// Returns the text of a message or document, ready for parsing.
///
/// A string that was cut inside an emoji ends in half of a surrogate pair, which JSON allows and
/// UTF-8 cannot express. It is replaced by U+FFFD, written as `\ufffd`, so the length stays the
/// same.
///
/// # Errors
///
/// Fails if the bytes are not UTF-8.
pub fn message_text(bytes: &[u8]) -> Result<Cow<'_, str>, Utf8Error> {
    let bytes = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
    core::str::from_utf8(bytes).map(whole_characters)
}

/// Whether the text contains an escape that is an unpaired surrogate.
pub(crate) fn has_halves(text: &str) -> bool {
    next_half(text.as_bytes(), 0).is_some()
}

fn whole_characters(text: &str) -> Cow<'_, str> {
    let Some(first) = next_half(text.as_bytes(), 0) else {
        return Cow::Borrowed(text);
    };
    let mut bytes: Vec<u8> = text.as_bytes().to_vec();
    let mut next = Some(first);
    while let Some(at) = next {
        bytes[at..at + ESCAPE].copy_from_slice(br"\ufffd");
        next = next_half(&bytes, at + ESCAPE);
    }
    // Only ASCII was replaced, by ASCII.
    Cow::Owned(alloc::string::String::from_utf8_lossy(&bytes).into_owned())
}

/// Finds the next escape that is an unpaired surrogate.
fn next_half(bytes: &[u8], mut at: usize) -> Option<usize> {
    loop {
        at += memchr(b'\\', bytes.get(at..)?)?;
        match surrogate(bytes, at) {
            None => at += 2,
            Some(Half::Low) => return Some(at),
            Some(Half::High) => match surrogate(bytes, at + ESCAPE) {
                Some(Half::Low) => at += 2 * ESCAPE,
                _ => return Some(at),
            },
        }
    }
}

enum Half {
    High,
    Low,
}

fn surrogate(bytes: &[u8], at: usize) -> Option<Half> {
    let &[b'\\', b'u', b'd' | b'D', second, third, fourth] = bytes.get(at..at + ESCAPE)? else {
        return None;
    };
    if !third.is_ascii_hexdigit() || !fourth.is_ascii_hexdigit() {
        return None;
    }
    match second {
        b'8' | b'9' | b'a' | b'b' | b'A' | b'B' => Some(Half::High),
        b'c'..=b'f' | b'C'..=b'F' => Some(Half::Low),
        _ => None,
    }
}
