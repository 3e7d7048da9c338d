//! The values of a form, to be looked over before they are sent.

use super::frame::{LINE_BREAK, Row, wrapped};
use crate::{
    page::Style,
    text::{self, PeerText},
    view::{FieldView, FormView},
    words,
};

/// Every value that will be sent, behind the whole label of its field. The beginning is seen of a text that is the
/// person's alone, and the whole of anything else.
pub(super) fn rows(form: &FormView, columns: usize) -> Vec<Row> {
    let row = |(index, field): (usize, &FieldView)| {
        let review = &field.review;
        let value = review.text.raw().replace('\n', LINE_BREAK);
        let number = words!("{}", index.saturating_add(1)).right(3);
        // Many blanks would put the rest of a label where a value stands.
        let label = text::line(field.label.raw());
        let label: Vec<_> = label.split(' ').filter(|word| !word.is_empty()).collect();
        let label = label.join(" ") + ": ";
        let value = text::line(&value);
        let mut row = Row::new(columns).to(1).ours(Style::Dim, number).to(5);
        let room = row.room().saturating_sub(text::GUTTER.len()).max(1);
        let mut rows = Vec::new();
        for (label, value) in parts(&label, &value, room, review.is_whole) {
            let begun = row.peer(Style::Plain, &PeerText::from(label), columns);
            rows.push(begun.more(Style::Strong, &PeerText::from(value), columns));
            row = Row::new(columns).to(5);
        }
        if let Some(blanks) = review.blanks.clone() {
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
    form.fields.iter().enumerate().flat_map(row).collect()
}

/// A label in as many rows as it takes, and the value behind its end if it fits, or below it: in as many rows as it
/// takes if it `is_whole`, else in one, which is cut if it is longer than half a row.
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
