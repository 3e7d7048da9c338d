//! The plain front end: questions as lines of text.

pub mod catalog;
mod dialog;
mod input;
mod lines;
mod live;
pub mod out;
mod page;
mod said;
mod screen;

pub use dialog::Dialog;
pub use lines::Input;
pub use live::Terminal;
pub use page::{Look, LookSource, Page, Rows, Style};
pub use said::{Remark, Remarks};

use crate::model::{Asker, Question};

/// Puts a question on a page with everything there is to know of it, for those who cannot ask a
/// person.
pub fn in_full(page: &mut Page, asker: &Asker, question: &Question) {
    screen::whole(page, asker, question);
}
