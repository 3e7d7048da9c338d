//! The rows below the scrollback, as a terminal draws them: only what changed is drawn again.

use std::fmt::Write as _;

use super::frame::{Cell, Frame};
use crate::{
    page::{Rows, Style},
    text,
};

/// The rows that are seen below the scrollback now.
#[derive(Debug)]
pub(super) struct Region {
    /// Whether the terminal breaks rows anew where it becomes narrower.
    rewraps: bool,
    drawn: Vec<Vec<Cell>>,
    /// The row of the region in which the cursor is.
    row: usize,
}

/// Begins and ends what is drawn at once. Meanwhile a row that is too long is cut, not broken, so that
/// the rows stay as many as were drawn.
const AT_ONCE: [&str; 2] = ["\x1b[?2026h\x1b[?7l", "\x1b[?7h\x1b[?2026l"];
const HIDE: &str = "\x1b[?25l";
const SHOW: &str = "\x1b[?25h";

impl Region {
    /// Nothing below the scrollback of a terminal that breaks rows anew, or does not, where it becomes
    /// narrower.
    pub(super) fn new(rewraps: bool) -> Self {
        Self {
            rewraps,
            drawn: Vec::new(),
            row: 0,
        }
    }

    /// Returns what is to be written so that `above` goes to the scrollback and `frame` stands below it.
    pub(super) fn draw(&mut self, above: &Rows, frame: &Frame, styled: bool) -> String {
        let above = above.to_string();
        let wanted: Vec<_> = (0..frame.height())
            .map(|row| frame.cells(row).to_vec())
            .collect();
        let cursor = frame.cursor();
        let mut out = String::new();
        if !above.is_empty() {
            self.up(&mut out);
            // What is longer than the screen, as a link to be copied, is broken by the terminal.
            out.push_str("\x1b[J\x1b[?7h");
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
                // What stood below goes; an empty region begins where the first row was.
                match wanted.is_empty() {
                    true => out.push_str("\r\x1b[J"),
                    false => out.push_str("\r\n\x1b[J\x1b[A"),
                }
            }
            self.row = wanted.len().saturating_sub(1);
            self.drawn = wanted;
        }
        out.push('\r');
        let at =
            cursor.and_then(|(row, cell)| Some((row, self.drawn.get(row)?.get(cell)?.clone())));
        if let Some((row, cell)) = at {
            self.go_to(&mut out, row);
            // Written again, so that the cursor is where the terminal shows its end.
            put(&mut out, &cell, styled);
        }
        let seen = if cursor.is_some() { SHOW } else { HIDE };
        format!("{}{HIDE}{out}{seen}{}", AT_ONCE[0], AT_ONCE[1])
    }

    /// Returns what is to be written after the terminal has become another size: what stood there may have
    /// been broken into more rows, and is drawn again.
    pub(super) fn resized(&mut self, columns: usize) -> String {
        let broken = |cells: &Vec<Cell>| {
            let wide = cells.last().map_or(0, |cell| {
                cell.column.saturating_add(text::columns(&cell.text))
            });
            wide.saturating_sub(1)
                .checked_div(columns)
                .unwrap_or_default()
        };
        let above = self.drawn.iter().take(self.row).map(broken);
        let more = match self.rewraps {
            true => above.sum(),
            false => 0,
        };
        let row = self.row.saturating_add(more);
        self.drawn.clear();
        self.row = 0;
        Self::leave_from(row)
    }

    /// Returns what is to be written at the end: the region goes, and the cursor is seen.
    pub(super) fn leave(&mut self) -> String {
        self.drawn.clear();
        Self::leave_from(std::mem::take(&mut self.row)) + SHOW
    }

    /// The row of the cursor, from that where the region begins.
    pub(super) fn row(&self) -> usize {
        self.row
    }

    /// Returns what is to be written where a region ends in whose row of this number the cursor is.
    pub(super) fn leave_from(row: usize) -> String {
        match row {
            0 => "\r\x1b[J".to_owned(),
            row => format!("\r\x1b[{row}A\x1b[J"),
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
    let code = match cell.style {
        Style::Plain => "",
        Style::Strong => "\x1b[1m",
        Style::Dim => "\x1b[2m",
        Style::Warning => "\x1b[33m",
    };
    match styled && !code.is_empty() {
        true => {
            let _ = write!(out, "{code}{}\x1b[0m", cell.text);
        }
        false => out.push_str(&cell.text),
    }
}
