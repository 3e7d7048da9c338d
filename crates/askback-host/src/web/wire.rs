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
pub(super) fn list(server: ServerId, wire: &SharedWire, before: Option<u64>, visit: &str) -> Html {
    let view = view::calls(&wire.lock(), before, MAX_LISTED);
    if view.calls.is_empty() {
        return Html::default();
    }
    Html::of(&ListPart {
        base: base(visit, server),
        view,
    })
}

/// A page with the messages before `before`, or the newest.
pub(super) fn older(
    server: ServerId,
    wire: &SharedWire,
    before: Option<u64>,
    visit: &str,
) -> impl Template {
    OlderPage {
        title: "Messages",
        back: visit,
        base: base(visit, server),
        list: list(server, wire, before, visit),
    }
}

/// A page with a whole message; `None` if it is not kept.
pub(super) fn whole(
    server: ServerId,
    wire: &SharedWire,
    number: u64,
    visit: &str,
) -> Option<impl Template> {
    let whole = view::whole(&wire.lock(), number, MAX_LISTED, MAX_SHOWN_CHARS)?;
    Some(MessagePage {
        title: "Message",
        back: visit,
        base: base(visit, server),
        whole,
    })
}
