//! The plain front end: questions as lines of text.

pub mod catalog;
mod dialog;
mod input;
mod leaf;
mod lines;
mod screen;

pub use dialog::Dialog;
pub use leaf::Plain;
pub use lines::forget_begun;

use crate::{
    model::{Asker, Question},
    page::Excerpt,
};

/// Puts a question with everything there is to know of it on a page, as far as there is room, for
/// those who cannot ask a person. So many characters of it are still to be put there afterwards.
pub fn in_full(excerpt: &mut Excerpt<'_>, asker: &Asker, question: &Question, following: usize) {
    screen::in_full(excerpt, asker, question, following);
}
