//! Connections to several servers, with one front end.

use std::{iter, mem, sync::Arc};

use askback::{
    Limits, Revision,
    client::{Client, Event, Protocol},
    protocol::Root,
};
use askback_host::{
    host::Host,
    model::{Asker, Change, Desk, Origin, Presence},
    page::{Style, out},
    receipts::ReceiptBook as _,
    relay::{Relay, ServerId},
    remarks::StderrMode,
    tasks::Tasks,
    text::{Clock, Words, given, look_alike},
    words,
};
use tokio::task::JoinSet;

use super::{
    Answers, ServerStderr, Session, SessionArgs, leaf, offer, open, permit, unreached, waiting,
    with_page,
};
use crate::{
    error::{Error, Kind},
    older::{self, AskingRevision},
    opener::{Opener, Take},
    permissions::Permissions,
    receipts::{ReceiptFolder, identity},
    target::{Reach, Target},
    wire::{WireLog, as_written},
};

/// A connection to a server other than the current one.
pub struct Connection {
    pub server: ServerId,
    pub state: State,
    pub(super) wire: Option<WireLog>,
    pub(super) opener: Opener,
}

pub enum State {
    Connecting,
    Open(Client),
    Failed(Error),
}

/// Connections that are being opened. They continue in the background.
#[derive(Default)]
pub struct OpeningServers(JoinSet<(ServerId, Result<Client, Error>)>);

pub type OpenedServer = (ServerId, Result<Client, Error>);

/// The parts that the connections of a session share.
pub(super) struct Room<'a> {
    args: &'a SessionArgs,
    relay: Relay,
    limits: Limits,
    shared: Option<Vec<Root>>,
    is_attended: bool,
    calls_tools: bool,
    take: Take,
}

impl<'a> Room<'a> {
    /// Creates a room with a host for this server.
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
            shared: args.shared()?,
            is_attended: matches!(answers, Answers::Person),
            calls_tools: model.is_some()
                || match &answers {
                    Answers::Script(script) => script.calls_tools(),
                    Answers::Leaf { calls_tools, .. } => *calls_tools,
                    Answers::Person => true,
                    Answers::Nobody => false,
                },
            take: Arc::new(take),
            limits: limits.clone(),
        };
        let leaf = leaf(answers, args.plain, &limits);
        let leaf = match args.on_page {
            true => with_page(leaf, &limits)?,
            false => leaf,
        };
        let mut host = Host::new(room.desk(first), leaf, arrivals, &limits);
        if let Some(model) = model {
            host = host.with_model(model);
        }
        Ok((room, host))
    }

    fn desk(&self, target: &Target) -> Desk {
        let reached = target.shown();
        let asker = Asker {
            name: target.name.clone(),
            reached: match target.file {
                Some(_) => Origin::Listed(reached.into()),
                None => Origin::Typed(reached),
            },
            claims: None,
        };
        let offer = self.is_attended.then(offer).flatten();
        let desk = Desk::new(asker, offer, self.shared.clone(), self.limits.clone());
        desk.with_clock(Clock::of_this_machine())
    }

    /// Prepares a connection to the current server. Nothing is started yet.
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
            host.showing_wire(wire.shared());
        }
        let observer = match &wire {
            Some(wire) => {
                let observer = wire.observer(args.trace.as_ref(), &relay)?;
                Some(as_written(observer, &target))
            }
            None => None,
        };
        let role = args.role.unwrap_or_default();
        let older = AskingRevision::of(&target);
        let mut protocol = args.protocol();
        let is_free = protocol == Protocol::Auto && role.revision().is_none();
        if args.asks_in_known && is_free && older.is_older(older::now()) {
            protocol = Protocol::Only(older::REVISION);
            let words = words!(
                "{} is spoken to in {}, since it cannot ask in a newer one; --protocol {} tries the newest.",
                given(&target.name).short(),
                older::REVISION.as_str(),
                Revision::LATEST.as_str()
            );
            host.page().note(Style::Dim, words);
        }
        host.show_stderr(match &args.stderr {
            Some(ServerStderr::Show) => StderrMode::Always,
            Some(ServerStderr::Hide) => StderrMode::Never,
            // The output of a build is shown as it arrives.
            None if args.builds => StderrMode::Always,
            None => StderrMode::default(),
        });
        let relay = match ReceiptFolder::of_user() {
            Some(folder) => relay.with_receipts(folder.of(&identity(&target), &target.name)),
            None => relay,
        };
        let opener = Opener {
            waiting: waiting(&target),
            reach: target.reach,
            relay,
            authorization,
            observer,
            take: Arc::clone(&self.take),
            limits: self.limits.clone(),
            protocol,
            older,
            role,
            calls_tools: self.calls_tools,
        };
        Ok(Connection {
            server,
            state: State::Failed(absent()),
            wire,
            opener,
        })
    }
}

/// Shows how a server from a file is reached, unless the user was just asked about it, because the author of the file
/// decides what runs here.
pub(super) fn tell_of(target: &Target) {
    if let Some(file) = target.file.as_ref().filter(|_| !target.is_told) {
        let mut page = out::stderr_page();
        let name = given(&target.name).short();
        page.line(words!(
            "{} says to use for {}:",
            given(file.display()),
            name
        ));
        page.quote_line("  ", target.shown());
        out::tell(&mut page);
    }
}

/// Fails if the names of two servers look the same.
fn names_apart(first: &Target, others: &[Target]) -> Result<(), Error> {
    let names: Vec<_> = iter::once(first)
        .chain(others)
        .map(|target| &target.name)
        .collect();
    for (at, name) in names.iter().enumerate() {
        if let Some(other) = names.iter().skip(at).find(|other| look_alike(name, other)) {
            let words = words!(
                "the names {} and {} of two servers look the same",
                given(name).short(),
                given(other).short()
            );
            return Err(Error::usage(words).hint("Give one of them another name in the file."));
        }
    }
    Ok(())
}

/// The error for a server that was never connected, or whose end is unknown.
fn absent() -> Error {
    Error::new(Kind::Connection, "the server is not there")
}

/// The server to wait for before a conversation begins: with `awaits_all` any that is connecting, or else the first
/// that has not failed, if it is connecting.
fn awaited(connections: &[Connection], awaits_all: bool) -> Option<ServerId> {
    let is_connecting = |of: &&Connection| matches!(of.state, State::Connecting);
    let mut hoped = connections
        .iter()
        .filter(|of| !matches!(of.state, State::Failed(_)));
    let awaited = match awaits_all {
        true => hoped.find(is_connecting),
        false => hoped.next().filter(is_connecting),
    };
    awaited.map(|of| of.server)
}

fn waiting_for(host: &Host, connections: &[Connection], awaits_all: bool) -> Words {
    let connecting = connections
        .iter()
        .filter(|of| matches!(of.state, State::Connecting));
    let most = match awaits_all {
        true => connections.len(),
        false => 1,
    };
    let names = connecting
        .take(most)
        .map(|of| host.asker(of.server).name.as_str());
    let names = names.collect::<Vec<_>>().join(", ");
    words!("Waiting for {} to answer…", given(names).short())
}

impl OpeningServers {
    pub fn begin(&mut self, connection: &mut Connection) {
        let server = connection.server;
        connection.state = match connection.opener.connect() {
            Ok(connecting) => {
                let reach = connection.opener.reach.clone();
                let unreached = move |error| unreached(error, &reach);
                self.0
                    .spawn(async move { (server, connecting.await.map_err(unreached)) });
                State::Connecting
            }
            Err(error) => State::Failed(error),
        };
    }

    /// Waits until a server has answered or failed. `None` if no connection is being opened. Cancel safe.
    pub async fn next(&mut self) -> Option<OpenedServer> {
        loop {
            // A task that panicked has no result.
            if let Ok(opened) = self.0.join_next().await? {
                return Some(opened);
            }
        }
    }
}

impl Session {
    /// Opens connections to several servers at once. The first available one becomes the current server; the others are
    /// returned, in order. If there is a user, this waits only for the current server. A server that cannot be reached
    /// does not affect the others.
    pub async fn open_several(
        first: Target,
        others: Vec<Target>,
        args: &SessionArgs,
    ) -> Result<(Self, Vec<Connection>, OpeningServers), Error> {
        names_apart(&first, &others)?;
        // Shown first, because a front end takes over the terminal.
        iter::once(&first).chain(&others).for_each(tell_of);
        let (room, mut host) = Room::new(&first, args, Answers::Person, Some)?;
        let mut connections = vec![room.connection(&mut host, first)?];
        for target in others {
            host.add(room.desk(&target));
            connections.push(room.connection(&mut host, target)?);
        }
        let mut opening = OpeningServers::default();
        for connection in &mut connections {
            opening.begin(connection);
        }
        // With lines from a file, the current server must be the same in each run.
        let awaits_all = !host.is_person();
        while let Some(server) = awaited(&connections, awaits_all) {
            host.change(Change::Chosen(server));
            let waiting = waiting_for(&host, &connections, awaits_all);
            let opened = host.attend_aloud(opening.next(), waiting).await?;
            let Some((server, opened)) = opened else {
                break;
            };
            let of = connections.iter_mut().find(|of| of.server == server);
            if let Some(connection) = of {
                connection.settle(&mut host, opened);
            }
        }
        let is_open = |of: &Connection| matches!(of.state, State::Open(_));
        let chosen = connections.iter().position(is_open).unwrap_or_default();
        let chosen = connections.remove(chosen);
        match &chosen.state {
            State::Open(client) => {
                let client = client.clone();
                Ok((Self::of(host, chosen, client), connections, opening))
            }
            State::Connecting => Err(absent()),
            State::Failed(error) => {
                for other in &connections {
                    if let State::Failed(error) = &other.state {
                        let name = given(&host.asker(other.server).name).short();
                        error.clone().about(name).put_below(host.page());
                    }
                }
                host.flush();
                let name = given(&host.asker(chosen.server).name).short();
                Err(error.clone().about(name))
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
        host.change(Change::Chosen(server));
        host.change(Change::Met(server, client.server_info()));
        host.note_presence(server, Presence::There);
        Self {
            client,
            host,
            wire,
            server,
            opener,
        }
    }

    pub fn server(&self) -> ServerId {
        self.server
    }

    pub fn tasks(&self) -> Tasks {
        self.opener.relay.tasks().clone()
    }

    /// Makes another server the current one, if it is connected, and stores the previous one in `other`.
    pub fn exchange(&mut self, other: &mut Connection) -> bool {
        let State::Open(client) = &mut other.state else {
            return false;
        };
        mem::swap(client, &mut self.client);
        mem::swap(&mut other.wire, &mut self.wire);
        mem::swap(&mut other.server, &mut self.server);
        mem::swap(&mut other.opener, &mut self.opener);
        self.host.change(Change::Chosen(self.server));
        true
    }

    pub async fn connect(&mut self, other: &mut Connection) -> Result<(), Error> {
        let opened = open(&other.opener, &mut self.host).await;
        let failed = opened.as_ref().err().cloned();
        other.settle(&mut self.host, opened);
        failed.map_or(Ok(()), Err)
    }
}

impl Connection {
    pub fn settle(&mut self, host: &mut Host, opened: Result<Client, Error>) {
        host.note_presence(
            self.server,
            match &opened {
                Ok(_) => Presence::There,
                Err(_) => Presence::Absent,
            },
        );
        if let Ok(client) = &opened {
            let claims = client.server_info();
            host.change(Change::Met(self.server, claims));
        }
        self.state = opened.map_or_else(State::Failed, State::Open);
    }

    pub async fn close(self, host: &mut Host) {
        if let State::Open(client) = self.state {
            // The run is over. A server that does not exit is killed.
            let _ = host.attend(client.close()).await;
        }
    }
}
