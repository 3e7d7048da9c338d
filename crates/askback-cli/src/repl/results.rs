//! The last result: its first rows on the screen, the rest, and its files. The messages that were exchanged.

use std::{io::Write, path::Path, sync::Arc};

use askback_host::{
    content,
    page::{Style, out},
    text::{PeerText, given},
    wire::{self, MessageSelection as ShownMessages, indented},
    words,
};
use serde_json::Value;

use super::{Repl, grammar::WireAction};
use crate::{error::Error, private_file, wire::WireLog};

/// Screen rows reserved for what is above and below a result.
const OTHERS: usize = 7;

/// Rows are counted up to this length, as [`askback_host::text::extent`] counts it, because laying out a longer
/// result would block the terminal.
const COUNTED: usize = 1 << 20;

/// A result is shown in at least this many rows.
const FEWEST: usize = 5;

#[derive(Debug, Clone, PartialEq)]
pub(super) struct ShownResult {
    text: PeerText,
    structured: Option<String>,
    result: Arc<Value>,
    rows: usize,
}

impl ShownResult {
    pub(super) fn new(text: PeerText, structured: Option<String>, result: Arc<Value>) -> Self {
        Self {
            text,
            structured,
            result,
            rows: 0,
        }
    }
}

impl Repl<'_> {
    /// Writes a result to stdout. A user sees what fits the screen and how to show the rest; a program reads all of
    /// the text.
    pub(super) fn show_result(&mut self, shown: &mut ShownResult) -> Result<(), Error> {
        if !out::is_seen() {
            return self.show(shown.text.clone());
        }
        let mut page = out::stdout_page();
        let (counted, left) = match self.session.host.is_person() {
            true => shown.text.cut(COUNTED),
            false => (shown.text.clone(), 0),
        };
        page.quote(content::laid_out(counted, page.look().columns));
        let rows = page.take().trimmed();
        let (count, room) = (rows.count(), self.room());
        shown.rows = match count > room {
            true => room.saturating_sub(1),
            false => count,
        };
        page.blank();
        let before = page.take();
        self.session.host.print(before)?;
        self.session.host.print(rows.first(shown.rows))?;
        let more = count.saturating_sub(shown.rows);
        if more > 0 {
            let least = if left > 0 { "at least " } else { "" };
            page.note(
                Style::Dim,
                words!("{}{} more rows; /more shows them", least, more),
            );
        }
        if let Some(structured) = &shown.structured
            && content::put_folded(&mut page, structured)
            && more == 0
        {
            page.note(Style::Dim, "/more shows it whole");
        }
        Ok(self.session.host.print(page.take())?)
    }

    pub(super) fn more(&mut self) -> Result<(), Error> {
        let Some(mut shown) = self.known.shown.take() else {
            return Err(Error::usage("no result has more to show"));
        };
        let mut page = out::stdout_page();
        content::put_whole(&mut page, &shown.text, shown.structured.as_deref());
        let rows = page.take().trimmed().skip(shown.rows);
        let seen = rows.first(self.room());
        shown.rows = shown.rows.saturating_add(seen.count());
        let more = rows.count().saturating_sub(seen.count());
        match seen.count() {
            0 => self.tell("There is nothing more to show."),
            _ => self.session.host.print(seen)?,
        }
        if more > 0 {
            self.page()
                .note(Style::Dim, words!("{} more rows; /more shows them", more));
        }
        self.known.shown = Some(shown);
        Ok(())
    }

    /// Writes the last result to a new file that only its owner can read. An image, a recording or a file is written
    /// as it is, anything else as JSON. If there are several files, `number` chooses one, from 1.
    pub(super) fn save(&mut self, file: &str, number: Option<usize>) -> Result<(), Error> {
        let Some(shown) = &self.known.shown else {
            return Err(Error::usage("there is no result to save"));
        };
        let parts = content::files(&shown.result);
        let bytes = match (&parts[..], number) {
            ([], None) => (indented(&shown.result.to_string()) + "\n").into_bytes(),
            ([one], None | Some(1)) => one.clone(),
            (all, Some(number)) => match number.checked_sub(1).and_then(|at| all.get(at)) {
                Some(part) => part.clone(),
                None => {
                    let words = words!("the result holds {} files, counted from 1", all.len());
                    return Err(Error::usage(words));
                }
            },
            (all, None) => {
                let words = words!(
                    "the result holds {} files: name one by its number",
                    all.len()
                );
                return Err(Error::usage(words).hint("/save FILE 1 writes the first."));
            }
        };
        let path = Path::new(file);
        let new = private_file::create_new(path);
        new.and_then(|mut file| file.write_all(&bytes))
            .map_err(|error| Error::unwritten(path, &error))?;
        let words = words!("{} bytes are in {} now.", bytes.len(), given(file));
        self.page().say(Style::Plain, words);
        Ok(())
    }

    /// How many rows of a result are shown at once: all, unless a user types.
    fn room(&self) -> usize {
        match self.session.host.is_person() {
            true => out::height().saturating_sub(OTHERS).max(FEWEST),
            false => usize::MAX,
        }
    }
}

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
