//! The keys of a person.

use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

/// A key that was pressed, or a text that was pasted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Key {
    /// A character.
    Char(char),
    /// A character with Ctrl.
    Ctrl(char),
    /// A text that was pasted: one value, wherever it lands.
    Paste(String),
    /// Enter.
    Enter,
    /// Enter with Alt: a line break within a text.
    Break,
    /// Tab.
    Tab,
    /// Tab with Shift.
    BackTab,
    /// Esc.
    Esc,
    /// Backspace.
    Backspace,
    /// Delete.
    Delete,
    /// The arrow to the left.
    Left,
    /// The arrow to the right.
    Right,
    /// The arrow up.
    Up,
    /// The arrow down.
    Down,
    /// A word to the left.
    WordLeft,
    /// A word to the right.
    WordRight,
    /// To the beginning.
    Home,
    /// To the end.
    End,
    /// A page up.
    PageUp,
    /// A page down.
    PageDown,
    /// A function key.
    F(u8),
}

impl Key {
    /// Whether it leads out of a question, or answers nothing.
    pub(super) fn leaves(&self) -> bool {
        matches!(self, Self::Esc | Self::Ctrl('c') | Self::F(_))
    }

    /// Reads an event of the terminal; none for what is no key.
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
