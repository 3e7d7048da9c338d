//! The values of a form, to be looked over before they are sent.

use askback::forms::{Field, FieldKind};

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
        // Many blanks would put the rest of a label where a value stands.
        let label = text::line(field.label());
        let label: Vec<_> = label.split(' ').filter(|word| !word.is_empty()).collect();
        let label = label.join(" ") + ": ";
        let value = text::line(&value);
        let mut row = Row::new(columns).to(1).ours(Style::Dim, number).to(5);
        let room = row.room().saturating_sub(text::GUTTER.len()).max(1);
        // What the server proposed may be within what the person wrote.
        let is_text = matches!(&field.kind, FieldKind::Text(text) if text.format.is_none());
        let is_theirs = is_text && !is_suggested && field.default_value().is_none();
        let mut rows = Vec::new();
        for (label, value) in parts(&label, &value, room, !is_theirs) {
            let begun = row.peer(Style::Plain, &PeerText::from(label), columns);
            rows.push(begun.more(Style::Strong, &PeerText::from(value), columns));
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

/// A label in as many rows as it takes, and the value behind its end where it fits, or below it: in as many rows as it
/// takes if it `is_whole`, else in one, where it is cut if it is longer than half a row.
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
