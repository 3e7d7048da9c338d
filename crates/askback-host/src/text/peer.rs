//! Text of a peer.

use askback::protocol::RawJson;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::head;

/// Text that a server, an authorization server or anything else on the other side of a connection
/// wrote, or that holds a part of such a text.
///
/// It is shown behind the [`GUTTER`](super::GUTTER) and nowhere else: it has no `Display`, and the
/// page takes it by [`quote`](crate::page::Page::quote) alone. Any text may become one; none
/// becomes anything else again but by [`PeerText::raw`], which is for programs.
///
/// Serialised, it is `{"peer": …}`, which does not read as our words.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(into = "PeerJson", from = "PeerJson")]
pub struct PeerText(String);

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PeerJson {
    peer: String,
}

impl PeerText {
    /// JSON, as it came. On a terminal it is shown with escapes for what acts or hides, which JSON
    /// reads as the same.
    pub fn json(json: &RawValue) -> Self {
        Self(super::json(json.get()))
    }

    /// The text as it came, to be sent on or compared, never shown.
    pub fn raw(&self) -> &str {
        &self.0
    }

    /// The first `most` characters, and how many more there are.
    pub fn cut(&self, most: usize) -> (Self, usize) {
        let (head, more) = head(&self.0, most);
        (Self(head.to_owned()), more)
    }
}

impl From<PeerText> for PeerJson {
    fn from(text: PeerText) -> Self {
        Self { peer: text.0 }
    }
}

impl From<PeerJson> for PeerText {
    fn from(text: PeerJson) -> Self {
        Self(text.peer)
    }
}

impl From<&str> for PeerText {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl From<&String> for PeerText {
    fn from(text: &String) -> Self {
        Self(text.clone())
    }
}

impl From<String> for PeerText {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl From<&RawJson> for PeerText {
    fn from(json: &RawJson) -> Self {
        Self(super::json(json.as_str()))
    }
}
