use askback::protocol::RawJson;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::head;

/// Text that contains anything from a server, an authorization server or another peer.
///
/// It is only shown behind the [`GUTTER`](super::GUTTER): it has no `Display`, and only the page's
/// [`quote`](crate::page::Page::quote) accepts it. Any text can become a `PeerText`. The only way
/// back is [`PeerText::raw`], which is for programs.
///
/// Serialized, it is `{"peer": …}`, which cannot be read as our own words.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PeerText {
    peer: String,
}

impl PeerText {
    /// Creates text from JSON. Control and invisible characters are escaped, so the value stays the
    /// same.
    pub fn json(json: &RawValue) -> Self {
        super::json(json.get()).into()
    }

    /// Returns the unchanged text, to be sent or compared. Never show it.
    pub fn raw(&self) -> &str {
        &self.peer
    }

    /// Returns the first `most` characters, and how many more there are.
    pub fn cut(&self, most: usize) -> (Self, usize) {
        let (head, more) = head(&self.peer, most);
        (head.into(), more)
    }
}

impl From<&str> for PeerText {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl From<&String> for PeerText {
    fn from(text: &String) -> Self {
        text.clone().into()
    }
}

impl From<String> for PeerText {
    fn from(text: String) -> Self {
        Self { peer: text }
    }
}

impl From<&RawJson> for PeerText {
    fn from(json: &RawJson) -> Self {
        super::json(json.as_str()).into()
    }
}
