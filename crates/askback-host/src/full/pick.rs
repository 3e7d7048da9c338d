//! The tools that may be called in place of a model, on the screen: those that are meant by what is typed.

use super::{
    editor::Editor,
    frame::{Frame, Row},
    key::Key,
};
use crate::{
    model::{Said, Sampling},
    page::{Look, Page, Style},
    question::tools,
    text::{self, PeerText},
    words,
};

/// The most tools that are seen at once.
const SEEN: usize = 7;

/// Where the person is among the tools.
#[derive(Debug, Default)]
pub(super) struct PickView {
    typed: Editor,
    at: usize,
}

impl PickView {
    /// Does what a key does, if it does anything here.
    pub(super) fn press(&mut self, sampling: &Sampling, key: &Key) -> Option<Vec<Said>> {
        let meant = sampling.having(self.typed.text());
        let last = meant.len().saturating_sub(1);
        match key {
            Key::Enter => {
                let picked = meant.get(self.at.min(last))?;
                return Some(vec![Said::Call(*picked)]);
            }
            Key::Ctrl('b') => return Some(vec![Said::Back]),
            Key::Down => self.at = self.at.saturating_add(1).min(last),
            Key::Up => self.at = self.at.saturating_sub(1),
            Key::PageDown => self.at = self.at.saturating_add(SEEN).min(last),
            Key::PageUp => self.at = self.at.saturating_sub(SEEN),
            Key::Tab => {
                let picked = sampling.offered().get(*meant.get(self.at.min(last))?)?;
                // A name that acts or hides is picked by the arrows.
                if !picked.name.chars().any(text::acts_or_hides) {
                    (self.typed, self.at) = (Editor::new(&picked.name), 0);
                }
            }
            Key::Ctrl('c') if !self.typed.text().is_empty() => {
                (self.typed, self.at) = (Editor::default(), 0);
            }
            Key::Break => {}
            key => {
                if !self.typed.press(key) {
                    return None;
                }
                self.at = 0;
            }
        }
        Some(Vec::new())
    }

    /// The rows of what is typed and of the tools that are meant, and in which of them the person is.
    pub(super) fn rows(&self, sampling: &Sampling, look: Look) -> (Vec<Row>, usize) {
        let row = || Row::new(look.columns);
        let line = row().ours(Style::Strong, "Call the tool: ");
        let room = line.room();
        let mut focused = 0;
        let mut rows = vec![line.written(self.typed.text(), Some(self.typed.at()), room)];
        let meant = sampling.having(self.typed.text());
        let at = self.at.min(meant.len().saturating_sub(1));
        let first = at.saturating_sub(SEEN / 2);
        let first = first.min(meant.len().saturating_sub(SEEN));
        for (place, &index) in meant.iter().enumerate().skip(first).take(SEEN) {
            let Some(tool) = sampling.offered().get(index) else {
                continue;
            };
            let (mark, style) = match place == at {
                true => ("› ", Style::Strong),
                false => ("  ", Style::Plain),
            };
            let row = row().ours(style, mark);
            let room = row.room();
            rows.push(row.peer(style, &PeerText::from(tools::name(tool)), room));
            if place == at {
                focused = rows.len();
                let mut page = Page::new(look);
                tools::about(&mut page, tool, tools::ABOUT);
                let mut frame = Frame::default();
                frame.put(&page.take());
                rows.extend(frame.into_rows());
            }
        }
        let last = first.saturating_add(SEEN).min(meant.len());
        if meant.is_empty() {
            rows.push(row().ours(
                Style::Warning,
                "× no tool that is offered has that in its name",
            ));
        } else if last.saturating_sub(first) < meant.len() {
            let words = words!(
                "  {} to {} of {}",
                first.saturating_add(1),
                last,
                meant.len()
            );
            rows.push(row().ours(Style::Dim, words));
        }
        (rows, focused)
    }
}
