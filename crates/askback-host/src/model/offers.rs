//! The lines that can be typed at the prompt, and how their last calls ended.

use std::{mem, time::Duration};

use super::How;
use crate::{
    server_id::ServerId,
    text::{PeerText, Words},
    words,
};

/// The lines that can be typed at the prompt.
#[derive(Debug, Default)]
pub struct Offers {
    all: Vec<Offer>,
    servers: Vec<ServerOffer>,
    latest: Option<String>,
    /// The server that they are about.
    server: ServerId,
}

/// Precedes the name of a tool.
const CALL: &str = "/call ";

impl Offers {
    pub(super) fn set(&mut self, server: ServerId, mut offers: Vec<Offer>) {
        // The same line is another call on another server.
        if self.server != server {
            *self = Self {
                server,
                servers: mem::take(&mut self.servers),
                ..Self::default()
            };
        }
        for offer in &mut offers {
            let before = self.all.iter_mut().find(|it| it.line == offer.line);
            if let Some(before) = before {
                offer.last = offer.last.take().or(before.last.take());
            }
        }
        self.all = offers;
    }

    pub(super) fn set_servers(&mut self, servers: Vec<ServerOffer>) {
        self.servers = servers;
    }

    /// Returns what can be done with each server.
    pub fn servers(&self) -> &[ServerOffer] {
        &self.servers
    }

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

    /// Returns the line that `/again` repeats, if it can still be typed.
    pub fn latest(&self) -> Option<&str> {
        self.latest.as_deref()
    }

    pub fn get(&self, line: &str) -> Option<&Offer> {
        self.all.iter().find(|offer| offer.line == line)
    }

    /// Returns the offers that match the typed text: lines that begin with it or, without a slash,
    /// lines that contain it or whose description does. An exact match of our own command is first.
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

    /// Returns the line that calls a tool, if this line begins with the name of the tool instead of a
    /// command.
    pub fn call_of(&self, line: &str) -> Option<String> {
        // A server may name a tool like a command.
        if line.starts_with('/') {
            return None;
        }
        let name = line.split_whitespace().next()?;
        let offer = self.get(&format!("{CALL}{name}"))?;
        matches!(offer.about, About::Peer(_)).then(|| format!("{CALL}{line}"))
    }

    /// Returns our own command with this name, typed without its slash.
    pub fn ours(&self, word: &str) -> Option<&Offer> {
        self.all.iter().find(|offer| {
            let is_named = offer.line.strip_prefix('/') == Some(word);
            is_named && matches!(offer.about, About::Ours(_))
        })
    }
}

/// A line that can be typed: a command of askback, or a tool or prompt of the server.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Offer {
    /// The line, without arguments.
    pub line: String,
    pub goes_on: bool,
    pub about: About,
    /// The names of its arguments. A `*` follows each required one.
    pub arguments: PeerText,
    /// The server's hints about what it does.
    pub hints: Words,
    /// How the last call ended, and how long it took.
    pub last: Option<Words>,
    /// Other lines about the same tool or resource, for a front end with buttons.
    pub others: Vec<OtherLine>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherLine {
    pub does: &'static str,
    pub line: String,
}

/// The lines about a server, for a front end with buttons.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerOffer {
    pub server: ServerId,
    /// The line that makes it the current one. `None` if it is the current one.
    pub choose: Option<String>,
    /// The line that starts it again.
    pub restart: Option<String>,
    /// Why it is not connected: our words and what it said.
    pub failure: Option<(Words, Option<PeerText>)>,
}

impl Offer {
    /// Whether the line or its description contains the text, ignoring case.
    pub fn has(&self, text: &str) -> bool {
        let (line, about) = match &self.about {
            About::Ours(words) => (&*self.line, *words),
            // Every tool has the same command before its name.
            About::Peer(text) => (
                self.line.strip_prefix(CALL).unwrap_or(&self.line),
                text.raw(),
            ),
        };
        let text = text.to_lowercase();
        line.to_lowercase().contains(&text) || about.to_lowercase().contains(&text)
    }
}

impl Default for About {
    fn default() -> Self {
        Self::Ours("")
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum About {
    Ours(&'static str),
    /// From the server, like the name.
    Peer(PeerText),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_does_not_take_the_name_of_a_command() {
        let mut offers = Offers::default();
        let offer = |line: &str| Offer {
            line: line.to_owned(),
            about: About::Peer("Books.".into()),
            ..Offer::default()
        };
        offers.set(
            ServerId::FIRST,
            vec![offer("/call /quit"), offer("/call book")],
        );
        assert_eq!(offers.call_of("/quit"), None);
        let called = offers.call_of("book where=Kyoto");
        assert_eq!(called.as_deref(), Some("/call book where=Kyoto"));
    }
}
