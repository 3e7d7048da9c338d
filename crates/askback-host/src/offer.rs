//! The lines that can be typed at the prompt.

use crate::text::PeerText;

/// Something that can be typed: a command of ours, or a tool or prompt of the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    /// The line, without arguments.
    pub line: String,
    /// Whether arguments may follow.
    pub goes_on: bool,
    /// A word on it, of the server's or ours.
    pub about: About,
}

/// A word on an [`Offer`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum About {
    /// In words of ours.
    Ours(&'static str),
    /// In words of the server's, whose the name is, too.
    Peer(PeerText),
}
