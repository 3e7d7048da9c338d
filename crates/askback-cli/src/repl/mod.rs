//! A conversation with a server through slash commands. Prompts are commands, too.

pub mod calls;
pub mod catalog;
mod client;
mod grammar;
mod history;
mod line;
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
    model::{Change, Presence},
    page::{Page, Style, out},
    relay::ServerId,
    text::{PeerText, Words, given},
    words,
};
use tokio::task::{Id, JoinError, JoinSet};

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

/// Width of the command column in a list of commands.
const COMMAND: usize = 25;

pub struct Repl<'a> {
    session: &'a mut Session,
    recorder: Option<&'a mut Recorder>,
    tool_error: bool,
    known: ServerState,
    /// All servers but the current one.
    others: Vec<Other>,
    /// Other servers that are still connecting.
    opening: OpeningServers,
    /// Reads of the other servers' lists.
    learning: JoinSet<LearnedCatalog>,
    /// The latest read of each server.
    reading: BTreeMap<ServerId, Id>,
    background: Background,
    /// Whether the front end has the current completions.
    is_offered: bool,
    files: Option<WatchedFiles>,
}

enum News {
    Opened(OpenedServer),
    Changed(BTreeSet<ServerId>),
    /// The lists of a server were read, or the read panicked.
    Learned(Result<(Id, LearnedCatalog), JoinError>),
    Ended(BackgroundEnd),
    Files(ChangedFiles),
    Folders(Vec<(Root, bool)>),
    /// The server no longer reports some changes.
    Silent(Silent),
}

/// Changed files that may require a restart of the server.
struct FileChange(ChangedFiles);

impl<'a> Repl<'a> {
    pub fn new(session: &'a mut Session) -> Self {
        session.host.converse();
        let tasks = session.tasks();
        session.host.showing_tasks(&tasks);
        Self {
            opening: OpeningServers::default(),
            learning: JoinSet::new(),
            reading: BTreeMap::new(),
            background: Background::default(),
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

    /// Returns the outcome of the conversation. For a user it is simply done; for a script it counts the calls and
    /// their questions.
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
            // A missing history only means fewer lines to go back to.
            let lines = history.read().unwrap_or_default();
            self.session.host.change(Change::Entered(lines));
        }
        // When Ctrl-C was last pressed: how long questions had been shown until then.
        let mut leaving = None;
        // Whether the user was told that tasks are running, and leaves anyway.
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
                    if self.session.host.is_person() && !command.facts().may_hold_secret {
                        // A failed write only makes the history shorter.
                        let _ = history.keep(&line);
                    }
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
            self.heed(ran)?;
        }
    }

    /// Whether Ctrl-C leaves: it was pressed before, and no question was shown since.
    fn leaves(&mut self, before: Option<Duration>) -> bool {
        before == Some(self.session.host.answering())
    }

    async fn next_line(&mut self) -> Result<Input, FileChange> {
        loop {
            if !mem::replace(&mut self.is_offered, true) {
                self.offer();
            }
            self.describe();
            let prompt = self.name();
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
                    Some(learned) = learning.join_next_with_id() => News::Learned(learned),
                    ended = background.next() => News::Ended(ended),
                    changed = servers::files_changed(&mut self.files) => News::Files(changed),
                    changed = client::folders_changed(shared.unwrap_or_default(), there) => News::Folders(changed),
                    silent = resources::silent(changes, watched) => News::Silent(silent),
                }
            };
            match self.session.host.read_until(&prompt, news).await {
                Ok(input) => return Ok(input),
                Err(News::Opened(opened)) => self.opened(opened),
                Err(News::Changed(servers)) => self.read_again(servers),
                Err(News::Learned(Ok(learned))) => self.learned(learned),
                // Without the lists there are only fewer offers.
                Err(News::Learned(Err(_))) => {}
                Err(News::Ended(ended)) => self.ended(ended),
                Err(News::Files(changed)) => return Err(FileChange(changed)),
                Err(News::Folders(changed)) => self.folders_changed(&changed),
                Err(News::Silent(silent)) => self.fell_silent(silent),
            }
        }
    }

    /// On first use of a server, subscribes to its changes and reads its lists.
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
            // An error is ignored: the lists are only used for completions and to detect changes.
            if let Ok(lists) = attend(host, catalog::read(client, &[])).await {
                host.change(Change::Listed(server, lists));
            }
            self.is_offered = false;
        }
        self.session.host.hold_stderr(server, false);
        Ok(())
    }

    /// Subscribes to list changes if the server supports it. Dropping the subscription ends it.
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
        // A failure only means no notifications; the lists are still correct.
        let listening = self.session.client.listen(filter);
        Ok(self.session.host.attend(listening).await?.ok())
    }

    async fn carry_out(&mut self, command: Command) -> Result<(), Error> {
        let presence = self.session.host.server().presence();
        if presence == Presence::Down && command.facts().needs_server {
            let error = Error::new(Kind::Connection, "the server is not there");
            return Err(error.hint("/restart starts it."));
        }
        match command {
            Command::Tools => self.list_part(&[CatalogPart::Tools]).await,
            Command::Call { tool, arguments } => self.call(&tool, &arguments, Content::new()).await,
            Command::Begin { tool, arguments } => self.begin(&tool, &arguments).await,
            Command::Tasks { number, action } => self.tasks(number, action).await,
            Command::Prompts => self.list_part(&[CatalogPart::Prompts]).await,
            Command::Prompt { prompt, arguments } => self.prompt(&prompt, &arguments).await,
            Command::Resources => {
                let parts = &[CatalogPart::Resources, CatalogPart::Templates];
                self.list_part(parts).await
            }
            Command::Skills => self.list_part(&[CatalogPart::Skills]).await,
            Command::Read { uri } => self.read_resource(uri).await,
            Command::Roots { folders, action } => self.roots(&folders, action.as_ref()),
            Command::Sampling { permission } => self.sampling(permission),
            Command::Subscribe { uri } => self.subscribe(uri).await,
            Command::Unsubscribe { uri } => self.unsubscribe(uri.as_deref()),
            Command::More => self.more(),
            Command::Save { file, number } => self.save(&file, number),
            Command::Log { level } => self.log(level).await,
            Command::Again => self.again().await,
            Command::Edit => self.change().await,
            Command::Restart { server } => self.restart_named(server.as_deref()).await,
            Command::Servers => {
                self.list_servers();
                Ok(())
            }
            Command::Server { server } => self.talk_to(&server).await,
            Command::Unmute => {
                self.unmute();
                Ok(())
            }
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
            Command::Wire { number, action } => self.wire(number, action),
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

    fn page(&mut self) -> &mut Page {
        self.session.host.page()
    }

    fn name(&self) -> Words {
        self.name_of(self.session.server())
    }

    fn name_of(&self, server: ServerId) -> Words {
        given(&self.session.host.asker(server).name).short()
    }

    pub fn tell(&mut self, words: impl Into<Words>) {
        let page = self.page();
        page.blank();
        page.say(Style::Plain, words);
    }

    /// Writes a result to stdout, behind the gutter if questions are shown next to it.
    fn show(&mut self, result: PeerText) -> Result<(), Error> {
        match out::is_seen() {
            true => self.list(|page| {
                page.blank();
                page.quote(result);
            }),
            false => Ok(self.session.host.print(out::of_text(result))?),
        }
    }

    /// Continues after a failed command if a user can type another. A script ends at its first failure.
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
