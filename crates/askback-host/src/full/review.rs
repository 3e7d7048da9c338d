//! The values of a form, to be looked over before they are sent.

use askback_core::forms::{Field, FieldKind};

use super::frame::{LINE_BREAK, Row, wrapped};
use crate::{
    model::Draft,
    page::Style,
    question,
    text::{self, PeerText},
    words,
};

/// Every value that will be sent, behind the whole label of its field, but for those that `hides` says are not to be
/// seen. The beginning is seen of a text that is the person's alone, and the whole of anything else: of every value
/// in a form whose server suggests some, and where words stand for a day.
pub(super) fn rows(
    draft: &Draft,
    is_suggested: bool,
    hides: impl Fn(&Field) -> bool,
    columns: usize,
) -> Vec<Row> {
    let row = |(index, field): (usize, &Field)| {
        let (value, blanks) = question::reviewed(draft, index);
        let value = match draft.value(index) {
            Some(value) if hides(field) => text::hidden(&field.show(value)),
            _ => value.replace('\n', LINE_BREAK),
        };
        let number = words!("{}", index.saturating_add(1)).right(3);
        let label = text::line(&format!("{}: ", field.label()));
        let value = text::line(&value);
        let mut row = Row::new(columns).to(1).ours(Style::Dim, number).to(5);
        let room = row.room().saturating_sub(text::GUTTER.len()).max(1);
        // What the server proposed may be within what the person wrote.
        let is_text = matches!(&field.kind, FieldKind::Text(text) if text.format.is_none());
        let is_theirs = is_text && !is_suggested && field.default_value().is_none();
        let parts = match is_theirs {
            true => beside(&label, &value, room),
            false => text::wrapped(&format!("{label}{value}"), room),
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

/// A label in as many rows as it takes, and the value in one: behind the end of the label where it fits or has half a
/// row, below it elsewhere. What does not fit is cut where it is shown.
fn beside(label: &str, value: &str, room: usize) -> Vec<String> {
    let mut rows = text::wrapped(label, room);
    let end = rows.pop().unwrap_or_default() + " ";
    let left = room.saturating_sub(text::columns(&end));
    if left >= text::columns(value).min(room / 2) {
        rows.push(end + value);
    } else {
        rows.push(end);
        rows.push(value.to_owned());
    }
    rows
}
