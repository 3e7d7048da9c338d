//! The code of a link on the screen, while it is wanted.

use super::frame::{Frame, Row};
use crate::{
    code,
    model::Front,
    page::{Look, Page},
    question,
};

/// Whether the code of a link is wanted, and the rows that there are for one.
#[derive(Debug, Default)]
pub(super) struct LinkCode {
    is_wanted: bool,
    room: usize,
}

impl LinkCode {
    /// Shows the code, or hides it. Where the screen has no room for it, it is put on the page.
    pub(super) fn turn(&mut self, front: &Front<'_>, page: &mut Page) {
        if std::mem::take(&mut self.is_wanted) {
            return;
        }
        let height = question::link(&front.step)
            .and_then(|link| code::height(&link.url, page.look().columns));
        self.is_wanted = height.is_some_and(|height| height <= self.room);
        if !self.is_wanted {
            question::link_code(page, front);
        }
    }

    /// Hides the code.
    pub(super) fn hide(&mut self) {
        self.is_wanted = false;
    }

    /// Returns the rows of the code, if it is wanted and takes at most so many; it is hidden where it takes more.
    pub(super) fn rows(&mut self, front: &Front<'_>, look: Look, room: usize) -> Vec<Row> {
        self.room = room;
        if !self.is_wanted {
            return Vec::new();
        }
        let mut page = Page::new(look);
        question::link_code(&mut page, front);
        let mut frame = Frame::default();
        frame.put(&page.take());
        self.is_wanted = (2..=room).contains(&frame.height());
        match self.is_wanted {
            true => frame.into_rows(),
            false => Vec::new(),
        }
    }
}
