//! The QR code of a link.

use super::frame::{Frame, Row};
use crate::{
    code,
    model::Front,
    page::{Look, Page},
    question,
};

#[derive(Debug, Default)]
pub(super) struct LinkCode {
    is_wanted: bool,
    room: usize,
}

impl LinkCode {
    /// Shows or hides the code. If the screen is too small, puts it on the page instead.
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

    pub(super) fn hide(&mut self) {
        self.is_wanted = false;
    }

    /// Returns the rows of the code. If it needs more than `room`, hides it.
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
