//! Draws the rows below the scrollback. Only changed rows are drawn again.

use std::fmt::Write as _;

use super::frame::{Cell, Frame};
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use crate::page::Rows;

#[derive(Debug)]
pub(super) struct Region {
    /// Whether the terminal wraps existing rows when it becomes narrower.
    rewraps: bool,
    drawn: Vec<Vec<Cell>>,
    row: usize,
    /// The number of cells before the cursor in that row.
    cursor: usize,
}

/// Starts and ends a synchronized update. In between, line wrapping is off, so a row that is too
/// long is cut and the number of rows stays right.
const AT_ONCE: [&str; 2] = ["\x1b[?2026h\x1b[?7l", "\x1b[?7h\x1b[?2026l"];
/// Erases from the cursor's row to the end of the screen. The first row is erased separately: some
/// terminals push the content to the scrollback when a whole screen is erased.
const ERASE: &str = "\x1b7\x1b[2K\x1b[B\x1b[J\x1b8";
const HIDE: &str = "\x1b[?25l";
const SHOW: &str = "\x1b[?25h";

impl Region {
    pub(super) fn new(rewraps: bool) -> Self {
        Self {
            rewraps,
            drawn: Vec::new(),
            row: 0,
            cursor: 0,
        }
    }

    /// Returns the codes that print `above` to the scrollback and draw `frame` below it.
    pub(super) fn draw(&mut self, above: &Rows, frame: &Frame, styled: bool) -> String {
        let above = above.to_string();
        let wanted: Vec<_> = (0..frame.height())
            .map(|row| frame.cells(row).to_vec())
            .collect();
        let cursor = frame.cursor();
        let mut out = String::new();
        if !above.is_empty() {
            self.up(&mut out);
            // The terminal wraps rows that are longer than the screen, such as a link to copy.
            out.push_str(ERASE);
            out.push_str("\x1b[?7h");
            for row in above.lines() {
                out.push_str(row);
                out.push_str("\r\n");
            }
            out.push_str("\x1b[?7l");
            self.drawn.clear();
        }
        if wanted != self.drawn || !above.is_empty() {
            self.up(&mut out);
            for (index, cells) in wanted.iter().enumerate() {
                if index > 0 {
                    out.push_str("\r\n");
                }
                if self.drawn.get(index) != Some(cells) {
                    out.push_str("\x1b[2K");
                    for cell in cells {
                        put(&mut out, cell, styled);
                    }
                }
            }
            if self.drawn.len() > wanted.len() {
                // Erase what was below. An empty region starts at the former first row.
                match wanted.is_empty() {
                    true => {
                        out.push('\r');
                        out.push_str(ERASE);
                    }
                    false => out.push_str("\r\n\x1b[J\x1b[A"),
                }
            }
            self.row = wanted.len().saturating_sub(1);
            self.drawn = wanted;
        }
        out.push('\r');
        self.cursor = 0;
        let at =
            cursor.and_then(|(row, cell)| Some((row, self.drawn.get(row)?.get(cell)?.clone())));
        if let Some((row, cell)) = at {
            self.go_to(&mut out, row);
            // The cell is written again so that the cursor is at its real end.
            put(&mut out, &cell, styled);
            self.cursor = cursor.map_or(0, |(_, cell)| cell.saturating_add(1));
        }
        let seen = if cursor.is_some() { SHOW } else { HIDE };
        format!("{}{HIDE}{out}{seen}{}", AT_ONCE[0], AT_ONCE[1])
    }

    /// Returns the codes that erase the region after the terminal has changed its width, even if
    /// the terminal has wrapped the rows.
    pub(super) fn resized(&mut self, columns: usize) -> String {
        let columns = columns.max(1);
        let row = match self.rewraps {
            true => self.row_of_cursor(columns),
            false => self.row,
        };
        self.drawn.clear();
        (self.row, self.cursor) = (0, 0);
        Self::leave_from(row)
    }

    /// The row of the cursor after the terminal has wrapped the rows to this width.
    fn row_of_cursor(&self, columns: usize) -> usize {
        let rows = |cells: &[Cell]| end(cells, columns).div_ceil(columns).max(1);
        let above: usize = self.drawn.iter().take(self.row).map(|row| rows(row)).sum();
        let within = self.drawn.get(self.row).map_or(0, |row| {
            let before = row.get(..self.cursor).unwrap_or_default();
            // After the last character of a full row, the cursor stays in that row.
            let last = rows(row).saturating_sub(1);
            end(before, columns).div_euclid(columns).min(last)
        });
        above.saturating_add(within)
    }

    /// Returns the codes that erase the region and show the cursor.
    pub(super) fn leave(&mut self) -> String {
        self.drawn.clear();
        self.cursor = 0;
        Self::leave_from(std::mem::take(&mut self.row)) + SHOW
    }

    pub(super) fn row(&self) -> usize {
        self.row
    }

    /// Returns the codes that erase a region whose cursor is in this row.
    pub(super) fn leave_from(row: usize) -> String {
        match row {
            0 => format!("\r{ERASE}"),
            row => format!("\r\x1b[{row}A{ERASE}"),
        }
    }

    fn up(&mut self, out: &mut String) {
        self.go_to(out, 0);
        out.push('\r');
    }

    fn go_to(&mut self, out: &mut String, row: usize) {
        if row < self.row {
            let _ = write!(out, "\x1b[{}A", self.row.saturating_sub(row));
        } else if row > self.row {
            let _ = write!(out, "\x1b[{}B", row.saturating_sub(self.row));
        }
        self.row = row;
    }
}

fn put(out: &mut String, cell: &Cell, styled: bool) {
    if !cell.is_behind {
        // Writing to a string cannot fail.
        let _ = write!(out, "\x1b[{}G", cell.column.saturating_add(1));
    }
    cell.style.write(out, &cell.text, styled);
}

/// The number of columns from the start of a row to the end of these cells, after the terminal has
/// wrapped the row. Uses the width that terminals show, not the maximum width: a row counted too
/// many would erase a row of the scrollback.
fn end(cells: &[Cell], columns: usize) -> usize {
    let (mut end, mut skipped) = (0_usize, 0_usize);
    for cell in cells {
        if !cell.is_behind {
            end = end.max(cell.column.saturating_add(skipped));
        }
        for cluster in without_codes(&cell.text).graphemes(true) {
            let left = columns.saturating_sub(end.checked_rem(columns).unwrap_or_default());
            let wide = cluster.width();
            if wide > left {
                // The character starts the next row.
                end = end.saturating_add(left);
                skipped = skipped.saturating_add(left);
            }
            end = end.saturating_add(wide);
        }
    }
    end
}

fn without_codes(text: &str) -> String {
    let mut parts = text.split('\x1b');
    let first = parts.next().unwrap_or_default();
    let rest = parts.map(|part| part.split_once('m').map_or(part, |(_, rest)| rest));
    std::iter::once(first).chain(rest).collect()
}
