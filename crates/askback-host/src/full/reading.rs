//! Scrolls a text that may be longer than the screen, and records whether its end was seen.

use std::ops::Range;

use super::{
    frame::{Frame, Row},
    key::Key,
};
use crate::{model::Step, page::Style, words};

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
    /// Whether the last row was visible.
    is_whole: bool,
}

impl Reading {
    /// Starts at the end of the text.
    pub(super) fn from_end() -> Self {
        Self {
            is_at_end: true,
            ..Self::default()
        }
    }

    /// Whether the last row was visible. If not, the user cannot agree.
    pub(super) fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// Handles a key. Returns false if the key does not scroll.
    pub(super) fn press(&mut self, key: &Key) -> bool {
        // One row stays visible for orientation.
        let page = self.room.saturating_sub(1).max(1);
        self.first = match key {
            Key::Down => self.first.saturating_add(1),
            Key::PageDown => self.first.saturating_add(page),
            Key::Up => self.first.saturating_sub(1),
            Key::PageUp => self.first.saturating_sub(page),
            _ => return false,
        };
        self.is_at_end &= matches!(key, Key::Down | Key::PageDown);
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
            self.is_whole |= after == 0;
        }
        for row in text.into_iter().skip(before).take(seen.len()) {
            frame.push(row);
        }
        if is_cut {
            let words = words!("  rows above: {}, below: {}", before, after);
            frame.push(Row::new(columns).ours(Style::Dim, words));
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

/// At most `most` of `count` rows, starting at `first` or earlier.
fn rows(first: usize, count: usize, most: usize) -> Range<usize> {
    let first = first.min(count.saturating_sub(most));
    first..first.saturating_add(most).min(count)
}

pub(super) fn agrees(step: &Step<'_>, key: &Key) -> bool {
    match step {
        Step::Consent(_) => *key == Key::Char('o'),
        Step::Secret(_) => *key == Key::Char('y'),
        Step::Confirm => matches!(key, Key::Enter | Key::Char('y')),
        Step::Review(_) | Step::Reread(_) | Step::Replied(_) => *key == Key::Enter,
        Step::Request(_) => matches!(key, Key::Enter | Key::Char('s' | 'A')),
        _ => false,
    }
}

/// Whether a single letter is an answer at this step.
pub(super) fn takes_letters(step: &Step<'_>) -> bool {
    matches!(
        step,
        Step::Secret(_) | Step::Confirm | Step::Sure(_) | Step::Folders(Some(_))
    )
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
    fn a_text_is_whole_once_its_end_was_seen() {
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
        let first = "0 1 2 3 rows above: 0, below: 2";
        check(from_start(), 6, &[], first, false);
        check(from_start(), 6, &[Down, Up, PageUp], first, false);
        let last = "2 3 4 5 rows above: 2, below: 0";
        check(from_start(), 6, &[Down, Down, Down], last, true);
        let before = "1 2 3 4 rows above: 1, below: 1";
        check(from_start(), 6, &[Down, Down, Down, Up], before, true);
        let second = "3 4 5 6 rows above: 3, below: 5";
        check(from_start(), 12, &[PageDown], second, false);
        let last = "8 9 10 11 rows above: 8, below: 0";
        check(
            from_start(),
            12,
            &[PageDown, PageDown, PageDown],
            last,
            true,
        );
        check(Reading::from_end(), 12, &[], last, true);
        let before = "5 6 7 8 rows above: 5, below: 3";
        check(Reading::from_end(), 12, &[PageUp], before, true);
        assert!(!from_start().is_whole(), "nothing was seen yet");
        assert!(!from_start().press(&Key::Enter));
    }

    #[test]
    fn who_is_at_the_end_stays_there() {
        let mut reading = Reading::from_end();
        assert_eq!(
            seen(&mut reading, 12, None, 12),
            "3 4 5 6 7 8 9 10 11 rows above: 3, below: 0"
        );
        let last = "8 9 10 11 rows above: 8, below: 0";
        assert_eq!(seen(&mut reading, 12, None, 7), last, "with less room");
        assert!(reading.press(&Key::Up) && reading.press(&Key::Down));
        assert_eq!(seen(&mut reading, 12, None, 7), last);
        let before = "8 9 10 rows above: 8, below: 1";
        assert_eq!(
            seen(&mut reading, 12, None, 6),
            before,
            "who moved stays where they are"
        );
    }

    #[test]
    fn what_has_the_focus_is_seen_and_the_head_gives_way() {
        #[track_caller]
        fn check(focused: Option<usize>, room: usize, rows: &str, is_whole: bool) {
            let mut reading = Reading::default();
            assert_eq!(seen(&mut reading, 5, focused, room), rows);
            assert_eq!(reading.is_whole(), is_whole);
        }
        check(Some(4), 6, "2 3 4 rows above: 2, below: 0", true);
        check(Some(2), 6, "1 2 3 rows above: 1, below: 1", false);
        check(None, 5, "0 1 2 rows above: 0, below: 2", false);
        check(None, 3, "0 1 rows above: 0, below: 3", false);
        check(None, 2, "0 rows above: 0, below: 4", false);
        // With room for one row, the focused row is shown.
        check(Some(4), 1, "4", true);
        check(Some(4), 0, "4", false);
    }
}
