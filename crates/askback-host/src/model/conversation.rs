//! The servers of a session and the state that every front end shows.

use std::time::Duration;

use askback::protocol::{
    Implementation, LoggingLevel, Prompt, Resource, ResourceTemplate, Root, Skill, Tool,
};

use super::{Call, Desk, Event, EventOutcome, Offer, Offers, Permission, Question, ServerOffer};
use crate::{
    server_id::{PerServer, ServerId},
    text::{PeerText, Words},
};

/// The user's servers (at least one), the current server, and the question in front.
#[derive(Debug)]
pub struct Conversation {
    servers: PerServer<Server>,
    chosen: ServerId,
    /// The server and the id of the question in front of the user.
    front: Option<(ServerId, u64)>,
    offers: Offers,
    head: Words,
    /// How long the server worked on the last call.
    took: Option<Duration>,
    history: History,
    /// The current time, from an arbitrary start.
    now: Duration,
    asked_at: Option<Duration>,
    /// How long earlier questions were in front.
    answered: Duration,
    waits_for_server: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    Desk(ServerId, Event),
    Met(ServerId, Option<Implementation>),
    Presence(ServerId, Presence),
    /// A server sent something.
    Heard(ServerId),
    /// The connection to a server ended.
    Left(ServerId),
    Listed(ServerId, Catalog),
    /// The log level requested from a server changed.
    Log(ServerId, LoggingLevel),
    /// The user chose the folders of a server.
    Shared(ServerId, Vec<Root>),
    /// No server is muted any more.
    Unmuted,
    /// How far a server may use a model without asking changed.
    Permission(ServerId, Permission),
    Called {
        server: ServerId,
        call: Call,
        /// The offered line for this call, if it has one.
        line: Option<String>,
        /// Whether the previous call is repeated.
        is_repeated: bool,
    },
    /// The server reported progress of the call.
    Far(ServerId, Far),
    Ended(ServerId, How),
    Chosen(ServerId),
    /// The user entered these lines, oldest first.
    Entered(Vec<String>),
    Offered(Vec<Offer>),
    Servers(Vec<ServerOffer>),
    Described(Words),
}

impl Conversation {
    pub fn new(first: Server) -> Self {
        Self {
            servers: PerServer::new(first),
            chosen: ServerId::default(),
            front: None,
            offers: Offers::default(),
            head: Words::default(),
            took: None,
            history: History::default(),
            now: Duration::ZERO,
            asked_at: None,
            answered: Duration::ZERO,
            waits_for_server: true,
        }
    }

    /// From now on, the user waits for questions, not for a server.
    pub fn wait_for_questions(&mut self) {
        self.waits_for_server = false;
    }

    /// Whether the user waits for a server if there is neither a question nor a prompt.
    pub fn waits_for_server(&self) -> bool {
        self.waits_for_server
    }

    /// Adds a server, makes it the current one, and returns its id.
    pub fn add(&mut self, server: Server) -> ServerId {
        self.chosen = self.servers.add(server);
        self.chosen
    }

    /// Returns a server. Ids come from [`Conversation::add`] only.
    pub fn server(&self, server: ServerId) -> &Server {
        self.servers.get(server)
    }

    fn server_mut(&mut self, server: ServerId) -> &mut Server {
        self.servers.get_mut(server)
    }

    pub fn servers(&self) -> impl Iterator<Item = &Server> {
        self.servers.all().map(|(_, server)| server)
    }

    fn servers_mut(&mut self) -> impl Iterator<Item = &mut Server> {
        self.servers.all_mut().map(|(_, server)| server)
    }

    pub fn chosen_id(&self) -> ServerId {
        self.chosen
    }

    pub fn chosen(&self) -> &Server {
        self.server(self.chosen)
    }

    /// Returns the id of the server on the screen: the one whose question is in front, or else the
    /// current server.
    pub fn seen_id(&self) -> ServerId {
        self.front.map_or(self.chosen, |(server, _)| server)
    }

    pub fn seen(&self) -> &Desk {
        &self.server(self.seen_id()).desk
    }

    pub fn offers(&self) -> &Offers {
        &self.offers
    }

    /// Returns the text about the servers.
    pub fn head(&self) -> &Words {
        &self.head
    }

    pub fn history(&self) -> &History {
        &self.history
    }

    /// Returns how long questions have been in front of the user.
    pub fn answering(&self) -> Duration {
        let now = self.asked_at.map(|since| self.now.saturating_sub(since));
        self.answered.saturating_add(now.unwrap_or_default())
    }

    /// Returns the call that the user waits for on the current server, and how long the server has
    /// worked on it.
    pub fn under_way(&self) -> Option<(&UnderWay, Duration)> {
        let call = self.chosen().call.as_ref()?;
        Some((call, call.worked(self.now, self.answering())))
    }

    /// Returns how long the server worked on the last call, without the time for its questions.
    pub fn took(&self) -> Option<Duration> {
        self.took
    }

    /// Lets a model reply to a server's sampling requests.
    pub fn ask_model(&mut self, name: &str) {
        for server in self.servers_mut() {
            server.desk.ask_model(name.to_owned());
        }
    }

    /// Sets the current time, measured from an arbitrary start. It never goes back.
    pub fn pass(&mut self, now: Duration) {
        self.now = self.now.max(now);
    }

    /// Returns the current time, as [`Conversation::pass`] set it.
    pub fn now(&self) -> Duration {
        self.now
    }

    /// Applies a change at the current time. Returns the outcome if the change is an event at a
    /// desk.
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
            Change::Shared(server, roots) => self.server_mut(server).desk.share(roots),
            Change::Unmuted => {
                for server in self.servers_mut() {
                    server.desk.unmute();
                }
            }
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
            Change::Offered(offers) => self.offers.set(self.chosen, offers),
            Change::Servers(servers) => self.offers.set_servers(servers),
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
        self.took = Some(took);
        self.offers.ended(call.line, took, how);
    }

    /// Chooses the question in front after a desk changed. The current one stays; otherwise the
    /// oldest is next. Each desk learns how many questions wait at the others.
    fn settle(&mut self) {
        let open = self.servers().map(|server| server.desk.open_questions());
        let open = open.fold(0, usize::saturating_add);
        for server in self.servers_mut() {
            server.desk.elsewhere = open.saturating_sub(server.desk.open_questions());
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

const REMEMBERED: usize = 1000;

/// The lines that the user entered in this conversation and in earlier ones.
#[derive(Debug, Default)]
pub struct History(Vec<String>);

impl History {
    fn remember(&mut self, lines: impl IntoIterator<Item = String>) {
        self.0.extend(lines);
        self.0.dedup();
        let over = self.0.len().saturating_sub(REMEMBERED);
        self.0.drain(..over);
    }

    /// Returns an earlier line; 0 is the newest.
    pub fn back(&self, back: usize) -> Option<&str> {
        self.0.iter().rev().nth(back).map(String::as_str)
    }

    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Returns the lines that contain a text, ignoring case: newest first, without duplicates.
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

/// A call that the user waits for, with its progress and questions.
#[derive(Debug, Clone, PartialEq)]
pub struct UnderWay {
    pub call: Call,
    /// The offered line for this call, if it has one.
    pub line: Option<String>,
    pub far: Option<Far>,
    pub questions: usize,
    began: Duration,
    /// How long questions were in front before the call began.
    answering: Duration,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Far {
    pub progress: f64,
    pub total: Option<f64>,
    pub message: Option<PeerText>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    Done,
    /// With a result in which the tool reports an error.
    Error,
    /// Without a result.
    Failed,
    /// By the user.
    Stopped,
}

impl UnderWay {
    fn new(call: Call, line: Option<String>, now: Duration, answering: Duration) -> Self {
        Self {
            call,
            line,
            far: None,
            questions: 0,
            began: now,
            answering,
        }
    }

    /// Returns how long the server has worked on the call, without the time that questions were in
    /// front.
    fn worked(&self, now: Duration, answering: Duration) -> Duration {
        let person = answering.saturating_sub(self.answering);
        now.saturating_sub(self.began).saturating_sub(person)
    }

    fn note(&mut self, event: &Event) {
        if let Event::Asked(_, question) = event
            && is_of_call(question)
        {
            self.questions = self.questions.saturating_add(1);
        }
    }
}

/// Excludes a task's questions and our own.
fn is_of_call(question: &Question) -> bool {
    !question.ask.is_ours() && question.call.as_ref().is_none_or(|call| !call.is_task())
}

#[derive(Debug)]
pub struct Server {
    desk: Desk,
    presence: Presence,
    since: Duration,
    took: Option<Duration>,
    catalog: Option<Catalog>,
    log: Option<LoggingLevel>,
    call: Option<UnderWay>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Presence {
    /// Connecting for the first time.
    #[default]
    Connecting,
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

    pub fn desk(&self) -> &Desk {
        &self.desk
    }

    pub fn presence(&self) -> Presence {
        self.presence
    }

    /// Returns how long connecting took, if the server is connected.
    pub fn took(&self) -> Option<Duration> {
        self.took.filter(|_| self.presence == Presence::There)
    }

    fn comes(&mut self, presence: Presence, now: Duration) {
        match (self.presence, presence) {
            (Presence::Connecting | Presence::Down, Presence::There) => {
                self.took = Some(now.saturating_sub(self.since));
            }
            (_, Presence::Connecting | Presence::Down) => self.since = now,
            _ => {}
        }
        self.presence = presence;
    }

    pub fn catalog(&self) -> Option<&Catalog> {
        self.catalog.as_ref()
    }

    pub fn log(&self) -> Option<LoggingLevel> {
        self.log
    }

    /// Returns the call that the user waits for.
    pub fn call(&self) -> Option<&UnderWay> {
        self.call.as_ref()
    }

    fn heard(&mut self) {
        if self.presence == Presence::Gone {
            self.presence = Presence::There;
        }
    }

    fn left(&mut self) {
        if self.presence == Presence::There {
            self.presence = Presence::Gone;
        }
    }

    fn front(&self) -> Option<u64> {
        self.desk.front().map(|front| front.id)
    }
}

#[derive(Debug, Default, Clone, PartialEq)]
pub struct Catalog {
    pub tools: Vec<Tool>,
    pub prompts: Vec<Prompt>,
    pub resources: Vec<Resource>,
    pub templates: Vec<ResourceTemplate>,
    pub skills: Vec<Skill>,
}
