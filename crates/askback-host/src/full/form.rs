//! A form on the screen: one row per field, and details of the focused field.

mod rows;

use std::time::Duration;

use askback::forms::{Field, FieldKind, Opt};

use super::{
    choices::{is_chosen_from, is_long},
    editor::Editor,
    key::Key,
    suggested::SuggestedView,
};
use crate::{
    command::{self, InputLine, OfField},
    model::{Action, Draft, Front, having, options},
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
    fn submit(&mut self) -> FormOutcome {
        self.submits = true;
        FormOutcome::Action(vec![Action::Submit])
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
            OfField::Last => {
                self.submits = true;
                vec![Action::Submit]
            }
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

    /// Requests suggestions for the first field, once.
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
                    return self.submit();
                }
                self.go_to(at.saturating_add(1));
            }
            Key::Tab | Key::Down if at == last => self.go_to(0),
            Key::Tab | Key::Down => self.go_to(at.saturating_add(1)),
            Key::BackTab | Key::Up => self.go_to(at.checked_sub(1).unwrap_or(last)),
            Key::PageDown => self.go_to(at.saturating_add(5).min(last)),
            Key::PageUp => self.go_to(at.saturating_sub(5)),
            Key::Ctrl('s') => return self.submit(),
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

    /// Handles a key among many options: finds one by a part of its label.
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
