//! The messages that travelled, in a conversation.

use std::{path::Path, time::SystemTime};

use askback_host::{
    diff,
    page::{Style, out},
    text::given,
    wire::{self, Shown},
    words,
};
use serde_json::Value;

use super::{
    Repl,
    grammar::{self, WireAction},
};
use crate::{error::Error, wire::WireLog};

/// The hint where there is no such message.
pub(super) const LISTED: &str = "/wire lists those that are kept.";

impl Repl<'_> {
    /// Shows the messages that travelled, writes them to a file, or sends one of them again.
    pub(super) async fn wire(
        &mut self,
        text: &[String],
        action: Option<WireAction>,
    ) -> Result<(), Error> {
        let shown = match action {
            Some(WireAction::Edit { number }) => return self.resend(number).await,
            Some(WireAction::Save { file }) => {
                let path = Path::new(&file);
                let saved = self.wire_log()?.save(path)?;
                let words = words!("{} messages are in {}.", saved, given(path.display()));
                return self.list(|page| page.note(Style::Plain, words));
            }
            Some(WireAction::All) => Some(Shown::All),
            None => Shown::read(&text.join(" ")),
        };
        let shown = shown.ok_or_else(|| grammar::expected("wire"))?;
        let mut page = out::stdout_page();
        if let Some(name) = self.one_of_several() {
            wire::heading(&mut page, name);
        }
        let put = wire::put(
            &mut page,
            &self.wire_log()?.lock(),
            shown,
            SystemTime::now(),
        );
        put.map_err(|why| Error::usage(why).hint(LISTED))?;
        Ok(self.session.host.print(page.take().trimmed())?)
    }

    /// Shows what differs between two messages beside their ids, which are others each time.
    pub(super) fn diff(&mut self, before: u64, after: u64) -> Result<(), Error> {
        let [was, is] = [self.message(before)?, self.message(after)?];
        let mut page = out::stdout_page();
        if let Some(name) = self.one_of_several() {
            wire::heading(&mut page, name);
        }
        if was == is {
            let words = words!("Message {} is the same as message {}.", after, before);
            page.note(Style::Dim, words);
        } else {
            let words = words!("What differs in message {} from message {}:", after, before);
            page.note(Style::Dim, words);
            diff::put_all(&mut page, &was, &is);
        }
        Ok(self.session.host.print(page.take().trimmed())?)
    }

    /// The message of this number, without its id.
    fn message(&self, number: u64) -> Result<Value, Error> {
        let log = self.wire_log()?;
        let kept = log.lock();
        let Some(entry) = kept.get(number) else {
            let error = Error::usage(words!("there is no message {}", number));
            return Err(error.hint(LISTED));
        };
        let no_json = |_| Error::usage(words!("message {} is no JSON", number)).hint(LISTED);
        let mut message: Value = serde_json::from_slice(entry.message()).map_err(no_json)?;
        if let Some(members) = message.as_object_mut() {
            members.remove("id");
        }
        Ok(message)
    }

    /// The messages that travelled.
    pub(super) fn wire_log(&self) -> Result<&WireLog, Error> {
        let unkept = || Error::usage("the messages of this session are not kept");
        self.session.wire.as_ref().ok_or_else(unkept)
    }
}
