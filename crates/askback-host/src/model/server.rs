use std::time::Duration;

use askback::protocol::{LoggingLevel, Prompt, Resource, ResourceTemplate, Skill, Tool};

use super::{Desk, UnderWay};

/// A server: its questions, its lists and its connection status.
#[derive(Debug)]
pub struct Server {
    pub(super) desk: Desk,
    presence: Presence,
    since: Duration,
    took: Option<Duration>,
    pub(super) catalog: Option<Catalog>,
    pub(super) log: Option<LoggingLevel>,
    pub(super) call: Option<UnderWay>,
}

/// The connection status of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Presence {
    /// Connecting for the first time.
    #[default]
    Connecting,
    /// Connected.
    There,
    /// Disconnected and silent since then. The next command starts it again.
    Gone,
    /// Restarting, or the restart failed.
    Down,
    /// Never reached so far.
    Absent,
    /// Removed permanently, and no longer listed.
    Removed,
}

impl Server {
    /// Creates a server that is being connected to.
    pub fn new(desk: Desk) -> Self {
        Self {
            desk,
            presence: Presence::default(),
            since: Duration::ZERO,
            took: None,
            catalog: None,
            log: None,
            call: None,
        }
    }

    /// Returns the desk with its questions.
    pub fn desk(&self) -> &Desk {
        &self.desk
    }

    /// Returns the connection status.
    pub fn presence(&self) -> Presence {
        self.presence
    }

    /// Returns how long connecting took, if the server is connected.
    pub fn took(&self) -> Option<Duration> {
        self.took.filter(|_| self.presence == Presence::There)
    }

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

    /// Returns its lists, if known.
    pub fn catalog(&self) -> Option<&Catalog> {
        self.catalog.as_ref()
    }

    /// Returns the log level that was requested.
    pub fn log(&self) -> Option<LoggingLevel> {
        self.log
    }

    /// Returns the call that the user waits for.
    pub fn call(&self) -> Option<&UnderWay> {
        self.call.as_ref()
    }

    pub(super) fn heard(&mut self) {
        if self.presence == Presence::Gone {
            self.presence = Presence::There;
        }
    }

    pub(super) fn left(&mut self) {
        if self.presence == Presence::There {
            self.presence = Presence::Gone;
        }
    }

    /// Returns the number of open questions, including those of other servers that the desk knows
    /// of.
    pub(super) fn open(&self) -> usize {
        let open = self.desk.front();
        open.map_or(0, |front| {
            let answered = front.position.saturating_sub(1);
            front.total.saturating_sub(answered)
        })
    }

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
    /// The resource templates.
    pub templates: Vec<ResourceTemplate>,
    /// The skills.
    pub skills: Vec<Skill>,
}
