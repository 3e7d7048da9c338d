//! The lines that can be typed at the prompt.

use crate::text::{PeerText, Words};

/// Something that can be typed: a command of ours, or a tool or prompt of the server.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Offer {
    /// The line, without arguments.
    pub line: String,
    /// Whether arguments may follow.
    pub goes_on: bool,
    /// A word on it, of the server's or ours.
    pub about: About,
    /// The names of its arguments, with a `*` behind those that are required.
    pub arguments: PeerText,
    /// The hints of the server on what it does.
    pub hints: Words,
    /// How long the last call took, and how it ended.
    pub last: Option<Words>,
}

impl Offer {
    /// Whether this is in the line or in the word on it, in small letters or capitals.
    pub fn has(&self, text: &str) -> bool {
        let about = match &self.about {
            About::Ours(words) => words,
            About::Peer(text) => text.raw(),
        };
        let text = text.to_lowercase();
        self.line.to_lowercase().contains(&text) || about.to_lowercase().contains(&text)
    }
}

impl Default for About {
    fn default() -> Self {
        Self::Ours("")
    }
}

/// A word on an [`Offer`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum About {
    /// In words of ours.
    Ours(&'static str),
    /// In words of the server's, whose the name is, too.
    Peer(PeerText),
}
