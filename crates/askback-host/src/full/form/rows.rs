//! The rows of a form.

use super::FormView;
use crate::{
    command::{self, InputLine},
    full::{
        choices::{Choices, chosen},
        frame::{Frame, LINE_BREAK, MARKS, Row, label_room, wrapped},
        question,
    },
    model::{Draft, having, options},
    page::{Look, Page, Style},
    text::{self, PeerText, Words, given},
    view::{self, FieldState, FieldView, Input},
    words,
};

const LINES: usize = 8;

const DESCRIBED: usize = 3;

/// The maximum number of characters of a label or description that are laid out.
const LAID_OUT: usize = 1024;

/// The minimum number of columns for a part of a note.
const ASIDE: usize = 16;

/// Narrower screens show notes below their fields.
const WIDE: usize = 64;

impl FormView {
    /// Returns the rows, and the index of the focused field's row.
    pub(in crate::full) fn rows(
        &mut self,
        form: &view::FormView,
        draft: &Draft,
        columns: usize,
    ) -> (Vec<Row>, usize) {
        self.load(draft);
        let of_label = |field| text::columns(&text::line(label(field))).saturating_add(2);
        let labels = form.fields.iter().map(of_label);
        let label = labels.max().unwrap_or_default().min(label_room(columns));
        let mut rows = Vec::new();
        let mut focused = 0;
        for (index, field) in form.fields.iter().enumerate() {
            if index != self.focus {
                self.field(field, index, &[], label, columns, &mut rows);
                continue;
            }
            focused = rows.len();
            let found = having(options(&draft.fields()[index]), &self.sought);
            self.field(field, index, &found, label, columns, &mut rows);
            let suggested = form.suggested.as_ref().filter(|it| it.field == index);
            if let Some(suggested) = suggested {
                let begun = Row::new(columns).to(MARKS);
                rows.extend(self.suggested.rows(suggested, self.editor.text(), &begun));
            }
        }
        (rows, focused)
    }

    /// Adds the rows of a field. `found` has the options that match the typed text.
    fn field(
        &self,
        field: &FieldView,
        index: usize,
        found: &[usize],
        label: usize,
        columns: usize,
        rows: &mut Vec<Row>,
    ) {
        let has_focus = index == self.focus;
        let note = self.note(field, has_focus);
        let is_wrong = matches!(note, Some((Style::Error, _)));
        let is_wide = columns >= WIDE;
        let begins = MARKS.saturating_add(label).saturating_add(2);
        let room = columns.saturating_sub(begins).saturating_sub(1);
        let room = if is_wide { room / 2 } else { room };
        let style = if has_focus {
            Style::Focus
        } else {
            Style::Plain
        };
        let begun = |mark_style, mark| {
            // The mark for an error takes two columns on some terminals.
            let number = words!("{}", index.saturating_add(1));
            let number = number.right(MARKS.saturating_sub(1).saturating_sub(text::columns(mark)));
            let row = Row::new(columns)
                .ours(mark_style, mark)
                .to(1)
                .ours(Style::Dim, number)
                .to(MARKS)
                .peer(style, &self::label(field).into(), label);
            let row = match field.required {
                true => row.ours(Style::Required, "*"),
                false => row,
            };
            row.to(begins)
        };
        let choices = Choices {
            field,
            at: has_focus.then_some(self.option),
            sought: &self.sought,
            found,
        };
        let is_text = field.choices.is_empty();
        let filled = |row: Row| match choices.inline(row.clone()) {
            Some(row) => (row, false),
            None if is_text => (self.text(field, has_focus, row, room), true),
            None => (chosen(field, row, room), true),
        };
        let (row, listed) = match has_focus {
            true => filled(begun(Style::Focus, "›")),
            false => filled(begun(Style::Plain, " ")),
        };
        let aside = begins.saturating_add(room).saturating_add(1);
        let beside = row.clone().ours(Style::Plain, "  ").to(aside);
        // An error may be cut to fit next to its field, but not at the focus.
        let fits = note.as_ref().is_some_and(|(style, note)| {
            let whole = beside.room() >= text::columns(note.as_str());
            let cut = !has_focus && *style == Style::Error && beside.room() >= ASIDE;
            is_wide && (whole || cut)
        });
        match (&note, fits) {
            (Some((style, note)), true) => rows.push(beside.ours(*style, note.clone())),
            _ if is_wrong && !has_focus => rows.push(filled(begun(Style::Error, "×")).0),
            _ => rows.push(row),
        }
        if !has_focus {
            return;
        }
        let below = || Row::new(columns).to(MARKS);
        let wrong = note
            .as_ref()
            .filter(|_| is_wrong)
            .map(|(_, note)| note.clone());
        if let (Some((style, note)), false) = (note, fits) {
            rows.extend(wrapped(below(), style, note));
        }
        // The hint is still shown if the error is about something else.
        if let (true, Some(wrong), Some(bounds)) = (is_wide, wrong, field.bounds.clone())
            && !wrong.as_str().ends_with(bounds.as_str())
        {
            rows.extend(wrapped(below(), Style::Dim, bounds));
        }
        let is_long = listed && is_text && self.editor.text().contains('\n');
        if is_long && !field.is_hidden {
            // The gutter is shown because a default value comes from the server.
            let lines = question::lines(&self.editor, &below().ours(Style::Dim, text::GUTTER));
            let text = self.editor.text();
            let at = text[..self.editor.at()].matches('\n').count();
            let first = at.saturating_sub(LINES / 2);
            let first = first.min(lines.len().saturating_sub(LINES));
            rows.extend(lines.into_iter().skip(first).take(LINES));
        }
        if let Some(description) = &field.description {
            if is_long && !field.is_hidden {
                rows.push(below().ours(Style::Dim, "about this field:"));
            }
            rows.extend(described(description.raw(), columns));
        }
        if let Some(dropped) = &field.dropped {
            let words = words!("! {}", dropped.short);
            rows.extend(wrapped(below(), Style::Warning, words));
            rows.push(below().peer(Style::Dim, &dropped.text, columns));
        }
        if let Some(pattern) = &field.pattern {
            let row = below().ours(Style::Dim, words!("{} ", pattern.label));
            rows.push(row.peer(Style::Dim, &pattern.text, columns));
        }
        if listed && !is_text {
            choices.list(&below(), rows);
        }
    }

    fn text(&self, field: &FieldView, has_focus: bool, row: Row, room: usize) -> Row {
        let text = self.editor.text();
        if has_focus && text.contains('\n') {
            return row.ours(Style::Dim, words!("{} lines", text.split('\n').count()));
        }
        if has_focus && field.is_hidden {
            let before = text::hidden(&text[..self.editor.at()]).len();
            return row.written(&text::hidden(text), Some(before), room);
        }
        if has_focus {
            return row.written(text, Some(self.editor.at()), room);
        }
        match field.state {
            FieldState::Empty => row.ours(Style::Dim, "·"),
            FieldState::Value if !field.is_hidden => {
                let shown = field.text.raw().replace('\n', LINE_BREAK);
                row.more(Style::Plain, &PeerText::from(shown), room)
            }
            FieldState::Written | FieldState::Value => row.written(field.text.raw(), None, room),
        }
    }

    /// Whether the value is a date or time other than the text in the editor.
    fn reads_otherwise(&self, field: &FieldView) -> bool {
        matches!(field.input, Input::Date | Input::DateTime)
            && field.state == FieldState::Value
            && !field.is_hidden
            && field.text.raw() != self.editor.text()
    }

    fn note(&self, field: &FieldView, has_focus: bool) -> Option<(Style, Words)> {
        if has_focus && let InputLine::Command(name, _) = command::typed(self.editor.text()) {
            let words = words!("Enter runs /{}; // for a text", given(name));
            return Some((Style::Warning, words));
        }
        let is_empty = field.state == FieldState::Empty;
        let is_chosen = field.choices.iter().any(|choice| choice.is_chosen);
        match (&field.issue, &field.bounds) {
            (Some(issue), _) if !is_empty || self.is_tried || is_chosen => {
                Some((Style::Error, words!("× {}", *issue)))
            }
            // What is sent for `tomorrow`.
            _ if has_focus && self.reads_otherwise(field) => {
                Some((Style::Dim, words!("→ {}", given(field.text.raw()))))
            }
            _ if has_focus && field.required && is_empty => {
                Some((Style::Dim, words!("{}, required", field.hint)))
            }
            _ if has_focus || is_empty => Some((Style::Dim, field.hint.clone())),
            (_, bounds) => bounds.clone().map(|bounds| (Style::Dim, bounds)),
        }
    }
}

fn described(description: &str, columns: usize) -> Vec<Row> {
    let look = Look {
        columns,
        styled: false,
    };
    let mut page = Page::new(look);
    let (head, cut) = text::head(description, LAID_OUT);
    page.quote_at(Words::default().padded(MARKS), head);
    let rows = page.take();
    let mut frame = Frame::default();
    frame.put(&rows.first(DESCRIBED));
    let more = rows.to_string().lines().count().saturating_sub(DESCRIBED);
    let words = match (more, cut) {
        (0, 0) => None,
        (more, 0) => Some(words!("{} more rows; F4 shows the whole", more)),
        (_, _) => Some("more; F4 shows the whole".into()),
    };
    if let Some(words) = words {
        let row = Row::new(columns).to(MARKS);
        frame.push(row.ours(Style::Dim, words));
    }
    frame.into_rows()
}

fn label(field: &FieldView) -> &str {
    text::head(field.label.raw(), LAID_OUT).0
}
