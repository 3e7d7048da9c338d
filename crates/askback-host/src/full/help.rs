//! The list of keys for a question.

use super::frame::Row;
use crate::{
    page::Style,
    text::{self, given},
    view::View,
};

pub(super) fn rows(view: &View, columns: usize) -> Vec<Row> {
    let keys = &view.help.keys;
    let widest = keys
        .iter()
        .map(|key| text::columns(key.term.as_str()))
        .max();
    let does_at = widest.unwrap_or_default().saturating_add(4);
    let mut rows = Vec::new();
    for key in keys {
        let mut row = Row::new(columns).to(2).ours(Style::Key, key.term.clone());
        let room = Row::new(columns).to(does_at).room().max(1);
        for part in text::wrapped(key.does.as_str(), room) {
            rows.push(row.to(does_at).ours(Style::Plain, given(part)));
            row = Row::new(columns);
        }
    }
    rows
}
