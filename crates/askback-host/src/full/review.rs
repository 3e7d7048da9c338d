//! The values of a form, for review before they are sent.

use super::frame::{LINE_BREAK, MARKS, Row, label_room};
use crate::{
    page::Style,
    text::{self, PeerText},
    view::{FieldView, FormView},
    words,
};

/// The rows of all values, each after the label of its field, aligned if they fit. Only the user's
/// own texts are cut.
pub(super) fn rows(form: &FormView, columns: usize) -> Vec<Row> {
    let labels = form.fields.iter().map(|field| text::columns(&label(field)));
    let widest = labels.max().unwrap_or_default().min(label_room(columns));
    let begins = MARKS
        .saturating_add(text::GUTTER.len())
        .saturating_add(widest);
    let row = |(index, field): (usize, &FieldView)| {
        let review = &field.review;
        let value = review.text.raw().replace('\n', LINE_BREAK);
        let number = words!("{}", index.saturating_add(1)).right(3);
        let label = label(field);
        let value = text::line(&value);
        let begun = Row::new(columns).to(1).ours(Style::Dim, number);
        let mut row = begun.to(MARKS);
        let room = row.room().saturating_sub(text::GUTTER.len()).max(1);
        let mut rows = Vec::new();
        for (label, value) in parts(&label, &value, room, review.is_whole) {
            let mut begun = row.peer(Style::Plain, &PeerText::from(label), columns);
            let aligned = begun.clone().to(begins);
            if aligned.room() >= text::columns(&value) {
                begun = aligned;
            }
            rows.push(begun.more(Style::Strong, &PeerText::from(value), columns));
            row = Row::new(columns).to(MARKS);
        }
        rows
    };
    form.fields.iter().enumerate().flat_map(row).collect()
}

/// The label of a field with a colon. Repeated blanks could move its end to where a value is expected.
fn label(field: &FieldView) -> String {
    let label = text::line(field.label.raw());
    let label: Vec<_> = label.split(' ').filter(|word| !word.is_empty()).collect();
    label.join(" ") + ": "
}

/// Splits a label into rows and puts the value after its end, or below if it does not fit there. A
/// value that is not `is_whole` takes one row and is cut if it is longer than half of it.
fn parts(label: &str, value: &str, room: usize, is_whole: bool) -> Vec<(String, String)> {
    let mut labels = text::wrapped(label, room);
    let end = labels.pop().unwrap_or_default() + " ";
    let mut parts: Vec<_> = labels.into_iter().map(|row| (row, String::new())).collect();
    let left = room.saturating_sub(text::columns(&end));
    let wanted = text::columns(value);
    let wanted = if is_whole {
        wanted
    } else {
        wanted.min(room / 2)
    };
    if left >= wanted {
        parts.push((end, value.to_owned()));
        return parts;
    }
    parts.push((end, String::new()));
    let below = match is_whole {
        true => text::wrapped(value, room),
        false => vec![value.to_owned()],
    };
    parts.extend(below.into_iter().map(|row| (String::new(), row)));
    parts
}
