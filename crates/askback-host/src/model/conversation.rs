//! The servers before a person, and all that a front end shows of them.

use std::time::Duration;

use askback::protocol::{LoggingLevel, Root};

use super::{
    Call, Catalog, Claims, Completions, Desk, Event, EventOutcome, Far, Folders, How, Offer,
    Offers, Permission, Presence, Server, Stance, UnderWay,
};
use crate::{
    server_id::{PerServer, ServerId},
    text::Words,
};

/// The servers before a person, one at least; which of them the person talks to, and whose question is in front.
#[derive(Debug)]
pub struct Conversation {
    servers: PerServer<Server>,
    /// The server that the person talks to.
    chosen: ServerId,
    /// The server whose question is in front of the person, and the number of that.
    front: Option<(ServerId, u64)>,
    /// The lines that can be typed.
    offers: Offers,
    /// The lines that the one may become which the person has begun.
    completions: Option<Completions>,
    /// The words on the servers, where nothing is typed.
    head: Words,
    history: History,
    /// The time now, from whenever.
    now: Duration,
    /// Since when the person has a question in front.
    asked_at: Option<Duration>,
    /// The time in which the person had questions in front before.
    answered: Duration,
}

/// A change of a [`Conversation`].
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// Something happens at the desk of a server.
    Desk(ServerId, Event),
    /// A server says who it is.
    Met(ServerId, Option<Claims>),
    /// A server comes or goes.
    Presence(ServerId, Presence),
    /// A server was heard of.
    Heard(ServerId),
    /// The connection of a server has ended.
    Left(ServerId),
    /// A server has these lists.
    Listed(ServerId, Catalog),
    /// A server is asked for log lines from this level on.
    Log(ServerId, LoggingLevel),
    /// The person chooses the folders of a server, which are shown to it as these roots.
    Shared(ServerId, Folders, Vec<Root>),
    /// The questions of a server are answered so.
    Stance(ServerId, Stance),
    /// A server may have a model reply this far without asking.
    Permission(ServerId, Permission),
    /// The person makes a call.
    Called {
        /// The server that is called.
        server: ServerId,
        /// The call.
        call: Call,
        /// The line that is offered for it, where there is one.
        line: Option<String>,
        /// Whether it is the one before again.
        is_repeated: bool,
    },
    /// The server says how far the call is.
    Far(ServerId, Far),
    /// The call that the person made has ended.
    Ended(ServerId, How),
    /// The person talks to this server from now on.
    Chosen(ServerId),
    /// The person entered these lines, oldest first.
    Entered(Vec<String>),
    /// These lines can be typed.
    Offered(Vec<Offer>),
    /// A line that is begun may become these.
    Completed(Completions),
    /// This is said of the servers, where nothing is typed.
    Described(Words),
}

impl Conversation {
    /// A conversation with one server.
    pub fn new(first: Server) -> Self {
        Self {
            servers: PerServer::new(first),
            chosen: ServerId::default(),
            front: None,
            offers: Offers::default(),
            completions: None,
            head: Words::default(),
            history: History::default(),
            now: Duration::ZERO,
            asked_at: None,
            answered: Duration::ZERO,
        }
    }

    /// Adds a server, and has the person talk to it. Returns its number.
    pub fn add(&mut self, server: Server) -> ServerId {
        self.chosen = self.servers.add(server);
        self.chosen
    }

    /// The server of this number. Numbers come from [`Conversation::add`] alone.
    pub fn server(&self, server: ServerId) -> &Server {
        self.servers.get(server)
    }

    fn server_mut(&mut self, server: ServerId) -> &mut Server {
        self.servers.get_mut(server)
    }

    /// Every server.
    pub fn servers(&self) -> impl Iterator<Item = &Server> {
        self.servers.all().map(|(_, server)| server)
    }

    fn servers_mut(&mut self) -> impl Iterator<Item = &mut Server> {
        self.servers.all_mut().map(|(_, server)| server)
    }

    /// The number of the server that the person talks to.
    pub fn chosen_id(&self) -> ServerId {
        self.chosen
    }

    /// The server that the person talks to.
    pub fn chosen(&self) -> &Server {
        self.server(self.chosen)
    }

    /// The number of the server that the person sees: that whose question is in front, else the one they talk to.
    pub fn seen_id(&self) -> ServerId {
        self.front.map_or(self.chosen, |(server, _)| server)
    }

    /// The desk that the person sees.
    pub fn seen(&self) -> &Desk {
        &self.server(self.seen_id()).desk
    }

    /// The lines that can be typed.
    pub fn offers(&self) -> &Offers {
        &self.offers
    }

    /// The lines that this one may become, which the person has begun, as far as that is known.
    pub fn completions(&self, begun: &str) -> Option<&Completions> {
        let known = self.completions.as_ref();
        known.filter(|known| known.begun == begun)
    }

    /// The words on the servers, where nothing is typed.
    pub fn head(&self) -> &Words {
        &self.head
    }

    /// The lines that the person has entered.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// The time in which the person had a question in front.
    pub fn answering(&self) -> Duration {
        let now = self.asked_at.map(|since| self.now.saturating_sub(since));
        self.answered.saturating_add(now.unwrap_or_default())
    }

    /// The call of the server that the person talks to, which they wait for, and how long the server has worked on
    /// it.
    pub fn under_way(&self) -> Option<(&UnderWay, Duration)> {
        let call = self.chosen().call.as_ref()?;
        Some((call, call.worked(self.now, self.answering())))
    }

    /// Has a model reply where a server wants that.
    pub fn ask_model(&mut self, name: &str) {
        for server in self.servers_mut() {
            server.desk.ask_model(name.to_owned());
        }
    }

    /// Takes note of the time, measured from whenever. It does not go back.
    pub fn pass(&mut self, now: Duration) {
        self.now = self.now.max(now);
    }

    /// Takes in what changes, at the time that was last noted. Says what came of it at a desk, if it is one where it
    /// happened.
    pub fn update(&mut self, change: Change) -> Option<EventOutcome> {
        match change {
            Change::Desk(server, event) => return Some(self.happen(server, event)),
            Change::Met(server, claims) => self.server_mut(server).desk.meet(claims),
            Change::Presence(server, presence) => {
                let now = self.now;
                self.server_mut(server).comes(presence, now);
            }
            Change::Heard(server) => self.server_mut(server).heard(),
            Change::Left(server) => self.server_mut(server).left(),
            Change::Listed(server, catalog) => self.server_mut(server).catalog = Some(catalog),
            Change::Log(server, level) => self.server_mut(server).log = Some(level),
            Change::Shared(server, folders, roots) => {
                let server = self.server_mut(server);
                server.folders = folders;
                server.desk.share(roots);
            }
            Change::Stance(server, stance) => self.server_mut(server).desk.answer_as(stance),
            Change::Permission(server, permission) => {
                self.server_mut(server).desk.permit(permission);
            }
            Change::Called {
                server,
                call,
                line,
                is_repeated,
            } => {
                let begun = UnderWay::new(call, line, self.now, self.answering());
                let server = self.server_mut(server);
                server.desk.go_on();
                server.desk.begin_call(is_repeated);
                server.call = Some(begun);
            }
            Change::Far(server, far) => {
                if let Some(call) = &mut self.server_mut(server).call {
                    call.far = Some(far);
                }
            }
            Change::Ended(server, how) => self.end(server, how),
            Change::Chosen(server) => self.chosen = server,
            Change::Entered(lines) => {
                self.servers_mut().for_each(|server| server.desk.go_on());
                self.history.remember(lines);
            }
            Change::Offered(offers) => self.offers.set(offers),
            Change::Completed(completions) => self.completions = Some(completions),
            Change::Described(words) => self.head = words,
        }
        None
    }

    fn happen(&mut self, server: ServerId, event: Event) -> EventOutcome {
        let it = self.server_mut(server);
        if let Some(call) = &mut it.call {
            call.note(&event);
        }
        let happened = it.desk.update(event);
        if let Some(call) = &mut it.call {
            call.settle(&happened.effects);
        }
        self.settle();
        match self.seen().front() {
            Some(_) => {
                self.asked_at.get_or_insert(self.now);
            }
            None => {
                self.answered = self.answering();
                self.asked_at = None;
            }
        }
        happened
    }

    fn end(&mut self, server: ServerId, how: How) {
        let (now, answering) = (self.now, self.answering());
        let server = self.server_mut(server);
        server.desk.end_call();
        if how == How::Stopped {
            server.desk.stop_call();
        }
        let Some(call) = server.call.take() else {
            return;
        };
        let took = call.worked(now, answering);
        self.offers.ended(call.line, took, how);
    }

    /// Decides which question is in front, for a desk has changed. One that is there already stays; else the oldest
    /// comes. Each desk is told how many there are on the others.
    fn settle(&mut self) {
        for server in self.servers_mut() {
            server.desk.elsewhere = 0;
        }
        let open = self.servers().map(Server::open);
        let open = open.fold(0, usize::saturating_add);
        for server in self.servers_mut() {
            server.desk.elsewhere = open.saturating_sub(server.open());
        }
        let stays = |(server, id)| self.server(server).front() == Some(id);
        if self.front.is_some_and(stays) {
            return;
        }
        let servers = self.servers.all();
        let fronts = servers.filter_map(|(id, server)| Some((server.front()?, id)));
        self.front = fronts.min().map(|(id, server)| (server, id));
    }
}

/// The most lines that are remembered.
const REMEMBERED: usize = 1000;

/// The lines that the person has entered, in this conversation and before it.
#[derive(Debug, Default)]
pub struct History(Vec<String>);

impl History {
    /// Remembers lines, oldest first, behind those that are remembered.
    fn remember(&mut self, lines: impl IntoIterator<Item = String>) {
        self.0.extend(lines);
        self.0.dedup();
        let over = self.0.len().saturating_sub(REMEMBERED);
        self.0.drain(..over);
    }

    /// The line that is this far back; the newest is 0.
    pub fn back(&self, back: usize) -> Option<&str> {
        self.0.iter().rev().nth(back).map(String::as_str)
    }

    /// How many lines are remembered.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// The lines that have a text in them, in small letters or capitals: newest first, and each once.
    pub fn find(&self, text: &str) -> Vec<&str> {
        let text = text.to_lowercase();
        let mut found: Vec<&str> = Vec::new();
        for line in self.0.iter().rev() {
            if line.to_lowercase().contains(&text) && !found.contains(&line.as_str()) {
                found.push(line);
            }
        }
        found
    }
}
