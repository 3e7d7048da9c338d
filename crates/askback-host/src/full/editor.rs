//! A text that is being written, and where in it.

use unicode_segmentation::UnicodeSegmentation;

use super::key::Key;

/// A text with a cursor in it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Editor {
    text: String,
    /// The byte before which the next character goes.
    at: usize,
}

impl Editor {
    /// An editor with a text, to go on behind it.
    pub(super) fn new(text: impl Into<String>) -> Self {
        let text = text.into();
        Self {
            at: text.len(),
            text,
        }
    }

    /// The text.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// The byte at which the cursor stands.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// Takes the text out.
    pub(super) fn take(&mut self) -> String {
        self.at = 0;
        std::mem::take(&mut self.text)
    }

    /// Puts a text in at the cursor, as it is.
    pub(super) fn insert(&mut self, text: &str) {
        self.text.insert_str(self.at, text);
        self.at = self.at.saturating_add(text.len());
    }

    /// Does what a key does to a text. Says whether it is one that does anything to texts.
    pub(super) fn press(&mut self, key: &Key) -> bool {
        match key {
            Key::Char(c) => self.insert(c.encode_utf8(&mut [0; 4])),
            Key::Paste(text) => self.insert(&text.replace("\r\n", "\n").replace('\r', "\n")),
            Key::Break => self.insert("\n"),
            Key::Backspace => self.cut(self.before(self.at), self.at),
            Key::Delete => self.cut(self.at, self.after(self.at)),
            Key::Left => self.at = self.before(self.at),
            Key::Right => self.at = self.after(self.at),
            Key::Home | Key::Ctrl('a') => self.at = 0,
            Key::End | Key::Ctrl('e') => self.at = self.text.len(),
            Key::WordLeft => self.at = self.word_before(),
            Key::WordRight => self.at = self.word_after(),
            Key::Ctrl('u') => self.cut(0, self.at),
            Key::Ctrl('k') => self.cut(self.at, self.text.len()),
            Key::Ctrl('w') => self.cut(self.word_before(), self.at),
            _ => return false,
        }
        true
    }

    fn cut(&mut self, from: usize, to: usize) {
        self.text.replace_range(from..to, "");
        self.at = from;
    }

    fn before(&self, at: usize) -> usize {
        let mut clusters = self.text[..at].grapheme_indices(true);
        clusters.next_back().map_or(0, |(index, _)| index)
    }

    fn after(&self, at: usize) -> usize {
        let cluster = self.text[at..].graphemes(true).next();
        at.saturating_add(cluster.map_or(0, str::len))
    }

    fn word_before(&self) -> usize {
        let mut words = self.text[..self.at].unicode_word_indices();
        words.next_back().map_or(0, |(index, _)| index)
    }

    fn word_after(&self) -> usize {
        let mut words = self.text[self.at..].unicode_word_indices();
        words.next().map_or(self.text.len(), |(index, word)| {
            self.at.saturating_add(index).saturating_add(word.len())
        })
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
        check("one two", &[WordLeft, WordLeft, WordRight], "one", " two");
        check("one two", &[WordLeft, Ctrl('k')], "one ", "");
        check("one two", &[WordLeft, Ctrl('u')], "", "two");
        check("one", &[Home, Left, End, Right], "one", "");
        check("a", &[Key::Paste("b\r\nc\rd".into())], "ab\nc\nd", "");
    }

    #[test]
    fn other_keys_are_not_for_texts() {
        let mut editor = Editor::new("a");
        for key in [Key::Enter, Key::Esc, Key::Tab, Key::Up, Key::Ctrl('s')] {
            assert!(!editor.press(&key), "{key:?}");
        }
        assert_eq!(editor.take(), "a");
        assert_eq!(editor, Editor::default());
    }
}
