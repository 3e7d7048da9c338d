//! The options of a field, in one row or in a list.

use askback::forms::{Field, FieldKind, Opt};

use super::frame::Row;
use crate::{
    page::Style,
    text::{self, PeerText},
    view::{ChoiceView, FieldView, Input, MAX_OPEN_CHOICES, Text},
    words,
};

#[derive(Debug, Clone, Copy)]
pub(super) struct Choices<'a> {
    pub(super) field: &'a FieldView,
    pub(super) at: Option<usize>,
    /// The text typed to find an option, and the options that match.
    pub(super) sought: &'a str,
    pub(super) found: &'a [usize],
}

impl Choices<'_> {
    pub(super) fn inline(&self, row: Row) -> Option<Row> {
        let list = &self.field.choices;
        if self.field.input == Input::YesNo {
            let mut row = row;
            for (option, choice) in list.iter().enumerate() {
                let style = self.style(option);
                row = row
                    .ours(style, self.mark(choice))
                    .ours(style, choice.mark.clone());
                row = row.ours(style, "  ");
            }
            return Some(row);
        }
        // Each option takes a blank, a mark and the label; the gutter comes first.
        let columns = |choice| text::columns(&text::line(label(choice))).saturating_add(5);
        let needed = list.iter().map(columns).fold(1, usize::saturating_add);
        if list.is_empty() || list.len() > MAX_OPEN_CHOICES || needed > row.room() {
            return None;
        }
        // Labels come from the server, so the gutter comes first.
        let mut row = row.ours(Style::Dim, text::GUTTER.trim_end());
        for (option, choice) in list.iter().enumerate() {
            let style = self.style(option);
            let room = row.room();
            row = row.ours(style, " ").ours(style, self.mark(choice)).more(
                style,
                &PeerText::from(label(choice)),
                room,
            );
        }
        Some(row)
    }

    /// Adds a list with the options around the cursor. Each row starts like `begun`.
    pub(super) fn list(&self, begun: &Row, rows: &mut Vec<Row>) {
        let (list, found) = (&self.field.choices, self.found);
        let at = found.iter().position(|&option| Some(option) == self.at);
        let first = at.unwrap_or_default().saturating_sub(MAX_OPEN_CHOICES / 2);
        let first = first.min(found.len().saturating_sub(MAX_OPEN_CHOICES));
        for &option in found.iter().skip(first).take(MAX_OPEN_CHOICES) {
            let choice = &list[option];
            let style = self.style(option);
            let at = if self.at == Some(option) {
                "› "
            } else {
                "  "
            };
            let row = begun.clone().ours(style, at).ours(style, self.mark(choice));
            let room = row.room();
            rows.push(row.peer(style, &PeerText::from(label(choice)), room));
        }
        let last = first.saturating_add(MAX_OPEN_CHOICES).min(found.len());
        let words = match (self.sought, found.len()) {
            ("", many) if many > MAX_OPEN_CHOICES => words!(
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
        let is_chosen = self.field.choices.get(option);
        match is_chosen.is_some_and(|choice| choice.is_chosen) {
            _ if self.at == Some(option) => Style::Focus,
            true => Style::Chosen,
            false => Style::Plain,
        }
    }

    fn mark(&self, choice: &ChoiceView) -> &'static str {
        match (self.field.input == Input::Several, choice.is_chosen) {
            (true, true) => "[x] ",
            (true, false) => "[ ] ",
            (false, true) => "(x) ",
            (false, false) => "( ) ",
        }
    }
}

/// The label of an option. It comes from the server, except for yes and no.
fn label(choice: &ChoiceView) -> &str {
    match &choice.label {
        Text::Ours(words) => words.as_str(),
        Text::Peer(text) => text.raw(),
    }
}

/// Whether the user finds an option by typing, because there are too many to show.
pub(super) fn is_long(options: &[Opt]) -> bool {
    options.len() > MAX_OPEN_CHOICES
}

/// Whether the user chooses a value of the field instead of writing it.
pub(super) fn is_chosen_from(field: &Field) -> bool {
    matches!(
        field.kind,
        FieldKind::Boolean(_) | FieldKind::Choice(_) | FieldKind::Choices(_)
    )
}

pub(super) fn chosen(field: &FieldView, row: Row, room: usize) -> Row {
    let chosen = field.choices.iter().filter(|choice| choice.is_chosen);
    let labels: Vec<_> = chosen.map(|choice| text::line(label(choice))).collect();
    match labels.is_empty() {
        true => row.ours(Style::Dim, "·"),
        false => row.more(Style::Plain, &PeerText::from(labels.join(", ")), room),
    }
}
