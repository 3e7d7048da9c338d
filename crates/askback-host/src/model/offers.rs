//! The lines that can be typed at the prompt, and how what they call ended last.

use std::time::Duration;

use super::How;
use crate::{
    text::{PeerText, Words},
    words,
};

/// The lines that can be typed at the prompt.
#[derive(Debug, Default)]
pub struct Offers {
    all: Vec<Offer>,
    /// The line whose call ended last.
    latest: Option<String>,
}

/// The lines that one may become which is begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Completions {
    /// The line, as far as it is begun.
    pub begun: String,
    /// The whole lines. Text of a server may stand in them.
    pub lines: Vec<String>,
    /// Whether there are more.
    pub has_more: bool,
}

impl Offers {
    /// These lines can be typed from now on. One that could be before keeps how its last call ended.
    pub(super) fn set(&mut self, mut offers: Vec<Offer>) {
        for offer in &mut offers {
            let before = self.all.iter_mut().find(|it| it.line == offer.line);
            if let Some(before) = before {
                offer.last = offer.last.take().or(before.last.take());
            }
        }
        self.all = offers;
    }

    /// Takes note of how the last call ended, which has this line where one is offered for it.
    pub(super) fn ended(&mut self, line: Option<String>, took: Duration, how: How) {
        let mut offers = self.all.iter_mut();
        let offer = offers.find(|offer| line.as_ref() == Some(&offer.line));
        if let Some(offer) = offer {
            let how = match how {
                How::Done => "ok",
                How::Error => "error",
                How::Failed => "failed",
                How::Stopped => "stopped",
            };
            let (seconds, tenths) = (took.as_secs(), took.subsec_millis() / 100);
            offer.last = Some(words!("{}.{} s {}", seconds, tenths, how));
        }
        self.latest = line;
    }

    /// The line whose call ended last, if it can be typed: that of the call which `/again` makes.
    pub fn latest(&self) -> Option<&str> {
        self.latest.as_deref()
    }

    /// The offer of this line.
    pub fn get(&self, line: &str) -> Option<&Offer> {
        self.all.iter().find(|offer| offer.line == line)
    }

    /// The offers that fit what is typed: a line that begins so, or, without a slash, one that has it anywhere or in the
    /// words on it. A command of ours that is named whole comes first.
    pub fn fitting(&self, typed: &str) -> Vec<&Offer> {
        let typed = typed.trim();
        let small = typed.to_lowercase();
        let fits = |offer: &&Offer| match small.starts_with('/') {
            true => offer.line.to_lowercase().starts_with(&small),
            false => offer.has(&small),
        };
        let ours = self.ours(typed);
        let is_other = |offer: &&Offer| ours.is_none_or(|ours| ours.line != offer.line);
        let found = self.all.iter().filter(fits).filter(is_other);
        ours.into_iter().chain(found).collect()
    }

    /// The command of ours that this word names without its slash.
    pub fn ours(&self, word: &str) -> Option<&Offer> {
        self.all.iter().find(|offer| {
            let is_named = offer.line.strip_prefix('/') == Some(word);
            is_named && matches!(offer.about, About::Ours(_))
        })
    }
}

/// Something that can be typed: a command of askback, or a tool or prompt of the server.
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
    /// In words of askback.
    Ours(&'static str),
    /// In words of the server's, whose the name is, too.
    Peer(PeerText),
}
