//! The `pattern` of a text field: an ECMA-262 regular expression, run in linear time.
//!
//! A pattern comes from a peer, so it must not exhaust the machine. The engine does not backtrack.
//! Look-around and back-references, which it lacks, are not checked at all, rather than checked
//! wrongly. Where its syntax differs from ECMA-262, the pattern is rewritten or rejected first.

use alloc::{
    format,
    string::{String, ToString},
};

use regex::{Regex, RegexBuilder};

use crate::limits::FormLimits;

/// The maximum nesting of groups; the engine's parser recurses into them.
const NESTING: u32 = 32;

pub(super) struct Pattern(Regex);

impl Pattern {
    /// Compiles a pattern. The error says why it cannot be checked here.
    pub(super) fn new(pattern: &str, limits: &FormLimits) -> Result<Self, String> {
        if pattern.len() > limits.pattern_bytes {
            return Err(format!("it is longer than {} bytes", limits.pattern_bytes));
        }
        let rewritten = rewrite(pattern)?;
        RegexBuilder::new(&rewritten)
            .size_limit(limits.pattern_program_bytes)
            .nest_limit(NESTING)
            .build()
            .map(Self)
            .map_err(|error| reason(&error))
    }

    pub(super) fn matches(&self, text: &str) -> bool {
        self.0.is_match(text)
    }
}

/// Returns the last line of the engine's message. The other lines show the rewritten pattern, which
/// its author does not know.
fn reason(error: &regex::Error) -> String {
    let message = error.to_string();
    let last = message.lines().last().unwrap_or_default().trim();
    last.strip_prefix("error: ").unwrap_or(last).to_string()
}

/// Rewrites ECMA-262 syntax that has another meaning in the engine.
fn rewrite(pattern: &str) -> Result<String, String> {
    let mut out = String::with_capacity(pattern.len());
    let mut chars = pattern.chars().peekable();
    let mut in_class = false;
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some(escaped) => out.push_str(&rewrite_escape(escaped, in_class)?),
                None => return Err("it ends in the middle of an escape".into()),
            },
            '[' if in_class => out.push_str(r"\["),
            '[' => {
                in_class = true;
                out.push('[');
                if chars.next_if_eq(&'^').is_some() {
                    out.push('^');
                }
                if chars.peek() == Some(&']') {
                    return Err("an empty class cannot be checked".into());
                }
            }
            ']' if in_class => {
                in_class = false;
                out.push(']');
            }
            // Doubled, these are set operations in the engine but plain characters in ECMA-262.
            '&' | '~' if in_class => {
                out.push('\\');
                out.push(c);
            }
            '-' if in_class && chars.peek() == Some(&'-') => {
                return Err("a range from or to `-` cannot be checked".into());
            }
            _ => out.push(c),
        }
    }
    Ok(out)
}

/// Classes are ASCII in ECMA-262 and Unicode in the engine. Anchors of other languages are letters
/// in ECMA-262, but surely not meant as letters, so they are rejected.
fn rewrite_escape(escaped: char, in_class: bool) -> Result<String, String> {
    const SPACE: &str =
        r"\t-\r \u{a0}\u{1680}\u{2000}-\u{200a}\u{2028}\u{2029}\u{202f}\u{205f}\u{3000}\u{feff}";
    Ok(match escaped {
        'd' => "[0-9]".into(),
        'D' => "[^0-9]".into(),
        'w' => "[0-9A-Za-z_]".into(),
        'W' => "[^0-9A-Za-z_]".into(),
        's' => format!("[{SPACE}]"),
        'S' => format!("[^{SPACE}]"),
        'b' if in_class => r"\x08".into(),
        'b' => r"(?-u:\b)".into(),
        'B' if !in_class => r"(?-u:\B)".into(),
        'A' | 'z' | 'Z' | 'a' | '<' | '>' | 'U' => {
            return Err(format!("`\\{escaped}` is not an escape of ECMA-262"));
        }
        other => format!("\\{other}"),
    })
}
