//! Connections to several servers, with one front end before them.

use std::{collections::BTreeSet, iter, mem, sync::Arc};

use askback::client::{Client, Event};
use askback_core::{limits::Limits, protocol::Root};
use askback_host::{
    host::Host,
    model::{Asker, Desk, Reached},
    page::out,
    relay::{Relay, ServerId, claims},
    text::{Given, given},
    words,
};
use tokio::task::JoinSet;

use super::{Answers, Session, SessionArgs, failed, leaf, offer, open, permit, waiting};
use crate::{
    error::{Error, Kind},
    opener::{Opener, Take},
    permissions::Permissions,
    target::{Reach, Target},
    wire::WireLog,
};

/// A connection to a server that the person does not talk to now.
pub struct Connection {
    /// The number of the server.
    pub server: ServerId,
    /// Whether the server is there.
    pub state: State,
    pub(super) wire: Option<WireLog>,
    pub(super) opener: Opener,
}

/// The state of a connection.
pub enum State {
    /// The server is there, or was.
    Open(Client),
    /// It could not be reached so far.
    Failed(Error),
}

/// The things that the connections of a session have in common.
pub(super) struct Room<'a> {
    args: &'a SessionArgs,
    relay: Relay,
    limits: Limits,
    offer: Option<Root>,
    shared: Option<Vec<Root>>,
    is_attended: bool,
    calls_tools: bool,
    take: Take,
}

impl<'a> Room<'a> {
    /// A room with a host of this server.
    ///
    /// # Errors
    ///
    /// If the command line is wrong.
    pub(super) fn new(
        first: &Target,
        args: &'a SessionArgs,
        answers: Answers,
        take: impl Fn(Event) -> Option<Event> + Send + Sync + 'static,
    ) -> Result<(Self, Host), Error> {
        let (relay, arrivals) = Relay::new();
        let limits = args.limits();
        let model = args.models.model(&limits)?;
        let room = Self {
            args,
            relay,
            offer: offer(&answers),
            shared: args.shared()?,
            is_attended: matches!(answers, Answers::Person),
            calls_tools: model.is_some()
                || match &answers {
                    Answers::Script(script) => script.calls_tools(),
                    Answers::Leaf { calls_tools, .. } => *calls_tools,
                    Answers::Person | Answers::Nobody => false,
                },
            take: Arc::new(take),
            limits: limits.clone(),
        };
        let leaf = leaf(answers, args.plain, &limits);
        let mut host = Host::new(room.desk(first), leaf, arrivals, &limits);
        if let Some(model) = model {
            host = host.with_model(model);
        }
        Ok((room, host))
    }

    /// The desk for the questions of a server.
    fn desk(&self, target: &Target) -> Desk {
        let reached = target.shown();
        let asker = Asker {
            name: target.name.clone(),
            reached: match target.file {
                Some(_) => Reached::Listed(reached.into()),
                None => Reached::Typed(reached),
            },
            claims: None,
        };
        let (offer, shared) = (self.offer.clone(), self.shared.clone());
        Desk::new(asker, offer, shared, self.limits.clone())
    }

    /// All that it takes to connect to the server that is chosen. Nothing is started yet.
    ///
    /// # Errors
    ///
    /// If the command line is wrong.
    pub(super) fn connection(&self, host: &mut Host, target: Target) -> Result<Connection, Error> {
        let args = self.args;
        let server = host.chosen();
        let relay = self.relay.of(server);
        let authorization = match &target.reach {
            Reach::Address(address) if !address.is_authorized() => {
                let sign_in = &args.sign_in;
                Some(sign_in.authorization(&address.sign_in, &relay, self.is_attended)?)
            }
            _ => None,
        };
        permit(host, Permissions::of_user(&target));
        let wire = args.wire(&self.limits);
        if let Some(wire) = &wire {
            host.showing_wire(wire.shows());
        }
        let observer = match &wire {
            Some(wire) => Some(wire.observer(args.trace.as_ref(), &relay)?),
            None => None,
        };
        let opener = Opener {
            waiting: waiting(&target),
            reach: target.reach,
            relay,
            authorization,
            observer,
            take: Arc::clone(&self.take),
            limits: self.limits.clone(),
            protocol: args.protocol.0,
            role: args.role.unwrap_or_default(),
            calls_tools: self.calls_tools,
        };
        Ok(Connection {
            server,
            state: State::Failed(Error::new(Kind::Connection, "the server is not there")),
            wire,
            opener,
        })
    }
}

/// Tells what a file says to use: what runs here was written by whoever wrote the file.
pub(super) fn tell_of(target: &Target) {
    if let Some(file) = &target.file {
        let mut page = out::stderr_page();
        page.line(words!("{} says to use:", given(file.display())));
        page.quote_line("  ", target.shown());
        out::tell(&mut page);
    }
}

/// An error of one server, which it names.
fn of_server(name: Given, error: &Error) -> Error {
    Error {
        message: words!("{}: {}", name, error.message.clone()),
        ..error.clone()
    }
}

impl Session {
    /// Opens connections to several servers at once, with a person before them. The person talks to the
    /// first that is there; the others are returned, in their order. One that cannot be reached ends none
    /// of the others.
    ///
    /// # Errors
    ///
    /// If no server can be reached, or the command line is wrong.
    pub async fn open_several(
        first: Target,
        others: Vec<Target>,
        args: &SessionArgs,
    ) -> Result<(Self, Vec<Connection>), Error> {
        // A front end takes the terminal.
        iter::once(&first).chain(&others).for_each(tell_of);
        let (room, mut host) = Room::new(&first, args, Answers::Person, Some)?;
        let mut connections = vec![room.connection(&mut host, first)?];
        for target in others {
            host.add(room.desk(&target));
            connections.push(room.connection(&mut host, target)?);
        }
        let mut opening = JoinSet::new();
        let mut awaited = BTreeSet::new();
        for connection in &mut connections {
            let server = connection.server;
            match connection.opener.connect() {
                Ok(connecting) => {
                    awaited.insert(server);
                    opening.spawn(async move { (server, connecting.await) });
                }
                Err(error) => connection.state = State::Failed(error),
            }
        }
        while !opening.is_empty() {
            let mut names = Vec::new();
            for connection in connections.iter().filter(|of| awaited.contains(&of.server)) {
                names.push(host.asker(connection.server).name.clone());
                host.choose(connection.server);
            }
            let waiting = words!("Waiting for {} to answer…", given(names.join(", ")).short());
            let opened = host.attend_aloud(opening.join_next(), waiting).await?;
            let Some(Ok((server, opened))) = opened else {
                break;
            };
            awaited.remove(&server);
            let of = connections.iter_mut().find(|of| of.server == server);
            if let Some(connection) = of {
                if let Ok(client) = &opened {
                    host.choose(server);
                    host.desk_mut().meet(client.server_info().map(claims));
                }
                connection.state =
                    opened.map_or_else(|error| State::Failed(failed(error)), State::Open);
            }
        }
        let is_open = |of: &Connection| matches!(of.state, State::Open(_));
        let chosen = connections.iter().position(is_open).unwrap_or_default();
        let chosen = connections.remove(chosen);
        match &chosen.state {
            State::Open(client) => {
                let client = client.clone();
                Ok((Self::of(host, chosen, client), connections))
            }
            State::Failed(error) => {
                for other in &connections {
                    if let State::Failed(error) = &other.state {
                        let name = given(&host.asker(other.server).name).short();
                        of_server(name, error).put_below(host.page());
                    }
                }
                host.flush();
                let name = given(&host.asker(chosen.server).name).short();
                Err(of_server(name, error))
            }
        }
    }

    pub(super) fn of(mut host: Host, connection: Connection, client: Client) -> Self {
        let Connection {
            server,
            wire,
            opener,
            ..
        } = connection;
        host.choose(server);
        host.desk_mut().meet(client.server_info().map(claims));
        Self {
            client,
            host,
            wire,
            server,
            opener,
        }
    }

    /// The number of the server that the person talks to.
    pub fn server(&self) -> ServerId {
        self.server
    }

    /// Has the person talk to another server, if that is there. The connection becomes that to the one
    /// they talked to.
    pub fn exchange(&mut self, other: &mut Connection) -> bool {
        let State::Open(client) = &mut other.state else {
            return false;
        };
        mem::swap(client, &mut self.client);
        mem::swap(&mut other.wire, &mut self.wire);
        mem::swap(&mut other.server, &mut self.server);
        mem::swap(&mut other.opener, &mut self.opener);
        self.host.choose(self.server);
        true
    }

    /// Connects to a server that could not be reached so far.
    ///
    /// # Errors
    ///
    /// If it cannot be reached now either.
    pub async fn connect(&mut self, other: &mut Connection) -> Result<(), Error> {
        match open(&other.opener, &mut self.host).await {
            Ok(client) => {
                self.host.choose(other.server);
                let claims = client.server_info().map(claims);
                self.host.desk_mut().meet(claims);
                self.host.choose(self.server);
                other.state = State::Open(client);
                Ok(())
            }
            Err(error) => {
                other.state = State::Failed(error.clone());
                Err(error)
            }
        }
    }
}

impl Connection {
    /// Ends the connection, and with it the server.
    pub async fn close(self, host: &mut Host) {
        if let State::Open(client) = self.state {
            // The run is over; a server that does not end well is ended.
            let _ = host.attend(client.close()).await;
        }
    }
}
