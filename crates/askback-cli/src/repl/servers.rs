//! The servers of a conversation: the current one and the others.

use std::{
    collections::{BTreeMap, BTreeSet},
    future::pending,
    iter, mem,
};

use askback::{
    client::{Client, ClientError, Subscription},
    protocol::Tool,
};
use askback_host::{
    model::{Catalog, Change, Presence},
    page::Style,
    relay::ServerId,
    tasks::Task,
    text::{Words, given},
    words,
};
use tokio::task::Id;

use super::{Repl, attend, calls::LastCall, catalog, grammar::Command, results::ShownResult};
use crate::{
    error::{Error, Kind},
    files::{ChangedFiles, WatchedFiles},
    session::{Connection, OpenedServer, OpeningServers, Session, State},
};

pub(super) struct Other {
    pub(super) connection: Connection,
    pub(super) known: ServerState,
}

/// The lists of a server, or why they could not be read.
pub(super) type LearnedCatalog = (ServerId, Result<Catalog, ClientError>);

impl Repl<'_> {
    /// Adds servers next to the current one. Some are still connecting.
    #[must_use]
    pub fn beside(mut self, others: Vec<Connection>, opening: OpeningServers) -> Self {
        self.opening = opening;
        self.others = others
            .into_iter()
            .map(|connection| Other {
                connection,
                known: ServerState::default(),
            })
            .collect();
        for server in self.servers().skip(1).collect::<Vec<_>>() {
            self.read_lists(server);
        }
        self
    }

    /// Returns the connections to the other servers.
    pub fn leave(self) -> Vec<Connection> {
        let others = self.others.into_iter();
        others.map(|other| other.connection).collect()
    }

    pub fn list_servers(&mut self) {
        let chosen = self.session.server();
        let revision = self.session.client.revision();
        let mut rows = vec![(chosen, Ok(Some(revision)))];
        for other in &self.others {
            let state = match &other.connection.state {
                State::Connecting => Ok(None),
                State::Open(client) => Ok(Some(client.revision())),
                State::Failed(error) => Err(error.clone()),
            };
            rows.push((other.connection.server, state));
        }
        rows.sort_by_key(|(server, _)| *server);
        let host = &mut self.session.host;
        for (server, state) in rows {
            let name = given(&host.asker(server).name).short();
            let mark = match server == chosen {
                true => "> ",
                false => "  ",
            };
            let (style, state, quoted) = match state {
                Ok(None) => (Style::Plain, "connecting".into(), None),
                Ok(_) if host.presence(server) == Presence::Down => {
                    let failed = "could not be started again";
                    (Style::Error, failed.into(), None)
                }
                Ok(_) if host.presence(server) == Presence::Gone => {
                    let ended = "ended; the next command starts it again";
                    (Style::Plain, ended.into(), None)
                }
                Ok(Some(revision)) => {
                    let connected = words!("connected, {}", given(revision));
                    (Style::Plain, connected, None)
                }
                Err(error) => (Style::Error, error.message, error.quoted),
            };
            let page = host.page();
            page.item(mark, style, words!("{}: {}", name, state));
            if let Some(quoted) = quoted {
                page.quote_line("    ", quoted);
            }
        }
        if !self.others.is_empty() {
            let words = "/server NAME talks to another; /restart NAME starts one again.";
            host.page().note(Style::Dim, words);
        }
    }

    pub(super) async fn talk_to(&mut self, name: &str) -> Result<(), Error> {
        if let Some(at) = self.find_server(name)? {
            self.wait_for(at).await?;
            self.turn_to(at)?;
            self.meet().await?;
        }
        self.tell_server();
        Ok(())
    }

    fn tell_server(&mut self) {
        let name = self.name();
        self.page()
            .say(Style::Plain, words!("You talk to {}.", name));
    }

    /// Makes the server of a task the current one, because what is shown of the task is the last result there.
    pub(super) fn turn_to_server_of(&mut self, task: &Task) -> Result<(), Error> {
        let is_meant = |other: &Other| other.connection.server == task.server;
        if let Some(at) = self.others.iter().position(is_meant) {
            self.turn_to(at)?;
            self.tell_server();
        }
        Ok(())
    }

    /// Restarts the named server, or the current one. If a user is at the terminal, a server that was not connected is
    /// connected in the background.
    pub(super) async fn restart_named(&mut self, name: Option<&str>) -> Result<(), Error> {
        let at = match name {
            Some(name) => self.find_server(name)?,
            None => None,
        };
        let Some(at) = at else {
            return self.restart().await;
        };
        if self.turn_to(at).is_ok() {
            let restarted = self.restart().await;
            self.turn_to(at)?;
            return restarted;
        }
        let Some(other) = self.others.get_mut(at) else {
            return Ok(());
        };
        let Session { host, .. } = &mut *self.session;
        if host.is_person() {
            let name = given(&host.asker(other.connection.server).name).short();
            if !matches!(other.connection.state, State::Connecting) {
                self.opening.begin(&mut other.connection);
            }
            let words = words!(
                "Connecting to {}. A line here says when it is connected.",
                name
            );
            host.page().note(Style::Plain, words);
            return Ok(());
        }
        self.session.connect(&mut other.connection).await?;
        self.page().note(Style::Plain, "It is connected now.");
        Ok(())
    }

    pub(super) fn opened(&mut self, (server, opened): OpenedServer) {
        let is_it = |other: &Other| other.connection.server == server;
        let Some(at) = self.others.iter().position(is_it) else {
            return;
        };
        let host = &mut self.session.host;
        let name = given(&host.asker(server).name).short();
        match &opened {
            Ok(client) => {
                let words = words!("{}: connected, {}", name, given(client.revision()));
                host.page().say(Style::Plain, words);
            }
            Err(error) => error.clone().about(name).put_below(host.page()),
        }
        if let Some(other) = self.others.get_mut(at) {
            other.connection.settle(host, opened);
        }
        self.read_lists(server);
    }

    pub(super) fn servers(&self) -> impl Iterator<Item = ServerId> {
        let others = self.others.iter().map(|other| other.connection.server);
        iter::once(self.session.server()).chain(others)
    }

    pub(super) fn there(&self, server: ServerId) -> Option<&Client> {
        if self.session.host.presence(server) != Presence::There {
            return None;
        }
        let mut others = self.others.iter().map(|other| &other.connection);
        match others.find(|other| other.server == server) {
            None => Some(&self.session.client),
            Some(other) => match &other.state {
                State::Open(client) => Some(client),
                State::Connecting | State::Failed(_) => None,
            },
        }
    }

    /// Reads a server's lists in the background, if they are shown. The result of an earlier read is then ignored.
    fn read_lists(&mut self, server: ServerId) {
        if !self.session.host.shows_offers() {
            return;
        }
        let Some(client) = self.there(server).cloned() else {
            return;
        };
        let reading = async move { (server, catalog::read(&client, &[]).await) };
        let reading = self.learning.spawn(reading);
        self.reading.insert(server, reading.id());
    }

    /// Reads changed lists again. A server that disconnected is started only by a command.
    pub(super) fn read_again(&mut self, servers: BTreeSet<ServerId>) {
        if servers.contains(&self.session.server()) {
            self.known.tools = None;
        }
        for server in servers {
            match self.reading.contains_key(&server) {
                true => self.session.host.changed().note(server),
                false => self.read_lists(server),
            }
        }
    }

    /// Stores the lists of a server. Without them there are only fewer completions.
    pub(super) fn learned(&mut self, (reading, (server, lists)): (Id, LearnedCatalog)) {
        if self.reading.get(&server) != Some(&reading) {
            return;
        }
        self.reading.remove(&server);
        if let Ok(lists) = lists {
            self.session.host.change(Change::Listed(server, lists));
            self.is_offered = false;
        }
    }

    async fn wait_for(&mut self, at: usize) -> Result<(), Error> {
        while let Some(other) = self.others.get(at)
            && matches!(other.connection.state, State::Connecting)
        {
            let host = &mut self.session.host;
            let name = given(&host.asker(other.connection.server).name).short();
            let waiting = words!("Waiting for {} to answer…", name);
            let opened = host.attend_aloud(self.opening.next(), waiting).await?;
            match opened {
                Some(opened) => self.opened(opened),
                None => return Ok(()),
            }
        }
        Ok(())
    }

    /// Adds how to switch if a name begins with the name of another server.
    pub(super) fn switching(&self, error: Error, name: &str) -> Error {
        let others = self.servers().skip(1);
        let mut others = others.map(|server| &*self.session.host.asker(server).name);
        let is_named = |server: &&str| {
            let rest = name.strip_prefix(*server);
            rest.is_some_and(|rest| rest.starts_with('/'))
        };
        match others.find(is_named) {
            Some(server) => error.hint(words!(
                "/server {} switches to that server.",
                given(server).short()
            )),
            None => error,
        }
    }

    pub(super) fn one_of_several(&self) -> Option<Words> {
        (!self.others.is_empty()).then(|| self.name())
    }

    pub(super) async fn obey(&mut self, command: Command) -> Result<(), Error> {
        let server = self.session.server();
        let was_gone = self.session.host.presence(server) == Presence::Gone;
        let was_gone = was_gone && command.facts().needs_server;
        let done = self.carry_out(command).await;
        if was_gone && done.is_ok() {
            // The server was restarted for the command.
            self.session.host.note_presence(server, Presence::There);
        }
        done
    }

    /// `None` if it is the current server.
    fn find_server(&self, name: &str) -> Result<Option<usize>, Error> {
        let host = &self.session.host;
        if host.desk().asker().name == name {
            return Ok(None);
        }
        let is_meant = |other: &Other| host.asker(other.connection.server).name == name;
        match self.others.iter().position(is_meant) {
            Some(at) => Ok(Some(at)),
            None => {
                let error = words!("no server is called `{}`", given(name));
                Err(Error::usage(error).hint("/servers lists them."))
            }
        }
    }

    /// Makes the server at this index the current one. The previous one takes its place.
    fn turn_to(&mut self, at: usize) -> Result<(), Error> {
        let Some(other) = self.others.get_mut(at) else {
            return Ok(());
        };
        if !self.session.exchange(&mut other.connection) {
            let name = &self.session.host.asker(other.connection.server).name;
            let name = given(name).short();
            let error = Error::new(Kind::Connection, words!("{} is not there", name.clone()));
            return Err(error.hint(words!("/restart {} tries again.", name)));
        }
        mem::swap(&mut other.known, &mut self.known);
        self.is_offered = false;
        Ok(())
    }
}

/// The conversation's state for one server, in addition to the host's state.
#[derive(Default)]
pub(super) struct ServerState {
    pub(super) last: Option<LastCall>,
    /// The tools, once a call needed the list.
    pub(super) tools: Option<Vec<Tool>>,
    pub(super) shown: Option<ShownResult>,
    /// The subscription to list changes. Dropping it ends it.
    pub(super) changes: Option<Subscription>,
    /// By URI.
    pub(super) watched: BTreeMap<String, Subscription>,
    /// Whether the user switched to the server or called it.
    pub(super) is_met: bool,
    /// Whether each shared folder exists, by URI, if it was checked.
    pub(super) there: BTreeMap<String, bool>,
}

impl Repl<'_> {
    /// Restarts or reconnects to the server and reports what changed.
    pub(super) async fn restart(&mut self) -> Result<(), Error> {
        self.end_tasks(Some(self.session.server()));
        let name = self.name();
        let page = self.page();
        page.note(Style::Dim, words!("Starting {} again.", name));
        self.known.changes = None;
        self.known.tools = None;
        let server = self.session.server();
        self.session.host.note_presence(server, Presence::Down);
        // Ignore reads from before the restart.
        self.reading.remove(&server);
        let hint = match self.files {
            Some(_) => "It is started again when a file changes; /restart does so now.",
            None => "/restart tries again.",
        };
        let restarted = self.session.restart().await;
        restarted.map_err(|error| error.hint(hint))?;
        self.session.host.hold_stderr(server, true);
        self.known.changes = self.listen().await?;
        self.known.is_met = true;
        self.subscribe_again().await?;
        let Session { client, host, .. } = &mut *self.session;
        let now = attend(host, catalog::read(client, &[])).await?;
        host.hold_stderr(server, false);
        let before = host.server().catalog().cloned();
        let page = host.page();
        match before {
            Some(before) => catalog::compare(&before, &now, page),
            None => page.note(Style::Plain, "It is connected again."),
        }
        host.change(Change::Listed(server, now));
        self.is_offered = false;
        Ok(())
    }

    /// Restarts the server after files changed, and repeats the last call.
    pub(super) async fn rebuilt(&mut self, changed: &ChangedFiles) -> Result<(), Error> {
        let page = self.page();
        page.blank();
        if changed.is_too_often {
            let words = words!(
                "{} changed, and the server was restarted several times by itself: /restart restarts it. If the server writes the file, exclude it with --ignore GLOB.",
                changed.words()
            );
            page.note(Style::Dim, words);
            return Ok(());
        }
        page.note(Style::Dim, words!("{} changed.", changed.words()));
        self.restart().await?;
        match self.known.last {
            Some(_) => self.again().await,
            None => Ok(()),
        }
    }
}

pub(super) async fn files_changed(files: &mut Option<WatchedFiles>) -> ChangedFiles {
    match files {
        Some(files) => files.changed().await,
        None => pending().await,
    }
}
