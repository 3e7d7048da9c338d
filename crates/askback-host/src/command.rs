//! The language of commands: `/word`, everywhere.

/// How `/wire` is written at a question.
pub(crate) const WIRE: &str = "at a question it is /wire, /wire all, /wire NUMBER or /wire TEXT";

/// A line that a person typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Typed<'a> {
    /// A command, without its slash, and what stands behind it.
    Command(&'a str, &'a str),
    /// Anything else. A text that begins with a slash is typed with two.
    Text(String),
}

/// Reads a line that a person typed.
///
/// A command is a slash and a word of letters, digits, `-` and `_` behind it: the path `/home/ada`
/// is none.
///
/// ```
/// use askback_host::command::{typed, Typed};
///
/// assert_eq!(typed("/decline too dear"), Typed::Command("decline", "too dear"));
/// assert_eq!(typed("/home/ada"), Typed::Text("/home/ada".into()));
/// assert_eq!(typed("//decline"), Typed::Text("/decline".into()));
/// ```
pub fn typed(line: &str) -> Typed<'_> {
    let Some(rest) = line.trim_start().strip_prefix('/') else {
        return Typed::Text(line.to_owned());
    };
    if rest.starts_with('/') {
        return Typed::Text(rest.to_owned());
    }
    let (word, behind) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let is_word = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
    match !word.is_empty() && word.chars().all(is_word) {
        true => Typed::Command(word, behind.trim()),
        false => Typed::Text(line.to_owned()),
    }
}
