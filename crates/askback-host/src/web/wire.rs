//! Renders the messages of a server: the newest ones, older ones, and a single message.

use askama::Template;

use super::html::Html;
use crate::{
    server_id::ServerId,
    text::Words,
    wire::{
        SharedWire,
        view::{self, CallView, CallsView, HeaderView, MessageView, WholeView},
    },
    words,
};

const MAX_LISTED: usize = 40;

/// The number of a message and the server whose message it is, as a path: `SERVER/NUMBER`.
pub(super) struct WirePath {
    pub(super) server: ServerId,
    pub(super) part: WirePart,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WirePart {
    /// The messages before this one, or the newest.
    List {
        before: Option<u64>,
    },
    Whole(u64),
    Bytes(u64),
}

impl WirePath {
    /// Parses what follows `wire/`: `S/`, `S/before/N`, `S/N` or `S/N/bytes`.
    pub(super) fn read(path: &str) -> Option<Self> {
        let (server, rest) = path.split_once('/')?;
        let part = match rest.split_once('/') {
            None if rest.is_empty() => WirePart::List { before: None },
            None => WirePart::Whole(rest.parse().ok()?),
            Some(("before", number)) => WirePart::List {
                before: Some(number.parse().ok()?),
            },
            Some((number, "bytes")) => WirePart::Bytes(number.parse().ok()?),
            Some(_) => return None,
        };
        Some(Self {
            server: ServerId(server.parse().ok()?),
            part,
        })
    }
}

#[derive(Clone)]
pub(super) struct ServerWire {
    pub(super) id: ServerId,
    pub(super) wire: SharedWire,
}

#[derive(Template)]
#[template(path = "web/wire.html")]
struct ListPart {
    base: String,
    calls: Vec<CallPart>,
    older: Option<u64>,
    dropped: Option<Html>,
}

struct CallPart {
    title: Option<(Html, Html)>,
    messages: Vec<MessagePart>,
}

struct MessagePart {
    number: u64,
    way: &'static str,
    arrow: &'static str,
    about: Html,
    facts: Html,
}

#[derive(Template)]
#[template(path = "web/older.html")]
struct OlderPage<'a> {
    title: &'static str,
    back: &'a str,
    base: String,
    list: Html,
}

#[derive(Template)]
#[template(path = "web/message.html")]
struct MessagePage<'a> {
    title: &'static str,
    back: &'a str,
    base: String,
    number: u64,
    facts: Vec<Html>,
    http: Option<HttpPart>,
    text: Html,
    is_empty: bool,
    left: Option<Html>,
    others: Vec<MessagePart>,
}

struct HttpPart {
    request: Html,
    headers: Vec<HeaderPart>,
    response: Html,
    response_headers: Vec<HeaderPart>,
}

struct HeaderPart {
    name: Html,
    value: Html,
    is_hidden: bool,
}

fn base(visit: &str, server: ServerId) -> String {
    format!("{visit}wire/{}/", server.0)
}

/// The messages before `before`, or the newest.
pub(super) fn list(of: &ServerWire, before: Option<u64>, visit: &str) -> Html {
    let CallsView {
        calls,
        older,
        dropped,
    } = view::calls(&of.wire.lock(), before, MAX_LISTED);
    if calls.is_empty() {
        return Html::default();
    }
    let dropped = (dropped > 0 && older.is_none())
        .then(|| words!("{} older messages are no longer kept.", dropped));
    Html::of(&ListPart {
        base: base(visit, of.id),
        calls: calls.into_iter().map(call).collect(),
        older,
        dropped: dropped.as_ref().map(Html::ours),
    })
}

fn call(call: CallView) -> CallPart {
    let title = call.title.as_ref();
    CallPart {
        title: title.map(|(words, of)| (Html::ours(words), Html::peer(of))),
        messages: call.messages.iter().map(message).collect(),
    }
}

fn message(message: &MessageView) -> MessagePart {
    let (way, arrow) = match message.is_sent {
        true => ("sent", "→"),
        false => ("received", "←"),
    };
    MessagePart {
        number: message.number,
        way,
        arrow,
        about: Html::peer(&message.about),
        facts: Html::ours(&message.facts),
    }
}

/// A page with the messages before `before`, or the newest.
pub(super) fn older(of: &ServerWire, before: Option<u64>, visit: &str) -> impl Template {
    OlderPage {
        title: "Messages",
        back: visit,
        base: base(visit, of.id),
        list: list(of, before, visit),
    }
}

/// A page with a whole message; `None` if it is not kept.
pub(super) fn whole(of: &ServerWire, number: u64, visit: &str) -> Option<impl Template> {
    let whole = view::whole(&of.wire.lock(), number, MAX_LISTED)?;
    let WholeView {
        facts, http, left, ..
    } = &whole;
    let header = |header: &HeaderView| HeaderPart {
        name: Html::peer(&header.name),
        value: match &header.value {
            Ok(value) => Html::peer(value),
            Err(words) => Html::ours(words),
        },
        is_hidden: header.value.is_err(),
    };
    let left: Option<Words> =
        (*left > 0).then(|| words!("{} more characters are in the file.", *left));
    Some(MessagePage {
        title: "Message",
        back: visit,
        base: base(visit, of.id),
        number,
        facts: facts.iter().map(Html::ours).collect(),
        http: http.as_ref().map(|http| HttpPart {
            request: Html::peer(&http.request),
            headers: http.headers.iter().map(header).collect(),
            response: Html::ours(&http.response),
            response_headers: http.response_headers.iter().map(header).collect(),
        }),
        is_empty: whole.text.raw().is_empty(),
        text: Html::peer(&whole.text),
        left: left.as_ref().map(Html::ours),
        others: whole.others.iter().map(message).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_names_messages_of_a_server() {
        #[track_caller]
        fn check(path: &str, expected: Option<(usize, WirePart)>) {
            let read = WirePath::read(path).map(|path| (path.server.0, path.part));
            assert_eq!(read, expected, "{path}");
        }
        check("0/", Some((0, WirePart::List { before: None })));
        check("2/before/7", Some((2, WirePart::List { before: Some(7) })));
        check("0/12", Some((0, WirePart::Whole(12))));
        check("0/12/bytes", Some((0, WirePart::Bytes(12))));
        for path in [
            "",
            "0",
            "/",
            "-1/",
            "0/x",
            "0/12/",
            "0/12/x",
            "0/before/",
            "0/before/-1",
        ] {
            check(path, None);
        }
    }
}
