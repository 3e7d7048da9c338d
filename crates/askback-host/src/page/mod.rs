//! Lines for the terminal: our words, and a peer's text behind the gutter. Lines are wrapped here
//! so that the terminal never has to.

mod excerpt;
pub mod out;

use std::{
    fmt,
    io::{self, Write},
    ops::Range,
};

use serde::Serialize;

use crate::{
    model::link::Link,
    text::{self, GUTTER, PeerText, Words},
    view::Address,
    words,
};

pub use excerpt::{Excerpt, LEFT_OUT};

const COLUMNS: usize = 100;

/// The minimum width for our words after a mark.
const ROOM: usize = 16;

/// The minimum width for a peer's text after a mark, without the gutter.
const QUOTED_ROOM: usize = 10;

const BELOW: usize = 2;

const RESET: &str = "\x1b[0m";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    pub columns: usize,
    pub styled: bool,
}

/// The role of a text, which decides how a terminal shows it. A style never carries a meaning alone:
/// a mark or a word says the same without colors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Style {
    Plain,
    /// The part to read first: a title, the host of a link.
    Strong,
    Dim,
    Asker,
    Frame,
    /// The field or the option that the next key applies to.
    Focus,
    Chosen,
    Key,
    /// The key of the action that the user probably wants.
    Primary,
    Required,
    Success,
    /// Something to check before going on.
    Warning,
    Error,
}

impl Style {
    pub(crate) const ALL: [Self; 13] = [
        Self::Plain,
        Self::Strong,
        Self::Dim,
        Self::Asker,
        Self::Frame,
        Self::Focus,
        Self::Chosen,
        Self::Key,
        Self::Primary,
        Self::Required,
        Self::Success,
        Self::Warning,
        Self::Error,
    ];

    /// The escape sequence that starts the style; empty for normal text. Uses only the basic colors
    /// of the text, which every theme makes readable.
    pub(crate) fn code(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Strong => "\x1b[1m",
            Self::Dim => "\x1b[2m",
            Self::Asker => "\x1b[1;35m",
            Self::Frame => "\x1b[35m",
            Self::Focus => "\x1b[1;36m",
            Self::Chosen => "\x1b[1;32m",
            Self::Key => "\x1b[36m",
            Self::Primary => "\x1b[1;7m",
            Self::Required | Self::Error => "\x1b[31m",
            Self::Success => "\x1b[32m",
            Self::Warning => "\x1b[33m",
        }
    }

    /// Writes a text in this style. `styled` says whether styles may be used.
    pub(crate) fn write(self, out: &mut String, text: &str, styled: bool) {
        let code = self.code();
        if code.is_empty() || text.is_empty() || !styled {
            out.push_str(text);
            return;
        }
        for part in [code, text, RESET] {
            out.push_str(part);
        }
    }

    /// The escape sequences of all styles. No other escape sequence is written to a page.
    fn codes() -> impl Iterator<Item = &'static str> {
        let codes = Self::ALL.into_iter().map(Self::code);
        codes.chain([RESET]).filter(|code| !code.is_empty())
    }
}

/// Lines to be written. They are wrapped when they are taken.
#[derive(Debug)]
pub struct Page {
    look: Look,
    read: Option<fn() -> Look>,
    lines: Vec<Line>,
    prompted: usize,
    /// Whether the page may start in the row of that prompt.
    afresh: bool,
}

#[derive(Debug, Clone)]
enum Line {
    Blank,
    Ours(Words, Style, Words),
    /// Our words, not wrapped, because programs may read them.
    Whole(Words),
    /// A peer's text after our mark and the gutter.
    Quote(Words, PeerText),
    /// The start of a peer's text after our mark and the gutter, in one row.
    QuoteRow(Words, PeerText),
    /// An address after our label and the gutter, and the range of its domain.
    Link(Words, Style, PeerText, Range<usize>),
    Copy(Link),
    Prompt(Words),
    Begun(Words),
}

/// The wrapped rows of a [`Page`]. Only a page creates them. The only control characters are line
/// breaks, our style codes, and a carriage return before the first row.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rows(String);

impl Page {
    pub fn new(look: Look) -> Self {
        Self {
            look,
            read: None,
            lines: Vec::new(),
            prompted: 0,
            afresh: false,
        }
    }

    /// A page that reads its look each time, because a terminal may change its size.
    pub(super) fn reading(read: fn() -> Look) -> Self {
        Self {
            read: Some(read),
            ..Self::new(read())
        }
    }

    pub fn look(&self) -> Look {
        self.read.map_or(self.look, |read| read())
    }

    /// An empty page of the same look.
    #[must_use]
    pub(crate) fn another(&self) -> Self {
        Self {
            read: self.read,
            ..Self::new(self.look)
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    pub(crate) fn append(&mut self, other: &Self) {
        self.lines.extend_from_slice(&other.lines);
    }

    /// Takes the lines added since the last call, wrapped for the current terminal size.
    pub fn take(&mut self) -> Rows {
        if self.lines.is_empty() {
            return Rows::default();
        }
        let look = self.look();
        let mut layout = Layout {
            columns: look.columns.clamp(1, COLUMNS),
            styled: look.styled,
            prompted: self.prompted,
            out: String::new(),
        };
        for line in std::mem::take(&mut self.lines) {
            layout.put(&line);
        }
        let mut rows = walled(&layout.out);
        let over = std::mem::replace(&mut self.prompted, layout.prompted);
        if std::mem::take(&mut self.afresh) {
            let blanks = " ".repeat(over);
            rows.insert_str(0, &format!("\r{blanks}\r"));
        }
        Rows(rows)
    }

    /// Makes the next rows start at the left edge, over the prompt if there is one. The cursor is
    /// usually in an empty row after a typed line. But if the line was typed before the prompt
    /// appeared, the cursor is after the prompt.
    pub fn afresh(&mut self) {
        self.afresh = true;
    }

    pub fn blank(&mut self) {
        self.lines.push(Line::Blank);
    }

    pub fn say(&mut self, style: Style, words: impl Into<Words>) {
        self.item("", style, words);
    }

    /// Adds an indented line of our words.
    pub fn note(&mut self, style: Style, words: impl Into<Words>) {
        self.item("  ", style, words);
    }

    /// Adds a line of our words after a mark, or below it if there is too little room.
    pub fn item(&mut self, mark: impl Into<Words>, style: Style, words: impl Into<Words>) {
        let line = Line::Ours(mark.into(), style, words.into());
        self.lines.push(line);
    }

    /// Adds a term and its description after `columns` columns, or below if the term is longer.
    pub fn entry(&mut self, term: impl Into<Words>, columns: usize, words: impl Into<Words>) {
        let term = term.into();
        let mark = match text::columns(term.as_str()) > columns {
            true => {
                self.note(Style::Plain, term);
                Words::default()
            }
            false => term,
        };
        let mark = words!("  {}  ", mark.padded(columns));
        self.item(mark, Style::Plain, words);
    }

    /// Adds a line of our words without wrapping, so that a program can read it.
    pub fn line(&mut self, words: impl Into<Words>) {
        self.lines.push(Line::Whole(words.into()));
    }

    pub fn quote(&mut self, text: impl Into<PeerText>) {
        self.quote_at("", text);
    }

    pub fn quote_at(&mut self, mark: impl Into<Words>, text: impl Into<PeerText>) {
        self.lines.push(Line::Quote(mark.into(), text.into()));
    }

    /// Adds a peer's text after our mark, in one line if it fits: line breaks and tabs are made
    /// visible. For names, titles and values.
    pub fn quote_line(&mut self, mark: impl Into<Words>, text: impl Into<PeerText>) {
        let text = text.into();
        self.quote_at(mark, text::line(text.raw()));
    }

    /// Adds as much as fits in one row of the first line of a peer's text, after our mark. For text
    /// that the user only has to recognize.
    pub fn quote_row(&mut self, mark: impl Into<Words>, text: impl Into<PeerText>) {
        self.lines.push(Line::QuoteRow(mark.into(), text.into()));
    }

    /// Adds an address after its label. All of it except its domain is dim, and nothing is cut.
    pub fn link(&mut self, label: impl Into<Words>, style: Style, link: &Address) {
        let text = text::line(link.text.raw()).into();
        let line = Line::Link(label.into(), style, text, link.domain.clone());
        self.lines.push(line);
    }

    /// Adds a whole link on its own line, for a user who wants to copy it. A checked link has only
    /// printable ASCII and no blanks.
    pub fn link_alone(&mut self, link: &Link) {
        self.lines.push(Line::Copy(link.clone()));
    }

    /// `to` says who gets what the user writes.
    pub fn prompt(&mut self, to: impl Into<Words>) {
        self.lines.push(Line::Prompt(to.into()));
    }

    /// Adds what the user has already written after the prompt.
    pub fn begun(&mut self, text: Words) {
        self.lines.push(Line::Begun(text));
    }
}

impl Rows {
    /// A peer's text for a program, without the gutter. Control and invisible characters are
    /// visible.
    pub(super) fn for_program(text: &PeerText) -> Self {
        let mut lines = text::lines(text.raw()).join("\n");
        lines.push('\n');
        Self(lines)
    }

    /// JSON for a program: control and invisible characters are escaped, because the program may
    /// pass it on to a terminal. The value stays the same.
    pub(super) fn json(json: &serde_json::value::RawValue) -> Self {
        let mut json = text::json(json.get());
        json.push('\n');
        Self(json)
    }

    /// Removes empty rows at both ends, for rows that are printed alone.
    #[must_use]
    pub fn alone(self) -> Self {
        Self(self.trimmed().0.trim_start_matches('\n').to_owned())
    }

    #[must_use]
    pub fn set_in(&self, columns: usize) -> Self {
        let rows = self.0.split_inclusive('\n');
        let rows = rows.map(|row| match row {
            "\n" => row.to_owned(),
            row => " ".repeat(columns) + row,
        });
        Self(rows.collect())
    }

    #[must_use]
    pub fn first(&self, rows: usize) -> Self {
        Self(self.0.split_inclusive('\n').take(rows).collect())
    }

    #[must_use]
    pub fn skip(&self, rows: usize) -> Self {
        Self(self.0.split_inclusive('\n').skip(rows).collect())
    }

    /// Removes the styles, for a front end that is no terminal.
    #[must_use]
    pub(crate) fn unstyled(&self) -> Self {
        let plain = Style::codes().fold(self.0.clone(), |rows, code| rows.replace(code, ""));
        Self(plain)
    }

    pub fn count(&self) -> usize {
        self.0.lines().count()
    }

    /// Removes empty rows at the end.
    #[must_use]
    pub fn trimmed(mut self) -> Self {
        let end = self.0.trim_end_matches('\n').len();
        self.0.truncate(end);
        self.0.push('\n');
        self
    }

    pub fn write_to(&self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(self.0.as_bytes())
    }
}

impl fmt::Display for Rows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

struct Layout {
    columns: usize,
    styled: bool,
    prompted: usize,
    out: String,
}

impl Layout {
    fn put(&mut self, line: &Line) {
        match line {
            Line::Blank => self.out.push('\n'),
            Line::Ours(mark, style, words) => {
                let mut indent = self.marked(mark, ROOM);
                let rows =
                    text::wrapped(words.as_str(), self.columns.saturating_sub(indent.columns));
                if !indent.mark.trim().is_empty() {
                    indent.style = *style;
                }
                self.rows(&indent, &rows, |layout, row| layout.styled(*style, row));
            }
            Line::Whole(words) => {
                self.out.push_str(words.as_str());
                self.out.push('\n');
            }
            Line::Quote(mark, text) => {
                let indent = self.marked(mark, QUOTED_ROOM.saturating_add(GUTTER.len()));
                let rows = text::quoted(text.raw(), self.columns.saturating_sub(indent.columns));
                self.rows(&indent, &rows, Layout::quoted);
            }
            Line::QuoteRow(mark, text) => {
                let indent = self.marked(mark, QUOTED_ROOM.saturating_add(GUTTER.len()));
                let room = self.columns.saturating_sub(indent.columns);
                let first = text::line(text.raw().lines().next().unwrap_or_default());
                let first = text::fitted(&first, room.saturating_sub(GUTTER.len()));
                let rows = text::quoted(&first, room);
                self.rows(&indent, &rows, Layout::quoted);
            }
            Line::Link(label, style, text, domain) => {
                let mut indent = self.marked(label, QUOTED_ROOM.saturating_add(GUTTER.len()));
                indent.style = *style;
                self.link(&indent, text.raw(), domain);
            }
            Line::Copy(link) => {
                self.out.push_str(&link.url);
                self.out.push('\n');
            }
            Line::Prompt(to) => {
                // A prompt that does not fit is cut.
                let room = self.columns.saturating_sub(2);
                let rows = match room < 2 {
                    true => Vec::new(),
                    false => text::wrapped(to.as_str(), room),
                };
                let row = rows.first().map_or("", String::as_str);
                let row = format!("{row}>");
                self.styled(Style::Strong, &row);
                self.out.push(' ');
                self.prompted = text::columns(&row);
            }
            Line::Begun(text) => self.out.push_str(text.as_str()),
        }
    }

    /// Puts a mark on its own rows if it leaves too little room. Returns the indent for the rest.
    fn marked(&mut self, mark: &Words, room: usize) -> Indent {
        let columns = text::columns(mark.as_str());
        if columns == 0 || self.columns >= columns.saturating_add(room) {
            return Indent {
                mark: mark.to_string(),
                style: Style::Plain,
                columns,
            };
        }
        let words = mark.as_str().trim();
        if !words.is_empty() {
            for row in text::wrapped(words, self.columns) {
                self.out.push_str(&row);
                self.out.push('\n');
            }
        }
        let columns = match self.columns >= BELOW.saturating_add(room) {
            true => BELOW,
            false => 0,
        };
        Indent {
            mark: " ".repeat(columns),
            style: Style::Plain,
            columns,
        }
    }

    fn rows(&mut self, indent: &Indent, rows: &[String], mut put: impl FnMut(&mut Self, &str)) {
        for (index, row) in rows.iter().enumerate() {
            let (before, style) = match index {
                0 => (indent.mark.clone(), indent.style),
                _ => (" ".repeat(indent.columns), Style::Plain),
            };
            let before = match row.is_empty() {
                true => before.trim_end(),
                false => &before,
            };
            self.styled(style, before);
            put(self, row);
            self.out.push('\n');
        }
    }

    /// A link is ASCII, so a byte is a column.
    fn link(&mut self, indent: &Indent, link: &str, domain: &Range<usize>) {
        let room = self.columns.saturating_sub(indent.columns);
        let rows = text::quoted(link, room);
        let mut begins = 0;
        self.rows(indent, &rows, |layout, row| {
            let Some(row) = row.strip_prefix(GUTTER) else {
                return layout.out.push_str(row);
            };
            layout.styled(Style::Dim, GUTTER);
            let ends = row.len().saturating_add(begins);
            for (style, part) in [
                (Style::Dim, 0..domain.start),
                (Style::Strong, domain.clone()),
                (Style::Dim, domain.end..link.len()),
            ] {
                let part = part.start.max(begins)..part.end.min(ends);
                if let Some(part) = link.get(part).filter(|part| !part.is_empty()) {
                    layout.styled(style, part);
                }
            }
            begins = ends;
        });
    }

    /// Puts a row of a peer's text. Its gutter is quiet, so that the text is read first.
    fn quoted(&mut self, row: &str) {
        match row.strip_prefix(GUTTER) {
            Some(text) => {
                self.styled(Style::Dim, GUTTER);
                self.out.push_str(text);
            }
            None => self.out.push_str(row),
        }
    }

    fn styled(&mut self, style: Style, words: &str) {
        style.write(&mut self.out, words, self.styled);
    }
}

/// The indent of a line: the mark in the first row, blanks in the others.
struct Indent {
    mark: String,
    style: Style,
    columns: usize,
}

/// Escapes all control characters except line breaks and our style codes. There should be none:
/// this is a second line of defense.
fn walled(out: &str) -> String {
    let mut walled = String::with_capacity(out.len());
    let mut rest = out;
    loop {
        // Fast path: most text is plain, and it may be very long.
        let acts = |byte| !matches!(byte, b' '..=b'~' | b'\n');
        let plain = rest.bytes().position(acts).unwrap_or(rest.len());
        walled.push_str(&rest[..plain]);
        rest = &rest[plain..];
        let Some(c) = rest.chars().next() else {
            return walled;
        };
        if let Some(code) = Style::codes().find(|code| rest.starts_with(code)) {
            walled.push_str(code);
            rest = &rest[code.len()..];
            continue;
        }
        match c {
            c if c.is_control() || text::turns(c) => {
                walled.push_str(words!("{}", c).as_str());
            }
            c => walled.push(c),
        }
        rest = &rest[c.len_utf8()..];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        model::link,
        text::{columns, given},
        view,
    };

    fn at(columns: usize, put: impl FnOnce(&mut Page)) -> String {
        let look = Look {
            columns,
            styled: false,
        };
        let mut page = Page::new(look);
        put(&mut page);
        page.take().to_string()
    }

    #[test]
    fn every_row_fits_and_every_row_of_a_peer_has_its_gutter() {
        let url = format!("https://login.example.com/{}", "a".repeat(90));
        let url = link::judge(&url).expect("the link can be opened");
        let url = view::destination(&url).address;
        for width in 1..120 {
            let mark = |number: f64| words!("  {} of {} ", number, 1e99);
            let screen = at(width, |page| {
                page.quote("words that a server wrote, 日本, ✈\u{fe0f}✈\u{fe0f}✈\u{fe0f}");
                page.quote_at(mark(2.0), "words");
                page.quote_at(mark(1e99), "words");
                page.link(mark(2.0), Style::Strong, &url);
            });
            for row in screen.lines() {
                let ours = row.chars().all(|c| " .0123456789eof".contains(c));
                let text =
                    row.trim_start_matches(|c: char| c == ' ' || ".0123456789eof".contains(c));
                assert!(ours || text.starts_with('|'), "{row:?} in {width}");
                assert!(width < 2 || columns(row) <= width, "{row:?} in {width}");
            }
        }
    }

    #[test]
    fn a_page_begins_at_the_left_edge_over_a_prompt() {
        let screen = at(8, |page| {
            page.prompt("ab");
            page.take();
            page.afresh();
            page.say(Style::Plain, "c\rd");
        });
        assert_eq!(screen, "\r   \rc<U+000D>d\n");
    }

    #[test]
    fn our_words_fit_too() {
        for width in 2..60 {
            let screen = at(width, |page| {
                page.item("  ! ", Style::Warning, "The host is a number, not a name.");
                page.say(Style::Plain, words!("{} asks", given("x".repeat(50))));
                page.prompt(given("server"));
            });
            for row in screen.lines() {
                assert!(columns(row.trim_end()) <= width, "{row:?} in {width}");
            }
        }
    }

    #[test]
    fn json_for_a_program_is_the_same_json_and_acts_on_no_terminal() {
        #[track_caller]
        fn check(json: &str, shown: &str) {
            let raw: &serde_json::value::RawValue = serde_json::from_str(json).expect("it is JSON");
            let rows = Rows::json(raw).to_string();
            assert_eq!(rows, format!("{shown}\n"));
            let read = |json: &str| serde_json::from_str::<serde_json::Value>(json).ok();
            assert_eq!(read(&rows), read(json));
        }
        check(
            r#"{"a": [1, "größe 日本 ✈"]}"#,
            r#"{"a": [1, "größe 日本 ✈"]}"#,
        );
        check(
            "\"\u{9b}2J\u{202e}x\u{7f}\u{200b}\"",
            r#""\u009b2J\u202ex\u007f\u200b""#,
        );
        check("\"\u{e0041}\"", r#""\udb40\udc41""#);
    }

    #[test]
    fn what_acts_does_not_pass_the_wall() {
        #[track_caller]
        fn check(out: &str, shown: &str) {
            assert_eq!(walled(out), shown);
        }
        check("a\n\x1b[1mb\x1b[0m", "a\n\x1b[1mb\x1b[0m");
        check("a\x1b[5mb", "a<U+001B>[5mb");
        check("\x1b]52;c;AAAA\x07", "<U+001B>]52;c;AAAA<U+0007>");
        check("a\rb\u{9b}2J\x7f", "a<U+000D>b<U+009B>2J<U+007F>");
        check("\u{202e}x\u{2066}", "<U+202E>x<U+2066>");
    }
}
