//! Messages on a page.

use std::time::Duration;

use super::{
    Entry, Exchange, News, Wire,
    gist::Gist,
    view::{self, HeaderView, WholeView},
};
use crate::{
    page::{Page, Style},
    text::{PeerText, Words, given},
    words,
};

/// `/wire` shows this many of the last messages.
const LAST: usize = 30;

const MORE: &str = "/wire N shows one whole; /wire save FILE writes all of them";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageSelection {
    /// The last messages, one per line.
    Last,
    /// All messages, one per line.
    All,
    /// The message with this number, in full.
    One(u64),
}

impl MessageSelection {
    /// Parses the argument of `/wire`. Returns `None` for another argument.
    pub fn read(text: &str) -> Option<Self> {
        match text.trim() {
            "" => Some(Self::Last),
            "all" => Some(Self::All),
            number => number.parse().ok().map(Self::One),
        }
    }
}

/// Puts the selected messages on the page.
/// Fails if there is no message with this number.
pub fn put(page: &mut Page, wire: &Wire, shown: MessageSelection) -> Result<(), Words> {
    match shown {
        MessageSelection::Last => list(page, wire, LAST),
        MessageSelection::All => list(page, wire, usize::MAX),
        MessageSelection::One(number) => match view::whole(wire, number, 0, usize::MAX) {
            Some(message) => whole(page, &message),
            None => return Err(words!("there is no message {}", number)),
        },
    }
    Ok(())
}

/// Puts the name of the server above its messages, if there are several servers.
pub fn heading(page: &mut Page, server: Words) {
    page.say(Style::Strong, words!("Messages of {}", server));
}

/// Puts messages on the page, grouped by call: all of them, or at most `most` of the last.
fn list(page: &mut Page, wire: &Wire, most: usize) {
    let (calls, older) = wire.calls(u64::MAX, most);
    if calls.is_empty() {
        page.note(Style::Plain, "There are no messages yet.");
        return;
    }
    if wire.dropped() > 0 {
        let words = words!(
            "The first {} messages were dropped: askback keeps {} of messages.",
            wire.dropped(),
            size(wire.most)
        );
        page.note(Style::Dim, words);
    }
    if let Some(first) = older {
        let before = wire.entries().filter(|entry| entry.number < first).count();
        let words = words!("{} messages before; /wire all shows them", before);
        page.note(Style::Dim, words);
    }
    for call in calls {
        if let (Some(words), Some(first)) = (rounds(&call), call.first()) {
            page.quote_line(words, target(first));
        }
        for entry in call {
            Row::of(entry).put(page);
        }
    }
    page.note(Style::Dim, MORE);
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    mark: Words,
    about: PeerText,
}

impl Row {
    /// The line of a new message or response head.
    pub fn of_news(news: &News) -> Self {
        match news {
            News::Message(entry) => Self::of(entry),
            News::Head(entry) => {
                let http = entry.http.as_deref();
                let response = http.and_then(|http| http.response.as_ref());
                let took = response.map(|response| response.took);
                let at = entry.at.saturating_add(took.unwrap_or_default());
                Self {
                    mark: mark(entry.number, at, "", "←"),
                    about: http.map(head).unwrap_or_default().into(),
                }
            }
        }
    }

    fn of(entry: &Entry) -> Self {
        let arrow = match entry.is_sent {
            true => "→",
            false => "←",
        };
        Self {
            mark: mark(entry.number, entry.at, size(entry.message.len()), arrow),
            about: about(entry),
        }
    }

    /// The length of its text in bytes.
    pub(crate) fn extent(&self) -> usize {
        self.about.raw().len()
    }

    pub(crate) fn into_parts(self) -> (Words, PeerText) {
        (self.mark, crate::text::line(self.about.raw()).into())
    }

    pub fn put(self, page: &mut Page) {
        let (mark, about) = self.into_parts();
        page.quote_at(mark, about);
    }
}

fn mark(number: u64, at: Duration, size: impl Into<Words>, arrow: &'static str) -> Words {
    words!(
        "{} {} {} {} ",
        words!("{}", number).right(4),
        seconds(at).right(8),
        size.into().right(7),
        arrow
    )
}

fn head(http: &Exchange) -> String {
    match &http.response {
        Some(response) => format!("HTTP {}", response.status),
        None => "HTTP".to_owned(),
    }
}

fn whole(page: &mut Page, message: &WholeView) {
    let mut facts = message.facts.iter();
    let first = facts.next().cloned().unwrap_or_default();
    page.say(
        Style::Strong,
        words!("Message {}, {}", message.number, first),
    );
    for fact in facts {
        page.note(Style::Plain, fact.clone());
    }
    if let Some(http) = &message.http {
        page.quote_line("  ", http.request.clone());
        headers(page, &http.headers);
        page.note(Style::Plain, http.response.clone());
        headers(page, &http.response_headers);
    }
    if !message.text.raw().is_empty() {
        page.quote(message.text.clone());
    }
    if message.left > 0 {
        let words = words!(
            "{} more characters; /wire save FILE writes them",
            message.left
        );
        page.note(Style::Dim, words);
    }
}

fn headers(page: &mut Page, headers: &[HeaderView]) {
    for HeaderView { name, value } in headers {
        match value {
            Ok(value) => page.quote_line("    ", format!("{}: {}", name.raw(), value.raw())),
            Err(hidden) => page.quote_line(words!("    {} ", *hidden), name.clone()),
        }
    }
}

pub(super) fn summary(entry: &Entry) -> String {
    match (&entry.gist, &entry.answers) {
        (Gist::Response { outcome, .. }, Some(method)) if entry.is_sent => outcome.answer(method),
        (gist, _) => gist.line(),
    }
}

/// The summary of a message, its HTTP status and duration.
fn about(entry: &Entry) -> PeerText {
    let mut about = summary(entry);
    if let Some(http) = &entry.http {
        about = match entry.gist {
            Gist::Nothing => format!("{} {}", http.method, head(http)),
            _ => format!("{about}, {}", head(http)),
        };
    }
    if let Some(took) = entry.took {
        about = format!("{about}, after {} s", seconds(took));
    }
    about.into()
}

/// The totals of a call, if it took more than one request and response.
pub(super) fn rounds(call: &[&Entry]) -> Option<Words> {
    // Without its first messages, its totals would be wrong.
    let first = call.first()?;
    if first.number != first.call {
        return None;
    }
    let asks = |entry: &&&Entry| matches!(entry.gist, Gist::Request { .. });
    let rounds = call
        .iter()
        .filter(asks)
        .filter(|entry| entry.is_sent)
        .count();
    let questions = call.iter().filter(asks).count().saturating_sub(rounds);
    // A server request outside of a call is not a round.
    if rounds == 0 || rounds == 1 && questions == 0 {
        return None;
    }
    let bytes: usize = call.iter().map(|entry| entry.message.len()).sum();
    let took = |is_sent| -> Duration {
        let answers = call.iter().filter(|entry| entry.is_sent == is_sent);
        answers.filter_map(|entry| entry.took).sum()
    };
    // The server is not working while it waits for an answer.
    let server = took(false).saturating_sub(took(true));
    let what = match questions {
        0 => words!("One call: rounds {}", rounds),
        _ => words!("One call: server requests {}", questions),
    };
    Some(words!(
        "{}, messages {}, {}, {} s at the server ",
        what,
        call.len(),
        size(bytes),
        seconds(server)
    ))
}

pub(super) fn target(first: &Entry) -> PeerText {
    match &first.gist {
        Gist::Request {
            target: Some(target),
            ..
        } => target.into(),
        gist => gist.line().into(),
    }
}

pub(super) fn seconds(time: Duration) -> Words {
    given(format!("{}.{:03}", time.as_secs(), time.subsec_millis()))
}

pub(super) fn size(bytes: usize) -> Words {
    match bytes {
        0..1000 => words!("{} B", bytes),
        1000..1_000_000 => words!("{}.{} kB", bytes / 1000, bytes % 1000 / 100),
        _ => words!("{}.{} MB", bytes / 1_000_000, bytes % 1_000_000 / 100_000),
    }
}
