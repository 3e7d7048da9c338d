//! The rows below the scrollback. Each row is a list of cells with a column.
//!
//! The width of a peer's text is the maximum over all terminals, so the text may end earlier than
//! computed. The next cell is therefore placed at its column, not after the text.

use crate::{
    page::{Rows, Style},
    text::{self, GUTTER, PeerText, Words, given},
};

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Frame {
    rows: Vec<Row>,
    /// The row and the cell that the cursor follows; `None` hides the cursor.
    cursor: Option<(usize, usize)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    cells: Vec<Cell>,
    /// The column after the last cell.
    at: usize,
    columns: usize,
    cursor: Option<usize>,
}

pub(super) const LINE_BREAK: &str = "↵";

/// The columns before a field's label: the focus mark and the number.
pub(super) const MARKS: usize = 5;

const LABEL: usize = 48;

/// The columns of the frame at the left of a question.
const BAR: usize = 2;

/// The line of a frame ends here. A longer row would take many rows if the terminal became narrower.
const RULE_ENDS: usize = 79;

/// Narrower screens have no frame.
const FRAMED: usize = 30;

/// The number of columns inside the frame of a question.
pub(super) fn framed_columns(columns: usize) -> usize {
    match columns < FRAMED {
        true => columns,
        false => columns.saturating_sub(BAR),
    }
}

/// The columns left for a value if the label takes more than a third of the screen.
const VALUE: usize = 48;

pub(super) fn label_room(columns: usize) -> usize {
    let beside = columns.saturating_sub(MARKS).saturating_sub(VALUE);
    beside.max(columns / 3).min(LABEL)
}

/// Wraps our words into rows. The first continues `begun`; the others are indented likewise.
pub(super) fn wrapped(begun: Row, style: Style, words: impl Into<Words>) -> Vec<Row> {
    let (columns, at) = (begun.columns, begun.at);
    let mut rows = Vec::new();
    let mut row = begun;
    for part in text::wrapped(words.into().as_str(), row.room().max(1)) {
        rows.push(row.ours(style, given(part.trim_end())));
        row = Row {
            columns,
            ..Row::new(0)
        }
        .to(at);
    }
    rows
}

/// Text at a column: our words, the user's text, or a peer's text that was made safe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cell {
    pub column: usize,
    pub style: Style,
    /// The text, without control characters.
    pub text: String,
    /// Whether the cell directly follows the end of the previous cell, wherever that is.
    pub is_behind: bool,
}

impl Frame {
    pub fn push(&mut self, row: Row) {
        if let Some(cell) = row.cursor {
            self.cursor = Some((self.rows.len(), cell));
        }
        self.rows.push(row);
    }

    /// Adds the rows of a page, which are already wrapped.
    pub fn put(&mut self, rows: &Rows) {
        for line in rows.to_string().lines() {
            let mut row = Row::new(0);
            row.put(Style::Plain, line.to_owned());
            self.rows.push(row);
        }
    }

    /// Draws the frame of a question around rows that were made for [`framed_columns`]. It is open
    /// at the right: a terminal may show a peer's text wider or narrower than computed.
    pub(super) fn enclose(&mut self, columns: usize) {
        if framed_columns(columns) == columns {
            return;
        }
        let last = self.rows.len().saturating_sub(1);
        for (index, row) in self.rows.iter_mut().enumerate() {
            let bar = match index {
                0 => "╭ ",
                _ if index == last => "╰ ",
                _ => "│ ",
            };
            row.begin(bar);
        }
        if let Some(title) = self.rows.first_mut() {
            title.rule(columns);
        }
        if let Some((_, cell)) = &mut self.cursor {
            *cell = cell.saturating_add(1);
        }
    }

    /// Returns the rows without the cursor.
    pub fn into_rows(self) -> Vec<Row> {
        self.rows
    }

    pub fn height(&self) -> usize {
        self.rows.len()
    }

    pub fn cells(&self, row: usize) -> &[Cell] {
        self.rows.get(row).map_or(&[], |row| &row.cells)
    }

    pub fn cursor(&self) -> Option<(usize, usize)> {
        self.cursor
    }

    /// Keeps at most `height` rows: those around the cursor, or the last ones.
    pub fn fit(&mut self, height: usize) {
        let over = self.rows.len().saturating_sub(height);
        if over == 0 {
            return;
        }
        let last = self.rows.len().saturating_sub(1);
        let row = self.cursor.map_or(last, |(row, _)| row);
        // Rows above the cursor are dropped first, then rows below.
        let before = over.min(row.saturating_sub(height / 2));
        self.rows.drain(..before);
        self.rows.truncate(height);
        self.cursor = self
            .cursor
            .map(|(row, cell)| (row.saturating_sub(before), cell));
    }
}

impl Row {
    pub fn new(columns: usize) -> Self {
        Self {
            cells: Vec::new(),
            at: 0,
            // The last column stays free: some terminals break a line that uses it.
            columns: columns.saturating_sub(1),
            cursor: None,
        }
    }

    /// Moves the cells to the right and puts a part of the frame before them.
    fn begin(&mut self, bar: &'static str) {
        for cell in &mut self.cells {
            cell.column = cell.column.saturating_add(BAR);
        }
        self.at = self.at.saturating_add(BAR);
        let bar = Cell {
            column: 0,
            style: Style::Frame,
            text: bar.to_owned(),
            is_behind: false,
        };
        self.cells.insert(0, bar);
        self.cursor = self.cursor.map(|cell| cell.saturating_add(1));
    }

    /// Fills the rest of the row with a line, one column away from the text.
    fn rule(&mut self, columns: usize) {
        let begins = self.at.saturating_add(1);
        let ends = columns.saturating_sub(1).min(RULE_ENDS);
        let length = ends.saturating_sub(begins);
        if length > 0 {
            self.at = begins;
            self.put(Style::Frame, "─".repeat(length));
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    pub(super) fn is_typed_in(&self) -> bool {
        self.cursor.is_some()
    }

    pub fn room(&self) -> usize {
        self.columns.saturating_sub(self.at)
    }

    #[must_use]
    pub fn ours(self, style: Style, words: impl Into<Words>) -> Self {
        let words = words.into();
        let room = self.room();
        self.cell(style, words.as_str(), room)
    }

    /// Adds a peer's text after the gutter, in at most `most` columns.
    #[must_use]
    pub fn peer(self, style: Style, text: &PeerText, most: usize) -> Self {
        let gutter = GUTTER.len();
        if most.min(self.room()) <= gutter {
            return self;
        }
        let room = most.saturating_sub(gutter);
        self.cell(Style::Dim, GUTTER, gutter)
            .more(style, text, room)
    }

    /// Adds cells that directly follow the previous cell. Some characters are narrower than
    /// computed, which would leave a gap.
    #[must_use]
    pub fn joined(self, add: impl FnOnce(Self) -> Self) -> Self {
        let before = self.cells.len();
        let mut row = add(self);
        for cell in &mut row.cells[before..] {
            cell.is_behind = true;
        }
        row
    }

    /// Adds only the gutter, for a peer's text that the user may edit.
    #[must_use]
    pub fn gutter(self) -> Self {
        self.cell(Style::Dim, GUTTER, GUTTER.len())
    }

    /// Adds a peer's text to a row that already has the gutter.
    #[must_use]
    pub fn more(self, style: Style, text: &PeerText, most: usize) -> Self {
        self.cell(style, &text::line(text.raw()), most)
    }

    /// Adds the user's text with the cursor after its first `at` bytes. If it is longer than `most`
    /// columns, its end is shown.
    #[must_use]
    pub fn written(mut self, written: &str, at: Option<usize>, most: usize) -> Self {
        let most = most.min(self.room());
        let (before, after) = written.split_at(at.unwrap_or(written.len()));
        let seen = |text: &str| text::line(&text.replace('\n', LINE_BREAK));
        let (before, after) = (seen(before), seen(after));
        // The cursor takes one column.
        let seen = text::fitted_end(&before, most.saturating_sub(1));
        let room = most.saturating_sub(text::columns(seen)).saturating_sub(1);
        let after = text::fitted(&after, room);
        if at.is_some() {
            self.cursor = Some(self.cells.len());
            self.put(Style::Plain, seen.to_owned());
            // Only the terminal knows how wide it shows the text before the cursor.
            self.joined(|row| row.cell(Style::Plain, &after, room))
        } else {
            self.cell(Style::Plain, seen, most)
        }
    }

    /// Moves to a column, unless the row is already past it.
    #[must_use]
    pub fn to(mut self, column: usize) -> Self {
        self.at = self.at.max(column);
        self
    }

    fn cell(mut self, style: Style, text: &str, most: usize) -> Self {
        let text = text::fitted(text, most.min(self.room()));
        if !text.is_empty() {
            self.put(style, text);
        }
        self
    }

    fn put(&mut self, style: Style, text: String) {
        let columns = text::columns(&text);
        self.cells.push(Cell {
            column: self.at,
            style,
            text,
            is_behind: false,
        });
        self.at = self.at.saturating_add(columns);
    }
}
