//! The messages that travelled, in a conversation.

use std::{path::Path, time::SystemTime};

use askback_host::{page::Style, text::given, wire, words};

use super::{Repl, line::Wire};
use crate::error::Error;

/// How many of the last messages are shown at least.
const LAST: usize = 30;

impl Repl<'_> {
    /// Shows the messages that travelled, or writes them to a file.
    pub(super) fn wire(&mut self, what: Wire) -> Result<(), Error> {
        let Some(log) = &self.session.wire else {
            return Err(Error::usage("the messages of this session are not kept"));
        };
        let mut page = askback_host::page::out::stdout_page();
        match what {
            Wire::Last => wire::list(&mut page, &log.lock(), Some(LAST)),
            Wire::All => wire::list(&mut page, &log.lock(), None),
            Wire::One(number) => {
                let kept = log.lock();
                let Some(entry) = kept.get(number) else {
                    let words = words!("there is no message {}", number);
                    return Err(Error::usage(words).hint("/wire lists those that are kept."));
                };
                wire::whole(&mut page, &kept, entry, SystemTime::now());
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
