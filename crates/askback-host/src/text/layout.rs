//! Measures and wraps text.
//!
//! A terminal breaks a line that is too wide, and the rest of the line starts a row without a
//! gutter. Therefore text counts as wide as any terminal may show it: a cluster counts as one glyph
//! or as separate characters, whichever is wider, and characters of ambiguous width (UAX #11) count
//! as wide.

use unicode_general_category::{GeneralCategory, get_general_category};
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::{GUTTER, is_plain, shown};

/// Selects the emoji form of a character.
const EMOJI_FORM: char = '\u{fe0f}';

/// Wraps text to `width` columns and puts the [`GUTTER`] before each row. If there is no room for a
/// character, returns a single gutter.
pub fn quoted(text: &str, width: usize) -> Vec<String> {
    let gutter = GUTTER.trim_end();
    let text = text.replace("\r\n", "\n").replace('\t', "    ");
    let room = width.saturating_sub(GUTTER.len());
    if room < 2 {
        return vec![gutter.to_owned()];
    }
    text.trim_end_matches('\n')
        .split('\n')
        .flat_map(|line| wrapped(&shown(line), room))
        .map(|line| match line.is_empty() {
            true => gutter.to_owned(),
            false => [GUTTER, &line].concat(),
        })
        .collect()
}

/// Wraps safe text to `width` columns (at least two). Lines break at spaces, or inside a word that
/// is too long.
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut rows = Rows {
        width: width.max(2),
        done: Vec::new(),
        row: String::new(),
        used: 0,
    };
    for word in text.split_inclusive(' ') {
        let bare = columns(word.trim_end_matches(' '));
        if rows.used > 0 && !rows.has_room(bare) {
            rows.leave();
        }
        if is_plain(word) {
            rows.put_plain(word);
            continue;
        }
        for cluster in word.graphemes(true) {
            rows.put(cluster);
        }
    }
    rows.end();
    rows.done
}

struct Rows {
    width: usize,
    done: Vec<String>,
    row: String,
    used: usize,
}

impl Rows {
    fn has_room(&self, columns: usize) -> bool {
        self.used.saturating_add(columns) <= self.width
    }

    /// Ends the row before a word that does not fit. A row with only spaces is cleared, so that no
    /// row is empty.
    fn leave(&mut self) {
        if self.row.trim_start_matches(' ').is_empty() {
            self.row.clear();
            self.used = 0;
        } else {
            self.end();
        }
    }

    fn end(&mut self) {
        let row = std::mem::take(&mut self.row);
        self.done.push(row.trim_end().to_owned());
        self.used = 0;
    }

    /// Appends an ASCII word and the spaces after it.
    fn put_plain(&mut self, word: &str) {
        let mut rest = word;
        loop {
            let left = self.width.saturating_sub(self.used);
            let (begin, behind) = rest.split_at(left.min(rest.len()));
            self.row.push_str(begin);
            self.used = self.used.saturating_add(begin.len());
            // A space at the end of a row is not visible.
            if behind.trim_start_matches(' ').is_empty() {
                return;
            }
            self.end();
            rest = behind;
        }
    }

    fn put(&mut self, cluster: &str) {
        let wide = cluster_columns(cluster);
        if self.has_room(wide) {
            self.row.push_str(cluster);
            self.used = self.used.saturating_add(wide);
        } else if cluster == " " {
            // A space at the end of a row is not visible.
        } else if wide <= self.width {
            self.end();
            self.put(cluster);
        } else {
            // If a cluster is wider than a row, show its characters separately.
            for c in cluster.chars() {
                if !self.has_room(char_columns(c)) {
                    self.end();
                }
                self.row.push(c);
                self.used = self.used.saturating_add(char_columns(c));
            }
        }
    }
}

/// Truncates safe text to `most` columns, with a mark at the cut.
pub fn fitted(text: &str, most: usize) -> String {
    if columns(text) <= most {
        return text.to_owned();
    }
    let room = most.saturating_sub(columns(CUT));
    let mut fitted = String::new();
    let mut used = 0_usize;
    for cluster in text.graphemes(true) {
        used = used.saturating_add(cluster_columns(cluster));
        if used > room {
            break;
        }
        fitted.push_str(cluster);
    }
    if columns(CUT) <= most {
        fitted.push_str(CUT);
    }
    fitted
}

/// Returns the end of safe text, at most `most` columns wide.
pub fn fitted_end(text: &str, most: usize) -> &str {
    let mut used = 0_usize;
    let mut begins = text.len();
    for (at, cluster) in text.grapheme_indices(true).rev() {
        used = used.saturating_add(cluster_columns(cluster));
        if used > most {
            break;
        }
        begins = at;
    }
    &text[begins..]
}

/// Cuts the middle out of safe text so that it fits into `most` columns, with a mark at the cut.
pub fn fitted_around(text: &str, most: usize) -> String {
    if columns(text) <= most {
        return text.to_owned();
    }
    let end = fitted_end(text, most.saturating_sub(columns(CUT)) / 2);
    fitted(text, most.saturating_sub(columns(end))) + end
}

const CUT: &str = "…";

/// Returns the greatest number of columns that a terminal may use for this text.
pub fn columns(text: &str) -> usize {
    if is_plain(text) {
        return text.len();
    }
    text.graphemes(true)
        .map(cluster_columns)
        .fold(0, usize::saturating_add)
}

fn cluster_columns(cluster: &str) -> usize {
    if cluster.len() == 1 {
        return cluster.width();
    }
    // Terminals draw these narrow, whatever they do with other ambiguous characters.
    if cluster.chars().all(is_box_drawing) {
        return cluster.chars().count();
    }
    let apart = cluster
        .chars()
        .map(char_columns)
        .fold(0, usize::saturating_add);
    let emoji = match cluster.contains(EMOJI_FORM) {
        // Each character before a selector may be shown as a separate emoji.
        true => cluster
            .chars()
            .map(char_columns)
            .filter(|&wide| wide > 0)
            .map(|wide| wide.max(2))
            .fold(0, usize::saturating_add),
        false => 0,
    };
    apart
        .max(emoji)
        .max(cluster.width())
        .max(cluster.width_cjk())
}

/// Whether the character is in the Unicode blocks Box Drawing or Block Elements.
fn is_box_drawing(c: char) -> bool {
    matches!(c, '\u{2500}'..='\u{259f}')
}

fn char_columns(c: char) -> usize {
    match c {
        // Symbols that some terminals show as emoji, regional indicators, and everything that is or
        // may become an emoji.
        '\u{2190}'..='\u{27ff}' | '\u{2900}'..='\u{2bff}' | '\u{1f000}'..='\u{1faff}' => 2,
        // Spacing marks between ideographs: Hangul tone marks and Vietnamese reading marks.
        '\u{16ff0}'..='\u{16ff1}' | '\u{302e}'..='\u{302f}' => 2,
        _ => {
            let wide = c.width().unwrap_or(0).max(c.width_cjk().unwrap_or(0));
            wide.max(usize::from(!lies_on_another(c)))
        }
    }
}

/// Whether a character takes no column on any terminal. Spacing marks and joining letters take a
/// column on some terminals.
fn lies_on_another(c: char) -> bool {
    matches!(
        get_general_category(c),
        GeneralCategory::NonspacingMark
            | GeneralCategory::EnclosingMark
            | GeneralCategory::Format
            | GeneralCategory::Control
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Text outside ASCII is laid out by clusters.
        #[test]
        fn plain_text_is_wrapped_like_other_text(text in "[a \n]{0,80}", width in 1_usize..30) {
            let other = quoted(&text.replace('a', "\u{e4}"), width);
            let other: Vec<_> = other.iter().map(|row| row.replace('\u{e4}', "a")).collect();
            prop_assert_eq!(quoted(&text, width), other);
        }

        #[test]
        fn no_row_of_a_line_is_left_empty(line in "[a\u{e4} ]{0,80}", width in 2_usize..30) {
            let rows = wrapped(&line, width);
            let is_blank = line.trim().is_empty();
            prop_assert!(rows.iter().all(|row| row.is_empty() == is_blank), "{:?}", rows);
        }
    }

    #[test]
    fn text_is_counted_as_wide_as_any_terminal_shows_it() {
        #[track_caller]
        fn check(text: &str, wide: usize) {
            assert_eq!(columns(text), wide, "{text:?}");
        }
        check("plain", 5);
        check("╭──╮│▀▀█", 8);
        check("日本", 4);
        check("e\u{301}", 1);
        // The emoji form, even for characters that are narrow without it.
        check("\u{2708}\u{fe0f}", 2);
        check("\u{2708}", 2);
        check("1\u{fe0f}\u{20e3}", 2);
        check("\u{2708}\u{fe0f}".repeat(10).as_str(), 20);
        // One glyph or two, depending on the terminal.
        check("\u{1f469}\u{200d}\u{1f680}", 4);
        check("\u{1f44d}\u{1f3fd}", 4);
        check("\u{1f1e9}\u{1f1ea}", 4);
        check("\u{1f1e9}", 2);
        check("…·×", 6);
    }

    /// Compares our widths with the widths in glibc, which are not their source.
    #[test]
    fn no_character_is_counted_narrower_than_glibc_shows_it() {
        let alone = columns("a");
        let mut narrow = Vec::new();
        let ranges = include_str!("glibc-widths.txt").lines();
        for range in ranges.filter(|line| !line.starts_with('#')) {
            let numbers: Vec<_> = range
                .split(' ')
                .map(|number| u32::from_str_radix(number, 16).expect("it is a number"))
                .collect();
            let [first, last, wide] = numbers[..] else {
                panic!("{range} is no range");
            };
            for c in (first..=last).filter_map(char::from_u32) {
                // After a letter, as for a combining mark.
                let counted = columns(&shown(&format!("a{c}"))).saturating_sub(alone);
                if counted < wide as usize {
                    narrow.push(format!("{c:?}: {counted} of {wide}"));
                }
            }
        }
        assert_eq!(narrow, Vec::<String>::new());
    }

    #[test]
    fn marks_that_take_room_do_not_break_a_row() {
        // Four marks on each letter, each one column wide.
        let text = "\u{995}\u{9be}\u{9be}\u{9be}\u{9be}".repeat(20);
        let rows = quoted(&text, 22);
        assert_eq!(rows.len(), 5, "{rows:?}");
        for row in rows {
            assert!(row.chars().count() <= 22, "{row:?}");
        }
    }

    #[test]
    fn a_cluster_stays_in_one_row() {
        #[track_caller]
        fn check(text: &str, width: usize, rows: &[&str]) {
            let wrapped = wrapped(text, width);
            assert_eq!(wrapped, rows);
            assert!(wrapped.iter().all(|row| columns(row) <= width));
        }
        check("a\u{2708}\u{fe0f}b", 2, &["a", "\u{2708}\u{fe0f}", "b"]);
        check("ae\u{301}x", 2, &["ae\u{301}", "x"]);
        check("日本", 3, &["日", "本"]);
        check("a  b", 2, &["a", "b"]);
        // Unless the cluster is wider than a row.
        check(
            "\u{1f469}\u{200d}\u{1f680}",
            3,
            &["\u{1f469}\u{200d}", "\u{1f680}"],
        );
        check(
            "\u{1100}\u{1100}\u{1100}",
            4,
            &["\u{1100}\u{1100}", "\u{1100}"],
        );
    }

    #[test]
    fn every_line_is_behind_the_gutter() {
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
    fn a_row_is_never_wider_than_the_terminal() {
        let texts = [
            "plain words that go on",
            "日本日本日本",
            "\u{2708}\u{fe0f}\u{2708}\u{fe0f}",
            "\u{1f469}\u{200d}\u{1f680}",
            "a\u{3000}b\u{a0}c",
            "",
        ];
        for width in 1..12 {
            for row in texts.iter().flat_map(|text| quoted(text, width)) {
                assert!(row.starts_with('|'), "{row:?}");
                assert!(columns(&row) <= width, "{row:?} in {width}");
            }
        }
    }
}
