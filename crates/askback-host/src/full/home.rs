//! The line of commands, while nothing is asked.

use super::{editor::Editor, frame::Row, key::Key};
use crate::{
    offer::{About, Offer},
    page::Style,
    text::{self, PeerText, Words},
};

/// The most offers that are seen at once.
const SEEN: usize = 8;

/// The column of names: that behind the gutter.
const NAMES: usize = 4;

/// The most lines that are remembered.
const REMEMBERED: usize = 1000;

/// The line of commands.
#[derive(Debug, Default)]
pub(super) struct Home {
    editor: Editor,
    offers: Vec<Offer>,
    /// The offer that is chosen among those that fit, once the person has chosen.
    picked: Option<usize>,
    history: Vec<String>,
    /// The line of the history that is seen, from the newest.
    back: Option<usize>,
    /// The line that was being written before the person went through the history.
    begun: String,
    /// Whether what is typed looks something up in the history.
    is_searching: bool,
}

/// The outcome of a key.
pub(super) enum Homed {
    /// This line was entered.
    Line(String),
    /// The person leaves.
    Leave,
    /// The person pressed Ctrl-C where there was nothing to clear.
    Interrupt,
    /// Nothing that others need to know.
    Nothing,
}

impl Home {
    /// Takes note of what can be typed from now on.
    pub(super) fn offer(&mut self, offers: Vec<Offer>) {
        self.offers = offers;
        self.picked = None;
    }

    /// Remembers lines to go back to, behind those that are remembered.
    pub(super) fn remember(&mut self, lines: Vec<String>) {
        self.history.extend(lines);
        self.history.dedup();
        let over = self.history.len().saturating_sub(REMEMBERED);
        self.history.drain(..over);
    }

    /// Does what a key does.
    pub(super) fn press(&mut self, key: &Key) -> Homed {
        match key {
            Key::Enter => return self.enter(),
            // What is being written stays.
            Key::F(1) => return Homed::Line("/help".to_owned()),
            Key::Char('?') if self.editor.text().is_empty() && !self.is_searching => {
                return Homed::Line("/help".to_owned());
            }
            Key::F(2) => return Homed::Line("/wire".to_owned()),
            Key::F(5) => return Homed::Line("/again".to_owned()),
            Key::Ctrl('d') if self.editor.text().is_empty() => return Homed::Leave,
            Key::Ctrl('c') if self.editor.text().is_empty() => return Homed::Interrupt,
            Key::Ctrl('c') | Key::Esc => {
                self.editor.take();
                self.picked = None;
                self.is_searching = false;
            }
            Key::Ctrl('r') => self.is_searching = true,
            Key::Tab => self.complete(),
            Key::Up if self.picked.is_some() => {
                self.picked = self.picked.and_then(|picked| picked.checked_sub(1));
            }
            Key::Up => self.recall(true),
            Key::Down if self.back.is_some() => self.recall(false),
            Key::Down => {
                let count = self.fitting().len();
                let next = self.picked.map_or(0, |picked| picked.saturating_add(1));
                self.picked = Some(next).filter(|&next| next < count).or(self.picked);
            }
            key => {
                if self.editor.press(key) {
                    (self.picked, self.back) = (None, None);
                }
            }
        }
        Homed::Nothing
    }

    /// Takes in keys that are pressed while no line is wanted: they are kept.
    pub(super) fn press_ahead(&mut self, key: &Key) {
        self.editor.press(key);
    }

    fn enter(&mut self) -> Homed {
        let fitting = self.fitting();
        let typed = self.editor.text().trim();
        let is_ours = |offer: &&Offer| {
            let is_named = offer.line.strip_prefix('/') == Some(typed);
            is_named && matches!(offer.about, About::Ours(_))
        };
        let picked = match self.picked {
            Some(picked) => fitting.get(picked).cloned(),
            None if self.is_searching => fitting.first().cloned(),
            None if typed.is_empty() || typed.starts_with('/') => None,
            // A word without a slash is one of ours, or looked for: what is found is to be seen
            // before it is done.
            None => match self.offers.iter().find(is_ours) {
                Some(ours) => Some(ours.line.clone()),
                None => {
                    self.picked = (!fitting.is_empty()).then_some(0);
                    return Homed::Nothing;
                }
            },
        };
        let line = picked.unwrap_or_else(|| self.editor.text().to_owned());
        self.editor.take();
        (self.picked, self.back, self.is_searching) = (None, None, false);
        if line.trim().is_empty() {
            return Homed::Nothing;
        }
        self.remember(vec![line.clone()]);
        Homed::Line(line)
    }

    fn complete(&mut self) {
        let fitting = self.fitting();
        if let Some(line) = fitting.get(self.picked.unwrap_or_default()) {
            let goes_on = self
                .offers
                .iter()
                .any(|offer| offer.line == *line && offer.goes_on);
            self.editor = Editor::new(if goes_on {
                format!("{line} ")
            } else {
                line.clone()
            });
            self.picked = None;
        }
    }

    fn recall(&mut self, older: bool) {
        let last = self.history.len().checked_sub(1);
        if self.back.is_none() {
            self.begun = self.editor.text().to_owned();
        }
        self.back = match (self.back, older) {
            (None, true) => last.map(|_| 0),
            (Some(back), true) => last.map(|last| back.saturating_add(1).min(last)),
            (Some(back), false) => back.checked_sub(1),
            (None, false) => None,
        };
        let line = self
            .back
            .and_then(|back| self.history.iter().rev().nth(back));
        self.editor = Editor::new(line.unwrap_or(&self.begun).clone());
    }

    /// The lines that fit what was typed.
    fn fitting(&self) -> Vec<String> {
        let typed = self.editor.text().trim().to_lowercase();
        if self.is_searching {
            let mut found: Vec<String> = Vec::new();
            for line in self.history.iter().rev() {
                if line.to_lowercase().contains(&typed) && !found.contains(line) {
                    found.push(line.clone());
                }
            }
            return found;
        }
        let fits = |offer: &&Offer| {
            let about = match &offer.about {
                About::Ours(words) => words,
                About::Peer(text) => text.raw(),
            };
            match typed.strip_prefix('/') {
                Some(_) => offer.line.to_lowercase().starts_with(&typed),
                None => {
                    offer.line.to_lowercase().contains(&typed)
                        || about.to_lowercase().contains(&typed)
                }
            }
        };
        let found = self.offers.iter().filter(fits);
        found.map(|offer| offer.line.clone()).collect()
    }

    /// The rows of the line, and of what fits it.
    pub(super) fn rows(&self, prompt: &Words, columns: usize) -> Vec<Row> {
        let sign = match self.is_searching {
            true => " history> ",
            false => "> ",
        };
        let line = Row::new(columns)
            .ours(Style::Strong, prompt.clone())
            .ours(Style::Strong, sign);
        let room = line.room();
        let line = line.written(self.editor.text(), Some(self.editor.at()), room);
        let mut rows = vec![line];
        let fitting = self.fitting();
        let is_exact = fitting.len() == 1 && fitting[0] == self.editor.text().trim();
        if !is_exact && !self.editor.text().contains(' ') {
            let first = self
                .picked
                .unwrap_or_default()
                .saturating_sub(SEEN.saturating_sub(1));
            for (index, line) in fitting.iter().enumerate().skip(first).take(SEEN) {
                rows.push(self.offered(line, Some(index) == self.picked, columns));
            }
            let more = fitting.len().saturating_sub(first.saturating_add(SEEN));
            if more > 0 {
                let words = crate::words!("  {} more", more);
                rows.push(Row::new(columns).ours(Style::Dim, words));
            }
        }
        rows
    }

    fn offered(&self, line: &str, is_picked: bool, columns: usize) -> Row {
        let style = if is_picked {
            Style::Strong
        } else {
            Style::Plain
        };
        let row = Row::new(columns).ours(style, if is_picked { "› " } else { "  " });
        let offer = self.offers.iter().find(|offer| offer.line == line);
        let name = columns / 3;
        match offer
            .filter(|_| !self.is_searching)
            .map(|offer| &offer.about)
        {
            Some(About::Ours(about)) => row
                .to(NAMES)
                .ours(style, text::given(line))
                .to(name)
                .ours(Style::Dim, "  ")
                .ours(Style::Dim, *about),
            Some(About::Peer(about)) => row.peer(style, &PeerText::from(line), name).to(name).peer(
                Style::Dim,
                about,
                columns,
            ),
            None => row.to(NAMES).ours(style, text::given(line)),
        }
    }
}
