//! The pump: joins what arrives from a client, what the person does, and what is to be done.
//!
//! Everything passes through the [`Conversation`]; a [`Leaf`] shows it and says what the person does, and
//! decides nothing. A front end is a leaf, and could be taken away without the others noticing.

mod arriving;
mod changes;

use std::{
    collections::{BTreeMap, HashMap},
    convert::Infallible,
    future::{pending, poll_fn},
    mem,
    path::Path,
    task::{Context, Poll},
    time::{Duration, SystemTime},
};

use askback::{internal::future::BoxFuture, limits::Limits, protocol::CreateMessageResult};
use tokio::{
    sync::oneshot,
    time::{Instant, sleep, sleep_until},
};

use crate::{
    Interruption,
    changed::ChangedLists,
    folder,
    leaf::{Did, Leaf},
    model::{
        Action, Asker, Change, Conversation, Desk, Effect, Event, EventOutcome, Permission,
        Presence, Question, Reply, Server, Step, WorstEnd,
    },
    models::{Model, ModelError},
    page::{Page, Rows, Style, out::Unwritten},
    receipts::{Showing, ShownReply},
    relay::{Arrivals, ServerId},
    remarks::Remarks,
    server_id::PerServer,
    suggest::{Complete, Completing, Lookup, Suggest, SuggestionRequest},
    text::{Words, given},
    wire::{self, MessageSelection},
    words,
};

/// The number of the questions we ask ourselves. The relay's count up from nought.
const OURS: u64 = u64::MAX;

/// The questions of one server or several, before a front end.
pub struct Host {
    talk: Conversation,
    served: PerServer<ServerWork>,
    leaf: Box<dyn Leaf>,
    arrivals: Arrivals,
    /// Where the replies to open questions go.
    replies: HashMap<u64, oneshot::Sender<ShownReply>>,
    /// The question in front, since when it is shown, and whether the person answers it.
    front: Option<(u64, SystemTime)>,
    /// Whether what happens is the doing of a file or rule.
    is_scripted: bool,
    /// Those questions, for who takes note of them.
    asked: HashMap<u64, Question>,
    witness: Option<Box<Witness>>,
    limits: Limits,
    /// The servers whose lists have changed.
    changed: ChangedLists,
    /// From when time is counted.
    began: Instant,
    /// The reply to our own question.
    ours: Option<Reply>,
    /// The field of our own question for which values are wanted.
    wanted: Option<SuggestionRequest>,
    model: Option<Box<dyn Model>>,
    at_work: AtWork,
    /// Whether Ctrl-C leaves the questions to another front end.
    leaves_questions: bool,
}

/// Takes note of a question of the server, and of the reply.
type Witness = dyn FnMut(&Question, &Reply);

/// A line that was wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// A line, without its end.
    Line(String),
    /// The input has ended; at a terminal it may go on.
    End,
    /// The person pressed Ctrl-C.
    Interrupt,
}

impl Host {
    /// A host of one server, from within the runtime.
    pub fn new(desk: Desk, leaf: Box<dyn Leaf>, arrivals: Arrivals, limits: &Limits) -> Self {
        Self {
            talk: Conversation::new(Server::new(desk)),
            served: PerServer::new(ServerWork::new(limits)),
            leaf,
            arrivals,
            replies: HashMap::new(),
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
            at_work: AtWork::default(),
            leaves_questions: false,
        }
    }

    /// Adds another server, and has the person talk to it. Its arrivals come over [`Relay::of`] it.
    ///
    /// [`Relay::of`]: crate::relay::Relay::of
    pub fn add(&mut self, mut desk: Desk) -> ServerId {
        if let Some(model) = &self.model {
            desk.ask_model(model.name().to_owned());
        }
        self.served.add(ServerWork::new(&self.limits));
        self.talk.add(Server::new(desk))
    }

    /// Has Ctrl-C end the work also when a question is in front: another front end can answer it.
    pub fn leave_questions(&mut self) {
        self.leaves_questions = true;
    }

    /// The servers, and all that is shown of them.
    pub fn conversation(&self) -> &Conversation {
        &self.talk
    }

    /// The server that the person talks to.
    pub fn server(&self) -> &Server {
        self.talk.chosen()
    }

    /// Takes in a change, at the time that it is.
    fn change(&mut self, change: Change) -> Option<EventOutcome> {
        self.talk.pass(self.began.elapsed());
        self.talk.update(change)
    }

    /// The server that the person talks to.
    pub fn chosen(&self) -> ServerId {
        self.talk.chosen_id()
    }

    /// The server of this number, as the person knows it.
    pub fn asker(&self, server: ServerId) -> &Asker {
        self.talk.server(server).desk().asker()
    }

    /// Whether the server of this number is there.
    pub fn presence(&self, server: ServerId) -> Presence {
        self.talk.server(server).presence()
    }

    /// The servers whose lists have changed, as they say so.
    pub fn changed(&self) -> ChangedLists {
        self.changed.clone()
    }

    fn served(&mut self) -> &mut ServerWork {
        self.served.get_mut(self.talk.chosen_id())
    }

    /// Has this model reply where a server wants that.
    #[must_use]
    pub fn with_model(mut self, model: Box<dyn Model>) -> Self {
        self.talk.ask_model(model.name());
        self.model = Some(model);
        self
    }

    /// Has this show the messages that travelled, where the person wants to see them at a question of
    /// the server that they talk to.
    pub fn showing_wire(
        &mut self,
        show: impl Fn(&mut Page, MessageSelection) -> Result<(), Words> + 'static,
    ) {
        self.served().wire = Some(Box::new(show));
    }

    /// The questions of the server that the person talks to.
    pub fn desk(&self) -> &Desk {
        self.talk.chosen().desk()
    }

    /// How the questions of all servers ended so far, at worst.
    pub fn ended(&self) -> WorstEnd {
        let servers = self.talk.servers();
        let ended = servers.map(|server| server.desk().ended());
        ended.fold(self.leaf.ended(), WorstEnd::max)
    }

    /// The page, for what is said outside questions.
    pub fn page(&mut self) -> &mut Page {
        self.leaf.page()
    }

    /// Whether a person is there who can try again, and not a file.
    pub fn is_person(&self) -> bool {
        self.leaf.is_person()
    }

    /// Takes note of every question of the server that is replied to from now on, whoever does that.
    pub fn note(&mut self, witness: impl FnMut(&Question, &Reply) + 'static) {
        self.witness = Some(Box::new(witness));
    }

    /// Writes rows of a result.
    ///
    /// # Errors
    ///
    /// If they cannot be written.
    pub fn print(&mut self, rows: Rows) -> Result<(), Unwritten> {
        self.flush();
        self.leaf.print(rows)
    }

    /// Shows a text in a pager of the user, while a line is wanted. Returns false if no pager is found.
    pub fn view(&mut self, put: impl Fn(&mut Page)) -> bool {
        self.leaf.view(&put)
    }

    /// Whether what can be typed at the prompt is shown there.
    pub fn shows_offers(&self) -> bool {
        self.leaf.shows_offers()
    }

    /// The time in which the person had a question in front.
    pub fn answering(&mut self) -> Duration {
        self.talk.pass(self.began.elapsed());
        self.talk.answering()
    }

    /// Tells of changed lists from now on, and how a server that went away is started again: the
    /// person has commands for both.
    pub fn converse(&mut self) {
        for (_, served) in self.served.all_mut() {
            served.remarks.lists = true;
            served.remarks.can_restart = true;
        }
    }

    /// Waits for `work`, and puts the questions that arrive meanwhile before the person.
    ///
    /// # Errors
    ///
    /// If the person interrupts the work; it is dropped then.
    pub async fn attend<T>(&mut self, work: impl Future<Output = T>) -> Result<T, Interruption> {
        self.pump(work, Aloud::Later).await
    }

    /// Waits for `work` as [`Host::attend`] does, where that may take as long as it likes.
    ///
    /// # Errors
    ///
    /// As [`Host::attend`].
    pub async fn attend_silently<T>(
        &mut self,
        work: impl Future<Output = T>,
    ) -> Result<T, Interruption> {
        self.pump(work, Aloud::Never).await
    }

    /// Waits for `work` as [`Host::attend`] does. If that takes more than a second, `waiting` says
    /// for what, once; the time in which the person has a question is not counted.
    ///
    /// # Errors
    ///
    /// As [`Host::attend`].
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
        // Whether Ctrl-C has cancelled a question of the call, and the person did nothing since.
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
                            if self.leaves_questions || self.talk.seen().front().is_none() =>
                        {
                            return Err(Interruption);
                        }
                        Did::Interrupt
                            if has_cancelled && self.is_of_call() || self.is_signing_in() =>
                        {
                            self.happen(self.talk.seen_id(), Event::Action(Action::Cancel));
                            return Err(Interruption);
                        }
                        // The leaf is drawn again, and nobody did anything.
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
                (server, reply) = self.at_work.replied() => self.replied(server, reply),
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

    /// Asks for a line. What the server says and asks meanwhile comes first.
    pub async fn read(&mut self, prompt: &Words) -> Input {
        match self.read_until(prompt, &(), pending::<Infallible>()).await {
            Ok(input) => input,
            Err(never) => match never {},
        }
    }

    /// Asks for a line, until `end` comes first. What is begun of it is completed from `source`.
    ///
    /// # Errors
    ///
    /// The value of `end`.
    pub async fn read_until<T>(
        &mut self,
        prompt: &Words,
        source: &dyn Complete,
        end: impl Future<Output = T>,
    ) -> Result<Input, T> {
        let mut end = std::pin::pin!(end);
        let mut completing = Completing::default();
        loop {
            if self.talk.seen().front().is_none() {
                self.sum_up();
            }
            self.show(Some(prompt));
            tokio::select! {
                Some((server, arrival)) = self.arrivals.recv() => self.arrive(server, arrival),
                (server, reply) = self.at_work.replied() => self.replied(server, reply),
                did = did(&mut *self.leaf, &self.talk) => match did {
                    did if self.talk.seen().front().is_some() => self.did(did),
                    Did::Line(line) => {
                        self.change(Change::Entered(vec![line.clone()]));
                        return Ok(Input::Line(line));
                    }
                    Did::Begun(line) => completing.want(source, &self.talk, line),
                    Did::End => return Ok(Input::End),
                    Did::Interrupt => return Ok(Input::Interrupt),
                    Did::Action(_) | Did::Answered(_) | Did::Wire(_) => {}
                },
                Some(found) = completing.found() => {
                    self.change(Change::Completed(found));
                }
                // A person who has a question in front answers that first.
                ended = &mut end, if self.talk.seen().front().is_none() => return Err(ended),
            }
        }
    }

    /// Lets the person fill in a form of our own, with values for its fields from `suggest`; none if
    /// that was cancelled.
    pub async fn fill(&mut self, question: Question, suggest: &dyn Suggest) -> Option<Reply> {
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
                (server, reply) = self.at_work.replied() => self.replied(server, reply),
                did = did(&mut *self.leaf, &self.talk) => self.did(did),
                found = lookup.found() => self.happen(server, Event::Suggested(found)),
            }
        }
        self.wanted = None;
        self.flush();
        self.ours.take().filter(|reply| !reply.is_refusal())
    }

    /// Brings what is seen up to date.
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

    /// How the person saw a question that is answered now; nothing if it is answered by a file or rule.
    fn showing(&self, id: u64) -> Option<Showing> {
        let (_, since) = self.front.filter(|(front, _)| *front == id)?;
        let renderer = self.leaf.renderer();
        (!self.is_scripted).then_some(Showing { since, renderer })
    }

    /// Tells what is left to tell at the end.
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
            // Typed when it was not wanted.
            Did::Line(_) | Did::Begun(_) => {}
        }
    }

    /// Takes in what came of the model's work.
    fn replied(&mut self, server: ServerId, reply: Result<CreateMessageResult, ModelError>) {
        let reply = reply.map(Box::new);
        let reply = reply.map_err(|error| (error.words, error.quoted));
        self.happen(server, Event::Sampled(reply));
    }

    /// Whether the question in front is of the call that is waited for, as far as that is known: of its server, and of a
    /// call.
    fn is_of_call(&self) -> bool {
        let front = self.talk.seen().front();
        let has_call = front.is_some_and(|front| front.question.call.is_some());
        has_call && self.talk.seen_id() == self.talk.chosen_id()
    }

    /// Whether the work waits for a sign-in: who interrupts that has nobody to decline to.
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
        let at_work = self.at_work.look(server, desk);
        self.leaf.happened(desk, &happened);
        for effect in happened.effects {
            match effect {
                Effect::Answer(OURS, reply) => self.ours = Some(reply),
                Effect::Answer(id, reply) => {
                    let asked = self.asked.remove(&id);
                    if let (Some(witness), Some(asked)) = (&mut self.witness, asked) {
                        witness(&asked, &reply);
                    }
                    if let Some(waiting) = self.replies.remove(&id) {
                        // Withdrawn at the same moment: nobody waits for it.
                        let showing = self.showing(id);
                        let _ = waiting.send(ShownReply { reply, showing });
                    }
                }
                Effect::Run(request) => {
                    if let (Some(id), Some(model)) = (at_work, &self.model) {
                        let running = model.reply(*request);
                        self.at_work.start(server, id, running);
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
                    let has_browser = self.leaf.open(&url);
                    self.happen(server, Event::Browser(has_browser));
                }
                Effect::CheckFolder(path) => {
                    let found = folder::root(Path::new(&path));
                    self.happen(server, Event::Folder(found));
                }
                Effect::Suggest {
                    field,
                    name,
                    text,
                    others,
                } => {
                    self.wanted = Some(SuggestionRequest {
                        field,
                        name,
                        text,
                        others,
                    });
                }
                Effect::Tell(_) => {}
            }
        }
    }
}

async fn did(leaf: &mut dyn Leaf, talk: &Conversation) -> Did {
    poll_fn(|context| leaf.poll_did(talk, context)).await
}

/// Puts what is wanted of the messages that travelled on a page, or says why not.
pub(crate) type ShowWire = dyn Fn(&mut Page, MessageSelection) -> Result<(), Words>;

/// Keeps a permission beyond the session, or says why it does not.
pub(crate) type Keep = dyn Fn(Permission) -> Result<(), Words>;

/// The doings of one server.
pub(crate) struct ServerWork {
    pub(crate) remarks: Remarks,
    /// Keeps what the person said of models and this server.
    pub(crate) keep: Option<Box<Keep>>,
    /// Shows the messages that travelled.
    pub(crate) wire: Option<Box<ShowWire>>,
}

impl ServerWork {
    /// Those of a server that has said nothing yet.
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            remarks: Remarks::new(limits),
            keep: None,
            wire: None,
        }
    }

    /// Puts what is wanted of the messages that travelled on a page, or why it is not there.
    pub(crate) fn put_wire(&self, page: &mut Page, shown: MessageSelection) {
        let put = match &self.wire {
            Some(show) => show(page, shown),
            None => Err("the messages of this session are not kept".into()),
        };
        if let Err(why) = put {
            page.item("× ", Style::Warning, why);
        }
    }
}

/// The work of a model.
type Work = BoxFuture<'static, ModelReply>;

/// The reply of a model, or why it did not reply.
type ModelReply = Result<CreateMessageResult, ModelError>;

/// The question of each server for which a model is at work.
#[derive(Default)]
pub(crate) struct AtWork(BTreeMap<ServerId, (u64, Work)>);

impl AtWork {
    /// Begins work for a question.
    pub(crate) fn start(&mut self, server: ServerId, id: u64, work: Work) {
        self.0.insert(server, (id, work));
    }

    /// Ends work for a question that is not in front of the desk any more. Returns the question there
    /// that wants a model to work.
    pub(crate) fn look(&mut self, server: ServerId, desk: &Desk) -> Option<u64> {
        let front = desk.front();
        let wanted = front.filter(|front| matches!(front.step, Step::Running(_)));
        let wanted = wanted.map(|front| front.id);
        self.0
            .retain(|of, (id, _)| *of != server || Some(*id) == wanted);
        wanted
    }

    /// Waits for a reply, for ever if no model is at work. Returns the server that wants it.
    pub(crate) async fn replied(&mut self) -> (ServerId, ModelReply) {
        let (server, reply) = poll_fn(|context| self.poll_replied(context)).await;
        self.0.remove(&server);
        (server, reply)
    }

    fn poll_replied(&mut self, context: &mut Context<'_>) -> Poll<(ServerId, ModelReply)> {
        for (server, (_, work)) in &mut self.0 {
            if let Poll::Ready(reply) = work.as_mut().poll(context) {
                return Poll::Ready((*server, reply));
            }
        }
        Poll::Pending
    }
}

/// How long a person waits before the screen says for what.
const SILENCE: Duration = Duration::from_secs(1);

/// How often it is said how long a server is waited for.
const WORK: Duration = Duration::from_secs(30);

/// Whether it is said that something is waited for.
pub(crate) enum Aloud {
    /// After a second so, and then as below.
    First(Words),
    /// How long it may take, again and again.
    Later,
    /// Not at all.
    Never,
}

impl Aloud {
    /// After how long something is said.
    pub(crate) fn after(&self) -> Duration {
        match self {
            Self::First(_) => SILENCE,
            Self::Later | Self::Never => WORK,
        }
    }
}

/// Says for whom there was a wait so far, and when it is over.
pub(crate) fn waited(desk: &Desk, so_far: Duration) -> Words {
    words!(
        "Waiting for {}: {} s of at most {} s without a sign.",
        given(&desk.asker().name).short(),
        so_far.as_secs(),
        desk.patience().as_secs()
    )
}
