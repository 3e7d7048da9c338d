//! A server, as far as a person has to do with it.

use std::time::Duration;

use askback::protocol::{LoggingLevel, Prompt, Resource, ResourceTemplate, Tool};

use super::{Desk, Folders, UnderWay};

/// A server, as far as a person has to do with it: its questions, what it offers, and how it stands.
#[derive(Debug)]
pub struct Server {
    pub(super) desk: Desk,
    presence: Presence,
    /// Since when it is being connected to.
    since: Duration,
    /// How long that took.
    took: Option<Duration>,
    pub(super) catalog: Option<Catalog>,
    pub(super) log: Option<LoggingLevel>,
    pub(super) folders: Folders,
    pub(super) call: Option<UnderWay>,
}

/// Whether a server is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Presence {
    /// It is being connected to for the first time, and has not answered.
    #[default]
    Connecting,
    /// It is there.
    There,
    /// It went away, and was not heard of since. The next command starts it again.
    Gone,
    /// It is being started again, or that failed.
    Down,
    /// It could not be reached so far.
    Absent,
}

impl Server {
    /// A server that is being connected to.
    pub fn new(desk: Desk) -> Self {
        Self {
            desk,
            presence: Presence::default(),
            since: Duration::ZERO,
            took: None,
            catalog: None,
            log: None,
            folders: Folders::default(),
            call: None,
        }
    }

    /// Its questions.
    pub fn desk(&self) -> &Desk {
        &self.desk
    }

    /// Whether it is there.
    pub fn presence(&self) -> Presence {
        self.presence
    }

    /// How long it took to connect to it, if it is there.
    pub fn took(&self) -> Option<Duration> {
        self.took.filter(|_| self.presence == Presence::There)
    }

    /// Takes note of whether it is there now.
    pub(super) fn comes(&mut self, presence: Presence, now: Duration) {
        match (self.presence, presence) {
            (Presence::Connecting | Presence::Down, Presence::There) => {
                self.took = Some(now.saturating_sub(self.since));
            }
            (_, Presence::Connecting | Presence::Down) => self.since = now,
            _ => {}
        }
        self.presence = presence;
    }

    /// Its lists, as far as they are known.
    pub fn catalog(&self) -> Option<&Catalog> {
        self.catalog.as_ref()
    }

    /// The level from which on log lines were asked for.
    pub fn log(&self) -> Option<LoggingLevel> {
        self.log
    }

    /// The folders that the person chose for it, beside those of a yes to its question.
    pub fn folders(&self) -> &Folders {
        &self.folders
    }

    /// The call of it that the person waits for.
    pub fn call(&self) -> Option<&UnderWay> {
        self.call.as_ref()
    }

    /// Takes note that it was heard of: it is not gone.
    pub(super) fn heard(&mut self) {
        if self.presence == Presence::Gone {
            self.presence = Presence::There;
        }
    }

    /// Takes note that its connection has ended: where it was there, it is gone.
    pub(super) fn left(&mut self) {
        if self.presence == Presence::There {
            self.presence = Presence::Gone;
        }
    }

    /// How many questions are open on its desk, and on those that it knows of.
    pub(super) fn open(&self) -> usize {
        let open = self.desk.front();
        open.map_or(0, |front| {
            let answered = front.position.saturating_sub(1);
            front.total.saturating_sub(answered)
        })
    }

    /// The question in front of its desk.
    pub(super) fn front(&self) -> Option<u64> {
        self.desk.front().map(|front| front.id)
    }
}

/// The lists of a server.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Catalog {
    /// The tools.
    pub tools: Vec<Tool>,
    /// The prompts.
    pub prompts: Vec<Prompt>,
    /// The resources.
    pub resources: Vec<Resource>,
    /// The templates of resources.
    pub templates: Vec<ResourceTemplate>,
}
