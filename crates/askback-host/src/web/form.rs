//! Parses a submitted form into actions.

use serde_json::Value;
use url::form_urlencoded;

use super::visit::is_same;
use crate::{
    leaf::Did,
    model::Action,
    view::{Act, ActionView, Body, FieldView, Input, LinkStep, View},
};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Form(Vec<(String, String)>);

impl Form {
    pub(super) fn read(body: &[u8]) -> Self {
        Self(form_urlencoded::parse(body).into_owned().collect())
    }

    /// Returns the only value of a field, or `None` if the field occurs twice.
    pub(super) fn field(&self, name: &str) -> Option<&str> {
        let mut named = self.all(name);
        let value = named.next()?;
        named.next().is_none().then_some(value)
    }

    fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        let named = self.0.iter().filter(move |(known, _)| known == name);
        named.map(|(_, value)| value.as_str())
    }

    /// Whether the page's script sent the form to save unfinished text.
    pub(super) fn is_draft(&self) -> bool {
        self.field("act") == Some("draft")
    }

    /// Returns the command to run if `is_idle`, or the interruption of the one that runs.
    pub(super) fn command(&self, is_idle: bool) -> Option<Did> {
        match self.field("line") {
            Some(line) if is_idle => {
                let line = line.trim();
                let is_line = !line.is_empty() && !line.contains(['\n', '\r']);
                is_line.then(|| Did::Line(line.to_owned()))
            }
            None if !is_idle && self.field("stop").is_some() => Some(Did::Interrupt),
            _ => None,
        }
    }

    pub(super) fn has_token(&self, token: &str) -> bool {
        is_same(token, self.field("token").unwrap_or_default())
    }

    /// Returns a text with `\n` as the line end, as at a terminal.
    fn text(&self, name: &str) -> Option<String> {
        self.field(name).map(|text| text.replace("\r\n", "\n"))
    }
}

pub(super) fn name(act: &Act) -> String {
    match serde_json::to_value(act) {
        Ok(Value::String(name)) => name,
        _ => String::new(),
    }
}

/// Returns the actions that have a button on the page. Enter in a text field presses the first
/// button, so the action that submits text is first.
pub(super) fn buttons(view: &View) -> Vec<&ActionView> {
    let has_button = |action: &&ActionView| {
        !matches!(
            action.act,
            Act::Next | Act::Copy | Act::Code | Act::Reveal | Act::Help | Act::OpenAgain
        )
    };
    let mut buttons: Vec<_> = view.actions.iter().filter(has_button).collect();
    buttons.sort_by_key(|action| match action.act {
        Act::Folder | Act::Fill => 0,
        act if act.is_permission() => 2,
        act if act.is_way_out() => 3,
        _ => 1,
    });
    buttons
}

/// Returns the actions in a form: new text first, then the button. `view` must reveal secrets, so
/// that unchanged ones are recognized.
pub(super) fn actions(view: &View, form: &Form) -> Vec<Action> {
    let mut actions = match &view.body {
        Body::Form(it) => written(&it.fields, form),
        _ => Vec::new(),
    };
    actions.extend(suggestion(view, form));
    let pressed = form.field("act").unwrap_or_default();
    let text = form.text("text");
    let button = buttons(view)
        .into_iter()
        .find(|it| name(&it.act) == pressed);
    match (button.map(|it| it.act), text) {
        (Some(Act::Fill), Some(text)) => actions.push(Action::Fill(text)),
        (Some(Act::Folder), Some(text)) => actions.push(Action::Folder(text)),
        (None, Some(text)) if pressed == "fill" && is_returning(view) => {
            actions.push(Action::Fill(text));
        }
        (act, text) => {
            let is_kept = matches!(view.body, Body::Write(_));
            actions.extend(text.filter(|_| is_kept).map(Action::Draft));
            actions.extend(act.and_then(Act::action));
        }
    }
    actions
}

/// Asks the server to suggest values for a field. The server gets no secret before the form is
/// sent.
fn suggestion(view: &View, form: &Form) -> Option<Action> {
    let Body::Form(it) = &view.body else {
        return None;
    };
    let field: usize = form.field("suggest")?.parse().ok()?;
    it.fields.get(field).filter(|field| !field.is_secret)?;
    let text = form.text(&format!("f{field}"))?;
    Some(Action::Suggest { field, text })
}

pub(super) fn is_returning(view: &View) -> bool {
    matches!(&view.body, Body::Link(link) if link.step == LinkStep::Returning)
}

/// Returns the changed fields, last field first, because a list that grows moves the fields after
/// it.
fn written(fields: &[FieldView], form: &Form) -> Vec<Action> {
    let fields = fields.iter().enumerate().rev();
    let written = fields.flat_map(|(index, field)| of_field(index, field, form));
    written.collect()
}

fn of_field(index: usize, field: &FieldView, form: &Form) -> Vec<Action> {
    let name = format!("f{index}");
    match field.input {
        Input::YesNo | Input::One => {
            let chosen = form.field(&name);
            let was = field.choices.iter().position(|choice| choice.is_chosen);
            match (chosen, chosen.and_then(|chosen| chosen.parse().ok())) {
                (Some(""), _) if was.is_some() => vec![Action::Clear(index)],
                (_, Some(option)) if was != Some(option) => {
                    vec![Action::Choose {
                        field: index,
                        option,
                    }]
                }
                _ => Vec::new(),
            }
        }
        Input::Several => {
            if form.field(&format!("k{index}")).is_none() {
                return Vec::new();
            }
            let chosen: Vec<usize> = form.all(&name).filter_map(|it| it.parse().ok()).collect();
            let choices = field.choices.iter().enumerate();
            let toggled = choices.filter(|(at, choice)| chosen.contains(at) != choice.is_chosen);
            toggled
                .map(|(option, _)| Action::Choose {
                    field: index,
                    option,
                })
                .collect()
        }
        _ => match form.text(&name) {
            // Secrets are not sent to the page, so an empty field means unchanged.
            Some(text) if field.is_secret && text.is_empty() => Vec::new(),
            Some(text) if text != field.text.raw() => {
                vec![Action::Write { field: index, text }]
            }
            _ => Vec::new(),
        },
    }
}
