//! As much of a question as is shown of it: of however many parts or lines it is, it does not fill
//! the terminal.

use std::mem;

use super::{Page, Style};
use crate::{
    text::{self, Words},
    words,
};

/// An excerpt of one question's texts, bounded over all its parts.
///
/// A part that does not fit is cut, and those after it are left out, until
/// [`end`](Excerpt::end) says how much that is.
#[derive(Debug)]
pub struct Excerpt<'a> {
    page: &'a mut Page,
    is_whole: bool,
    /// How many characters may still be put there.
    left: usize,
    /// How many more may be once this is released.
    reserved: usize,
    left_out: usize,
}

impl<'a> Excerpt<'a> {
    /// At most `most` characters of a question, to be put on this page.
    pub fn new(page: &'a mut Page, most: usize) -> Self {
        Self {
            page,
            is_whole: most == usize::MAX,
            left: most,
            reserved: 0,
            left_out: 0,
        }
    }

    /// The page, for lines of ours whose number is not the server's to choose.
    pub fn page(&mut self) -> &mut Page {
        self.page
    }

    /// Whether all of the question is to be shown, however long it is.
    pub(crate) fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// Text of a peer.
    pub fn quote(&mut self, text: &str) {
        self.quote_at("", text);
    }

    /// Text of a peer behind a mark of ours.
    pub fn quote_at(&mut self, mark: impl Into<Words>, text: &str) {
        let (head, more) = text::head(text, self.left);
        if !head.is_empty() {
            self.page.quote_at(mark, head);
        }
        self.left_out = self.left_out.saturating_add(more);
        self.left = match more {
            0 => self.left.saturating_sub(text::extent(head)),
            _ => 0,
        };
    }

    /// Text of a peer behind a mark of ours, on one line as long as it fits.
    pub fn quote_line(&mut self, mark: impl Into<Words>, text: &str) {
        self.quote_at(mark, &text::line(text));
    }

    /// A line of ours of which there are as many as the server likes.
    pub(crate) fn say(&mut self, style: Style, line: Words) {
        let characters = line.as_str().chars().count();
        match self.left.checked_sub(characters) {
            Some(left) => {
                self.left = left;
                self.page.say(style, line);
            }
            None => {
                self.left = 0;
                self.left_out = self.left_out.saturating_add(characters);
            }
        }
    }

    /// How many characters may still be put there.
    pub(crate) fn left(&self) -> usize {
        self.left
    }

    /// Leaves out so many characters of the question, and says in which place.
    pub(crate) fn leave_out(&mut self, words: impl Into<Words>, characters: usize) {
        self.page.note(Style::Dim, words);
        self.left_out = self.left_out.saturating_add(characters);
    }

    /// Keeps room for so many characters that follow, half of it at most.
    pub(crate) fn reserve(&mut self, characters: usize) {
        self.reserved = characters.min(self.left / 2);
        self.left = self.left.saturating_sub(self.reserved);
    }

    /// Gives back the room that was kept.
    pub(crate) fn release(&mut self) {
        let reserved = mem::take(&mut self.reserved);
        self.left = self.left.saturating_add(reserved);
    }

    /// Says how much was left out, if anything was, and what `becomes` of it.
    pub fn end(self, becomes: impl Into<Words>) {
        if self.left_out > 0 {
            let words = words!("{} more characters{}", self.left_out, becomes.into());
            self.page.note(Style::Warning, words);
        }
    }
}

/// The words for characters that are left out.
pub const LEFT_OUT: &str = " are left out";
