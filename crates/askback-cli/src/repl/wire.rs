//! The messages that travelled, in a conversation.

use std::{path::Path, time::SystemTime};

use askback_host::{page::Style, text::given, wire, words};

use super::{Repl, line::Wire};
use crate::error::Error;

impl Repl<'_> {
    /// Shows the messages that travelled, or writes them to a file.
    pub(super) fn wire(&mut self, what: Wire) -> Result<(), Error> {
        let Some(log) = &self.session.wire else {
            return Err(Error::usage("the messages of this session are not kept"));
        };
        let mut page = askback_host::page::out::stdout_page();
        match what {
            Wire::Show(shown) => {
                if let Some(name) = self.one_of_several() {
                    wire::heading(&mut page, name);
                }
                let put = wire::put(&mut page, &log.lock(), shown, SystemTime::now());
                put.map_err(|why| Error::usage(why).hint("/wire lists those that are kept."))?;
            }
            Wire::Save(file) => {
                let path = Path::new(&file);
                let saved = log.save(path)?;
                let words = words!("{} messages are in {}.", saved, given(path.display()));
                page.note(Style::Plain, words);
            }
        }
        Ok(self.session.host.print(page.take().trimmed())?)
    }
}
