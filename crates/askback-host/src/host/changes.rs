//! Changes of the conversation that are not questions, such as a new call, a list or a setting.

use std::time::Duration;

use askback::protocol::{LoggingLevel, Root};

use super::Host;
use crate::{
    model::{Call, Catalog, Change, Claims, How, Offer, Permission, Presence, ServerOffer},
    relay::ServerId,
    tasks::Tasks,
    text::Words,
};

impl Host {
    /// Chooses a server. [`Host::desk`] then returns its desk.
    pub fn choose(&mut self, server: ServerId) {
        self.change(Change::Chosen(server));
    }

    /// Sets whether a server is connected.
    pub fn note_presence(&mut self, server: ServerId, presence: Presence) {
        let is_opening = match presence {
            Presence::There => Some(false),
            Presence::Connecting | Presence::Down => Some(true),
            Presence::Gone | Presence::Absent | Presence::Removed => None,
        };
        if let Some(is_opening) = is_opening {
            self.served.get_mut(server).remarks.open(is_opening);
        } else {
            self.release_stderr();
        }
        self.change(Change::Presence(server, presence));
    }

    /// Sets what a server says it is.
    pub fn meet(&mut self, server: ServerId, claims: Option<Claims>) {
        self.change(Change::Met(server, claims));
    }

    /// Sets the lists of a server.
    pub fn list(&mut self, server: ServerId, catalog: Catalog) {
        self.change(Change::Listed(server, catalog));
    }

    /// Sets the log level requested from the chosen server.
    pub fn log(&mut self, level: LoggingLevel) {
        self.change(Change::Log(self.talk.chosen_id(), level));
    }

    /// Shares folders with the chosen server without asking.
    pub fn share(&mut self, roots: Vec<Root>) {
        self.change(Change::Shared(self.talk.chosen_id(), roots));
    }

    /// Ends the muting of all servers. Returns whether this lets questions come to the user again.
    pub fn unmute(&mut self) -> bool {
        let is_asked = self.talk.servers().any(|server| server.desk().is_muted());
        self.change(Change::Unmuted);
        is_asked
    }

    /// Begins a call of the chosen server. `line` is the offered line for the call. If the call is
    /// repeated, questions that were answered before get the same answers.
    pub fn begin_call(&mut self, call: Call, line: Option<String>, is_repeated: bool) {
        let server = self.talk.chosen_id();
        self.change(Change::Called {
            server,
            call,
            line,
            is_repeated,
        });
    }

    /// Ends the call of the chosen server.
    pub fn end_call(&mut self, how: How) {
        self.change(Change::Ended(self.talk.chosen_id(), how));
    }

    /// Returns how long the server worked on the last call, without the time for its questions.
    pub fn took(&self) -> Option<Duration> {
        self.talk.took()
    }

    /// Sets the offers at the prompt.
    pub fn offer(&mut self, offers: Vec<Offer>) {
        self.change(Change::Offered(offers));
    }

    /// Sets the lines about the servers.
    pub fn offer_servers(&mut self, servers: Vec<ServerOffer>) {
        self.change(Change::Servers(servers));
    }

    /// Shows the calls in the background at front ends that show them without a command.
    pub fn showing_tasks(&mut self, tasks: &Tasks) {
        self.leaf.tasks(tasks);
    }

    /// Sets the server description shown at the prompt.
    pub fn describe(&mut self, words: Words) {
        self.change(Change::Described(words));
    }

    /// Adds lines to the history, oldest first.
    pub fn remember(&mut self, lines: Vec<String>) {
        self.change(Change::Entered(lines));
    }

    /// Sets whether the chosen server may use the model without asking. `keep` stores the user's
    /// changes beyond the session.
    pub fn permitting(
        &mut self,
        permission: Permission,
        keep: impl Fn(Permission) -> Result<(), Words> + 'static,
    ) {
        self.change(Change::Permission(self.talk.chosen_id(), permission));
        self.served().keep = Some(Box::new(keep));
    }

    /// Changes and stores whether the chosen server may use the model without asking.
    ///
    /// # Errors
    ///
    /// If it cannot be stored.
    pub fn permit(&mut self, permission: Permission) -> Result<(), Words> {
        self.change(Change::Permission(self.talk.chosen_id(), permission));
        match &self.served().keep {
            Some(keep) => keep(permission),
            None => Ok(()),
        }
    }
}
