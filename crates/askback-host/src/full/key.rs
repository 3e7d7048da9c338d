//! The keys that a user can press.

use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Key {
    Char(char),
    Ctrl(char),
    /// A paste. It is always one value.
    Paste(String),
    Enter,
    /// Alt-Enter: a line break within a text.
    Break,
    Tab,
    BackTab,
    Esc,
    Backspace,
    Delete,
    Left,
    Right,
    Up,
    Down,
    WordLeft,
    WordRight,
    Home,
    End,
    PageUp,
    PageDown,
    F(u8),
}

impl Key {
    /// Whether the key leaves a question or does not answer it.
    pub(super) fn leaves(&self) -> bool {
        matches!(self, Self::Esc | Self::Ctrl('c') | Self::F(_))
    }

    /// Returns `None` if the event is not a key.
    pub(super) fn read(event: Event) -> Option<Self> {
        match event {
            Event::Paste(text) => Some(Self::Paste(text)),
            Event::Key(key) if key.kind != KeyEventKind::Release => Self::pressed(&key),
            _ => None,
        }
    }

    fn pressed(key: &KeyEvent) -> Option<Self> {
        let has = |modifier| key.modifiers.contains(modifier);
        let (ctrl, alt) = (has(KeyModifiers::CONTROL), has(KeyModifiers::ALT));
        Some(match key.code {
            KeyCode::Char(c) if ctrl && !alt => Self::Ctrl(c.to_ascii_lowercase()),
            KeyCode::Char('b') if alt && !ctrl => Self::WordLeft,
            KeyCode::Char('f') if alt && !ctrl => Self::WordRight,
            KeyCode::Char(c) => Self::Char(c),
            KeyCode::Enter if alt => Self::Break,
            KeyCode::Enter => Self::Enter,
            KeyCode::Tab => Self::Tab,
            KeyCode::BackTab => Self::BackTab,
            KeyCode::Esc => Self::Esc,
            KeyCode::Backspace if ctrl || alt => Self::Ctrl('w'),
            KeyCode::Backspace => Self::Backspace,
            KeyCode::Delete => Self::Delete,
            KeyCode::Left if ctrl || alt => Self::WordLeft,
            KeyCode::Right if ctrl || alt => Self::WordRight,
            KeyCode::Left => Self::Left,
            KeyCode::Right => Self::Right,
            KeyCode::Up => Self::Up,
            KeyCode::Down => Self::Down,
            KeyCode::Home => Self::Home,
            KeyCode::End => Self::End,
            KeyCode::PageUp => Self::PageUp,
            KeyCode::PageDown => Self::PageDown,
            KeyCode::F(number) => Self::F(number),
            _ => return None,
        })
    }
}
