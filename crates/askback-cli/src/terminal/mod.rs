//! The plain front end: questions as lines of text.

pub mod catalog;
mod dialog;
mod input;
mod lines;
mod live;
mod page;
mod said;
mod screen;

use std::{
    env,
    io::{self, IsTerminal},
};

use terminal_size::{Width, terminal_size};

pub use dialog::Dialog;
pub use lines::Input;
pub use live::Terminal;
pub use page::{Look, Page, Style};
pub use said::Remarks;

use crate::model::{Asker, Question};

/// A question with everything there is to know of it, for those who cannot ask a person.
pub fn in_full(asker: &Asker, question: &Question, look: Look) -> String {
    let mut page = Page::new(look);
    screen::whole(&mut page, asker, question);
    page.take()
}

impl Look {
    /// How the standard error shows text.
    pub fn of_stderr() -> Self {
        Self::of(&io::stderr())
    }

    /// How the standard output shows text.
    pub fn of_stdout() -> Self {
        Self::of(&io::stdout())
    }

    fn of(stream: &impl IsTerminal) -> Self {
        let is_set = |name| env::var_os(name).is_some_and(|value| !value.is_empty());
        let is_dumb = env::var_os("TERM").is_some_and(|term| term == "dumb");
        Self {
            columns: terminal_size().map_or(80, |(Width(columns), _)| columns.into()),
            styled: stream.is_terminal() && !is_set("NO_COLOR") && !is_dumb,
        }
    }
}
