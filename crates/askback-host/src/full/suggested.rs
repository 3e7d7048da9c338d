//! The suggested values below a field.

use std::time::Duration;

use serde_json::Value;

use super::{frame::Row, key::Key};
use crate::{
    model::{Action, Front, Step},
    page::Style,
    text::PeerText,
    view, words,
};

const SEEN: usize = 6;

/// How long a suggestion must be on the screen before Tab takes it. An earlier Tab was meant to go to the next field.
const SETTLE: Duration = Duration::from_millis(300);

#[derive(Debug, Default)]
pub(super) struct SuggestedView {
    picked: Option<usize>,
    /// The suggestion that completes the text, and when it was first drawn.
    completing: Option<(String, Duration)>,
    /// When the suggestions were last drawn.
    now: Duration,
}

impl SuggestedView {
    /// Records what is drawn at this time.
    pub(super) fn pass(&mut self, front: Option<&Front<'_>>, field: usize, now: Duration) {
        let first = front.and_then(|front| {
            let values = values(front, field);
            values.get(completing(
                values.iter().map(String::as_str),
                text(front, field),
            )?)
        });
        let known = self.completing.take();
        self.completing = first.map(|first| match known {
            Some((known, since)) if known == *first => (known, since),
            _ => (first.clone(), now),
        });
        self.now = now;
    }

    /// Returns the time until Tab takes the suggestion that is drawn. `None` if it does already, or if there is none.
    pub(super) fn settles_after(&self) -> Option<Duration> {
        let (_, since) = self.completing.as_ref()?;
        let left = since.saturating_add(SETTLE).saturating_sub(self.now);
        (!left.is_zero()).then_some(left)
    }

    fn is_settled(&self, value: &str) -> bool {
        let known = self.completing.as_ref().map(|(known, _)| known.as_str());
        known == Some(value) && self.settles_after().is_none()
    }

    /// Returns `None` if the key does nothing here.
    pub(super) fn press(
        &mut self,
        front: &Front<'_>,
        field: usize,
        key: &Key,
    ) -> Option<Vec<Action>> {
        let values = values(front, field);
        if (key, self.picked) == (&Key::Tab, None) {
            let first = completing(values.iter().map(String::as_str), text(front, field));
            self.picked = first.filter(|at| self.is_settled(&values[*at]));
        }
        match (key, self.picked) {
            (Key::Down, None) if !values.is_empty() => self.picked = Some(0),
            (Key::Down, Some(picked)) => {
                let last = values.len().saturating_sub(1);
                self.picked = Some(picked.saturating_add(1).min(last));
            }
            (Key::Up, Some(picked)) => self.picked = picked.checked_sub(1),
            (Key::Enter | Key::Tab, Some(picked)) => {
                self.picked = None;
                let text = values.get(picked)?.clone();
                let written = Action::Write {
                    field,
                    text: text.clone(),
                };
                return Some(vec![written, Action::Suggest { field, text }]);
            }
            _ => {
                self.picked = None;
                return None;
            }
        }
        Some(Vec::new())
    }

    /// The rows of the suggested values. Each row starts like `row`.
    pub(super) fn rows(
        &self,
        suggested: &view::SuggestedView,
        written: &str,
        row: &Row,
    ) -> Vec<Row> {
        let values = &suggested.values;
        // The current value need not be suggested.
        if values.is_empty() || values.iter().any(|value| value.raw() == written) {
            return Vec::new();
        }
        let first = self.picked.unwrap_or_default();
        let first = first.saturating_sub(SEEN.saturating_sub(1));
        let completes = match self.picked {
            Some(_) => None,
            None => completing(values.iter().map(PeerText::raw), written)
                .filter(|at| self.is_settled(values[*at].raw())),
        };
        let mut rows = Vec::new();
        for (index, value) in values.iter().enumerate().skip(first).take(SEEN) {
            let (mark, style) = match self.picked == Some(index) {
                true => ("› ", Style::Focus),
                false => ("  ", Style::Dim),
            };
            let row = row.clone().ours(style, mark);
            let key = match completes == Some(index) {
                true => "  Tab",
                false => "",
            };
            let room = row.room().saturating_sub(key.len());
            rows.push(row.peer(style, value, room).ours(Style::Dim, key));
        }
        if suggested.has_more || values.len() > first.saturating_add(SEEN) {
            let words = words!("  {}", suggested.more);
            rows.push(row.clone().ours(Style::Dim, words));
        }
        rows
    }
}

/// The suggestion that Tab takes: the first that begins with the text and is longer.
fn completing<'a>(mut values: impl Iterator<Item = &'a str>, written: &str) -> Option<usize> {
    let begins = |value: &str| value.len() > written.len() && value.starts_with(written);
    values.position(|value| !written.is_empty() && begins(value))
}

fn text<'a>(front: &Front<'a>, field: usize) -> &'a str {
    let Step::Filling(draft) = front.step else {
        return "";
    };
    let value = || draft.value(field).and_then(Value::as_str);
    draft.written(field).or_else(value).unwrap_or_default()
}

fn values<'a>(front: &Front<'a>, field: usize) -> &'a [String] {
    match front.suggested {
        Some(suggested) if suggested.field == field => &suggested.values,
        _ => &[],
    }
}
