//! Renders the messages of a server: the newest ones, older ones, and a single message.

use askama::Template;

use super::html::Html;
use crate::{
    server_id::ServerId,
    wire::{
        SharedWire,
        view::{self, CallsView, WholeView},
    },
};

/// The maximum length of a message that is shown whole, in characters. A longer one is cut.
const MAX_SHOWN_CHARS: usize = 64 << 10;

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
    view: CallsView,
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
    whole: WholeView,
}

fn base(visit: &str, server: ServerId) -> String {
    format!("{visit}wire/{}/", server.0)
}

/// The messages before `before`, or the newest.
pub(super) fn list(of: &ServerWire, before: Option<u64>, visit: &str) -> Html {
    let view = view::calls(&of.wire.lock(), before, MAX_LISTED);
    if view.calls.is_empty() {
        return Html::default();
    }
    Html::of(&ListPart {
        base: base(visit, of.id),
        view,
    })
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
    let whole = view::whole(&of.wire.lock(), number, MAX_LISTED, MAX_SHOWN_CHARS)?;
    Some(MessagePage {
        title: "Message",
        back: visit,
        base: base(visit, of.id),
        whole,
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
