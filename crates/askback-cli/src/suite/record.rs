//! Recording: a suite that is written from a session, for its author to go on with, and beside it the
//! messages of the session, to play it again.

mod messages;
mod secrets;

use std::{
    cell::RefCell,
    collections::BTreeMap,
    fmt::Write as _,
    io,
    path::{Path, PathBuf},
    rc::Rc,
};

use askback::client::ClientError;
use askback_host::{
    model::{Ask, Question, Reply, link},
    page::{Page, Style},
    text::{self, PeerText, given},
    words,
};
use serde_json::{Map, Value};
use url::Url;
use yaml_serde::{Mapping, Value as Yaml};

use self::{messages::Messages, secrets::Secrets};
use super::observe::{Asked, AskedMode, Replied};
use crate::{
    error::Error,
    private_file,
    replay::EXTENSION,
    secret::{holds, is_in, is_name, is_setting},
    servers::conceal_args,
    session::Session,
    target::{Reach, Target},
};

/// The most characters of a text that is expected word for word.
const LONGEST: usize = 4_096;

/// The most characters of a message by which a rule knows its question.
const MESSAGE: usize = 80;

/// The most cases of a recording; those after them are not recorded.
const CASES: usize = 1_000;

/// The most questions of a case that are recorded.
const QUESTIONS: usize = 1_000;

/// A recording of a session.
pub struct Recorder {
    file: PathBuf,
    is_made: bool,
    server: Option<Yaml>,
    revision: &'static str,
    cases: Vec<Yaml>,
    /// The questions since the last case.
    noted: Rc<RefCell<Vec<(Question, Reply)>>>,
    secrets: Secrets,
    messages: Messages,
}

/// A request that is recorded.
#[derive(Debug, Clone, Copy)]
pub enum Request<'a> {
    /// A call of a tool.
    Call(&'a str, &'a Map<String, Value>),
    /// A prompt.
    Prompt(&'a str, &'a BTreeMap<String, String>),
    /// A resource that is read.
    Read(&'a str),
}

/// The end of a recorded request: its text, and whether the tool reported an error.
pub type RecordedEnd<'a> = Result<(PeerText, bool), &'a ClientError>;

impl Recorder {
    /// A recording of a session with this server, in a new file.
    ///
    /// # Errors
    ///
    /// A usage error where the file is there already, or the one of messages beside it.
    pub fn new(file: &Path, target: &Target) -> Result<Self, Error> {
        let beside = file.with_extension(EXTENSION);
        if beside == file {
            let words = words!(
                "{} is the name of a file of messages",
                given(file.display())
            );
            return Err(Error::usage(words).hint("Write --record suite.yaml, or the like."));
        }
        for file in [file, &beside] {
            if file.symlink_metadata().is_ok() {
                return Err(unwritten(file, &io::ErrorKind::AlreadyExists.into()));
            }
        }
        let mut secrets = Secrets::default();
        Ok(Self {
            file: file.to_owned(),
            is_made: false,
            server: server(file, target, &mut secrets),
            revision: "all",
            cases: Vec::new(),
            noted: Rc::default(),
            secrets,
            messages: Messages::new(beside),
        })
    }

    /// Takes note of what is asked from now on.
    pub fn attach(&mut self, session: &mut Session) {
        let Session {
            client, host, wire, ..
        } = session;
        self.revision = client.revision().as_str();
        self.messages.attach(wire.as_ref());
        let noted = Rc::clone(&self.noted);
        host.note(move |question, reply| {
            let mut noted = noted.borrow_mut();
            if noted.len() < QUESTIONS {
                noted.push((question.clone(), reply.clone()));
            }
        });
    }

    /// Writes a request and its end into the file, with the questions since the one before. What came
    /// to no answer of the server is no case.
    ///
    /// # Errors
    ///
    /// If the file cannot be written.
    pub fn record(&mut self, request: Request<'_>, end: RecordedEnd<'_>) -> Result<(), Error> {
        let noted = self.noted.take();
        if self.cases.len() >= CASES || matches!(&end, Err(error) if !is_answer(error)) {
            // The messages of the next case are written with these.
            self.rules(&noted);
            return Ok(());
        }
        if let Request::Read(uri) = request
            && is_in(uri, is_name)
        {
            self.secrets.note("the URI of a resource", &uri.into());
            return Ok(());
        }
        let number = self.cases.len().saturating_add(1);
        let case = self.case(number, request, &noted, end);
        self.cases.push(case);
        self.write()
            .map_err(|error| unwritten(&self.file, &error))?;
        let written = self.messages.write(&mut self.secrets);
        written.map_err(|error| unwritten(self.messages.file(), &error))
    }

    fn write(&mut self) -> io::Result<()> {
        if !self.is_made {
            // Another program may have made it meanwhile.
            private_file::create_new(&self.file)?;
            self.is_made = true;
        }
        private_file::write(&self.file, &self.text())
    }

    /// Puts on the page where the recording is, and what is left out of it.
    pub fn tell(&self, page: &mut Page) {
        let file = given(self.file.display());
        let words = words!("recorded in {}, cases: {}", file, self.cases.len());
        page.say(Style::Dim, words);
        if self.messages.dropped() > 0 {
            let words = words!(
                "messages that did not fit are left out: {}",
                self.messages.dropped()
            );
            page.note(Style::Dim, words);
        }
        if !self.secrets.names.is_empty() {
            // Names of the server's fields are among them.
            page.quote_line("left out, since it may be secret ", self.secrets.names());
        }
    }

    fn case(
        &mut self,
        number: usize,
        request: Request<'_>,
        noted: &[(Question, Reply)],
        end: RecordedEnd<'_>,
    ) -> Yaml {
        let (verb, name, arguments) = match request {
            Request::Call(tool, arguments) => ("call", tool, arguments.clone()),
            Request::Prompt(name, arguments) => {
                let texts = arguments.iter();
                let texts = texts.map(|(key, value)| (key.clone(), Value::String(value.clone())));
                ("prompt", name, texts.collect())
            }
            Request::Read(uri) => ("read", uri, Map::new()),
        };
        let mut arguments = Value::Object(arguments);
        self.secrets.remove_from(&mut arguments);
        let has_arguments = arguments.as_object().is_some_and(|all| !all.is_empty());
        let rules = self.rules(noted);
        let mut expect = Mapping::new();
        match end {
            Ok((text, failed)) => {
                if failed {
                    put(&mut expect, "failed", true);
                }
                let is_short = text.raw().chars().nth(LONGEST).is_none();
                if is_short && !self.secrets.are_in(text.raw()) {
                    put(&mut expect, "text", text.raw());
                }
            }
            Err(ClientError::Server(error)) => {
                let mut answer = Mapping::new();
                put(&mut answer, "code", error.code);
                if !self.secrets.are_in(&error.message) {
                    put(&mut answer, "message", &*error.message);
                }
                put(&mut expect, "error", answer);
            }
            Err(_) => {}
        }
        let mut case = Mapping::new();
        put(&mut case, "name", format!("{number}: {verb} {name}"));
        put(&mut case, verb, name);
        if has_arguments {
            put(&mut case, "arguments", yaml(&arguments));
        }
        for (member, all) in [("answers", rules.answers), ("sampling", rules.sampling)] {
            if !all.is_empty() {
                put(&mut case, member, Yaml::Sequence(all));
            }
        }
        if let Some(roots) = rules.roots {
            put(&mut case, "roots", roots);
        }
        if !rules.repeats {
            put(&mut expect, "questions", questions(noted));
        }
        put(&mut case, "expect", expect);
        case.into()
    }

    fn rules(&mut self, noted: &[(Question, Reply)]) -> Rules {
        let mut rules = Rules::default();
        for (question, reply) in noted {
            let (mut when, act) = match (&question.ask, Asked::of(question, reply)) {
                (Ask::Roots, _) => {
                    if let Reply::Roots(roots) = reply {
                        let paths = roots.iter().filter_map(|root| {
                            let path = Url::parse(&root.uri).ok()?.to_file_path().ok()?;
                            Some(Yaml::from(path.display().to_string()))
                        });
                        rules.roots = Some(paths.collect());
                    }
                    continue;
                }
                (_, Some(asked)) => (when(question, &asked), self.act(question, reply)),
                (_, None) => continue,
            };
            let list = match &question.ask {
                Ask::Sample(_) => &mut rules.sampling,
                _ => &mut rules.answers,
            };
            let key = Yaml::from("when");
            let same = |rule: &Yaml| rule.get(&key) == Some(&Yaml::from(when.clone()));
            if let Some(at) = list.iter().position(same) {
                // The first rule that fits answers: the last of two answers is the one that led on.
                list.remove(at);
                rules.repeats = true;
            }
            let mut rule = Mapping::new();
            put(&mut rule, "when", std::mem::take(&mut when));
            rule.extend(act);
            list.push(rule.into());
        }
        rules
    }

    /// The action of a rule.
    fn act(&mut self, question: &Question, reply: &Reply) -> Mapping {
        let mut act = Mapping::new();
        match (&question.ask, reply) {
            (Ask::Form { message, schema }, Reply::Form(content)) => {
                let mut content = content.clone();
                for field in schema.secret_fields(message) {
                    if let Some(value) = content.remove(&field.name) {
                        self.secrets.note(&field.name, &value);
                    }
                }
                // The names are judged: these are the values.
                content.retain(|name, value| {
                    let is_secret = holds(value);
                    if is_secret {
                        self.secrets.note(name, value);
                    }
                    !is_secret
                });
                put(&mut act, "accept", yaml(&Value::Object(content)));
            }
            (_, Reply::Text(reply)) => put(&mut act, "reply", &**reply),
            (_, Reply::Sampled(result)) => put(&mut act, "reply", result.content.text()),
            (_, Reply::Declined { reason, .. }) => {
                put(&mut act, "decline", true);
                if let (Some(reason), false) = (reason, matches!(question.ask, Ask::Sample(_))) {
                    put(&mut act, "reason", &**reason);
                }
            }
            (Ask::Sample(_), Reply::Cancelled(_)) => put(&mut act, "decline", true),
            (_, Reply::Cancelled(_)) => put(&mut act, "cancel", true),
            _ => put(&mut act, "accept", true),
        }
        act
    }

    /// The text of the file.
    fn text(&self) -> String {
        let mut suite = Mapping::new();
        if let Some(server) = &self.server {
            put(&mut suite, "server", server.clone());
        }
        put(&mut suite, "revisions", self.revision);
        put(&mut suite, "cases", Yaml::Sequence(self.cases.clone()));
        let mut text =
            "# Recorded by askback. Remove from `expect` what changes from run to run.\n"
                .to_owned();
        if !self.secrets.names.is_empty() {
            // Writing to a string cannot fail.
            let names = text::line(&self.secrets.names());
            let _ = writeln!(text, "# Left out, since it may be secret: {names}");
        }
        // A map of texts, numbers, lists and maps is written in any case.
        text.push_str(&yaml_serde::to_string(&suite).unwrap_or_default());
        text
    }
}

/// The rules that answer as was answered.
#[derive(Default)]
struct Rules {
    answers: Vec<Yaml>,
    sampling: Vec<Yaml>,
    roots: Option<Vec<Yaml>>,
    /// Whether the same was asked again, and answered in another way.
    repeats: bool,
}

/// Whether a request ended with an answer of the server.
fn is_answer(error: &ClientError) -> bool {
    matches!(error, ClientError::Server(_))
}

/// The server as a suite in this file names it; none where that may hold a secret.
fn server(file: &Path, target: &Target, secrets: &mut Secrets) -> Option<Yaml> {
    let mut server = Mapping::new();
    match &target.reach {
        _ if target.file.is_some() => put(&mut server, "name", &*target.name),
        Reach::Start(command) => {
            let words: Vec<_> = std::iter::once(&command.program)
                .chain(&command.args)
                .map(|word| Yaml::from(word.as_str()))
                .collect();
            if conceal_args("", &command.args) != command.args {
                secrets.names.insert("the command of the server".to_owned());
                return None;
            }
            put(&mut server, "command", Yaml::Sequence(words));
            let here = std::env::current_dir().ok()?;
            let folder = file.parent().unwrap_or(Path::new(""));
            // A suite starts its server where it lies.
            if here.join(folder) != here {
                put(&mut server, "cwd", here.display().to_string());
            }
        }
        Reach::Address(address) => {
            let mut url = Url::parse(&address.url).ok()?;
            if url.query().is_some() {
                url.set_query(None);
                secrets.names.insert("the query of the URL".to_owned());
            }
            if is_in(url.as_str(), is_setting) {
                secrets.names.insert("the URL of the server".to_owned());
                return None;
            }
            put(&mut server, "url", url.as_str());
        }
    }
    Some(server.into())
}

/// The questions as they are expected.
fn questions(noted: &[(Question, Reply)]) -> Yaml {
    let asked = noted
        .iter()
        .filter_map(|(question, reply)| Asked::of(question, reply));
    let questions = asked.map(|asked| {
        let mut question = Mapping::new();
        if let Some(key) = asked.key {
            put(&mut question, "key", key);
        }
        let mode = match asked.mode {
            AskedMode::Form => "form",
            AskedMode::Url => "url",
            AskedMode::Sampling => "sampling",
        };
        put(&mut question, "mode", mode);
        if !asked.fields.is_empty() {
            put(&mut question, "fields", asked.fields);
        }
        let reply = match asked.reply {
            Replied::Accept => "accept",
            Replied::Decline => "decline",
            // A model that is not asked is declined.
            Replied::Cancel | Replied::Unanswered if asked.mode == AskedMode::Sampling => "decline",
            Replied::Cancel | Replied::Unanswered => "cancel",
        };
        put(&mut question, "reply", reply);
        Yaml::from(question)
    });
    Yaml::Sequence(questions.collect())
}

/// How a rule knows a question.
fn when(question: &Question, asked: &Asked) -> Mapping {
    let mut when = Mapping::new();
    if let Ask::Link { url, .. } = &question.ask
        && let Ok(link) = link::judge(url)
    {
        put(&mut when, "mode", "url");
        put(&mut when, "host", link.host());
    }
    if let Some(key) = &question.key {
        put(&mut when, "key", &**key);
    } else {
        let line = asked.message.lines().next().unwrap_or_default();
        let end = line
            .char_indices()
            .nth(MESSAGE)
            .map_or(line.len(), |(end, _)| end);
        put(&mut when, "message", &line[..end]);
    }
    when
}

fn put(map: &mut Mapping, name: &str, value: impl Into<Yaml>) {
    map.insert(name.into(), value.into());
}

fn yaml(value: &Value) -> Yaml {
    // JSON is YAML.
    yaml_serde::to_value(value).unwrap_or_default()
}

fn unwritten(file: &Path, error: &io::Error) -> Error {
    let file = given(file.display());
    match error.kind() {
        io::ErrorKind::AlreadyExists => {
            Error::usage(words!("{} is there already", file)).hint("Record into a new file.")
        }
        _ => Error::usage(words!("{} cannot be written: {}", file, given(error))),
    }
}
