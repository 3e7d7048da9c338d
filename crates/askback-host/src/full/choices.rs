//! The options of a field on the screen: side by side, or one below the other.

use askback::forms::{Field, FieldKind, Opt};

use super::frame::Row;
use crate::{
    model::{Draft, having, options},
    page::Style,
    text::{self, PeerText},
    words,
};

/// The most rows of options that are seen of a field.
const OPTIONS: usize = 7;

/// The options of a field.
#[derive(Debug, Clone, Copy)]
pub(super) struct Choices<'a> {
    /// The form.
    pub(super) draft: &'a Draft,
    /// The field.
    pub(super) index: usize,
    /// The option at which the person is, if they are at the field.
    pub(super) at: Option<usize>,
    /// The text that is typed to find an option.
    pub(super) sought: &'a str,
}

impl Choices<'_> {
    /// The options side by side, if they fit the rest of the row.
    pub(super) fn inline(&self, row: Row) -> Option<Row> {
        let field = &self.draft.fields()[self.index];
        if let FieldKind::Boolean(_) = field.kind {
            let value = self.draft.value(self.index);
            let value = value.and_then(serde_json::Value::as_bool);
            let mut row = row;
            for (option, (word, is)) in [("yes", true), ("no", false)].into_iter().enumerate() {
                let mark = if value == Some(is) { "(x) " } else { "( ) " };
                let style = self.style(option);
                row = row.ours(style, mark).ours(style, word).ours(style, "  ");
            }
            return Some(row);
        }
        let list = options(field);
        // A blank, a mark, and the label; before them the gutter.
        let label = |option: &Opt| text::columns(&text::line(option.label())).saturating_add(5);
        let needed = list.iter().map(label).fold(1, usize::saturating_add);
        if list.is_empty() || is_long(list) || needed > row.room() {
            return None;
        }
        // Labels are the server's: the gutter stands before the first.
        let mut row = row.ours(Style::Dim, text::GUTTER.trim_end());
        for (option, of) in list.iter().enumerate() {
            let style = self.style(option);
            let label = PeerText::from(of.label());
            let room = row.room();
            row = row
                .ours(style, " ")
                .ours(style, self.mark(of))
                .more(style, &label, room);
        }
        Some(row)
    }

    /// Adds the options one below the other, those around the one at which the person is, each in a
    /// row that begins so.
    pub(super) fn list(&self, begun: &Row, rows: &mut Vec<Row>) {
        let list = options(&self.draft.fields()[self.index]);
        let found = having(list, self.sought);
        let at = found.iter().position(|&option| Some(option) == self.at);
        let first = at.unwrap_or_default().saturating_sub(OPTIONS / 2);
        let first = first.min(found.len().saturating_sub(OPTIONS));
        for &option in found.iter().skip(first).take(OPTIONS) {
            let of = &list[option];
            let style = self.style(option);
            let at = if self.at == Some(option) {
                "› "
            } else {
                "  "
            };
            let row = begun.clone().ours(style, at).ours(style, self.mark(of));
            let room = row.room();
            rows.push(row.peer(style, &PeerText::from(of.label()), room));
        }
        let last = first.saturating_add(OPTIONS).min(found.len());
        let words = match (self.sought, found.len()) {
            ("", many) if many > OPTIONS => words!(
                "  {} to {} of {}; type to find one",
                first.saturating_add(1),
                last,
                many
            ),
            ("", _) => return,
            (sought, count) => words!(
                "  {} of {} have “{}”",
                count,
                list.len(),
                text::given(sought).short()
            ),
        };
        rows.push(begun.clone().ours(Style::Dim, words));
    }

    fn style(&self, option: usize) -> Style {
        match self.at == Some(option) {
            true => Style::Strong,
            false => Style::Plain,
        }
    }

    fn mark(&self, option: &Opt) -> &'static str {
        let field = &self.draft.fields()[self.index];
        let is_several = matches!(field.kind, FieldKind::Choices(_));
        match (is_several, self.draft.is_chosen(self.index, &option.value)) {
            (true, true) => "[x] ",
            (true, false) => "[ ] ",
            (false, true) => "(x) ",
            (false, false) => "( ) ",
        }
    }
}

/// Whether these are so many that one is found by typing.
pub(super) fn is_long(options: &[Opt]) -> bool {
    options.len() > OPTIONS
}

/// Whether a field has options, or is a yes or no.
pub(super) fn is_chosen_from(field: &Field) -> bool {
    matches!(
        field.kind,
        FieldKind::Boolean(_) | FieldKind::Choice(_) | FieldKind::Choices(_)
    )
}

/// Whether an option of a field is chosen, be they enough or not.
pub(super) fn is_partly_chosen(draft: &Draft, index: usize) -> bool {
    let list = options(&draft.fields()[index]);
    list.iter()
        .any(|option| draft.is_chosen(index, &option.value))
}

/// The choice, in a row.
pub(super) fn chosen(draft: &Draft, index: usize, row: Row, room: usize) -> Row {
    let list = options(&draft.fields()[index]).iter();
    let chosen = list.filter(|option| draft.is_chosen(index, &option.value));
    let labels: Vec<_> = chosen.map(|option| text::line(option.label())).collect();
    match labels.is_empty() {
        true => row.ours(Style::Dim, "·"),
        false => row.more(Style::Plain, &PeerText::from(labels.join(", ")), room),
    }
}
