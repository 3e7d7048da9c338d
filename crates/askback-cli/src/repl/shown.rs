//! The result of a call on the screen: its beginning, and the rest of it.

use askback_host::{
    content,
    page::{Style, out},
    text::PeerText,
    words,
};

use super::Repl;
use crate::error::Error;

/// The rows of the screen that are not used for a result: for what stands above and below it.
const OTHERS: usize = 7;

/// The length of a result of which the rows are counted, as [`askback_host::text::extent`] counts it: laying out one of
/// any length would keep the terminal waiting.
const COUNTED: usize = 1 << 20;

/// The fewest rows of a result that are shown.
const FEWEST: usize = 5;

/// A result, as it is shown.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Shown {
    text: PeerText,
    /// The structured content, where it says more than the text.
    structured: Option<String>,
    /// The rows of it that were shown in lines.
    rows: usize,
}

impl Shown {
    /// A result of which nothing is shown yet.
    pub(super) fn new(text: PeerText, structured: Option<String>) -> Self {
        Self {
            text,
            structured,
            rows: 0,
        }
    }
}

impl Repl<'_> {
    /// Writes a result to the standard output. A person sees as much of it as fits the screen, and what
    /// shows the rest; a program reads all of the text.
    pub(super) fn show_result(&mut self, shown: &mut Shown) -> Result<(), Error> {
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

    /// Shows the last result whole on a screen of its own, or where there is none, its next rows.
    pub(super) fn more(&mut self) -> Result<(), Error> {
        let Some(mut shown) = self.known.shown.take() else {
            return Err(Error::usage("there is no result of which there is more"));
        };
        let (text, structured) = (shown.text.clone(), shown.structured.clone());
        let put = move |page: &mut _| content::put_whole(page, &text, structured.as_deref());
        let mut page = out::stdout_page();
        put(&mut page);
        let is_viewed = out::is_seen() && self.session.host.view(put);
        if !is_viewed {
            let rows = page.take().trimmed().skip(shown.rows);
            let seen = rows.first(self.room());
            shown.rows = shown.rows.saturating_add(seen.count());
            let more = rows.count().saturating_sub(seen.count());
            match seen.count() {
                0 => self.tell("There is no more of it."),
                _ => self.session.host.print(seen)?,
            }
            if more > 0 {
                let page = self.session.host.page();
                page.note(Style::Dim, words!("{} more rows; /more shows them", more));
            }
        }
        self.known.shown = Some(shown);
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
