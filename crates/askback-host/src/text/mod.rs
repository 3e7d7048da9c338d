//! Text for the terminal. Ours is [`Words`]; a peer's is [`PeerText`].
//!
//! A server's text may try to move the cursor, hide part of itself, or imitate one of our
//! questions. Therefore it has its own type. The page shows it behind a gutter that the server
//! cannot remove, and writes control and invisible characters as `<U+XXXX>`. Our own lines only
//! contain literals from the source, numbers, and text from the user or this machine.

mod ci_commands;
mod clock;
mod field;
mod layout;
mod peer;
mod words;

use std::fmt::Write as _;

use unicode_general_category::{GeneralCategory, get_general_category};
use unicode_security::confusable_detection::skeleton;
use unicode_width::UnicodeWidthChar;

pub use ci_commands::{is_ci_job, without_ci_commands};
pub use clock::{Clock, instant};
pub use field::{bounds, check, hint, read};
pub use layout::{columns, fitted, fitted_around, fitted_end, quoted, wrapped};
pub use peer::PeerText;
#[doc(hidden)]
pub use words::holes;
pub use words::{Part, Words, given};

/// Precedes every line of a server's text.
pub const GUTTER: &str = "| ";

/// How many combining marks a letter may have. More would cover the lines around it.
const MARKS: usize = 4;

const IDEOGRAPHIC: char = '\u{3000}';

/// Characters that are invisible or change other characters, as inclusive ranges: fillers,
/// selectors and tags, beside those of the category Format.
const INVISIBLE: &[(char, char)] = &[
    ('\u{34f}', '\u{34f}'),
    ('\u{115f}', '\u{1160}'),
    ('\u{17b4}', '\u{17b5}'),
    ('\u{180b}', '\u{180f}'),
    ('\u{2028}', '\u{202e}'),
    ('\u{2060}', '\u{206f}'),
    ('\u{2800}', '\u{2800}'),
    ('\u{3164}', '\u{3164}'),
    ('\u{fe00}', '\u{fe0f}'),
    ('\u{ffa0}', '\u{ffa0}'),
    ('\u{fff0}', '\u{fffb}'),
    ('\u{13441}', '\u{13442}'),
    ('\u{1d159}', '\u{1d159}'),
    ('\u{e0000}', '\u{e0fff}'),
];

/// Whether the text is printable ASCII only, so that each byte takes one column. A fast path: most
/// text is, and it may be very long.
fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' '..=b'~'))
}

/// Whether a character controls the terminal or is invisible.
pub fn acts_or_hides(c: char) -> bool {
    c.is_control()
        || get_general_category(c) == GeneralCategory::Format
        || INVISIBLE
            .iter()
            .any(|&(first, last)| (first..=last).contains(&c))
}

/// Whether a character changes the text direction.
pub fn turns(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{61c}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Whether a user cannot tell two different names apart. Terminal fonts distinguish ASCII characters.
pub fn look_alike(name: &str, other: &str) -> bool {
    name != other && !(name.is_ascii() && other.is_ascii()) && skeleton(name).eq(skeleton(other))
}

/// Makes text safe for one line. Line breaks and tabs become visible too. For names, titles and
/// values.
pub fn line(text: &str) -> String {
    shown(text)
}

/// Masks a secret, with one mark per character.
pub fn hidden(secret: &str) -> String {
    "•".repeat(secret.chars().count())
}

/// Splits text into safe lines without wrapping. For results that other programs may read.
pub fn lines(text: &str) -> Vec<String> {
    let text = text.replace("\r\n", "\n");
    text.split('\n')
        .map(|line| {
            let cells: Vec<_> = line.split('\t').map(safe).collect();
            cells.join("\t")
        })
        .collect()
}

/// Escapes control and invisible characters in JSON, and every `#` that starts a CI command. The
/// value stays the same, because valid JSON has such characters only in strings.
pub fn json(json: &str) -> String {
    let mut shown = String::with_capacity(json.len());
    for (at, c) in json.char_indices() {
        let acts = acts_or_hides(c) || c == '#' && ci_commands::starts_hash_command(&json[at..]);
        if !acts || matches!(c, '\n' | '\r' | '\t') {
            shown.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            // Writing to a string cannot fail.
            let _ = write!(shown, "\\u{unit:04x}");
        }
    }
    shown
}

/// How many characters a line break counts as when the length of a text is limited. An empty line
/// takes as much of the screen as a full one.
const LINE_BREAK: usize = 64;

/// Returns the length of a text, in characters, for length limits.
pub fn extent(text: &str) -> usize {
    text.chars().map(extent_of).fold(0, usize::saturating_add)
}

fn extent_of(c: char) -> usize {
    match c {
        '\n' => LINE_BREAK,
        _ => 1,
    }
}

/// Splits off the start of a text, up to this [length](extent), and returns how many characters
/// follow.
pub fn head(text: &str, most: usize) -> (&str, usize) {
    let mut left = most;
    for (end, c) in text.char_indices() {
        match left.checked_sub(extent_of(c)) {
            Some(less) => left = less,
            None => return (&text[..end], text[end..].chars().count()),
        }
    }
    (text, 0)
}

/// Returns the start of a text, up to this [length](extent), with a mark at the cut.
pub fn cut(text: &str, most: usize) -> String {
    match head(text, most) {
        (_, 0) => text.to_owned(),
        (head, _) => format!("{head}…"),
    }
}

/// Makes text safe, replaces whitespace with spaces, at which lines can break, and writes
/// private-use characters as `<U+XXXX>`, because their look and width depend on the font.
fn shown(text: &str) -> String {
    if is_plain(text) {
        return text.to_owned();
    }
    let text = safe(text);
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            // Keeps the width.
            IDEOGRAPHIC => shown.push_str("  "),
            '\u{e000}'..='\u{f8ff}' | '\u{f0000}'..='\u{10ffff}' => {
                push_number(&mut shown, c);
            }
            c if c.is_whitespace() => shown.push(' '),
            c => shown.push(c),
        }
    }
    shown
}

fn push_number(shown: &mut String, c: char) {
    // Writing to a string cannot fail.
    let _ = write!(shown, "<U+{:04X}>", u32::from(c));
}

/// Makes control and invisible characters visible. Joiners and selectors are kept if a script or an
/// emoji needs them.
fn safe(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut before = None;
    let mut marks = 0_usize;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let visible = if acts_or_hides(c) {
            belongs(before, c, chars.peek().copied())
        } else if c.width() == Some(0) {
            marks = marks.saturating_add(1);
            before.is_some() && marks <= MARKS
        } else {
            marks = 0;
            true
        };
        if visible {
            shown.push(c);
        } else {
            push_number(&mut shown, c);
        }
        before = Some(c);
    }
    shown
}

/// Whether an invisible character has its usual function between its neighbours.
fn belongs(before: Option<char>, c: char, after: Option<char>) -> bool {
    let Some(before) = before else { return false };
    match c {
        // The emoji form of a symbol.
        '\u{fe0f}' => is_emoji(before),
        // Joins several emoji into one, or joins or separates letters.
        '\u{200d}' => after.is_some_and(|after| {
            ((is_emoji(before) || before == '\u{fe0f}') && is_emoji(after))
                || (joins(before) && joins(after))
        }),
        '\u{200c}' => joins(before) && after.is_some_and(joins),
        _ => false,
    }
}

fn is_emoji(c: char) -> bool {
    matches!(c, '\u{2190}'..='\u{2bff}' | '\u{1f000}'..='\u{1faff}') && c != '\u{2800}'
}

/// Whether the letter is in a script that needs joiners: Arabic and related scripts, and the
/// scripts of India.
fn joins(c: char) -> bool {
    matches!(c, '\u{620}'..='\u{6d3}' | '\u{6fa}'..='\u{dff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_acts_or_hides_is_made_visible() {
        #[track_caller]
        fn check(text: &str, shown: &str) {
            assert_eq!(line(text), shown);
        }
        check("plain, größer, 日本", "plain, größer, 日本");
        check("a\x1b[31mred", "a<U+001B>[31mred");
        check(
            "\x1b]8;;https://evil\x07x",
            "<U+001B>]8;;https://evil<U+0007>x",
        );
        check("\u{9b}2J", "<U+009B>2J");
        check(
            "two\nlines\r\n\tand",
            "two<U+000A>lines<U+000D><U+000A><U+0009>and",
        );
        check("gpj.\u{202e}exe", "gpj.<U+202E>exe");
        check("y\u{200b}es", "y<U+200B>es");
        check("\u{feff}a\u{2028}b", "<U+FEFF>a<U+2028>b");
        check("tag\u{e0041}", "tag<U+E0041>");
        check("del\x7f", "del<U+007F>");
        check("a\u{3164}b\u{2800}c", "a<U+3164>b<U+2800>c");
        check("a\u{13441}b\u{1d159}c", "a<U+13441>b<U+1D159>c");
        check("\u{e0b0}\u{100000}", "<U+E0B0><U+100000>");
        check("a\u{a0}b\u{2003}c\u{202f}d\u{3000}e", "a b c d  e");
    }

    #[test]
    fn names_that_look_alike_are_found() {
        #[track_caller]
        fn check(name: &str, other: &str, alike: bool) {
            assert_eq!(look_alike(name, other), alike, "{name:?}, {other:?}");
            assert_eq!(look_alike(other, name), alike, "{other:?}, {name:?}");
        }
        check("travel", "expense", false);
        check("größe", "日本", false);
        // The second has a Cyrillic letter.
        check("travel", "tr\u{430}vel", true);
        check("a b", "a\u{a0}b", true);
        check("m", "\u{ff4d}", true);
        check("größa", "größ\u{430}", true);
        check("a\u{430}", "\u{430}a", true);
        check("é", "e\u{301}", true);
        check("l1", "ll", false);
        check("größe", "größe", false);
    }

    #[test]
    fn only_control_characters_are_escaped_for_programs() {
        let same = "a\u{a0}b\u{3000}c\td\u{e0b0}";
        assert_eq!(lines(same), [same]);
        assert_eq!(lines("a\x1b[2J\r\nb\n"), ["a<U+001B>[2J", "b", ""]);
    }

    #[test]
    fn what_a_script_needs_stays() {
        #[track_caller]
        fn check(text: &str, shown: &str) {
            assert_eq!(line(text), shown);
        }
        check("e\u{301}", "e\u{301}");
        check("\u{301}", "<U+0301>");
        check("✈\u{fe0f}", "✈\u{fe0f}");
        check("a\u{fe0f}", "a<U+FE0F>");
        check("👩\u{200d}🚀", "👩\u{200d}🚀");
        check("a\u{200d}b", "a<U+200D>b");
        check("می\u{200c}خواهم", "می\u{200c}خواهم");
        check("a\u{200c}b", "a<U+200C>b");
        check(
            &format!("z{}", "\u{300}".repeat(6)),
            &format!("z{}<U+0300><U+0300>", "\u{300}".repeat(4)),
        );
    }

    #[test]
    fn a_long_text_shows_its_head() {
        assert_eq!(head("größe", 3), ("grö", 2));
        assert_eq!(head("ab", 3), ("ab", 0));
        assert_eq!(head("a\n\nb", 130), ("a\n\nb", 0));
        assert_eq!(head("a\n\nb", 129), ("a\n\n", 1));
        assert_eq!(head("a\n\nb", 128), ("a\n", 2));
        assert_eq!(extent("a\n\nb"), 130);
    }
}
