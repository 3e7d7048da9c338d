//! Scrolls a text that may be longer than the screen, and records whether its end was seen.

use std::ops::Range;

use super::{
    frame::{Frame, Row},
    key::Key,
};
use crate::{model::Step, page::Style, text::Words, words};

/// The minimum number of rows for the text, including the row that counts hidden rows. Rows above
/// it are cut if necessary.
const LEAST: usize = 4;

/// How far the user has read the rows between the heading and the keys.
#[derive(Debug, Default)]
pub(super) struct Reading {
    first: usize,
    /// Whether the view stays at the end, for any number of rows and any room.
    is_at_end: bool,
    room: usize,
    is_begun: bool,
    is_ended: bool,
}

impl Reading {
    pub(super) fn from_end() -> Self {
        Self {
            is_at_end: true,
            ..Self::default()
        }
    }

    /// Whether both ends of the text were visible. If not, the user cannot agree: a server chooses
    /// the text, and could place a harmless part at the end that is shown.
    pub(super) fn is_whole(&self) -> bool {
        self.is_begun && self.is_ended
    }

    /// Returns false if the key does not scroll.
    pub(super) fn press(&mut self, key: &Key) -> bool {
        // One row stays visible for orientation.
        let page = self.room.saturating_sub(1).max(1);
        self.first = match key {
            Key::Down => self.first.saturating_add(1),
            Key::PageDown => self.first.saturating_add(page),
            Key::Up => self.first.saturating_sub(1),
            Key::PageUp => self.first.saturating_sub(page),
            Key::Home => 0,
            Key::End => usize::MAX,
            _ => return false,
        };
        self.is_at_end &= matches!(key, Key::Down | Key::PageDown | Key::End);
        true
    }

    /// Adds the rows of a text that fit below the frame's rows, around the focused row if any.
    pub(super) fn put(
        &mut self,
        frame: &mut Frame,
        text: Vec<Row>,
        focused: Option<usize>,
        room: usize,
        columns: usize,
    ) {
        let count = text.len();
        let below = room.saturating_sub(frame.height());
        let most = match below >= count {
            true => below,
            // One row counts the hidden rows.
            false => below.max(LEAST.min(room)).saturating_sub(1).max(1),
        };
        let seen = match focused {
            Some(focused) => rows(focused.saturating_sub(most / 2), count, most),
            None => self.rows(count, most),
        };
        let (before, after) = (seen.start, count.saturating_sub(seen.end));
        let is_cut = room > 1 && (before > 0 || after > 0);
        // If even this does not fit, the caller cuts the frame again.
        if seen.len().saturating_add(usize::from(is_cut)) <= room {
            self.is_begun |= before == 0;
            self.is_ended |= after == 0;
        }
        for row in text.into_iter().skip(before).take(seen.len()) {
            frame.push(row);
        }
        if is_cut {
            let row = Row::new(columns).ours(Style::Dim, hidden(before, after));
            frame.push(row);
        }
    }

    fn rows(&mut self, count: usize, most: usize) -> Range<usize> {
        let first = match self.is_at_end {
            true => count,
            false => self.first,
        };
        let seen = rows(first, count, most);
        (self.first, self.room) = (seen.start, most);
        seen
    }
}

/// Says how many rows are hidden above and below.
fn hidden(before: usize, after: usize) -> Words {
    match (before, after) {
        (0, after) => words!("  ▼ {} more rows", after),
        (before, 0) => words!("  ▲ {} rows above", before),
        (before, after) => words!("  ▲ {} rows above  ▼ {} more", before, after),
    }
}

/// At most `most` of `count` rows, starting at `first` or earlier.
fn rows(first: usize, count: usize, most: usize) -> Range<usize> {
    let first = first.min(count.saturating_sub(most));
    first..first.saturating_add(most).min(count)
}

/// Whether the user can agree to something at this step.
pub(super) fn is_agreement(step: &Step) -> bool {
    agrees(step, &Key::Enter) || agrees(step, &Key::Char('o')) || agrees(step, &Key::Char('y'))
}

pub(super) fn agrees(step: &Step, key: &Key) -> bool {
    match step {
        Step::Consent(_) => *key == Key::Char('o'),
        Step::Secret(_) => *key == Key::Char('y'),
        Step::Confirm => matches!(key, Key::Enter | Key::Char('y')),
        Step::Review(_) | Step::Reread(..) | Step::Replied(_) => *key == Key::Enter,
        Step::Request(_) => matches!(key, Key::Enter | Key::Char('s' | 'A')),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The visible rows of a text with `count` rows on a screen with `room` rows.
    fn seen(reading: &mut Reading, count: usize, focused: Option<usize>, room: usize) -> String {
        let mut frame = Frame::default();
        let head = || Row::new(80).ours(Style::Strong, "head");
        frame.push(head());
        frame.push(head());
        let text = (0..count).map(|row| Row::new(80).ours(Style::Plain, words!("{}", row)));
        reading.put(&mut frame, text.collect(), focused, room, 80);
        let rows = (2..frame.height()).flat_map(|row| frame.cells(row));
        rows.map(|cell| cell.text.trim())
            .collect::<Vec<_>>()
            .join(" ")
    }

    #[test]
    fn a_text_is_whole_once_both_ends_were_seen() {
        #[track_caller]
        fn check(mut reading: Reading, count: usize, keys: &[Key], rows: &str, is_whole: bool) {
            let mut shown = seen(&mut reading, count, None, 7);
            for key in keys {
                assert!(reading.press(key), "{key:?}");
                shown = seen(&mut reading, count, None, 7);
            }
            assert_eq!((shown.as_str(), reading.is_whole()), (rows, is_whole));
        }
        use Key::{Down, PageDown, PageUp, Up};
        let from_start = Reading::default;
        check(from_start(), 0, &[], "", true);
        check(from_start(), 5, &[Down, PageDown], "0 1 2 3 4", true);
        let first = "0 1 2 3 ▼ 2 more rows";
        check(from_start(), 6, &[], first, false);
        check(from_start(), 6, &[Down, Up, PageUp], first, false);
        let last = "2 3 4 5 ▲ 2 rows above";
        check(from_start(), 6, &[Down, Down, Down], last, true);
        let before = "1 2 3 4 ▲ 1 rows above  ▼ 1 more";
        check(from_start(), 6, &[Down, Down, Down, Up], before, true);
        let second = "3 4 5 6 ▲ 3 rows above  ▼ 5 more";
        check(from_start(), 12, &[PageDown], second, false);
        let last = "8 9 10 11 ▲ 8 rows above";
        check(
            from_start(),
            12,
            &[PageDown, PageDown, PageDown],
            last,
            true,
        );
        check(from_start(), 12, &[Key::End], last, true);
        let first = "0 1 2 3 ▼ 8 more rows";
        check(from_start(), 12, &[Key::End, Key::Home], first, true);
        check(Reading::from_end(), 12, &[], last, false);
        check(Reading::from_end(), 12, &[Key::Home], first, true);
        let before = "5 6 7 8 ▲ 5 rows above  ▼ 3 more";
        check(Reading::from_end(), 12, &[PageUp], before, false);
        assert!(!from_start().is_whole(), "nothing was seen yet");
        assert!(!from_start().press(&Key::Enter));
    }

    #[test]
    fn a_reader_at_the_end_stays_at_the_end() {
        let mut reading = Reading::from_end();
        assert_eq!(
            seen(&mut reading, 12, None, 12),
            "3 4 5 6 7 8 9 10 11 ▲ 3 rows above"
        );
        let last = "8 9 10 11 ▲ 8 rows above";
        assert_eq!(seen(&mut reading, 12, None, 7), last, "with less room");
        assert!(reading.press(&Key::Up) && reading.press(&Key::Down));
        assert_eq!(seen(&mut reading, 12, None, 7), last);
        let before = "8 9 10 ▲ 8 rows above  ▼ 1 more";
        assert_eq!(
            seen(&mut reading, 12, None, 6),
            before,
            "who moved stays where they are"
        );
    }

    #[test]
    fn the_focused_row_is_visible_and_the_heading_is_cut_first() {
        #[track_caller]
        fn check(focused: Option<usize>, room: usize, rows: &str, is_whole: bool) {
            let mut reading = Reading::default();
            assert_eq!(seen(&mut reading, 5, focused, room), rows);
            assert_eq!(reading.is_whole(), is_whole);
        }
        check(Some(4), 6, "2 3 4 ▲ 2 rows above", false);
        check(Some(2), 6, "1 2 3 ▲ 1 rows above  ▼ 1 more", false);
        check(None, 5, "0 1 2 ▼ 2 more rows", false);
        check(None, 3, "0 1 ▼ 3 more rows", false);
        check(None, 2, "0 ▼ 4 more rows", false);
        // With room for one row, the focused row is shown.
        check(Some(4), 1, "4", false);
        check(Some(4), 0, "4", false);
    }
}
