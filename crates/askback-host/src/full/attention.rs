//! The attention of the person: a call where they look elsewhere.

use std::time::Duration;

use crossterm::event::Event;
use tokio::time::Instant;

use crate::text::Words;

/// How long a person who presses no key is taken to be before the terminal.
const AWAY: Duration = Duration::from_secs(20);

/// Where the person looks, as far as the terminal says.
pub(super) struct Attention {
    /// Whether the window is in front; none where the terminal has not said so.
    is_here: Option<bool>,
    /// When a key was pressed last.
    pressed: Instant,
}

impl Attention {
    pub(super) fn new() -> Self {
        Self {
            is_here: None,
            pressed: Instant::now(),
        }
    }

    /// Takes note of what happened at the terminal.
    pub(super) fn turn(&mut self, event: &Event) {
        match event {
            Event::FocusGained => self.is_here = Some(true),
            Event::FocusLost => self.is_here = Some(false),
            Event::Key(_) | Event::Paste(_) => self.pressed = Instant::now(),
            _ => {}
        }
    }

    /// Returns what calls the person who is elsewhere: a bell, and a notice on the desktop where the
    /// window is known not to be in front and the terminal can show one.
    pub(super) fn call(&self, words: &Words) -> String {
        match self.is_here {
            Some(true) => String::new(),
            Some(false) => format!("\x07\x1b]9;{}\x1b\\", words.as_str()),
            None if self.pressed.elapsed() > AWAY => "\x07".to_owned(),
            None => String::new(),
        }
    }
}
