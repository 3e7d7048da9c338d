//! The screen below the scrollback: rows of cells, each at a column of its own.
//!
//! Text of a peer is counted as wide as any terminal may show it, so that it may end before the
//! column where it is counted to end. What stands behind it is put at its column, not after it.

use crate::{
    page::{Rows, Style},
    text::{self, GUTTER, PeerText, Words, given},
};

/// The rows of a screen, and where the person types.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Frame {
    rows: Vec<Row>,
    /// The row, and the cell in it, behind whose text the cursor stands; without it, it is hidden.
    cursor: Option<(usize, usize)>,
}

/// One row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    cells: Vec<Cell>,
    /// The column behind the last cell.
    at: usize,
    /// The columns of the screen.
    columns: usize,
    cursor: Option<usize>,
}

/// A line break in what the person wrote.
pub(super) const LINE_BREAK: &str = "↵";

/// The columns before the label of a field: the mark of the focus, and the number.
pub(super) const MARKS: usize = 5;

/// The most columns of a label.
const LABEL: usize = 48;

/// The columns that stay for a value where a label takes more than a third of the screen.
const VALUE: usize = 48;

/// The most columns of a label on a screen with so many.
pub(super) fn label_room(columns: usize) -> usize {
    let beside = columns.saturating_sub(MARKS).saturating_sub(VALUE);
    beside.max(columns / 3).min(LABEL)
}

/// Words of ours in as many rows as they take: the first goes on with a row that has begun, and the others begin
/// below where it does.
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

/// Text at a column. It is made of words of ours, of what the person wrote, or of a peer's text
/// that was made safe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cell {
    /// The column where it begins.
    pub column: usize,
    /// How it looks.
    pub style: Style,
    /// The text, without a character that acts.
    pub text: String,
    /// Whether it goes on where the cell before it ends, wherever that is.
    pub is_behind: bool,
}

impl Frame {
    /// Adds a row.
    pub fn push(&mut self, row: Row) {
        if let Some(cell) = row.cursor {
            self.cursor = Some((self.rows.len(), cell));
        }
        self.rows.push(row);
    }

    /// Adds the rows of a page, which fit already.
    pub fn put(&mut self, rows: &Rows) {
        for line in rows.to_string().lines() {
            self.rows.push(Row {
                cells: vec![Cell {
                    column: 0,
                    style: Style::Plain,
                    text: line.to_owned(),
                    is_behind: false,
                }],
                at: 0,
                columns: 0,
                cursor: None,
            });
        }
    }

    /// The rows alone.
    pub fn into_rows(self) -> Vec<Row> {
        self.rows
    }

    /// The number of rows.
    pub fn height(&self) -> usize {
        self.rows.len()
    }

    /// The cells of a row.
    pub fn cells(&self, row: usize) -> &[Cell] {
        self.rows.get(row).map_or(&[], |row| &row.cells)
    }

    /// The row, and the cell in it, behind whose text the cursor stands.
    pub fn cursor(&self) -> Option<(usize, usize)> {
        self.cursor
    }

    /// Keeps at most so many rows: those around the cursor, or the last.
    pub fn fit(&mut self, height: usize) {
        let over = self.rows.len().saturating_sub(height);
        if over == 0 {
            return;
        }
        let last = self.rows.len().saturating_sub(1);
        let row = self.cursor.map_or(last, |(row, _)| row);
        // The rows before the cursor go first, then those behind it.
        let before = over.min(row.saturating_sub(height / 2));
        self.rows.drain(..before);
        self.rows.truncate(height);
        self.cursor = self
            .cursor
            .map(|(row, cell)| (row.saturating_sub(before), cell));
    }
}

impl Row {
    /// An empty row of a screen with so many columns.
    pub fn new(columns: usize) -> Self {
        Self {
            cells: Vec::new(),
            at: 0,
            // A terminal may break a line whose last column is used.
            columns: columns.saturating_sub(1),
            cursor: None,
        }
    }

    /// Whether nothing stands there.
    pub(super) fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// Whether the person types there.
    pub(super) fn is_typed_in(&self) -> bool {
        self.cursor.is_some()
    }

    /// The columns that are left.
    pub fn room(&self) -> usize {
        self.columns.saturating_sub(self.at)
    }

    /// Adds words of ours.
    #[must_use]
    pub fn ours(self, style: Style, words: impl Into<Words>) -> Self {
        let words = words.into();
        let room = self.room();
        self.cell(style, words.as_str(), room)
    }

    /// Adds text of a peer behind the gutter, in at most so many columns.
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

    /// Has what `add` adds begin right behind the words of ours before it: signs in those may be shown narrower than
    /// they are counted, and would leave a gap.
    #[must_use]
    pub fn joined(self, add: impl FnOnce(Self) -> Self) -> Self {
        let before = self.cells.len();
        let mut row = add(self);
        for cell in &mut row.cells[before..] {
            cell.is_behind = true;
        }
        row
    }

    /// Adds the gutter alone, before what a peer wrote and the person may change.
    #[must_use]
    pub fn gutter(self) -> Self {
        self.cell(Style::Dim, GUTTER, GUTTER.len())
    }

    /// Adds text of a peer where the gutter stands before it in the same row.
    #[must_use]
    pub fn more(self, style: Style, text: &PeerText, most: usize) -> Self {
        self.cell(style, &text::line(text.raw()), most)
    }

    /// Adds what the person wrote, of which the last is seen where it is longer than `most` columns;
    /// the cursor stands behind the first `at` bytes of it.
    #[must_use]
    pub fn written(mut self, written: &str, at: Option<usize>, most: usize) -> Self {
        let most = most.min(self.room());
        let (before, after) = written.split_at(at.unwrap_or(written.len()));
        let seen = |text: &str| text::line(&text.replace('\n', LINE_BREAK));
        let (before, after) = (seen(before), seen(after));
        // One column is the cursor's.
        let seen = text::fitted_end(&before, most.saturating_sub(1));
        let room = most.saturating_sub(text::columns(seen)).saturating_sub(1);
        let after = text::fitted(&after, room);
        if at.is_some() {
            self.cursor = Some(self.cells.len());
            self.put(Style::Plain, seen.to_owned());
            // How wide a terminal shows what is before the cursor, only that knows.
            self.cell(Style::Plain, &after, room).behind()
        } else {
            self.cell(Style::Plain, seen, most)
        }
    }

    /// Goes on at a column, if that is not passed yet.
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

    /// Puts the last cell right behind the one before it.
    fn behind(mut self) -> Self {
        let is_last = self
            .cursor
            .is_some_and(|cell| cell.saturating_add(1) == self.cells.len());
        if let Some(cell) = self.cells.last_mut().filter(|_| !is_last) {
            cell.is_behind = true;
        }
        self
    }
}
