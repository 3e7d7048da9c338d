//! Connects the clients, the front end and the state of the questions.
//!
//! Everything goes through the [`Conversation`]. A [`Leaf`] (the front end) shows it and returns
//! the user's actions. It makes no decisions, so it can be replaced.

mod arriving;

use std::{
    collections::HashMap,
    convert::Infallible,
    future::{pending, poll_fn},
    mem,
    path::Path,
    task::Poll,
    time::{Duration, SystemTime},
};

use askback::{internal::future::BoxFuture, limits::Limits, protocol::CreateMessageResult};
use tokio::{
    sync::{oneshot, watch},
    time::{Instant, sleep, sleep_until},
};

use crate::{
    Interruption,
    changed::ChangedLists,
    content::CallOutcome,
    folder,
    leaf::{Did, Leaf, LinkOpening},
    model::{
        Action, Asker, Call, Change, Conversation, Desk, Effect, Event, EventOutcome, Permission,
        Presence, Question, Reply, Server, Step, SuggestionRequest, WorstEnd,
    },
    models::{Model, ModelError},
    page::{Page, Rows, Style, out::Unwritten},
    question_link::TypedState,
    receipts::{Showing, ShownReply},
    relay::{Arrivals, ServerId},
    remarks::Remarks,
    server_id::PerServer,
    suggest::{Lookup, Suggest},
    tasks::Tasks,
    text::{Words, given},
    wire::{self, MessageSelection, SharedWire},
    words,
};

/// The number of our own question. The relay counts from 0.
const OURS: u64 = u64::MAX;

/// Shows the questions of one or more servers at a front end.
pub struct Host {
    talk: Conversation,
    served: PerServer<ServerWork>,
    leaf: Box<dyn Leaf>,
    arrivals: Arrivals,
    replies: HashMap<u64, oneshot::Sender<ShownReply>>,
    /// The senders of typed content, for the questions that another program holds.
    typed: HashMap<u64, watch::Sender<TypedState>>,
    /// The current question and when it was first shown.
    front: Option<(u64, SystemTime)>,
    is_scripted: bool,
    /// The open questions, for the witness.
    asked: HashMap<u64, Question>,
    witness: Option<Box<Witness>>,
    limits: Limits,
    changed: ChangedLists,
    /// The start of the clock that the conversation uses.
    began: Instant,
    ours: Option<Reply>,
    /// The field of our own question that needs suggestions.
    wanted: Option<SuggestionRequest>,
    model: Option<Box<dyn Model>>,
}

type Witness = dyn FnMut(&Question, &Reply);

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// A line, without the line break.
    Line(String),
    /// The input ended. At a terminal it may continue.
    End,
    Interrupt,
}

impl Host {
    /// A host with one server. Must be called within the runtime.
    pub fn new(desk: Desk, leaf: Box<dyn Leaf>, arrivals: Arrivals, limits: &Limits) -> Self {
        Self {
            talk: Conversation::new(Server::new(desk)),
            served: PerServer::new(ServerWork::new(limits)),
            leaf,
            arrivals,
            replies: HashMap::new(),
            typed: HashMap::new(),
            front: None,
            is_scripted: false,
            asked: HashMap::new(),
            witness: None,
            limits: limits.clone(),
            changed: ChangedLists::default(),
            began: Instant::now(),
            ours: None,
            wanted: None,
            model: None,
        }
    }

    /// Adds another server and chooses it. Its arrivals must come from [`Relay::of`].
    ///
    /// [`Relay::of`]: crate::relay::Relay::of
    pub fn add(&mut self, mut desk: Desk) -> ServerId {
        if let Some(model) = &self.model {
            desk.ask_model(model.name().to_owned());
        }
        self.served.add(ServerWork::new(&self.limits));
        self.talk.add(Server::new(desk))
    }

    /// Makes Ctrl-C end the work even at a question: another front end can answer it.
    pub fn leave_questions(&mut self) {
        self.talk.wait_for_questions();
    }

    pub fn conversation(&self) -> &Conversation {
        &self.talk
    }

    pub fn server(&self) -> &Server {
        self.talk.chosen()
    }

    /// Returns the outcome of an event at a desk.
    pub fn change(&mut self, change: Change) -> Option<EventOutcome> {
        self.talk.pass(self.began.elapsed());
        self.talk.update(change)
    }

    pub fn chosen(&self) -> ServerId {
        self.talk.chosen_id()
    }

    pub fn asker(&self, server: ServerId) -> &Asker {
        self.talk.server(server).desk().asker()
    }

    pub fn presence(&self, server: ServerId) -> Presence {
        self.talk.server(server).presence()
    }

    pub fn changed(&self) -> ChangedLists {
        self.changed.clone()
    }

    fn served(&mut self) -> &mut ServerWork {
        self.served.get_mut(self.talk.chosen_id())
    }

    #[must_use]
    pub fn with_model(mut self, model: Box<dyn Model>) -> Self {
        self.talk.ask_model(model.name());
        self.model = Some(model);
        self
    }

    /// Sets the messages of the chosen server. Front ends can show them at any time.
    pub fn showing_wire(&mut self, wire: SharedWire) {
        self.leaf.wire(self.talk.chosen_id(), &wire);
        self.served().wire = Some(wire);
    }

    pub fn desk(&self) -> &Desk {
        self.talk.chosen().desk()
    }

    pub fn ended(&self) -> WorstEnd {
        let servers = self.talk.servers();
        let ended = servers.map(|server| server.desk().ended());
        ended.fold(self.leaf.ended(), WorstEnd::max)
    }

    pub fn page(&mut self) -> &mut Page {
        self.leaf.page()
    }

    pub fn is_person(&self) -> bool {
        self.leaf.is_person()
    }

    /// Sets a function that receives each answered question of a server, no matter who answered it.
    pub fn note(&mut self, witness: impl FnMut(&Question, &Reply) + 'static) {
        self.witness = Some(Box::new(witness));
    }

    /// Writes the rows of a result.
    pub fn print(&mut self, rows: Rows) -> Result<(), Unwritten> {
        self.flush();
        self.leaf.print(rows)
    }

    /// Shows the result of a call of the chosen server at front ends that draw results themselves.
    pub fn show_result(&mut self, call: &Call, outcome: &CallOutcome) {
        self.leaf.result(self.talk.chosen().desk(), call, outcome);
    }

    pub fn shows_offers(&self) -> bool {
        self.leaf.shows_offers()
    }

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

    /// Ends the muting of all servers. Returns whether this lets questions come to the user again.
    pub fn unmute(&mut self) -> bool {
        let is_asked = self.talk.servers().any(|server| server.desk().is_muted());
        self.change(Change::Unmuted);
        is_asked
    }

    /// Returns how long the server worked on the last call, without the time for its questions.
    pub fn took(&self) -> Option<Duration> {
        self.talk.took()
    }

    /// Shows the calls in the background at front ends that show them without a command.
    pub fn showing_tasks(&mut self, tasks: &Tasks) {
        self.leaf.tasks(tasks);
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
    pub fn permit(&mut self, permission: Permission) -> Result<(), Words> {
        self.change(Change::Permission(self.talk.chosen_id(), permission));
        match &self.served().keep {
            Some(keep) => keep(permission),
            None => Ok(()),
        }
    }

    /// Returns how long questions were on the screen.
    pub fn answering(&mut self) -> Duration {
        self.talk.pass(self.began.elapsed());
        self.talk.answering()
    }

    /// Reports changed lists and restarts from now on, because the user has commands for both.
    pub fn converse(&mut self) {
        for (_, served) in self.served.all_mut() {
            served.remarks.lists = true;
            served.remarks.can_restart = true;
        }
    }

    /// Waits for `work`, and lets the user answer questions in the meantime.
    /// Fails if the user interrupts the work, which is then dropped.
    pub async fn attend<T>(&mut self, work: impl Future<Output = T>) -> Result<T, Interruption> {
        self.pump(work, Aloud::Later).await
    }

    /// Like [`Host::attend`], for work that may take any time.
    pub async fn attend_silently<T>(
        &mut self,
        work: impl Future<Output = T>,
    ) -> Result<T, Interruption> {
        self.pump(work, Aloud::Never).await
    }

    /// Like [`Host::attend`], but shows `waiting` once if the work takes more than a second, not
    /// counting the user's time.
    pub async fn attend_aloud<T>(
        &mut self,
        work: impl Future<Output = T>,
        waiting: Words,
    ) -> Result<T, Interruption> {
        self.pump(work, Aloud::First(waiting)).await
    }

    async fn pump<T>(
        &mut self,
        work: impl Future<Output = T>,
        mut aloud: Aloud,
    ) -> Result<T, Interruption> {
        let mut work = std::pin::pin!(work);
        let mut silence = std::pin::pin!(sleep(aloud.after()));
        let mut so_far = Duration::ZERO;
        // Whether the last action was a Ctrl-C that cancelled a question of the call.
        let mut has_cancelled = false;
        loop {
            self.flush();
            let held_until = self.held_until();
            let is_told = match aloud {
                Aloud::First(_) => true,
                Aloud::Later => !self.leaf.shows_waiting(),
                Aloud::Never => false,
            };
            let is_silent = is_told && self.talk.seen().front().is_none();
            tokio::select! {
                Some((server, arrival)) = self.arrivals.recv() => self.arrive(server, arrival),
                did = did(&mut *self.leaf, &self.talk) => {
                    match did {
                        Did::Interrupt
                            if !self.talk.waits_for_server()
                                || self.talk.seen().front().is_none() =>
                        {
                            return Err(Interruption);
                        }
                        Did::Interrupt
                            if has_cancelled && self.is_of_call() || self.is_signing_in() =>
                        {
                            self.happen(self.talk.seen_id(), Event::Action(Action::Cancel));
                            return Err(Interruption);
                        }
                        // A redraw, not an action.
                        Did::Action(said) if said.is_empty() => {}
                        did => {
                            has_cancelled = did == Did::Interrupt && self.is_of_call();
                            self.did(did);
                            so_far = Duration::ZERO;
                            silence.set(sleep(aloud.after()));
                        }
                    }
                }
                done = &mut work => {
                    self.catch_up();
                    return Ok(done);
                }
                (server, reply) = replied(&mut self.served) => self.replied(server, reply),
                () = sleep_until(held_until.unwrap_or(self.began)), if held_until.is_some() => {
                    self.release_stderr();
                }
                () = &mut silence, if is_silent => {
                    so_far = so_far.saturating_add(aloud.after());
                    let words = match mem::replace(&mut aloud, Aloud::Later) {
                        Aloud::First(words) => words,
                        Aloud::Later | Aloud::Never => {
                            words!("{} Ctrl-C stops it.", waited(self.talk.seen(), so_far))
                        }
                    };
                    self.leaf.tell(words);
                    silence.set(sleep(aloud.after()));
                }
            }
        }
    }

    /// Reads a line. Questions are asked first.
    pub async fn read(&mut self, prompt: &Words) -> Input {
        match self.read_until(prompt, pending::<Infallible>()).await {
            Ok(input) => input,
            Err(never) => match never {},
        }
    }

    /// Reads a line, unless `end` completes first.
    /// The error is the value of `end`.
    pub async fn read_until<T>(
        &mut self,
        prompt: &Words,
        end: impl Future<Output = T>,
    ) -> Result<Input, T> {
        let mut end = std::pin::pin!(end);
        loop {
            if self.talk.seen().front().is_none() {
                self.sum_up();
            }
            self.show(Some(prompt));
            tokio::select! {
                Some((server, arrival)) = self.arrivals.recv() => self.arrive(server, arrival),
                (server, reply) = replied(&mut self.served) => self.replied(server, reply),
                did = did(&mut *self.leaf, &self.talk) => match did {
                    did if self.talk.seen().front().is_some() => self.did(did),
                    Did::Line(line) => {
                        self.change(Change::Entered(vec![line.clone()]));
                        return Ok(Input::Line(line));
                    }
                    Did::End => return Ok(Input::End),
                    Did::Interrupt => return Ok(Input::Interrupt),
                    Did::Action(_) | Did::Answered(_) | Did::Wire(_) => {}
                },
                // The user can answer the current question first.
                ended = &mut end, if self.talk.seen().front().is_none() => return Err(ended),
            }
        }
    }

    /// Lets the user fill in a form of this program. `suggest` suggests values for its fields.
    /// Returns `None` if the user declines or cancels.
    pub async fn fill(
        &mut self,
        question: Question,
        suggest: Option<&dyn Suggest>,
    ) -> Option<Reply> {
        let server = self.talk.chosen_id();
        self.happen(server, Event::Asked(OURS, question));
        let mut lookup = Lookup::new(suggest);
        while self.ours.is_none() {
            self.flush();
            let wanted = self.wanted.take();
            if let Some(known) = wanted.and_then(|wanted| lookup.want(wanted)) {
                self.happen(server, Event::Suggested(known));
                continue;
            }
            tokio::select! {
                Some((server, arrival)) = self.arrivals.recv() => self.arrive(server, arrival),
                (server, reply) = replied(&mut self.served) => self.replied(server, reply),
                did = did(&mut *self.leaf, &self.talk) => self.did(did),
                found = lookup.found() => self.happen(server, Event::Suggested(found)),
            }
        }
        self.wanted = None;
        self.flush();
        self.ours.take().filter(|reply| !reply.is_refusal())
    }

    pub fn flush(&mut self) {
        self.show(None);
    }

    fn show(&mut self, prompt: Option<&Words>) {
        self.talk.pass(self.began.elapsed());
        self.leaf.show(&self.talk, prompt);
        let front = self.talk.seen().front().map(|front| front.id);
        if front != self.front.map(|(id, _)| id) {
            self.front = front.map(|id| (id, SystemTime::now()));
        }
    }

    /// When and how the user saw a question that is now answered. `None` if a file answered it.
    fn showing(&self, id: u64) -> Option<Showing> {
        let (_, since) = self.front.filter(|(front, _)| *front == id)?;
        let since = self.leaf.drawn().map_or(since, |drawn| drawn.max(since));
        let renderer = self.leaf.renderer();
        (!self.is_scripted).then_some(Showing { since, renderer })
    }

    /// Reports the remarks that were left out, and ends the front end.
    pub fn end(&mut self) {
        self.left_out(Remarks::all_left_out);
        self.leaf.end();
        self.flush();
    }

    fn did(&mut self, did: Did) {
        let server = self.talk.seen_id();
        match did {
            Did::Action(all) => {
                for said in all {
                    self.happen(server, Event::Action(said));
                }
            }
            Did::Answered(reply) => {
                self.is_scripted = true;
                self.happen(server, Event::Answered(reply));
                self.is_scripted = false;
            }
            Did::Wire(shown) => {
                let page = self.leaf.page();
                if self.talk.servers().nth(1).is_some() {
                    let name = &self.talk.server(server).desk().asker().name;
                    wire::heading(page, given(name).short());
                }
                self.served.get_mut(server).put_wire(page, shown);
            }
            Did::Interrupt => self.happen(server, Event::Action(Action::Cancel)),
            Did::End => self.happen(server, Event::EndOfInput),
            // Typed while no line was wanted.
            Did::Line(_) => {}
        }
    }

    fn replied(&mut self, server: ServerId, reply: ModelReply) {
        self.happen(server, Event::Sampled(reply.map(Box::new)));
    }

    /// Whether the current question probably belongs to the call that the user waits for: it
    /// belongs to some call of the same server.
    fn is_of_call(&self) -> bool {
        let front = self.talk.seen().front();
        let has_call = front.is_some_and(|front| front.question.call.is_some());
        has_call && self.talk.seen_id() == self.talk.chosen_id()
    }

    /// If so, Ctrl-C ends the work, because no server waits for a refusal.
    fn is_signing_in(&self) -> bool {
        let front = self.talk.seen().front();
        front.is_some_and(|front| front.question.ask.signs_in())
    }

    fn happen(&mut self, server: ServerId, event: Event) {
        let shared = |talk: &Conversation| talk.server(server).desk().shared().map(<[_]>::len);
        let before = shared(&self.talk);
        let Some(happened) = self.change(Change::Desk(server, event)) else {
            return;
        };
        if shared(&self.talk) != before {
            self.changed.note_folders();
        }
        let desk = self.talk.server(server).desk();
        let at_work = desk
            .front()
            .filter(|front| matches!(front.step, Step::Running(_)))
            .map(|front| front.id);
        // A request is cancelled if its question is no longer the current one.
        let work = &mut self.served.get_mut(server).work;
        *work = work.take().filter(|(id, _)| Some(*id) == at_work);
        self.leaf.happened(desk, &happened);
        if let Some(front) = desk.front().map(|front| front.id) {
            self.note_typed(server, front);
        }
        for effect in happened.effects {
            match effect {
                Effect::Answer(OURS, reply) => self.ours = Some(reply),
                Effect::Answer(id, reply) => {
                    self.typed.remove(&id);
                    let asked = self.asked.remove(&id);
                    if let (Some(witness), Some(asked)) = (&mut self.witness, asked) {
                        witness(&asked, &reply);
                    }
                    if let Some(waiting) = self.replies.remove(&id) {
                        // Fails if the question was withdrawn at the same time.
                        let showing = self.showing(id);
                        let _ = waiting.send(ShownReply { reply, showing });
                    }
                }
                Effect::Run(request) => {
                    if let (Some(id), Some(model)) = (at_work, &self.model) {
                        let running = model.reply(*request);
                        self.served.get_mut(server).work = Some((id, running));
                    }
                }
                Effect::Remember(permission) => {
                    let keep = &self.served.get_mut(server).keep;
                    let kept = keep.as_ref().map(|keep| keep(permission));
                    if let Some(Err(why)) = kept {
                        self.leaf
                            .tell(words!("This is not kept beyond the session: {}", why));
                    }
                }
                Effect::Open(url) => {
                    let has_browser = match self.leaf.open(&url) {
                        LinkOpening::Started => true,
                        LinkOpening::Failed => false,
                        // The user says when it is opened.
                        LinkOpening::Shown => continue,
                    };
                    self.happen(server, Event::Browser(has_browser));
                }
                Effect::CheckFolder(path) => {
                    let found = folder::root(Path::new(&path));
                    self.happen(server, Event::Folder(found));
                }
                Effect::Suggest(wanted) => self.wanted = Some(wanted),
                Effect::Tell(_) => {}
            }
        }
    }
}

async fn did(leaf: &mut dyn Leaf, talk: &Conversation) -> Did {
    poll_fn(|context| leaf.poll_did(talk, context)).await
}

/// Stores a permission beyond the session. The error is the reason why that is not possible.
pub(crate) type Keep = dyn Fn(Permission) -> Result<(), Words>;

pub(crate) struct ServerWork {
    pub(crate) remarks: Remarks,
    pub(crate) keep: Option<Box<Keep>>,
    pub(crate) wire: Option<SharedWire>,
    work: Option<(u64, Work)>,
}

impl ServerWork {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            remarks: Remarks::new(limits),
            keep: None,
            wire: None,
            work: None,
        }
    }

    /// Puts messages on the page, or the reason why that is not possible.
    pub(crate) fn put_wire(&self, page: &mut Page, shown: MessageSelection) {
        let put = match &self.wire {
            Some(wire) => wire::put(page, &wire.lock(), shown),
            None => Err("the messages of this session are not kept".into()),
        };
        if let Err(why) = put {
            page.item("× ", Style::Error, why);
        }
    }
}

type Work = BoxFuture<'static, ModelReply>;

type ModelReply = Result<CreateMessageResult, ModelError>;

/// Waits for the reply of a model, and returns its server. Pending forever if no request is running.
async fn replied(served: &mut PerServer<ServerWork>) -> (ServerId, ModelReply) {
    poll_fn(|context| {
        for (server, served) in served.all_mut() {
            if let Some((_, work)) = &mut served.work
                && let Poll::Ready(reply) = work.as_mut().poll(context)
            {
                served.work = None;
                return Poll::Ready((server, reply));
            }
        }
        Poll::Pending
    })
    .await
}

/// After this time, the screen says what the user waits for.
const SILENCE: Duration = Duration::from_secs(1);

/// The interval of reports about waiting for a server.
const WORK: Duration = Duration::from_secs(30);

/// Whether to report that the user waits.
pub(crate) enum Aloud {
    /// Show this text after a second, then continue as [`Later`](Self::Later).
    First(Words),
    /// Report at intervals how long the call may still take.
    Later,
    Never,
}

impl Aloud {
    pub(crate) fn after(&self) -> Duration {
        match self {
            Self::First(_) => SILENCE,
            Self::Later | Self::Never => WORK,
        }
    }
}

/// Says which server the user waits for, and for how long at most.
pub(crate) fn waited(desk: &Desk, so_far: Duration) -> Words {
    words!(
        "Waiting for {}: {} s of at most {} s without a sign.",
        given(&desk.asker().name).short(),
        so_far.as_secs(),
        desk.patience().as_secs()
    )
}
