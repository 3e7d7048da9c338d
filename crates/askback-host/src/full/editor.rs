//! A text under edit and its cursor.

use tui_input::{Input, InputRequest};

use super::key::Key;

#[derive(Debug, Clone, Default)]
pub(super) struct Editor(Input);

impl Editor {
    /// Starts with the cursor at the end of the text.
    pub(super) fn new(text: impl Into<String>) -> Self {
        Self(Input::new(text.into()))
    }

    pub(super) fn text(&self) -> &str {
        self.0.value()
    }

    /// The byte offset of the cursor.
    pub(super) fn at(&self) -> usize {
        let text = self.text();
        let mut characters = text.char_indices();
        characters
            .nth(self.0.cursor())
            .map_or(text.len(), |(at, _)| at)
    }

    pub(super) fn take(&mut self) -> String {
        std::mem::take(&mut self.0).into()
    }

    pub(super) fn insert(&mut self, text: &str) {
        let (before, after) = self.text().split_at(self.at());
        let whole = [before, text, after].concat();
        let cursor = self.0.cursor().saturating_add(text.chars().count());
        self.0 = Input::new(whole).with_cursor(cursor);
    }

    /// Returns false if the key does not edit or move.
    pub(super) fn press(&mut self, key: &Key) -> bool {
        let request = match key {
            Key::Paste(text) => {
                self.insert(&text.replace("\r\n", "\n").replace('\r', "\n"));
                return true;
            }
            Key::Char(c) => InputRequest::InsertChar(*c),
            Key::Break => InputRequest::InsertChar('\n'),
            Key::Backspace => InputRequest::DeletePrevChar,
            Key::Delete => InputRequest::DeleteNextChar,
            Key::Left => InputRequest::GoToPrevChar,
            Key::Right => InputRequest::GoToNextChar,
            Key::Home | Key::Ctrl('a') => InputRequest::GoToStart,
            Key::End | Key::Ctrl('e') => InputRequest::GoToEnd,
            Key::WordLeft => InputRequest::GoToPrevWord,
            Key::WordRight => InputRequest::GoToNextWord,
            Key::Ctrl('u') => InputRequest::DeleteFromStart,
            Key::Ctrl('k') => InputRequest::DeleteTillEnd,
            Key::Ctrl('w') => InputRequest::DeletePrevWord,
            _ => return false,
        };
        self.0.handle(request);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_edit() {
        #[track_caller]
        fn check(text: &str, keys: &[Key], left: &str, right: &str) {
            let mut editor = Editor::new(text);
            for key in keys {
                assert!(editor.press(key), "{key:?}");
            }
            assert_eq!(editor.text().split_at(editor.at()), (left, right));
        }
        use Key::{Backspace, Char, Ctrl, Delete, End, Home, Left, Right, WordLeft, WordRight};
        check("ab", &[Left, Char('x')], "ax", "b");
        check("ab", &[Home, Delete, Right, Right], "b", "");
        check("ae\u{301}", &[Backspace], "a", "");
        check("👩‍🚀!", &[Left, Backspace, Backspace], "", "!");
        check("one two", &[Ctrl('w'), Char('x')], "one x", "");
        check("one two", &[WordLeft, WordLeft, WordRight], "one ", "two");
        check("one two", &[WordLeft, Ctrl('k')], "one ", "");
        check("one two", &[WordLeft, Ctrl('u')], "", "two");
        check("one", &[Home, Left, End, Right], "one", "");
        check("a", &[Key::Paste("b\r\nc\rd".into())], "ab\nc\nd", "");
        check("ä日", &[Left, Key::Paste("é\r".into())], "äé\n", "日");
    }

    #[test]
    fn other_keys_are_not_for_texts() {
        let mut editor = Editor::new("a");
        for key in [Key::Enter, Key::Esc, Key::Tab, Key::Up, Key::Ctrl('s')] {
            assert!(!editor.press(&key), "{key:?}");
        }
        assert_eq!(editor.take(), "a");
        assert_eq!((editor.text(), editor.at()), ("", 0));
    }
}
