//! Lines on their way to the terminal: our words as they are, a server's behind the gutter,
//! everything wrapped so that the terminal itself never breaks a line.

use std::ops::Range;

use crate::text;

/// The fewest and most columns a page uses.
const COLUMNS: (usize, usize) = (24, 100);

/// The fewest columns left beside a mark.
const ROOM: usize = 16;

/// How a terminal shows text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    /// The columns of the terminal.
    pub columns: usize,
    /// Whether styles may be used.
    pub styled: bool,
}

/// The styles there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// As it is.
    Plain,
    /// What is looked for first: who asks, the host of a link.
    Strong,
    /// What is there to be looked up.
    Dim,
    /// What is wrong, or should be looked at twice.
    Warning,
}

/// Lines that are yet to be written.
#[derive(Debug)]
pub struct Page {
    look: Look,
    out: String,
}

impl Page {
    /// An empty page.
    pub fn new(look: Look) -> Self {
        Self {
            look,
            out: String::new(),
        }
    }

    /// What was put on the page since the last time.
    pub fn take(&mut self) -> String {
        std::mem::take(&mut self.out)
    }

    /// An empty line.
    pub fn blank(&mut self) {
        self.out.push('\n');
    }

    /// A line of ours, safe already.
    pub fn say(&mut self, style: Style, words: &str) {
        self.item("", style, words);
    }

    /// A line of ours, set in below another.
    pub fn note(&mut self, style: Style, words: &str) {
        self.item("  ", style, words);
    }

    /// A line of ours behind a mark; below it where too little room is left beside it.
    pub fn item(&mut self, mark: &str, style: Style, words: &str) {
        let indent = text::columns(mark);
        if self.columns() < indent + ROOM {
            self.out.push_str(mark.trim_end());
            self.blank();
            return self.item("      ", style, words);
        }
        let lines = text::wrapped(words, self.columns() - indent);
        self.behind(mark, indent, style, &lines);
    }

    /// Lines of another page.
    pub fn put(&mut self, lines: &str) {
        self.out.push_str(lines);
    }

    /// Text of the server.
    pub fn quote(&mut self, words: &str) {
        self.quote_at("", words);
    }

    /// Text of the server behind a mark of ours.
    pub fn quote_at(&mut self, mark: &str, words: &str) {
        let indent = text::columns(mark);
        let lines = text::quoted(words, self.columns() - indent);
        self.behind(mark, indent, Style::Plain, &lines);
    }

    /// A link that was judged, on a line of its own and whole: what is beside its domain is dim.
    pub fn link(&mut self, link: &str, domain: Range<usize>) {
        for (style, part) in [
            (Style::Dim, &link[..domain.start]),
            (Style::Strong, &link[domain.clone()]),
            (Style::Dim, &link[domain.end..]),
        ] {
            self.styled(style, part);
        }
        self.blank();
    }

    /// The sign that the person may write, behind a word that says to whom.
    pub fn prompt(&mut self, to: &str) {
        self.styled(Style::Strong, &format!("{to}>"));
        self.out.push(' ');
    }

    fn columns(&self) -> usize {
        self.look.columns.clamp(COLUMNS.0, COLUMNS.1)
    }

    fn behind(&mut self, mark: &str, indent: usize, style: Style, lines: &[String]) {
        for (index, line) in lines.iter().enumerate() {
            let before = match index {
                0 => mark.to_owned(),
                _ => " ".repeat(indent),
            };
            match line.is_empty() {
                true => self.out.push_str(before.trim_end()),
                false => self.out.push_str(&before),
            }
            self.styled(style, line);
            self.blank();
        }
    }

    fn styled(&mut self, style: Style, words: &str) {
        let code = match style {
            Style::Plain => "",
            Style::Strong => "1",
            Style::Dim => "2",
            Style::Warning => "33",
        };
        if code.is_empty() || words.is_empty() || !self.look.styled {
            self.out.push_str(words);
            return;
        }
        for part in ["\x1b[", code, "m", words, "\x1b[0m"] {
            self.out.push_str(part);
        }
    }
}
