//! The changes of a conversation that come from elsewhere than its questions: a call begins, a list was read, a choice
//! was made.

use askback::protocol::{LoggingLevel, Root};

use super::Host;
use crate::{
    model::{Call, Catalog, Change, Claims, Folders, How, Offer, Permission, Presence, Stance},
    relay::ServerId,
    text::Words,
};

impl Host {
    /// Has the person talk to this server from now on: [`Host::desk`] is its desk.
    pub fn choose(&mut self, server: ServerId) {
        self.change(Change::Chosen(server));
    }

    /// Takes note of whether a server is there.
    pub fn note_presence(&mut self, server: ServerId, presence: Presence) {
        let is_opening = match presence {
            Presence::There => Some(false),
            Presence::Connecting | Presence::Down => Some(true),
            Presence::Gone | Presence::Absent => None,
        };
        if let Some(is_opening) = is_opening {
            self.served.get_mut(server).remarks.open(is_opening);
        } else {
            self.release_stderr();
        }
        self.change(Change::Presence(server, presence));
    }

    /// Takes note of who a server says it is.
    pub fn meet(&mut self, server: ServerId, claims: Option<Claims>) {
        self.change(Change::Met(server, claims));
    }

    /// Takes note of the lists of a server.
    pub fn list(&mut self, server: ServerId, catalog: Catalog) {
        self.change(Change::Listed(server, catalog));
    }

    /// Takes note of the level from which on log lines are asked for, of the server that the person talks to.
    pub fn log(&mut self, level: LoggingLevel) {
        self.change(Change::Log(self.talk.chosen_id(), level));
    }

    /// Shows these folders to the server that the person talks to, from now on and without asking. `chosen` is how
    /// the person chose them.
    pub fn share(&mut self, chosen: Folders, roots: Vec<Root>) {
        self.change(Change::Shared(self.talk.chosen_id(), chosen, roots));
    }

    /// Answers the questions of the server that the person talks to so from now on, also where they wanted none.
    pub fn answer_as(&mut self, stance: Stance) {
        self.change(Change::Stance(self.talk.chosen_id(), stance));
    }

    /// Begins a call of the server that the person talks to. `line` is the one that is offered for it, where there is
    /// one. If it is the call before again, the questions that were answered in that are answered as they were.
    pub fn begin_call(&mut self, call: Call, line: Option<String>, is_repeated: bool) {
        let server = self.talk.chosen_id();
        self.change(Change::Called {
            server,
            call,
            line,
            is_repeated,
        });
    }

    /// Ends the call of the server that the person talks to.
    pub fn end_call(&mut self, how: How) {
        self.change(Change::Ended(self.talk.chosen_id(), how));
    }

    /// Takes note of what can be typed at the prompt.
    pub fn offer(&mut self, offers: Vec<Offer>) {
        self.change(Change::Offered(offers));
    }

    /// Takes note of what is said of the server at the prompt.
    pub fn describe(&mut self, words: Words) {
        self.change(Change::Described(words));
    }

    /// Takes note of lines to go back to, oldest first, behind those that are known.
    pub fn remember(&mut self, lines: Vec<String>) {
        self.change(Change::Entered(lines));
    }

    /// Sets how far the server that the person talks to may have a model reply without asking, and what keeps what the person
    /// says of that beyond the session.
    pub fn permitting(
        &mut self,
        permission: Permission,
        keep: impl Fn(Permission) -> Result<(), Words> + 'static,
    ) {
        self.change(Change::Permission(self.talk.chosen_id(), permission));
        self.served().keep = Some(Box::new(keep));
    }

    /// Changes how far the server that the person talks to may have a model reply without asking, now and beyond the session.
    ///
    /// # Errors
    ///
    /// Says why it is not kept.
    pub fn permit(&mut self, permission: Permission) -> Result<(), Words> {
        self.change(Change::Permission(self.talk.chosen_id(), permission));
        match &self.served().keep {
            Some(keep) => keep(permission),
            None => Ok(()),
        }
    }
}
