//! A form on the screen: one row per field, and details of the focused field.

use std::time::Duration;

use askback::forms::{Field, FieldKind, Opt};

use super::{
    choices::{Choices, chosen, is_chosen_from, is_long},
    editor::Editor,
    frame::{Frame, LINE_BREAK, MARKS, Row, label_room, wrapped},
    key::Key,
    question,
    suggested::SuggestedView,
};
use crate::{
    command::{self, InputLine, OfField},
    model::{Action, Draft, Front, having, options},
    page::{Look, Page, Style},
    text::{self, PeerText, Words, given},
    view::{self, FieldState, FieldView, Input},
    words,
};

/// A longer paste is cut before it is searched for among options.
const SOUGHT: usize = 256;

#[derive(Debug, Default)]
pub(super) struct FormView {
    focus: usize,
    /// The field whose text is in the editor.
    loaded: Option<usize>,
    editor: Editor,
    option: usize,
    sought: String,
    suggested: SuggestedView,
    /// Whether suggestions for the first field were requested.
    has_suggested: bool,
    /// Whether the user tried to submit. From then on, empty fields show errors.
    is_tried: bool,
    submits: bool,
}

pub(super) enum FormOutcome {
    Action(Vec<Action>),
    Command(String),
    Other,
}

impl FormView {
    fn submit(&mut self) -> Vec<Action> {
        self.submits = true;
        vec![Action::Submit]
    }

    /// After a failed attempt to submit, moves to the first invalid field.
    pub(super) fn stays(&mut self, draft: &Draft) {
        if !std::mem::take(&mut self.submits) {
            return;
        }
        self.is_tried = true;
        if let Some(wrong) = draft.wrong() {
            self.go_to(wrong);
        }
    }

    /// Takes over a change of the focused field by another front end.
    pub(super) fn retyped(&mut self, draft: &Draft) {
        let is_same = match command::typed(self.editor.text()) {
            InputLine::Text(text) => draft.with(self.focus, text) == *draft,
            // A command is not part of the form.
            InputLine::Command(..) => true,
        };
        if !is_same || self.focus >= draft.fields().len() {
            self.loaded = None;
        }
    }

    /// Forgets the text of the focused field after a change from outside.
    pub(super) fn reload(&mut self) {
        self.loaded = None;
    }

    /// Whether Ctrl-C clears something before it cancels.
    pub(super) fn is_written(&self) -> bool {
        !self.editor.text().is_empty() || !self.sought.is_empty()
    }

    pub(super) fn description<'a>(&self, draft: &'a Draft) -> Option<&'a str> {
        draft.fields().get(self.focus)?.description.as_deref()
    }

    /// The text of the focused field, unless its value is chosen.
    pub(super) fn text_of(&mut self, draft: &Draft) -> Option<String> {
        self.load(draft);
        let field = draft.fields().get(self.focus)?;
        let text = || match command::typed(self.editor.text()) {
            InputLine::Text(text) => text,
            InputLine::Command(..) => self.editor.text().to_owned(),
        };
        (!is_chosen_from(field)).then(text)
    }

    pub(super) fn command(&mut self, of: OfField) -> Vec<Action> {
        let field = self.focus;
        match of {
            OfField::Clear => vec![Action::Clear(field)],
            OfField::Suggest(text) => vec![Action::Suggest { field, text }],
            OfField::Last => self.submit(),
            OfField::Before => {
                self.go_to(field.saturating_sub(1));
                Vec::new()
            }
            // Only the line-based front end produces these.
            OfField::Is(_) | OfField::Keep | OfField::Reopen(_) => Vec::new(),
        }
    }

    fn go_to(&mut self, field: usize) {
        self.focus = field;
        self.loaded = None;
        self.suggested = SuggestedView::default();
    }

    fn load(&mut self, draft: &Draft) {
        if self.loaded == Some(self.focus) {
            return;
        }
        self.loaded = Some(self.focus);
        self.editor = Editor::default();
        self.sought = String::new();
        let Some(field) = draft.fields().get(self.focus) else {
            return;
        };
        let options = options(field);
        let is_chosen = |option: &Opt| draft.is_chosen(self.focus, &option.value);
        self.option = match &field.kind {
            FieldKind::Boolean(_) => {
                let no = draft.value(self.focus).is_some_and(|value| *value == false);
                usize::from(no)
            }
            _ => options.iter().position(is_chosen).unwrap_or_default(),
        };
        if options.is_empty() && !matches!(field.kind, FieldKind::Boolean(_)) {
            let shown = draft.value(self.focus).map(|value| field.show(value));
            let text = draft.written(self.focus).map(str::to_owned).or(shown);
            self.editor = Editor::new(escaped(text.unwrap_or_default()));
        }
    }

    pub(super) fn suggest(&mut self, draft: &Draft) -> Option<Action> {
        if std::mem::replace(&mut self.has_suggested, true) {
            return None;
        }
        let text = self.text_of(draft)?;
        let field = self.focus;
        Some(Action::Suggest { field, text })
    }

    /// Records that the form of the question in front, if there is one, is drawn at this time.
    pub(super) fn pass(&mut self, front: Option<&Front<'_>>, now: Duration) {
        self.suggested.pass(front, self.focus, now);
    }

    /// Returns the time until Tab takes the suggestion that is drawn, if it does not yet.
    pub(super) fn settles_after(&self) -> Option<Duration> {
        self.suggested.settles_after()
    }

    pub(super) fn press(&mut self, front: &Front<'_>, draft: &Draft, key: &Key) -> FormOutcome {
        self.load(draft);
        if let Some(said) = self.suggested.press(front, self.focus, key) {
            // The field may have a new text.
            self.loaded = None;
            return FormOutcome::Action(said);
        }
        let before = self.focus;
        match self.press_field(draft, key) {
            FormOutcome::Action(mut said) => {
                let written = said.iter().any(|said| matches!(said, Action::Write { .. }));
                if front.suggests() && (written || self.focus != before) {
                    self.load(draft);
                    said.push(Action::Suggest {
                        field: self.focus,
                        text: self.editor.text().to_owned(),
                    });
                }
                FormOutcome::Action(said)
            }
            pressed => pressed,
        }
    }

    fn press_field(&mut self, draft: &Draft, key: &Key) -> FormOutcome {
        let at = self.focus;
        let Some(field) = draft.fields().get(at) else {
            return FormOutcome::Other;
        };
        let last = draft.fields().len().saturating_sub(1);
        match key {
            Key::Enter => {
                if let InputLine::Command(name, rest) = command::typed(self.editor.text()) {
                    let command = format!("{name} {rest}");
                    self.loaded = None;
                    return FormOutcome::Command(command);
                }
                if at == last {
                    return FormOutcome::Action(self.submit());
                }
                self.go_to(at.saturating_add(1));
            }
            Key::Tab | Key::Down if at == last => self.go_to(0),
            Key::Tab | Key::Down => self.go_to(at.saturating_add(1)),
            Key::BackTab | Key::Up => self.go_to(at.checked_sub(1).unwrap_or(last)),
            Key::PageDown => self.go_to(at.saturating_add(5).min(last)),
            Key::PageUp => self.go_to(at.saturating_sub(5)),
            Key::Ctrl('s') => return FormOutcome::Action(self.submit()),
            Key::Ctrl('c') if self.is_written() => {
                self.loaded = None;
                if is_chosen_from(field) && !self.editor.text().is_empty() {
                    return FormOutcome::Action(Vec::new());
                }
                return FormOutcome::Action(vec![Action::Clear(at)]);
            }
            // A command can be typed at options, too.
            key if is_chosen_from(field)
                && (*key == Key::Char('/') && self.sought.is_empty()
                    || !self.editor.text().is_empty()) =>
            {
                if !self.editor.press(key) {
                    return FormOutcome::Other;
                }
            }
            key if is_long(options(field)) => return self.find(draft, field, key),
            key if is_chosen_from(field) => return self.choose(draft, field, key),
            key => {
                if !self.editor.press(key) {
                    return FormOutcome::Other;
                }
                return FormOutcome::Action(match command::typed(self.editor.text()) {
                    InputLine::Text(text) => vec![Action::Write { field: at, text }],
                    // A lone `/` was stored as text. A command follows it, so clear it.
                    InputLine::Command(..)
                        if draft.written(at) == Some("/")
                            || draft.value(at).is_some_and(|value| value == "/") =>
                    {
                        vec![Action::Clear(at)]
                    }
                    InputLine::Command(..) => Vec::new(),
                });
            }
        }
        FormOutcome::Action(Vec::new())
    }

    fn choose(&mut self, draft: &Draft, field: &Field, key: &Key) -> FormOutcome {
        let at = self.focus;
        let count = match &field.kind {
            FieldKind::Boolean(_) => 2,
            _ => options(field).len(),
        };
        let is_several = matches!(field.kind, FieldKind::Choices(_));
        let is_empty = draft.value(at).is_none();
        let said = |option| FormOutcome::Action(vec![Action::Choose { field: at, option }]);
        match key {
            Key::Char(' ') => return said(self.option),
            Key::Char(c) => {
                let digit = c.to_digit(10).map(|digit| digit as usize);
                let begins = |label: &str| {
                    let first = label.chars().next();
                    first.is_some_and(|first| first.to_lowercase().eq(c.to_lowercase()))
                };
                let found = match &field.kind {
                    FieldKind::Boolean(_) => [true, false]
                        .iter()
                        .position(|value| begins(&field.show(&(*value).into()))),
                    _ => {
                        // The next option that starts with this letter.
                        let next = self.option.saturating_add(1);
                        let all = (next..count).chain(0..next);
                        let mut all = all.filter(|&index| index < count);
                        all.find(|&index| begins(options(field)[index].label()))
                    }
                };
                let numbered = digit
                    .and_then(|digit| digit.checked_sub(1))
                    .filter(|&index| index < count && count < 10);
                let Some(option) = numbered.or(found) else {
                    return FormOutcome::Action(Vec::new());
                };
                self.option = option;
                if !is_several || numbered.is_some() {
                    return said(option);
                }
            }
            Key::Left | Key::Right => {
                let step = match key {
                    Key::Left => self.option.saturating_sub(1),
                    // Without a value, the first arrow key chooses the option under the cursor.
                    _ if is_empty && !is_several => self.option,
                    _ => self.option.saturating_add(1).min(count.saturating_sub(1)),
                };
                self.option = step;
                if !is_several && count > 0 {
                    return said(step);
                }
            }
            Key::Home => self.option = 0,
            Key::End => self.option = count.saturating_sub(1),
            Key::Backspace | Key::Delete => return FormOutcome::Action(vec![Action::Clear(at)]),
            _ => return FormOutcome::Other,
        }
        FormOutcome::Action(Vec::new())
    }

    /// Finds one of many options by a part of its label.
    fn find(&mut self, draft: &Draft, field: &Field, key: &Key) -> FormOutcome {
        let is_several = matches!(field.kind, FieldKind::Choices(_));
        match key {
            Key::Char(' ') if is_several || self.sought.is_empty() => {
                return self.choose(draft, field, key);
            }
            Key::Char(c) => self.sought.push(*c),
            Key::Paste(text) => self.sought.extend(text.trim().chars().take(SOUGHT)),
            Key::Backspace if !self.sought.is_empty() => drop(self.sought.pop()),
            Key::Left | Key::Right if !self.sought.is_empty() => {
                let found = having(options(field), &self.sought);
                let at = found.iter().position(|&option| option == self.option);
                let next = match (key, at) {
                    (Key::Left, Some(at)) => at.saturating_sub(1),
                    (_, Some(at)) => at.saturating_add(1).min(found.len().saturating_sub(1)),
                    (_, None) => 0,
                };
                return self.found(found.get(next), is_several);
            }
            key => return self.choose(draft, field, key),
        }
        if self.sought.is_empty() {
            return FormOutcome::Action(Vec::new());
        }
        let found = having(options(field), &self.sought);
        let sought = self.sought.to_lowercase();
        let begins = |&&option: &&usize| {
            let label = options(field)[option].label();
            label.to_lowercase().starts_with(&sought)
        };
        self.found(found.iter().find(begins).or(found.first()), is_several)
    }

    /// Moves to an option and, in a single choice, chooses it.
    fn found(&mut self, option: Option<&usize>, is_several: bool) -> FormOutcome {
        let Some(&option) = option else {
            return FormOutcome::Action(Vec::new());
        };
        self.option = option;
        let field = self.focus;
        FormOutcome::Action(match is_several {
            true => Vec::new(),
            false => vec![Action::Choose { field, option }],
        })
    }
}

/// A value as the user would type it: a leading slash is doubled.
fn escaped(text: String) -> String {
    match command::typed(&text) {
        InputLine::Text(read) if read == text => text,
        _ => format!("/{text}"),
    }
}

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
    pub(super) fn rows(
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
        let mark = if has_focus { "›" } else { " " };
        let (row, listed) = filled(begun(style, mark));
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
        if let Some((style, note)) = note {
            // The hint is still shown if the error is about something else.
            let bounds = field
                .bounds
                .clone()
                .filter(|bounds| is_wide && is_wrong && !note.as_str().ends_with(bounds.as_str()));
            if !fits {
                rows.extend(wrapped(below(), style, note));
            }
            if let Some(bounds) = bounds {
                rows.extend(wrapped(below(), Style::Dim, bounds));
            }
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
            let words = words!("! {}", dropped.words);
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
    let more = rows.count().saturating_sub(DESCRIBED);
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
