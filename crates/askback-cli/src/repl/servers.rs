//! The servers of a conversation.

use std::mem;

use askback_host::{page::Style, text::given, words};

use super::{Repl, known::Known};
use crate::{
    error::{Error, Kind},
    session::{Connection, State},
};

/// A server that the person does not talk to now.
pub(super) struct Other {
    connection: Connection,
    known: Known,
}

impl Repl<'_> {
    /// Has these servers beside the one that the person talks to.
    #[must_use]
    pub fn beside(mut self, others: Vec<Connection>) -> Self {
        self.others = others
            .into_iter()
            .map(|connection| Other {
                connection,
                known: Known::default(),
            })
            .collect();
        self
    }

    /// Ends the conversation. Returns the connections to the servers that the person does not talk to.
    pub fn leave(self) -> Vec<Connection> {
        let others = self.others.into_iter();
        others.map(|other| other.connection).collect()
    }

    /// Puts every server on the page, and whether it is there.
    pub fn list_servers(&mut self) {
        let chosen = self.session.server();
        let revision = self.session.client.revision();
        let mut rows = vec![(chosen, Ok((revision, self.known.is_down)))];
        for other in &self.others {
            let state = match &other.connection.state {
                State::Open(client) => Ok((client.revision(), other.known.is_down)),
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
                Ok((_, true)) => (Style::Warning, "could not be started again".into(), None),
                Ok(_) if host.is_gone(server) => {
                    let ended = "ended; the next command starts it again";
                    (Style::Plain, ended.into(), None)
                }
                Ok((revision, false)) => {
                    let connected = words!("connected, {}", given(revision));
                    (Style::Plain, connected, None)
                }
                Err(error) => (Style::Warning, error.message, error.quoted),
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

    /// Has the person talk to the server of this name.
    pub(super) async fn talk_to(&mut self, name: &str) -> Result<(), Error> {
        if let Some(at) = self.find(name)? {
            self.turn_to(at)?;
            self.meet().await?;
        }
        let name = given(&self.session.host.desk().asker().name).short();
        let page = self.session.host.page();
        page.say(Style::Plain, words!("You talk to {}.", name));
        Ok(())
    }

    /// Starts the server of this name again, or the one that the person talks to.
    pub(super) async fn restart_named(&mut self, name: Option<&str>) -> Result<(), Error> {
        let at = match name {
            Some(name) => self.find(name)?,
            None => None,
        };
        let Some(at) = at else {
            return self.restart().await;
        };
        if self.turn_to(at).is_ok() {
            let restarted = self.restart().await;
            self.turn_to(at)?;
            self.meet().await?;
            return restarted;
        }
        let Some(other) = self.others.get_mut(at) else {
            return Ok(());
        };
        self.session.connect(&mut other.connection).await?;
        self.session
            .host
            .page()
            .note(Style::Plain, "It is there now.");
        Ok(())
    }

    /// Finds the server of this name among those that the person does not talk to; none where it is
    /// the one they talk to.
    fn find(&self, name: &str) -> Result<Option<usize>, Error> {
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

    /// Has the person talk to the server at this place, which is then that of the one they talked to.
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
        Ok(())
    }
}
