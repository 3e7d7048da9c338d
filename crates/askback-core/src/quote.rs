//! Quotes a peer's text inside our own sentences.

use alloc::string::{String, ToString};
use core::fmt;

/// Prints a name that a peer sent: in backticks, and shortened if it is long.
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
    /// A quoted name is cut to this number of bytes.
    pub const MOST: usize = 256;
}

impl fmt::Display for QuotedName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`", clipped(self.0, Self::MOST))
    }
}

/// Shortens a text to 200 characters for a log and escapes everything that is not printable.
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

/// Shortens a text to `most` bytes. A shortened text ends with an ellipsis.
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
