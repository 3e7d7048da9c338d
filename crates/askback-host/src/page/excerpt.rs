//! The visible part of a question, with a size limit for all its parts and lines.

use std::mem;

use super::{Page, Style};
use crate::{
    text::{self, Words},
    words,
};

/// An excerpt of one question's texts. The limit applies to all parts together.
///
/// The first part that exceeds the limit is cut and later parts are left out. [`end`](Excerpt::end)
/// reports how much is missing.
#[derive(Debug)]
pub struct Excerpt<'a> {
    page: &'a mut Page,
    is_whole: bool,
    left: usize,
    /// How many more are available after [`release`](Excerpt::release).
    reserved: usize,
    left_out: usize,
}

impl<'a> Excerpt<'a> {
    /// An excerpt of at most `most` characters on this page.
    pub fn new(page: &'a mut Page, most: usize) -> Self {
        Self {
            page,
            is_whole: most == usize::MAX,
            left: most,
            reserved: 0,
            left_out: 0,
        }
    }

    /// The page, for our own lines, if a server cannot influence how many there are.
    pub fn page(&mut self) -> &mut Page {
        self.page
    }

    pub(crate) fn is_whole(&self) -> bool {
        self.is_whole
    }

    pub fn quote(&mut self, text: &str) {
        self.quote_at("", text);
    }

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

    /// Adds a peer's text after our mark, in one line if it fits.
    pub fn quote_line(&mut self, mark: impl Into<Words>, text: &str) {
        self.quote_at(mark, &text::line(text));
    }

    /// Adds our own line. It counts because a server decides how many there are.
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

    pub(crate) fn left(&self) -> usize {
        self.left
    }

    /// Notes at this place that `characters` characters are left out.
    pub(crate) fn leave_out(&mut self, words: impl Into<Words>, characters: usize) {
        self.page.note(Style::Dim, words);
        self.left_out = self.left_out.saturating_add(characters);
    }

    /// Reserves characters for later parts, at most half of what is left.
    pub(crate) fn reserve(&mut self, characters: usize) {
        self.reserved = characters.min(self.left / 2);
        self.left = self.left.saturating_sub(self.reserved);
    }

    pub(crate) fn release(&mut self) {
        let reserved = mem::take(&mut self.reserved);
        self.left = self.left.saturating_add(reserved);
    }

    /// Reports how much was left out. `becomes` says how to see it.
    pub fn end(self, becomes: impl Into<Words>) {
        if self.left_out > 0 {
            let words = words!("{} more characters{}", self.left_out, becomes.into());
            self.page.note(Style::Warning, words);
        }
    }
}

/// For [`Excerpt::end`], if there is no way to see the rest.
pub const LEFT_OUT: &str = " are left out";
