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
    /// The rest of the text, which is not laid out yet.
    rest: Page,
    rows: Rows,
    count: usize,
    /// Where the person goes once all of the text is laid out.
    aim: Option<Aim>,
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

/// A place that is known once all of a text is laid out.
enum Aim {
    /// The same place as this row of so many.
    Near(usize, usize),
    End,
    /// The first row from this one on that has the wanted text.
    Found(usize),
}

impl Pager {
    /// The beginning of a text.
    pub(super) fn new(put: Put, size: Size) -> Self {
        let mut pager = Self {
            put,
            rest: Page::new(look(size)),
            rows: Rows::default(),
            count: 0,
            aim: None,
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
        if self.rest.is_taken() {
            // What was seen stays near.
            self.aim = Some(Aim::Near(self.top, self.count.max(1)));
        }
        self.rest = Page::new(look(size));
        (self.put)(&mut self.rest);
        (self.rows, self.count, self.size) = (Rows::default(), 0, size);
        self.lay_out();
        while !self.rest.is_taken() && self.count < self.room() {
            self.lay_out();
        }
    }

    /// Lays out more of the text, if there is more. Returns whether there was.
    pub(super) fn goes_on(&mut self) -> bool {
        let goes_on = !self.rest.is_taken();
        if goes_on {
            self.lay_out();
        }
        goes_on
    }

    fn lay_out(&mut self) {
        let part = self.rest.take_part();
        self.count = self.count.saturating_add(part.count());
        self.rows.push(&part);
        if !self.rest.is_taken() {
            return;
        }
        self.rows = std::mem::take(&mut self.rows).trimmed();
        self.count = self.rows.count();
        match self.aim.take() {
            Some(Aim::Near(row, of)) => {
                let near = row.saturating_mul(self.count);
                self.go(near.checked_div(of).unwrap_or_default());
            }
            Some(Aim::End) => self.go(self.count),
            Some(Aim::Found(from)) => self.find(from, true),
            None => self.go(self.top),
        }
    }

    /// Does what a key does. Returns whether the person goes on looking.
    pub(super) fn press(&mut self, key: &Key) -> bool {
        self.is_missing = false;
        self.aim = None;
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
            Key::End | Key::Char('G') => {
                self.go(self.count);
                self.aim = (!self.rest.is_taken()).then_some(Aim::End);
            }
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
            None if forward && !self.rest.is_taken() => self.aim = Some(Aim::Found(from)),
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
        let so_far = if self.rest.is_taken() { "" } else { " so far" };
        let first = self.top.saturating_add(1);
        let at = words!("{}–{} of {}{}", first, last, self.count, so_far);
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

/// The look of the text on a screen of this size.
fn look(size: Size) -> Look {
    Look {
        columns: size.columns.saturating_sub(1).max(1),
        styled: false,
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
    fn keys_are_heard_before_all_of_a_text_is_laid_out() {
        #[track_caller]
        fn check(keys: &[Key], before: &str, first: &str) {
            let put = |page: &mut Page| page.quote("änderung\n".repeat(20_000) + "last");
            let size = Size {
                columns: 60,
                rows: 6,
            };
            let mut long = Pager::new(Box::new(put), size);
            for key in keys {
                assert!(long.press(key));
            }
            let begun = seen(&long);
            assert!(begun.contains(before), "{begun}");
            assert!(begun.contains(" so far"), "{begun}");
            while long.goes_on() {}
            let whole = seen(&long);
            assert!(whole.contains(&format!("{first} of 20001 · ")), "{whole}");
        }
        let last = ['/', 'l', 'a', 's', 't'].map(Key::Char);
        let last = [&last[..], &[Key::Enter]].concat();
        check(&[], "1–5 of ", "1–5");
        check(&[Key::Down], "2–6 of ", "2–6");
        check(&[Key::End], " of ", "19997–20001");
        check(&last, "1–5 of ", "19997–20001");
        check(&[&last[..], &[Key::Down]].concat(), "2–6 of ", "2–6");
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
