//! Text of a server, made safe to show.
//!
//! Whatever a server says may try to move the cursor, hide a part of itself, or draw a question
//! that we did not ask. So every character that acts instead of being seen is written as
//! `<U+XXXX>`, and every line stands behind a gutter that the server cannot remove.

use std::fmt::Write as _;

use unicode_width::UnicodeWidthChar;

/// What stands before every line that a server wrote.
pub const GUTTER: &str = "| ";

/// The fewest columns text is wrapped to: a narrower terminal wraps by itself.
const NARROWEST: usize = 16;

/// The most combining marks on one letter; more of them would climb over the lines around.
const MARKS: usize = 4;

/// Characters that show nothing, or change how others are shown: first and last of each range.
///
/// Controls are found by `char::is_control`; these are the format characters, fillers, selectors
/// and tags besides.
const INVISIBLE: &[(char, char)] = &[
    ('\u{ad}', '\u{ad}'),
    ('\u{34f}', '\u{34f}'),
    ('\u{600}', '\u{605}'),
    ('\u{61c}', '\u{61c}'),
    ('\u{6dd}', '\u{6dd}'),
    ('\u{70f}', '\u{70f}'),
    ('\u{8e2}', '\u{8e2}'),
    ('\u{115f}', '\u{1160}'),
    ('\u{17b4}', '\u{17b5}'),
    ('\u{180b}', '\u{180f}'),
    ('\u{200b}', '\u{200f}'),
    ('\u{2028}', '\u{202e}'),
    ('\u{2060}', '\u{206f}'),
    ('\u{2800}', '\u{2800}'),
    ('\u{3164}', '\u{3164}'),
    ('\u{fe00}', '\u{fe0f}'),
    ('\u{feff}', '\u{feff}'),
    ('\u{ffa0}', '\u{ffa0}'),
    ('\u{fff0}', '\u{fffb}'),
    ('\u{110bd}', '\u{110bd}'),
    ('\u{110cd}', '\u{110cd}'),
    ('\u{13430}', '\u{1343f}'),
    ('\u{1bca0}', '\u{1bca3}'),
    ('\u{1d173}', '\u{1d17a}'),
    ('\u{e0000}', '\u{e0fff}'),
];

/// Whether a character acts on a terminal, or is not seen on one.
pub fn acts_or_hides(c: char) -> bool {
    c.is_control()
        || INVISIBLE
            .iter()
            .any(|&(first, last)| (first..=last).contains(&c))
}

/// `text` on one line: line breaks and tabs too are made visible. For names, titles and values.
pub fn line(text: &str) -> String {
    safe(text, false)
}

/// The lines of `text`, as long as they are. For results that other programs may read.
pub fn lines(text: &str) -> Vec<String> {
    let text = text.replace("\r\n", "\n");
    text.split('\n')
        .map(|line| {
            let cells: Vec<_> = line.split('\t').map(|cell| safe(cell, true)).collect();
            cells.join("\t")
        })
        .collect()
}

/// JSON with every character escaped that acts or hides. It stays the same JSON: outside its
/// strings there are no such characters but blanks, which stay.
pub fn json(json: &str) -> String {
    let mut shown = String::with_capacity(json.len());
    for c in json.chars() {
        if !acts_or_hides(c) || matches!(c, '\n' | '\r' | '\t') {
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

/// The lines of `text`, wrapped to `width` columns, each behind the [`GUTTER`].
pub fn quoted(text: &str, width: usize) -> Vec<String> {
    let text = text.replace("\r\n", "\n").replace('\t', "    ");
    let room = width.saturating_sub(GUTTER.len()).max(NARROWEST);
    text.trim_end_matches('\n')
        .split('\n')
        .flat_map(|line| wrapped(&safe(line, true), room))
        .map(|line| format!("{GUTTER}{line}").trim_end().to_owned())
        .collect()
}

/// `text`, safe already, in lines of at most `width` columns: broken at spaces where there are
/// any, inside a word that is too long.
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
    let width = width.max(1);
    let mut lines = Vec::new();
    let mut line = String::new();
    let mut used = 0;
    for word in text.split_inclusive(' ') {
        let bare = columns(word.trim_end_matches(' '));
        if used > 0 && used + bare > width {
            lines.push(std::mem::take(&mut line).trim_end().to_owned());
            used = 0;
        }
        for c in word.chars() {
            let wide = c.width().unwrap_or(0);
            if c == ' ' && used + 1 > width {
                continue;
            }
            if used + wide > width && used > 0 {
                lines.push(std::mem::take(&mut line));
                used = 0;
            }
            line.push(c);
            used += wide;
        }
    }
    lines.push(line.trim_end().to_owned());
    lines
}

/// The columns `text` takes.
pub fn columns(text: &str) -> usize {
    text.chars().map(|c| c.width().unwrap_or(0)).sum()
}

/// The first `most` characters of `text`, and how many more there are.
pub fn head(text: &str, most: usize) -> (&str, usize) {
    match text.char_indices().nth(most) {
        Some((end, _)) => (&text[..end], text[end..].chars().count()),
        None => (text, 0),
    }
}

/// `text` with what acts or hides made visible. Joiners and selectors stay where a script or an
/// emoji needs them.
fn safe(text: &str, line_is_split: bool) -> String {
    debug_assert!(!line_is_split || !text.contains('\n'));
    let mut shown = String::with_capacity(text.len());
    let mut before = None;
    let mut marks = 0;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let visible = if acts_or_hides(c) {
            belongs(before, c, chars.peek().copied())
        } else if c.width() == Some(0) {
            marks += 1;
            before.is_some() && marks <= MARKS
        } else {
            marks = 0;
            true
        };
        if visible {
            shown.push(c);
        } else {
            // Writing to a string cannot fail.
            let _ = write!(shown, "<U+{:04X}>", c as u32);
        }
        before = Some(c);
    }
    shown
}

/// Whether an invisible character does its proper work between its neighbours.
fn belongs(before: Option<char>, c: char, after: Option<char>) -> bool {
    let Some(before) = before else { return false };
    match c {
        // The emoji form of a symbol.
        '\u{fe0f}' => is_emoji(before),
        // One emoji out of several; letters joined or kept apart.
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

/// Whether a letter belongs to the scripts that need joiners: Arabic and its kin, and the scripts
/// of India.
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
    fn every_line_stands_behind_the_gutter() {
        #[track_caller]
        fn check(text: &str, width: usize, lines: &[&str]) {
            assert_eq!(quoted(text, width), lines);
        }
        check("", 40, &["|"]);
        check("one", 40, &["| one"]);
        check("one\ntwo\r\nthree\n", 40, &["| one", "| two", "| three"]);
        check("a\n\nb", 40, &["| a", "|", "| b"]);
        check("first\r> fake", 40, &["| first<U+000D>> fake"]);
        check("a\tb", 40, &["| a    b"]);
        check(
            "the quick brown fox jumps",
            18,
            &["| the quick brown", "| fox jumps"],
        );
        check(
            "abcdefghijklmnopqrstuvwxyz",
            18,
            &["| abcdefghijklmnop", "| qrstuvwxyz"],
        );
        check(
            "日本日本日本日本日本",
            18,
            &["| 日本日本日本日本", "| 日本"],
        );
    }

    #[test]
    fn a_long_text_shows_its_head() {
        assert_eq!(head("größe", 3), ("grö", 2));
        assert_eq!(head("ab", 3), ("ab", 0));
    }
}
