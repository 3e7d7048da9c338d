//! The values of a form, to be looked over before they are sent.

use askback_core::forms::{Field, FieldKind};

use super::frame::{LINE_BREAK, Row, hidden, label_room, wrapped};
use crate::{
    model::Draft,
    page::Style,
    question,
    text::{self, PeerText},
    words,
};

/// Every value that will be sent, but for those that `hides` says are not to be seen. Of a text that is the person's alone the beginning is seen; of anything else the whole.
/// It is that nowhere in a form whose server suggests values, nor where words stand for a day.
pub(super) fn rows(
    draft: &Draft,
    is_suggested: bool,
    hides: impl Fn(&Field) -> bool,
    columns: usize,
) -> Vec<Row> {
    let row = |(index, field): (usize, &Field)| {
        let (value, blanks) = question::reviewed(draft, index);
        let value = match draft.value(index) {
            Some(value) if hides(field) => hidden(&field.show(value)),
            _ => value.replace('\n', LINE_BREAK),
        };
        let number = words!("{}", index.saturating_add(1)).right(3);
        let label = text::line(field.label());
        let label = text::fitted(&label, label_room(columns));
        let shown = text::line(&format!("{label}: {value}"));
        let mut row = Row::new(columns).to(1).ours(Style::Dim, number).to(5);
        let room = row.room().saturating_sub(text::GUTTER.len()).max(1);
        // What the server proposed may be within what the person wrote.
        let is_text = matches!(&field.kind, FieldKind::Text(text) if text.format.is_none());
        let is_theirs = is_text && !is_suggested && field.default_value().is_none();
        let parts = match is_theirs {
            true => vec![shown],
            false => text::wrapped(&shown, room),
        };
        let mut rows = Vec::new();
        for part in parts {
            rows.push(row.peer(Style::Plain, &PeerText::from(part), columns));
            row = Row::new(columns).to(5);
        }
        if let Some(blanks) = blanks {
            let beside = rows.pop().map(|row| row.ours(Style::Plain, "  "));
            match beside {
                Some(row) if row.room() >= text::columns(blanks.as_str()) => {
                    rows.push(row.ours(Style::Warning, blanks));
                }
                beside => {
                    rows.extend(beside);
                    rows.extend(wrapped(row, Style::Warning, blanks));
                }
            }
        }
        rows
    };
    draft.fields().iter().enumerate().flat_map(row).collect()
}
