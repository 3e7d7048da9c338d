//! The last result or response: its beginning on the screen, the rest of it, and its files.

use std::{io::Write, path::Path, sync::Arc};

use askback_host::{
    content,
    page::{Style, out},
    text::{PeerText, given},
    words,
};
use serde_json::Value;

use super::Repl;
use crate::{error::Error, private_file};

/// The rows of the screen that are not used for a result: for what stands above and below it.
const OTHERS: usize = 7;

/// The length of a result of which the rows are counted, as [`askback_host::text::extent`] counts it: laying out one of
/// any length would keep the terminal waiting.
const COUNTED: usize = 1 << 20;

/// The fewest rows of a result that are shown.
const FEWEST: usize = 5;

#[derive(Debug, Clone, PartialEq)]
pub(super) struct ShownResult {
    text: PeerText,
    structured: Option<String>,
    /// The result of a call. The response to `/send` has only its text.
    result: Option<Arc<Value>>,
    /// The rows of it that were shown in lines.
    rows: usize,
}

impl ShownResult {
    pub(super) fn new(
        text: PeerText,
        structured: Option<String>,
        result: Option<Arc<Value>>,
    ) -> Self {
        Self {
            text,
            structured,
            result,
            rows: 0,
        }
    }
}

impl Repl<'_> {
    /// Writes a result to the standard output. A person sees as much of it as fits the screen, and what
    /// shows the rest; a program reads all of the text.
    pub(super) fn show_result(&mut self, shown: &mut ShownResult) -> Result<(), Error> {
        if !out::is_seen() {
            return self.show(shown.text.clone());
        }
        let mut page = out::stdout_page();
        let (counted, left) = match self.session.host.is_person() {
            true => shown.text.cut(COUNTED),
            false => (shown.text.clone(), 0),
        };
        page.quote(counted);
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

    /// Shows the last result whole in a pager, or without one, its next rows.
    pub(super) fn more(&mut self) -> Result<(), Error> {
        let Some(mut shown) = self.known.shown.take() else {
            return Err(Error::usage("no result has more to show"));
        };
        let put = |page: &mut _| content::put_whole(page, &shown.text, shown.structured.as_deref());
        let is_viewed = out::is_seen() && self.session.host.view(put);
        if !is_viewed {
            let mut page = out::stdout_page();
            put(&mut page);
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
        }
        self.known.shown = Some(shown);
        Ok(())
    }

    /// Writes what was received last to a new file that only its owner can read: an image, a recording or a file as it is,
    /// or else all of it as JSON. Of several the `number`th is written, from 1.
    pub(super) fn save(&mut self, file: &str, number: Option<usize>) -> Result<(), Error> {
        let Some(shown) = &self.known.shown else {
            return Err(Error::usage("there is no result to save"));
        };
        let parts = match &shown.result {
            Some(result) => content::files(result),
            None => {
                let response = serde_json::from_str::<Value>(shown.text.raw());
                content::files(&response.unwrap_or_default()["result"])
            }
        };
        let bytes = match (&parts[..], number) {
            ([], None) => {
                let text = match &shown.result {
                    Some(result) => serde_json::to_string_pretty(&**result).unwrap_or_default(),
                    None => shown.text.raw().to_owned(),
                };
                (text + "\n").into_bytes()
            }
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

    /// The rows of a result that are shown at once: all of them where nobody types.
    fn room(&self) -> usize {
        match self.session.host.is_person() {
            true => out::height().saturating_sub(OTHERS).max(FEWEST),
            false => usize::MAX,
        }
    }
}
