//! A peer's text, quoted inside a sentence of ours.

use alloc::string::{String, ToString};
use core::fmt;

/// A name as a peer sent it, in a sentence: in backticks, and of a long one the beginning.
///
/// ```
/// use askback_core::quote::QuotedName;
///
/// assert_eq!(QuotedName("tools/call").to_string(), "`tools/call`");
/// assert_eq!(QuotedName(&"x".repeat(1 << 20)).to_string().len(), 2 + QuotedName::MOST);
/// ```
#[derive(Debug, Clone, Copy)]
pub struct QuotedName<'a>(pub &'a str);

impl QuotedName<'_> {
    /// How much of a name is quoted, in bytes.
    pub const MOST: usize = 256;
}

impl fmt::Display for QuotedName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`", clipped(self.0, Self::MOST))
    }
}

/// The beginning of a text as it may stand in a log: at most 200 characters, with everything escaped
/// that is not printed as itself.
#[must_use]
pub fn excerpt(text: &str) -> String {
    const MOST: usize = 200;
    let mut excerpt = String::new();
    for char in text.chars().take(MOST) {
        match char {
            '"' | '\'' => excerpt.push(char),
            _ => excerpt.extend(char.escape_debug()),
        }
    }
    excerpt
}

/// As much of a text as fits in `most` bytes; where there was more, it ends with an ellipsis.
pub fn clipped(text: &str, most: usize) -> String {
    const ELLIPSIS: char = '…';
    if text.len() <= most {
        return text.to_string();
    }
    let room = most.saturating_sub(ELLIPSIS.len_utf8());
    let mut clipped = text[..text.floor_char_boundary(room)].to_string();
    clipped.push(ELLIPSIS);
    clipped
}
