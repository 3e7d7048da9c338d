//! A conversation with a server: commands that begin with a slash, prompts among them.

mod calls;
mod catalog;
mod client;
mod completion;
mod grammar;
mod history;
mod line;
mod messages;
mod resources;
mod results;
mod servers;
mod tasks;

use std::{
    collections::{BTreeMap, BTreeSet},
    mem,
    time::Duration,
};

use askback::{
    client::{ClientError, Subscription},
    forms::Content,
    protocol::{Root, SubscriptionFilter},
};
use askback_host::{
    host::{Host, Input},
    model::Presence,
    page::{Page, Style, out},
    relay::ServerId,
    text::{LocalText, PeerText, Words, given},
    words,
};
use tokio::task::{JoinError, JoinSet};

use self::{
    catalog::CatalogPart,
    grammar::{Command, HELP},
    history::History,
    resources::Silent,
    servers::{LearnedCatalog, Other, ServerState},
    tasks::{Background, BackgroundEnd},
};
use crate::{
    error::{Error, Kind, Outcome},
    files::{ChangedFiles, WatchedFiles},
    session::{OpenedServer, OpeningServers, Session, failed},
    suite::record::Recorder,
};

/// The columns of a command that stands beside what it does.
const COMMAND: usize = 25;

pub struct Repl<'a> {
    session: &'a mut Session,
    recorder: Option<&'a mut Recorder>,
    tool_error: bool,
    /// The part that belongs to the server.
    known: ServerState,
    /// The server that the person talks to, also while another is called.
    home: ServerId,
    /// The server that was called last, where the person named it.
    called: Option<String>,
    /// The servers that the person does not talk to now.
    others: Vec<Other>,
    /// Those of them that are being connected to.
    opening: OpeningServers,
    /// Those of them whose lists are being read.
    learning: JoinSet<LearnedCatalog>,
    /// The latest reading of each of those that are being read, and the latest of all.
    reading: BTreeMap<ServerId, u64>,
    last_reading: u64,
    /// The calls that go on while the person does something else.
    background: Background,
    /// The line that was typed last, until it is known whether it may be kept.
    typed: Option<String>,
    /// Whether the front end knows all that can be typed now.
    is_offered: bool,
    files: Option<WatchedFiles>,
}

enum News {
    Opened(OpenedServer),
    Changed(BTreeSet<ServerId>),
    /// The lists of a server are there, or what read them panicked.
    Learned(Result<LearnedCatalog, JoinError>),
    Ended(BackgroundEnd),
    Files(ChangedFiles),
    Folders(Vec<(Root, bool)>),
    /// The server tells of some changes no more.
    Silent(Silent),
}

/// Files have changed, for which the server may be started again.
struct FileChange(ChangedFiles);

impl<'a> Repl<'a> {
    pub fn new(session: &'a mut Session) -> Self {
        session.host.converse();
        Self {
            home: session.server(),
            called: None,
            opening: OpeningServers::default(),
            learning: JoinSet::new(),
            reading: BTreeMap::new(),
            last_reading: 0,
            background: Background::default(),
            typed: None,
            is_offered: false,
            session,
            recorder: None,
            tool_error: false,
            known: ServerState::default(),
            others: Vec::new(),
            files: None,
        }
    }

    pub fn record(&mut self, recorder: Option<&'a mut Recorder>) {
        self.recorder = recorder;
    }

    #[must_use]
    pub fn watching(mut self, files: Option<WatchedFiles>) -> Self {
        self.files = files;
        self
    }

    /// Returns the outcome of the conversation. With a person it is plainly over; for a file of
    /// lines it counts the calls and the questions in them.
    pub fn outcome(&mut self) -> Outcome {
        self.session.host.flush();
        if self.session.host.is_person() {
            return Outcome::default();
        }
        Outcome {
            tool_error: self.tool_error,
            questions: self.session.host.ended(),
            ..Outcome::default()
        }
    }

    pub async fn run(&mut self) -> Result<(), Error> {
        let ran = self.converse().await;
        self.end_tasks(None);
        ran
    }

    async fn converse(&mut self) -> Result<(), Error> {
        let history = History::of_user();
        if self.session.host.is_person() {
            // Without the lines of before there is only less to go back to.
            self.session
                .host
                .remember(history.read().unwrap_or_default());
        }
        // Where Ctrl-C was pressed last, the time in which the person had had a question until then.
        let mut leaving = None;
        // Whether the person knows that tasks go on, and leaves them.
        let mut leaves_tasks = false;
        self.meet().await?;
        loop {
            self.page().blank();
            let command = match self.next_line().await {
                Ok(Input::Line(line)) => {
                    leaving = None;
                    let command = match grammar::parse(&line) {
                        Ok(command) => command,
                        Err(error) => {
                            leaves_tasks = false;
                            self.heed(Err(error))?;
                            continue;
                        }
                    };
                    let Some(command) = command else { continue };
                    self.typed = Some(line);
                    self.keep_typed(!command.may_hold_secret());
                    command
                }
                Ok(Input::Interrupt) if self.session.host.is_person() && !self.leaves(leaving) => {
                    leaving = Some(self.session.host.answering());
                    let words = "Ctrl-C again leaves; so do Ctrl-D and /quit.";
                    self.page().say(Style::Dim, words);
                    continue;
                }
                Ok(Input::End | Input::Interrupt) => Command::Quit,
                Err(FileChange(changed)) => {
                    let ran = self.rebuilt(&changed).await;
                    self.heed(ran)?;
                    continue;
                }
            };
            if command == Command::Quit {
                leaves_tasks |= !self.session.host.is_person() || !self.tell_at_work();
                if leaves_tasks {
                    return Ok(());
                }
                leaves_tasks = true;
                continue;
            }
            leaves_tasks = false;
            if let Some(files) = &mut self.files {
                files.attended();
            }
            let ran = self.obey(command).await;
            self.typed = None;
            self.heed(ran)?;
        }
    }

    /// Whether Ctrl-C leaves: it was pressed before, and no question was in front since.
    fn leaves(&mut self, before: Option<Duration>) -> bool {
        before == Some(self.session.host.answering())
    }

    async fn next_line(&mut self) -> Result<Input, FileChange> {
        loop {
            if !mem::replace(&mut self.is_offered, true) {
                self.offer();
            }
            self.describe();
            let prompt = self.name().into();
            let source = self.completion();
            let (opening, learning) = (&mut self.opening, &mut self.learning);
            let shared = self.session.host.desk().shared().map(<[_]>::to_vec);
            let ServerState {
                there,
                changes,
                watched,
                ..
            } = &mut self.known;
            let background = &mut self.background;
            let lists = self.session.host.changed();
            let news = async {
                tokio::select! {
                    Some(opened) = opening.next() => News::Opened(opened),
                    changed = lists.next() => News::Changed(changed),
                    Some(learned) = learning.join_next() => News::Learned(learned),
                    ended = background.next() => News::Ended(ended),
                    changed = servers::files_changed(&mut self.files) => News::Files(changed),
                    changed = client::folders_changed(shared.unwrap_or_default(), there) => News::Folders(changed),
                    silent = resources::silent(changes, watched) => News::Silent(silent),
                }
            };
            match self.session.host.read_until(&prompt, &source, news).await {
                Ok(input) => return Ok(input),
                Err(News::Opened(opened)) => self.opened(opened),
                Err(News::Changed(servers)) => self.read_again(servers),
                Err(News::Learned(Ok(learned))) => self.learned(learned),
                // Without the lists there is only less to pick from.
                Err(News::Learned(Err(_))) => {}
                Err(News::Ended(ended)) => self.ended(ended),
                Err(News::Files(changed)) => return Err(FileChange(changed)),
                Err(News::Folders(changed)) => self.folders_changed(&changed),
                Err(News::Silent(silent)) => self.fell_silent(silent),
            }
        }
    }

    /// Has the server tell of changes, and takes note of what it has, where that was not done before.
    async fn meet(&mut self) -> Result<(), Error> {
        let are_wanted = self.session.host.shows_offers() || self.files.is_some();
        let are_wanted = are_wanted && self.session.host.server().catalog().is_none();
        if self.known.is_met && !are_wanted {
            return Ok(());
        }
        let server = self.session.server();
        self.session.host.hold_stderr(server, true);
        if !self.known.is_met {
            self.known.changes = self.listen().await?;
            self.known.is_met = true;
        }
        if are_wanted {
            let Session { client, host, .. } = &mut *self.session;
            // Without the lists there is only less to pick from, and to compare with.
            if let Ok(lists) = attend(host, catalog::read(client, CatalogPart::All)).await {
                host.list(server, lists);
            }
            self.is_offered = false;
        }
        self.session.host.hold_stderr(server, false);
        Ok(())
    }

    /// Has the server tell of changed lists, where it can, for as long as the subscription lives.
    async fn listen(&mut self) -> Result<Option<Subscription>, Error> {
        let can = self.session.client.capabilities();
        let filter = SubscriptionFilter {
            tools_list_changed: can.tools.and_then(|tools| tools.list_changed),
            prompts_list_changed: can.prompts.and_then(|prompts| prompts.list_changed),
            resources_list_changed: can.resources.and_then(|resources| resources.list_changed),
            resource_subscriptions: None,
            task_ids: None,
        };
        if filter == SubscriptionFilter::default() {
            return Ok(None);
        }
        // Without it the lists are no less right, only no news.
        let listening = self.session.client.listen(filter);
        Ok(self.session.host.attend(listening).await?.ok())
    }

    async fn carry_out(&mut self, command: Command) -> Result<(), Error> {
        let presence = self.session.host.server().presence();
        if presence == Presence::Down && command.needs_server() {
            let error = Error::new(Kind::Connection, "the server is not there");
            return Err(error.hint("/restart starts it."));
        }
        match command {
            Command::Find { text } => self.find(&text.join(" ")).await,
            Command::Tools => self.list_all(CatalogPart::Tools).await,
            Command::Call { tool, arguments } => self.call(&tool, &arguments, Content::new()).await,
            Command::Begin { tool, arguments } => self.begin(&tool, &arguments).await,
            Command::Tasks { number, action } => self.tasks(number, action).await,
            Command::Prompts => self.list_all(CatalogPart::Prompts).await,
            Command::Prompt { prompt, arguments } => self.prompt(&prompt, &arguments).await,
            Command::Resources => self.list_all(CatalogPart::Resources).await,
            Command::Read { uri } => self.read_resource(uri).await,
            Command::Roots { folders, action } => self.roots(&folders, action.as_ref()),
            Command::Sampling { permission } => self.sampling(permission),
            Command::Subscribe { uri } => self.subscribe(uri).await,
            Command::Unsubscribe { uri } => self.unsubscribe(uri.as_deref()).await,
            Command::More => self.more(),
            Command::Save { file, number } => self.save(&file, number),
            Command::Log { level } => self.log(level).await,
            Command::Again => self.again().await,
            Command::Check { tools } => self.check(&tools).await,
            Command::Restart { server } => self.restart_named(server.as_deref()).await,
            Command::Servers => {
                self.list_servers();
                Ok(())
            }
            Command::Server { server } => self.talk_to(&server).await,
            Command::As { who } => self.play(who.as_deref()).await,
            Command::Instructions => match self.session.client.instructions() {
                Some(instructions) => self.show(PeerText::from(instructions)),
                None => {
                    self.tell("The server has none.");
                    Ok(())
                }
            },
            Command::Stderr => {
                self.session.host.put_stderr();
                Ok(())
            }
            Command::Wire { text, action } => self.wire(&text, action).await,
            Command::Diff { before, after } => self.diff(before, after),
            Command::Send { method, params } => self.send(&method, params.as_deref()).await,
            Command::Help { command } => self.help(command.as_deref()),
            Command::Quit => Ok(()),
        }
    }

    fn help(&mut self, name: Option<&str>) -> Result<(), Error> {
        let page = self.page();
        let Some(name) = name.map(|name| name.trim_start_matches('/')) else {
            for (command, does) in HELP.iter() {
                page.entry(command.as_str(), COMMAND, does.as_str());
            }
            return Ok(());
        };
        let Some(rows) = grammar::explain(name) else {
            let error = Error::usage(words!("unknown command /{}", given(name)));
            let near = grammar::near(name);
            return Err(error.hint(near.unwrap_or("/help lists the commands.".into())));
        };
        for (term, does) in rows {
            page.entry(given(term), COMMAND, given(does));
        }
        Ok(())
    }

    /// Keeps the line that was typed, once it is known that none of its words is a secret.
    fn keep_typed(&mut self, is_known: bool) {
        if is_known
            && let Some(line) = self.typed.take()
            && self.session.host.is_person()
        {
            // Without it there is only less to go back to.
            let _ = History::of_user().keep(&line);
        }
    }

    /// A name of the server, as it is typed.
    fn address(&self, name: &str) -> Option<String> {
        let server = &self.session.host.desk().asker().name;
        self.addresses().write(server, name)
    }

    fn page(&mut self) -> &mut Page {
        self.session.host.page()
    }

    fn name(&self) -> LocalText {
        self.name_of(self.session.server())
    }

    fn name_of(&self, server: ServerId) -> LocalText {
        given(&self.session.host.asker(server).name).short()
    }

    pub fn tell(&mut self, words: impl Into<Words>) {
        let page = self.page();
        page.blank();
        page.say(Style::Plain, words);
    }

    /// Writes a result to the standard output; behind the gutter where questions stand beside it.
    fn show(&mut self, result: PeerText) -> Result<(), Error> {
        match out::is_seen() {
            true => self.list(|page| {
                page.blank();
                page.quote(result);
            }),
            false => Ok(self.session.host.print(out::of_text(result))?),
        }
    }

    /// Goes on after a command that failed, if a person can choose another: a file of lines is a
    /// script, and ends where it fails.
    pub fn heed(&mut self, ran: Result<(), Error>) -> Result<(), Error> {
        let error = match ran {
            Err(error) if self.session.host.is_person() => error,
            ran => return ran,
        };
        error.put_below(self.page());
        Ok(())
    }
}

async fn attend<T>(
    host: &mut Host,
    work: impl Future<Output = Result<T, ClientError>>,
) -> Result<T, Error> {
    host.attend(work).await?.map_err(failed)
}
