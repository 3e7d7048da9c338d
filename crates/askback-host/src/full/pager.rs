//! A text that is longer than the screen, on a screen of its own.

use super::{
    editor::Editor,
    frame::{Frame, Row},
    key::Key,
    screen::Size,
};
use crate::{
    page::{Look, Page, Rows, Style},
    text::Words,
    words,
};

/// A function that puts the text on a page of any width.
pub(super) type Put = Box<dyn Fn(&mut Page) + Send>;

/// A text that is looked through, and where the person is in it.
pub(super) struct Pager {
    put: Put,
    rows: Rows,
    count: usize,
    size: Size,
    /// The first row that is seen.
    top: usize,
    /// The text that is looked for, in small letters.
    wanted: String,
    /// The text to look for, while it is being written.
    search: Option<Editor>,
    /// Whether the text that was looked for last is nowhere.
    is_missing: bool,
}

impl Pager {
    /// The beginning of a text.
    pub(super) fn new(put: Put, size: Size) -> Self {
        let mut pager = Self {
            put,
            rows: Rows::default(),
            count: 0,
            size,
            top: 0,
            wanted: String::new(),
            search: None,
            is_missing: false,
        };
        pager.resize(size);
        pager
    }

    /// Breaks the text anew for a screen of this size.
    pub(super) fn resize(&mut self, size: Size) {
        let before = (self.top, self.count.max(1));
        let mut page = Page::new(Look {
            columns: size.columns.saturating_sub(1).max(1),
            styled: false,
        });
        (self.put)(&mut page);
        self.rows = page.take().trimmed();
        self.count = self.rows.count();
        self.size = size;
        // What was seen stays near.
        let near = before.0.saturating_mul(self.count);
        self.go(near.checked_div(before.1).unwrap_or_default());
    }

    /// Does what a key does. Returns whether the person goes on looking.
    pub(super) fn press(&mut self, key: &Key) -> bool {
        self.is_missing = false;
        if let Some(search) = &mut self.search {
            match key {
                Key::Enter => {
                    let typed = search.take().to_lowercase();
                    self.search = None;
                    if !typed.is_empty() {
                        self.wanted = typed;
                    }
                    self.find(self.top, true);
                }
                Key::Esc | Key::Ctrl('c') => self.search = None,
                Key::Backspace if search.text().is_empty() => self.search = None,
                key => {
                    search.press(key);
                }
            }
            return true;
        }
        let page = self.room();
        match key {
            Key::Char('q') | Key::Esc | Key::Ctrl('c' | 'd') => return false,
            Key::Down | Key::Enter | Key::Char('j') => self.go(self.top.saturating_add(1)),
            Key::Up | Key::Char('k') => self.go(self.top.saturating_sub(1)),
            Key::PageDown | Key::Char(' ' | 'f') => self.go(self.top.saturating_add(page)),
            Key::PageUp | Key::Char('b') => self.go(self.top.saturating_sub(page)),
            Key::Home | Key::Char('g') => self.go(0),
            Key::End | Key::Char('G') => self.go(self.count),
            Key::Char('/') => self.search = Some(Editor::default()),
            Key::Char('n') => self.find(self.top.saturating_add(1), true),
            Key::Char('N') => self.find(self.top, false),
            _ => {}
        }
        true
    }

    /// The rows of the text that are seen at once.
    fn room(&self) -> usize {
        self.size.rows.saturating_sub(1).max(1)
    }

    fn go(&mut self, top: usize) {
        self.top = top.min(self.count.saturating_sub(self.room()));
    }

    /// Goes to the next row in which the wanted text is, from a row on; or to the one before it.
    fn find(&mut self, from: usize, forward: bool) {
        if self.wanted.is_empty() {
            return;
        }
        let text = self.rows.to_string();
        let has = |(_, row): &(usize, &str)| row.to_lowercase().contains(&self.wanted);
        let mut rows = text.lines().enumerate();
        let found = match forward {
            true => rows.skip(from).find(has),
            false => rows.by_ref().take(from).filter(has).last(),
        };
        match found {
            // The last rows are seen together, whichever of them it is.
            Some((row, _)) => self.go(row),
            None => self.is_missing = true,
        }
    }

    /// The screen, as it is now. `waiting` says what waits behind it.
    pub(super) fn frame(&self, waiting: Option<&Words>) -> Frame {
        let mut frame = Frame::default();
        let seen = self.rows.part(self.top, self.room());
        let is_found =
            |row: &str| !self.wanted.is_empty() && row.to_lowercase().contains(&self.wanted);
        frame.put_strong(&seen, is_found);
        while frame.height() < self.room() {
            frame.push(Row::new(self.size.columns));
        }
        let row = Row::new(self.size.columns);
        if let Some(search) = &self.search {
            let row = row.ours(Style::Strong, "Look for: ");
            let room = row.room();
            frame.push(row.written(search.text(), Some(search.at()), room));
            return frame;
        }
        let last = self.top.saturating_add(self.room()).min(self.count);
        let at = words!("{}–{} of {}", self.top.saturating_add(1), last, self.count);
        let row = row.ours(Style::Strong, at);
        let row = match (waiting, self.is_missing) {
            (Some(waiting), _) => row.ours(Style::Warning, words!(" · {}", waiting.clone())),
            (None, true) => row.ours(Style::Warning, " · it is not there"),
            (None, false) => row,
        };
        let keys = " · q back · Space ↓ ↑ move · / look for, n next";
        frame.push(row.ours(Style::Dim, keys));
        frame
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pager(rows: usize) -> Pager {
        let put = move |page: &mut Page| {
            for row in 1..=rows {
                page.quote(format!("row {row}"));
            }
        };
        let size = Size {
            columns: 60,
            rows: 6,
        };
        Pager::new(Box::new(put), size)
    }

    fn seen(pager: &Pager) -> String {
        let frame = pager.frame(None);
        let row = |row| {
            frame
                .cells(row)
                .iter()
                .map(|cell| cell.text.as_str())
                .collect()
        };
        let rows: Vec<String> = (0..frame.height()).map(row).collect();
        rows.join("\n")
    }

    #[test]
    fn a_long_text_is_looked_through() {
        let mut long = pager(20);
        let mut check = |keys: &[Key], first: &str, status: &str| {
            for key in keys {
                assert!(long.press(key), "{key:?} goes back");
            }
            let seen = seen(&long);
            let mut rows = seen.lines();
            assert_eq!(rows.next(), Some(first), "{seen}");
            assert!(
                rows.last().is_some_and(|row| row.starts_with(status)),
                "{seen}"
            );
            assert_eq!(seen.lines().count(), 6);
        };
        let look_for = |text: &str| {
            let typed = text.chars().map(Key::Char);
            let keys = [Key::Char('/')].into_iter().chain(typed);
            keys.chain([Key::Enter]).collect::<Vec<_>>()
        };
        check(&[], "| row 1", "1–5 of 20 · q back");
        check(&[Key::Up], "| row 1", "1–5 of 20");
        check(&[Key::Down], "| row 2", "2–6 of 20");
        check(&[Key::Char(' ')], "| row 7", "7–11 of 20");
        check(&[Key::End], "| row 16", "16–20 of 20");
        check(&[Key::Down, Key::PageDown], "| row 16", "16–20 of 20");
        check(&[Key::PageUp, Key::PageUp], "| row 6", "6–10 of 20");
        check(&[Key::Home], "| row 1", "1–5 of 20");
        check(&look_for("ROW 1"), "| row 1", "1–5 of 20");
        check(&[Key::Char('n')], "| row 10", "10–14 of 20");
        check(&[Key::Char('N')], "| row 1", "1–5 of 20");
        check(&[Key::Char('N')], "| row 1", "1–5 of 20 · it is not there");
        check(
            &look_for("nowhere"),
            "| row 1",
            "1–5 of 20 · it is not there",
        );
        check(
            &[Key::Char('/'), Key::Char('x'), Key::Esc],
            "| row 1",
            "1–5 of 20 · q back",
        );
        check(&[Key::Char('/'), Key::Char('q')], "| row 1", "Look for: q");
    }

    #[test]
    fn a_text_is_broken_anew_where_the_screen_changes() {
        let mut long = pager(20);
        long.press(&Key::Char(' '));
        long.press(&Key::Char(' '));
        let columns = 7;
        long.resize(Size { columns, rows: 6 });
        let seen = seen(&long);
        assert!(seen.starts_with("| row\n| 11"), "{seen}");
        long.resize(Size {
            columns: 60,
            rows: 40,
        });
        assert!(pager(3).frame(None).height() == 6);
        for key in [Key::Char('q'), Key::Esc, Key::Ctrl('c')] {
            assert!(!long.press(&key));
        }
    }
}
