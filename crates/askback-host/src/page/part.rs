//! The rows of a long page in parts, so that keys are heard between them.

use super::{Line, Page, Rows};
use crate::text::PeerText;

/// How much of a page is laid out at once, in bytes.
const PART: usize = 64 << 10;

/// The bytes that count for a line of ours.
const OURS: usize = 80;

impl Page {
    /// Takes the rows of the next part of the page. All parts together are what [`Page::take`] takes at once.
    pub(crate) fn take_part(&mut self) -> Rows {
        let (mut lines, mut bytes) = (0_usize, 0_usize);
        while let Some(line) = self.lines.get_mut(lines)
            && bytes < PART
        {
            let rest = parted(line, PART.saturating_sub(bytes));
            bytes = bytes.saturating_add(length(line));
            lines = lines.saturating_add(1);
            if let Some(rest) = rest {
                self.lines.insert(lines, rest);
                break;
            }
        }
        let rest = self.lines.split_off(lines);
        let rows = self.take();
        self.lines = rest;
        rows
    }

    /// Whether nothing is left to be taken.
    pub(crate) fn is_taken(&self) -> bool {
        self.lines.is_empty()
    }
}

fn length(line: &Line) -> usize {
    match line {
        Line::Quote(_, text) | Line::QuoteRow(_, text) => text.raw().len(),
        _ => OURS,
    }
}

/// Leaves the first lines of a text that is longer than so many bytes, and returns the others. It is parted behind a
/// line that is not empty, because a text is laid out without the empty lines at its end.
fn parted(line: &mut Line, bytes: usize) -> Option<Line> {
    let Line::Quote(mark, text) = line else {
        return None;
    };
    let raw = text.raw();
    if !mark.as_str().is_empty() || raw.len() <= bytes {
        return None;
    }
    let mut ends = raw.match_indices('\n').map(|(end, _)| end);
    let (head, tail) = ends.find_map(|end| {
        let head = &raw[..end];
        let head = head.strip_suffix('\r').unwrap_or(head);
        let is_long = end.saturating_add(1) >= bytes.min(PART);
        (is_long && !head.is_empty() && !head.ends_with('\n'))
            .then(|| (head, &raw[end.saturating_add(1)..]))
    })?;
    if tail.trim_matches(['\r', '\n']).is_empty() {
        return None;
    }
    let tail = Line::Quote(mark.clone(), PeerText::from(tail));
    *text = PeerText::from(head);
    Some(tail)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::{Look, Style};

    #[test]
    fn the_parts_of_a_page_are_the_whole_of_it() {
        #[track_caller]
        fn check(text: &str, at_least: usize) {
            let page = || {
                let mut page = Page::new(Look {
                    columns: 20,
                    styled: false,
                });
                page.say(Style::Plain, "Before");
                page.quote(text);
                page.say(Style::Plain, "Behind");
                page
            };
            let (mut whole, mut parts) = (page(), page());
            let (mut rows, mut count) = (Rows::default(), 0);
            while !parts.is_taken() {
                rows.push(&parts.take_part());
                count += 1;
            }
            assert_eq!(rows, whole.take());
            assert!(count >= at_least, "{count} parts");
        }
        check("short", 1);
        check(&"words of any length\n".repeat(10_000), 3);
        check(&"a\r\n\r\n\n".repeat(40_000), 3);
        check(&"\n".repeat(200_000), 1);
        check(&("x".repeat(70_000) + &"\n".repeat(70_000)), 1);
        check(&"x".repeat(200_000), 1);
    }
}
