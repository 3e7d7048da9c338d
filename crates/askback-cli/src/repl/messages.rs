//! Shows the messages that were exchanged.

use std::path::Path;

use askback_host::{
    page::{Style, out},
    text::given,
    wire::{self, MessageSelection as ShownMessages},
    words,
};

use super::{Repl, grammar::WireAction};
use crate::{error::Error, wire::WireLog};

impl Repl<'_> {
    pub(super) fn wire(
        &mut self,
        number: Option<u64>,
        action: Option<WireAction>,
    ) -> Result<(), Error> {
        let shown = match action {
            Some(WireAction::Save { file }) => {
                let path = Path::new(&file);
                let saved = self.wire_log()?.save(path)?;
                let words = words!("{} messages are in {}.", saved, given(path.display()));
                return self.list(|page| page.note(Style::Plain, words));
            }
            Some(WireAction::All) => ShownMessages::All,
            None => number.map_or(ShownMessages::Last, ShownMessages::One),
        };
        let mut page = out::stdout_page();
        if let Some(name) = self.one_of_several() {
            wire::heading(&mut page, name);
        }
        let put = wire::put(&mut page, &self.wire_log()?.lock(), shown);
        put.map_err(|why| Error::usage(why).hint("/wire lists those that are kept."))?;
        Ok(self.session.host.print(page.take().trimmed())?)
    }

    pub(super) fn wire_log(&self) -> Result<&WireLog, Error> {
        let unkept = || Error::usage("the messages of this session are not kept");
        self.session.wire.as_ref().ok_or_else(unkept)
    }
}
