//! The plain front end: questions as lines of text.

mod dialog;
mod input;
mod page;
mod screen;

pub use dialog::Dialog;
pub use page::{Look, Page, Style};

use crate::model::{Asker, Question};

/// A question with everything there is to know of it, for those who cannot ask a person.
pub fn in_full(asker: &Asker, question: &Question, look: Look) -> String {
    let mut page = Page::new(look);
    screen::whole(&mut page, asker, question);
    page.take()
}
