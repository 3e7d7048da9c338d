//! Messages as data, for all front ends.

#![cfg_attr(
    not(feature = "web"),
    expect(dead_code, reason = "only the page lists messages from this data")
)]

use askback::transport::{WireHeader, WireValue};

use super::{
    Entry, Exchange, Wire,
    export::time,
    gist::Gist,
    indent::indented,
    show::{rounds, seconds, size, summary, target},
};
use crate::{
    text::{self, PeerText, Words, given, head},
    words,
};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MessageView {
    pub(crate) number: u64,
    pub(crate) is_sent: bool,
    pub(crate) about: PeerText,
    /// Time, size, HTTP status and duration.
    pub(crate) facts: Words,
}

/// The messages of one call, oldest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CallView {
    /// If the call took several rounds or questions: how many, and its target.
    pub(crate) title: Option<(Words, PeerText)>,
    pub(crate) messages: Vec<MessageView>,
}

/// Calls, newest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CallsView {
    pub(crate) calls: Vec<CallView>,
    /// The number before which older messages begin, if some are kept.
    pub(crate) older: Option<u64>,
    /// The number of messages that are no longer kept.
    pub(crate) dropped: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WholeView {
    pub(crate) number: u64,
    pub(crate) is_sent: bool,
    pub(crate) facts: Vec<Words>,
    pub(crate) http: Option<HttpView>,
    /// The message, indented if it is JSON and was not cut.
    pub(crate) text: PeerText,
    /// The number of characters that were cut from the text.
    pub(crate) left: usize,
    pub(crate) others: Vec<MessageView>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HttpView {
    pub(crate) request: PeerText,
    pub(crate) headers: Vec<HeaderView>,
    pub(crate) response: Words,
    pub(crate) response_headers: Vec<HeaderView>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HeaderView {
    pub(crate) name: PeerText,
    /// The value, or the length of a secret.
    pub(crate) value: Result<PeerText, Words>,
}

/// Returns the newest messages with a number below `before`, at most `most`, grouped by call.
pub(crate) fn calls(wire: &Wire, before: Option<u64>, most: usize) -> CallsView {
    let (mut calls, older) = wire.calls(before.unwrap_or(u64::MAX), most);
    // A call with a new message moves to the top.
    calls.sort_by_key(|call| call.last().map(|entry| entry.number));
    let view = |call: Vec<&Entry>| CallView {
        title: rounds(&call).zip(call.first().map(|first| target(first))),
        messages: call.into_iter().map(message).collect(),
    };
    CallsView {
        calls: calls.into_iter().rev().map(view).collect(),
        older,
        dropped: wire.dropped(),
    }
}

fn message(entry: &Entry) -> MessageView {
    let mut facts = vec![
        words!("{}", entry.number),
        words!("at {} s", seconds(entry.at)),
    ];
    if !entry.message.is_empty() {
        facts.push(size(entry.message.len()));
    }
    let response = entry.http.as_ref().and_then(|http| http.response.as_ref());
    if let Some(response) = response {
        facts.push(words!("HTTP {}", response.status));
    }
    if let Some(took) = entry.took.or(response.map(|response| response.took)) {
        facts.push(words!("after {} s", seconds(took)));
    }
    MessageView {
        number: entry.number,
        is_sent: entry.is_sent,
        about: match (&entry.gist, &entry.http) {
            (Gist::Nothing, Some(http)) => PeerText::from(&http.method),
            _ => summary(entry).into(),
        },
        facts: Words::join(facts, " · "),
    }
}

/// Returns a message with at most so many characters, and the other messages of its call, at most `most`.
pub(crate) fn whole(wire: &Wire, number: u64, most: usize, most_chars: usize) -> Option<WholeView> {
    let entry = wire.get(number)?;
    let way = match entry.is_sent {
        true => "sent",
        false => "received",
    };
    let mut facts = vec![words!(
        "{} at {}, {}",
        way,
        given(time(wire.began(), entry.at)),
        size(entry.message.len())
    )];
    facts.extend(
        entry
            .took
            .map(|took| words!("{} s after its request", seconds(took))),
    );
    if entry.call != entry.number {
        facts.push(words!("part of what began with message {}", entry.call));
    }
    if let Some(state) = entry.gist.state() {
        facts.push(words!("requestState: {} characters", state.chars()));
    }
    let of_call = wire
        .entries()
        .filter(|other| other.call == entry.call && other.number != number);
    let raw = String::from_utf8_lossy(&entry.message);
    let (raw, left) = head(&raw, most_chars);
    let is_json = left == 0 && !matches!(entry.gist, Gist::Nothing | Gist::Unreadable);
    Some(WholeView {
        number,
        is_sent: entry.is_sent,
        facts,
        http: entry.http.as_deref().map(exchange),
        text: match is_json {
            // Control and invisible characters become JSON escapes.
            true => text::json(&indented(raw)).into(),
            false => raw.into(),
        },
        left,
        others: of_call.take(most).map(message).collect(),
    })
}

fn exchange(http: &Exchange) -> HttpView {
    HttpView {
        request: format!("{} {}", http.method, http.url).into(),
        headers: headers(&http.headers),
        response: match &http.response {
            Some(response) => words!(
                "HTTP status {}, after {} s",
                response.status,
                seconds(response.took)
            ),
            None => "no response yet".into(),
        },
        response_headers: http
            .response
            .iter()
            .flat_map(|response| headers(&response.headers))
            .collect(),
    }
}

fn headers(headers: &[WireHeader]) -> Vec<HeaderView> {
    let view = |header: &WireHeader| HeaderView {
        name: PeerText::from(&header.name),
        value: match &header.value {
            WireValue::Shown(value) => Ok(PeerText::from(value)),
            WireValue::Hidden { bytes } => Err(words!("not shown, {} bytes", *bytes)),
            _ => Err("not shown".into()),
        },
    };
    headers.iter().map(view).collect()
}
