//! Gets the user's attention when they look elsewhere.

use std::time::Duration;

use crossterm::event::Event;
use tokio::time::Instant;

use crate::text::Words;

/// After this long without a key, the user counts as away from the terminal.
const AWAY: Duration = Duration::from_secs(20);

/// Whether the user is looking, as far as the terminal reports it.
pub(super) struct Attention {
    /// Whether the window has the focus; `None` until the terminal reports it.
    is_here: Option<bool>,
    pressed: Instant,
}

impl Attention {
    pub(super) fn new() -> Self {
        Self {
            is_here: None,
            pressed: Instant::now(),
        }
    }

    pub(super) fn turn(&mut self, event: &Event) {
        match event {
            Event::FocusGained => self.is_here = Some(true),
            Event::FocusLost => self.is_here = Some(false),
            Event::Key(_) | Event::Paste(_) => self.pressed = Instant::now(),
            _ => {}
        }
    }

    /// Returns codes that call an absent user: a bell, and a desktop notification if the window is
    /// known to have lost the focus.
    pub(super) fn call(&self, words: &Words) -> String {
        match self.is_here {
            Some(true) => String::new(),
            Some(false) => format!("\x07\x1b]9;{}\x1b\\", words.as_str()),
            None if self.pressed.elapsed() > AWAY => "\x07".to_owned(),
            None => String::new(),
        }
    }
}
