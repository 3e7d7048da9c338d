//! Recording: a suite that is written from a session, for its author to go on with, and beside it the
//! messages of the session, to play it again.

mod document;
mod messages;
mod protocol;
mod secrets;
mod target;

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    io,
    path::{Path, PathBuf},
    rc::Rc,
};

use askback::client::ClientError;
use askback_core::{
    protocol::{CreateMessageParams, CreateMessageResult, SamplingBlock},
    revision::Revision,
};
use askback_host::{
    model::{Ask, Question, Reply, link},
    page::{Page, Style},
    text::{self, PeerText, Words, given},
    words,
};
use serde_json::{Map, Value, value::RawValue};
use url::Url;

use self::{
    document::{Map as Members, Message, Part},
    messages::Messages,
    secrets::{SHORT, Secrets},
    target::server,
};
use super::observe::{Asked, AskedMode, Replied};
use crate::{
    error::Error,
    private_file,
    replay::EXTENSION,
    role::Role,
    secret::{holds, is_argument, is_in, is_name},
    session::Session,
    target::Target,
};

/// The most characters of a text that is expected word for word.
const LONGEST: usize = 4_096;

/// The most cases of a recording; those after them are not recorded.
const CASES: usize = 1_000;

/// The most questions of a case that are recorded.
const QUESTIONS: usize = 1_000;

/// A recording of a session.
pub struct Recorder {
    file: PathBuf,
    is_made: bool,
    server: Option<Members>,
    /// The revision of the first case, in which all are run that name no other.
    revision: &'static str,
    /// The revision that is spoken now.
    spoken: &'static str,
    /// The client that is played, but for its revision.
    played: Option<Words>,
    cases: Vec<Part>,
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
    /// A resource that is read, by its URI, and what in that seems to be secret.
    Read(&'a str, &'a BTreeMap<String, String>),
}

/// The result of a recorded request.
#[derive(Debug, Clone)]
pub struct Recorded {
    /// The text.
    pub text: PeerText,
    /// Whether the tool reported an error.
    pub failed: bool,
    /// The structured content, where there is any.
    pub structured: Option<Value>,
}

/// The end of a recorded request.
pub type RecordedEnd<'a> = Result<Recorded, &'a ClientError>;

impl Recorded {
    /// The result of this JSON, whose text and whether the tool reported an error are known.
    pub fn of(raw: &RawValue, (text, failed): (PeerText, bool)) -> Self {
        let result: Option<Value> = serde_json::from_str(raw.get()).ok();
        let structured = result.and_then(|mut it| Some(it.get_mut("structuredContent")?.take()));
        Self {
            text,
            failed,
            structured: structured.filter(|it| !it.is_null()),
        }
    }
}

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
        let mut secrets = Secrets::of(target);
        Ok(Self {
            file: file.to_owned(),
            is_made: false,
            server: server(file, target, &mut secrets),
            revision: "all",
            spoken: "all",
            played: None,
            cases: Vec::new(),
            noted: Rc::default(),
            secrets,
            messages: Messages::new(beside),
        })
    }

    /// Takes note of what is asked from now on.
    pub fn attach(&mut self, session: &mut Session) {
        let role = Role {
            named: None,
            ..session.role()
        };
        self.played = role.played();
        let Session {
            client, host, wire, ..
        } = session;
        self.speak(client.revision());
        self.messages.attach(wire.as_ref());
        let noted = Rc::clone(&self.noted);
        host.note(move |question, reply| {
            note(&mut noted.borrow_mut(), question, reply);
        });
    }

    /// Takes note of the revision of the next cases: a server that was started again may speak another.
    pub fn speak(&mut self, revision: Revision) {
        self.spoken = revision.as_str();
        if self.cases.is_empty() {
            self.revision = self.spoken;
        }
    }

    /// Writes a request and its end into the file, with the questions since the one before. What came
    /// to no answer of the server is no case.
    ///
    /// # Errors
    ///
    /// If the file cannot be written.
    pub fn record(&mut self, request: Request<'_>, end: RecordedEnd<'_>) -> Result<(), Error> {
        let noted = self.noted.take();
        self.messages.note_tokens(&mut self.secrets);
        if self.cases.len() >= CASES || matches!(&end, Err(error) if !is_answer(error)) {
            // The messages of the next case are written with these.
            self.rules(&noted);
            return Ok(());
        }
        if let Request::Read(uri, secrets) = request
            && (!secrets.is_empty() || is_in(uri, is_name))
        {
            self.secrets.note("the URI of a resource", &uri.into());
            for (name, value) in secrets {
                self.secrets.note(name, &value.as_str().into());
            }
            self.rules(&noted);
            return Ok(());
        }
        let number = self.cases.len().saturating_add(1);
        let case = self.case(number, request, &noted, end);
        self.cases.push(case.into());
        self.write()
            .map_err(|error| unwritten(&self.file, &error))?;
        let written = self.messages.write(&mut self.secrets);
        written.map_err(|error| unwritten(self.messages.file(), &error))
    }

    fn write(&mut self) -> io::Result<()> {
        let text = self.text();
        if !self.is_made {
            // Another program may have made it meanwhile.
            private_file::create_new(&self.file)?;
            self.is_made = true;
        }
        private_file::write(&self.file, &text)
    }

    /// Puts on the page where the recording is, and what is left out of it.
    pub fn tell(&self, page: &mut Page) {
        let file = given(self.file.display());
        let words = match self.cases.len() {
            0 => words!("nothing is recorded in {}", file),
            cases => words!("recorded in {}, cases: {}", file, cases),
        };
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
        if self.secrets.are_short() {
            let words = words!(
                "a secret of up to {} characters cannot be told apart: it is left where it is a part of a word",
                SHORT
            );
            page.note(Style::Dim, words);
        }
    }

    fn case(
        &mut self,
        number: usize,
        request: Request<'_>,
        noted: &[(Question, Reply)],
        end: RecordedEnd<'_>,
    ) -> Members {
        let (verb, name, arguments) = match request {
            Request::Call(tool, arguments) => ("call", tool, arguments.clone()),
            Request::Prompt(name, arguments) => {
                let texts = arguments.iter();
                let texts = texts.map(|(key, value)| (key.clone(), Value::String(value.clone())));
                ("prompt", name, texts.collect())
            }
            Request::Read(uri, _) => ("read", uri, Map::new()),
        };
        let mut arguments = Value::Object(arguments);
        self.secrets.remove_from(&mut arguments);
        let has_arguments = arguments.as_object().is_some_and(|all| !all.is_empty());
        let rules = self.rules(noted);
        // A rule declines in the place of a model that nobody answered for, and a server may repeat in which words.
        let repeats_ours = noted.iter().any(|(question, reply)| {
            matches!(
                (&question.ask, reply),
                (Ask::Sample(_), Reply::Cancelled(_))
            )
        });
        let mut expect = Members::default();
        match end {
            Ok(Recorded {
                text,
                failed,
                structured,
            }) => {
                if failed {
                    expect.put("failed", true);
                }
                if !repeats_ours && text.raw().chars().nth(LONGEST).is_none() {
                    expect.put("text", text.raw().to_owned());
                }
                let structured = structured.filter(|_| !repeats_ours);
                if let Some(part) = structured.and_then(|value| self.structured(value)) {
                    expect.put("structured", part);
                }
            }
            Err(ClientError::Server(error)) => {
                let mut answer = Members::default();
                answer.put("code", error.code);
                if !repeats_ours {
                    answer.put("message", error.message.clone());
                }
                expect.put("error", answer);
            }
            Err(_) => {}
        }
        let mut case = Members::default();
        case.need("name", format!("{number}: {verb} {name}"));
        case.need(verb, name.to_owned());
        if self.spoken != self.revision {
            case.need("revisions", self.spoken);
        }
        if has_arguments {
            case.put("arguments", Part::Json(arguments));
        }
        for (member, all) in [("answers", rules.answers), ("sampling", rules.sampling)] {
            if !all.is_empty() {
                let all = all.into_iter().map(Part::Map).collect();
                case.put(member, Part::Each("an answer", all));
            }
        }
        if let Some(roots) = rules.roots {
            case.put("roots", Part::Each("a folder", roots));
        }
        if !rules.repeats {
            expect.put("questions", questions(noted));
        }
        case.put("expect", expect);
        case
    }

    /// The expectations of structured content, if any. What may be secret is not expected.
    fn structured(&mut self, mut structured: Value) -> Option<Part> {
        if structured.to_string().chars().nth(LONGEST).is_some() {
            return None;
        }
        let Value::Object(mut members) = structured else {
            let is_secret = holds(&structured);
            self.secrets.remove_from(&mut structured);
            return (!is_secret).then_some(Part::Whole(structured));
        };
        members.retain(|name, value| {
            let is_secret = is_argument(name, value);
            if is_secret {
                self.secrets.note(name, value);
                // What is secret within it may be repeated alone.
                self.secrets.remove_from(value);
            }
            !is_secret
        });
        Some(Part::Members(members.into_iter().collect()))
    }

    fn rules(&mut self, noted: &[(Question, Reply)]) -> Rules {
        let mut rules = Rules::default();
        for (question, reply) in noted {
            let (when, act) = match (&question.ask, Asked::of(question, reply)) {
                (Ask::Roots, _) => {
                    if let Reply::Roots(roots) = reply {
                        let paths = roots.iter().filter_map(|root| {
                            let path = Url::parse(&root.uri).ok()?.to_file_path().ok()?;
                            Some(Part::Text(path.display().to_string()))
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
            let when = Part::Map(when);
            let same = |rule: &Members| rule.get("when") == Some(&when);
            if let Some(at) = list.iter().position(same) {
                // The first rule that fits answers: the last of two answers is the one that led on.
                list.remove(at);
                rules.repeats = true;
            }
            let mut rule = Members::default();
            rule.need("when", when);
            rule.extend(act);
            list.push(rule);
        }
        rules
    }

    /// The action of a rule.
    fn act(&mut self, question: &Question, reply: &Reply) -> Members {
        let mut act = Members::default();
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
                act.need("accept", Part::Json(Value::Object(content)));
            }
            (_, Reply::Text(reply)) => act.need("reply", reply.clone()),
            (_, Reply::Sampled(result)) => {
                let said = said(result, &mut self.secrets);
                act.need("reply", said);
            }
            (_, Reply::Declined { reason, .. }) => {
                act.need("decline", true);
                if let (Some(reason), false) = (reason, matches!(question.ask, Ask::Sample(_))) {
                    act.put("reason", reason.clone());
                }
            }
            (Ask::Sample(_), Reply::Cancelled(_)) => act.need("decline", true),
            (_, Reply::Cancelled(_)) => act.need("cancel", true),
            _ => act.need("accept", true),
        }
        act
    }

    /// The text of the file, without the secrets that are known by now.
    fn text(&mut self) -> String {
        let mut suite = Members::default();
        if let Some(server) = &self.server {
            suite.put("server", server.clone());
        }
        suite.put("revisions", self.revision);
        suite.put("cases", Part::Each("a case", self.cases.clone()));
        let mut left_out = BTreeSet::new();
        let suite = Part::from(suite).without(&self.secrets, &mut left_out);
        self.secrets.names.extend(left_out);
        let mut text =
            "# Recorded by askback. Remove from `expect` what changes from run to run.\n"
                .to_owned();
        if let Some(played) = &self.played {
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "# Recorded as {played}: run it with askback test --as {played}"
            );
        }
        if !self.secrets.names.is_empty() {
            // Writing to a string cannot fail.
            let names = text::line(&self.secrets.names_without());
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
    answers: Vec<Members>,
    sampling: Vec<Members>,
    roots: Option<Vec<Part>>,
    /// Whether the same was asked again, and answered in another way.
    repeats: bool,
}

/// Takes note of a question, as long as there is room.
fn note(noted: &mut Vec<(Question, Reply)>, question: &Question, reply: &Reply) {
    if noted.len() < QUESTIONS {
        noted.push((question.clone(), reply.clone()));
    }
}

/// Whether a request ended with an answer of the server.
fn is_answer(error: &ClientError) -> bool {
    matches!(error, ClientError::Server(_))
}

/// The questions as they are expected.
fn questions(noted: &[(Question, Reply)]) -> Part {
    let asked = noted
        .iter()
        .filter_map(|(question, reply)| Asked::of(question, reply));
    let questions = asked.map(|asked| {
        let mut question = Members::default();
        if let Some(key) = asked.key {
            question.put("key", key);
        }
        let mode = match asked.mode {
            AskedMode::Form => "form",
            AskedMode::Url => "url",
            AskedMode::Sampling => "sampling",
        };
        question.put("mode", mode);
        if !asked.fields.is_empty() {
            let fields = asked.fields.into_iter().map(Part::Text);
            question.put("fields", Part::All(fields.collect()));
        }
        let reply = match asked.reply {
            Replied::Accept => "accept",
            Replied::Decline => "decline",
            // A model that is not asked is declined.
            Replied::Cancel | Replied::Unanswered if asked.mode == AskedMode::Sampling => "decline",
            Replied::Cancel | Replied::Unanswered => "cancel",
        };
        question.put("reply", reply);
        Part::Map(question)
    });
    Part::All(questions.collect())
}

/// How a rule knows a question.
fn when(question: &Question, asked: &Asked) -> Members {
    let mut when = Members::default();
    if let Ask::Link { url, .. } = &question.ask
        && let Ok(link) = link::judge(url)
    {
        when.need("mode", "url");
        when.need("host", link.named());
    }
    if let Some(key) = &question.key {
        when.need("key", key.clone());
    } else {
        let message = match &question.ask {
            // A rule looks at one text after the other.
            Ask::Sample(request) => first_text(request),
            _ => None,
        };
        let message = message.unwrap_or(&asked.message).to_owned();
        when.need("message", Part::Message(Message(message)));
    }
    when
}

/// The first text of what a model is asked.
fn first_text(request: &CreateMessageParams) -> Option<&str> {
    let mut blocks = request
        .messages
        .iter()
        .flat_map(|message| message.content.blocks());
    blocks.find_map(|block| match block {
        SamplingBlock::Text(text) => Some(text.text.as_str()),
        _ => None,
    })
}

/// The reply of a model as a rule gives it: its texts and calls. Of anything else there is only the text.
fn said(result: &CreateMessageResult, secrets: &mut Secrets) -> Part {
    let blocks = result.content.blocks();
    let has_calls = blocks
        .iter()
        .any(|block| matches!(block, SamplingBlock::ToolUse(_)));
    if !has_calls {
        return Part::Text(result.content.text());
    }
    let parts = blocks.iter().filter_map(|block| match block {
        SamplingBlock::Text(text) => Some(Part::Text(text.text.clone())),
        SamplingBlock::ToolUse(call) => {
            let mut input = call.input.decode().unwrap_or(Value::Null);
            secrets.remove_from(&mut input);
            let mut said = Members::default();
            said.need("tool", call.name.clone());
            said.need("input", Part::Json(input));
            Some(Part::Map(said))
        }
        _ => None,
    });
    Part::All(parts.collect())
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

#[cfg(test)]
mod tests {
    use askback_core::{
        forms::{Field, FormSchema, TextField},
        jsonrpc::ErrorObject,
        protocol::Root,
    };
    use askback_host::model::{By, Why};
    use serde_json::json;

    use super::{document::MESSAGE, *};

    /// A folder for one test, removed with its value.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let name = format!("askback-record-{name}-{}", std::process::id());
            let folder = std::env::temp_dir().join(name);
            let _ = std::fs::remove_dir_all(&folder);
            private_file::make_folder(&folder).expect("the temporary folder is ours");
            Self(folder)
        }

        fn recorder(&self, file: &str) -> Recorder {
            let target = Target::address("https://a.test/mcp").expect("it is a URL");
            Recorder::new(&self.0.join(file), &target).expect("it is a new file")
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    fn question(key: Option<&str>, ask: Ask) -> Question {
        Question {
            call: None,
            key: key.map(str::to_owned),
            ask,
        }
    }

    fn form(message: &str, names: &[&str]) -> Question {
        let fields = names
            .iter()
            .map(|name| Field::new(*name, TextField::default()));
        let ask = Ask::Form {
            message: message.to_owned(),
            schema: FormSchema::new(fields),
        };
        question(None, ask)
    }

    fn link(url: &str) -> Question {
        let ask = Ask::Link {
            message: "Sign in.".to_owned(),
            url: url.to_owned(),
            id: None,
            retried: false,
            again: false,
        };
        question(Some("k"), ask)
    }

    fn sample() -> Question {
        question(Some("s"), Ask::Sample(Box::default()))
    }

    fn filled(content: Value) -> Reply {
        match content {
            Value::Object(content) => Reply::Form(content),
            other => panic!("{other} is no content of a form"),
        }
    }

    fn declined(by: By) -> Reply {
        let reason = Some("too dear".to_owned());
        Reply::Declined { by, reason }
    }

    /// The case of a call that ended so, with these questions, as it is written.
    fn case(noted: &[(Question, Reply)], end: RecordedEnd<'_>) -> Value {
        let target = Target::address("https://a.test/mcp").expect("it is a URL");
        let file = Path::new("nowhere/suite.yaml");
        let mut recorder = Recorder::new(file, &target).expect("nothing is there");
        let case = recorder.case(1, Request::Call("t", &Map::new()), noted, end);
        recorder.cases.push(case.into());
        let suite: Value = yaml_serde::from_str(&recorder.text()).expect("it is YAML");
        suite["cases"][0].clone()
    }

    fn ended(text: &str) -> RecordedEnd<'static> {
        Ok(Recorded {
            text: PeerText::from(text),
            failed: false,
            structured: None,
        })
    }

    #[test]
    fn an_end_is_expected_as_it_was() {
        #[track_caller]
        fn check(end: RecordedEnd<'_>, mut expected: Value) {
            expected["questions"] = json!([]);
            assert_eq!(case(&[], end)["expect"], expected);
        }
        check(ended("done"), json!({"text": "done"}));
        let failed = ended("sold out").map(|end| Recorded {
            failed: true,
            ..end
        });
        check(failed, json!({"text": "sold out", "failed": true}));
        let whole = "x".repeat(LONGEST);
        check(ended(&whole), json!({"text": whole}));
        check(ended(&"x".repeat(LONGEST + 1)), json!({}));
        let error = ClientError::Server(ErrorObject {
            code: -32602,
            message: "no trip".to_owned(),
            data: None,
        });
        let expected = json!({"error": {"code": -32602, "message": "no trip"}});
        check(Err(&error), expected);
    }

    #[test]
    fn structured_content_is_expected_without_what_may_be_secret() {
        #[track_caller]
        fn check(structured: Value, expected: Value) {
            let raw = json!({"content": [], "structuredContent": structured}).to_string();
            let raw = RawValue::from_string(raw).expect("it is JSON");
            let end = Recorded::of(&raw, ("done".into(), false));
            let login = form("Who?", &["password"]);
            let typed = filled(json!({"password": "typed"}));
            let case = case(&[(login, typed)], Ok(end));
            assert_eq!(case["expect"]["structured"], expected, "{case:#}");
        }
        check(
            json!({"total": 3000, "when": null, "ok": true, "of": [1, "a"], "a/b~c": "d"}),
            json!({"/total": 3000, "/when": null, "/ok": true, "/of": [1, "a"], "/a~1b~0c": "d"}),
        );
        check(
            json!({"trip": {"to": "Rome"}}),
            json!({"/trip": {"equals": {"to": "Rome"}}}),
        );
        check(json!([1, 2]), json!({"": [1, 2]}));
        for nothing in [json!({}), json!({"long": "x".repeat(LONGEST)}), json!(null)] {
            check(nothing, Value::Null);
        }
        // Those of the person, and of the server.
        check(
            json!({"a": 1, "b": "typed", "c": {"d": ["it was typed"]}, "typed": 2, "token": "x1", "e": {"apiKey": "x2"}, "f": "ghp_x"}),
            json!({"/a": 1}),
        );
        for nothing in [
            json!("ghp_x"),
            json!([1, "ghp_x"]),
            json!([{"token": "x1"}]),
        ] {
            check(nothing, Value::Null);
        }
    }

    #[test]
    fn a_text_is_expected_unless_it_repeats_what_may_be_secret_in_structured_content() {
        #[track_caller]
        fn check(structured: Value, is_expected: bool, left_out: &[&str]) {
            let target = Target::address("https://a.test/mcp").expect("it is a URL");
            let file = Path::new("nowhere/suite.yaml");
            let mut recorder = Recorder::new(file, &target).expect("nothing is there");
            let end = ended("it is hush").map(|end| Recorded {
                structured: Some(structured),
                ..end
            });
            let case = recorder.case(1, Request::Call("t", &Map::new()), &[], end);
            recorder.cases.push(case.into());
            let text = recorder.text();
            assert_eq!(text.contains("it is hush"), is_expected, "{text}");
            let names: Vec<_> = recorder.secrets.names.iter().collect();
            assert_eq!(names, left_out);
        }
        check(json!({"a": "hush"}), true, &[]);
        check(json!({"token": "hush"}), false, &["token"]);
        check(
            json!({"token": "hush", "b": "a hush b"}),
            false,
            &["b", "token"],
        );
        check(json!({"token": ["x", "hush"]}), false, &["token"]);
        check(json!({"a": {"token": "hush"}}), false, &["a", "token"]);
        check(
            json!({"a": [{"b": {"token": "hush"}}]}),
            false,
            &["a", "token"],
        );
        check(json!([{"token": "hush"}, 1]), false, &["token"]);
        // Beside a secret, what is none may be repeated.
        check(
            json!({"a": {"b": "hush", "token": "x1"}}),
            true,
            &["a", "token"],
        );
    }

    #[test]
    fn a_reply_is_a_rule_for_its_question() {
        #[track_caller]
        fn check(noted: &[(Question, Reply)], part: &str, expected: Value) {
            let case = case(noted, ended("done"));
            let found = case.pointer(part).unwrap_or(&Value::Null);
            assert_eq!(found, &expected, "{case:#}");
        }
        let first = "/answers/0";
        // A question is known by its key, or the beginning of the first line of its message.
        let yes = filled(json!({"a": "1"}));
        let keyed = Question {
            key: Some("k".to_owned()),
            ..form("Which?", &["a"])
        };
        let rule = json!({"when": {"key": "k"}, "accept": {"a": "1"}});
        check(&[(keyed, yes.clone())], first, rule);
        let long = form(&"é".repeat(MESSAGE + 1), &["a"]);
        let when = json!({"message": "é".repeat(MESSAGE)});
        check(&[(long, yes.clone())], "/answers/0/when", when);
        let lines = form("One\ntwo", &["a"]);
        check(
            &[(lines, yes)],
            "/answers/0/when",
            json!({"message": "One"}),
        );
        // A secret is known by the name of its field, or by its looks.
        let three = form("Hello.", &["a", "b", "password"]);
        let content = json!({"a": "1", "b": "ghp_x", "password": "pw"});
        let kept = json!({"a": "1"});
        check(&[(three, filled(content))], "/answers/0/accept", kept);
        // Links, and one that is never opened.
        let when = json!({"mode": "url", "host": "a.test", "key": "k"});
        let rule = json!({"when": when, "accept": true});
        check(&[(link("https://a.test/x"), Reply::Link)], first, rule);
        let elsewhere = link("http://a.test:8080/x");
        let host = json!("http://a.test:8080");
        check(&[(elsewhere, Reply::Link)], "/answers/0/when/host", host);
        let no = json!({"when": {"key": "k"}, "decline": true, "reason": "too dear"});
        let refused = link("javascript:alert(1)");
        check(&[(refused, declined(By::Policy))], first, no);
        // A no, and neither yes nor no.
        let which = || form("Which?", &["a"]);
        let when = json!({"message": "Which?"});
        let cancelled = Reply::Cancelled(Why::Person);
        let rule = json!({"when": when, "cancel": true});
        check(&[(which(), cancelled.clone())], first, rule);
        let rule = json!({"when": when, "decline": true, "reason": "too dear"});
        check(&[(which(), declined(By::Person))], first, rule);
        // In place of a model there is no reason, and nothing but a no.
        let no = json!({"when": {"key": "s"}, "decline": true});
        let first_reply = "/sampling/0";
        check(&[(sample(), declined(By::Person))], first_reply, no.clone());
        check(&[(sample(), cancelled)], first_reply, no);
        let said = CreateMessageResult::text("m", "Rome");
        let said = Reply::Sampled(Box::new(said));
        let rule = json!({"when": {"key": "s"}, "reply": "Rome"});
        check(&[(sample(), said)], first_reply, rule);
        let root = Root {
            uri: "file:///tmp/a%20b".to_owned(),
            ..Root::default()
        };
        let roots = (question(None, Ask::Roots), Reply::Roots(vec![root]));
        check(&[roots], "/roots", json!(["/tmp/a b"]));
        // Of two answers to the same, the last led on.
        let twice = [
            (which(), filled(json!({"a": "1"}))),
            (which(), filled(json!({"a": "2"}))),
        ];
        let last = json!([{"when": when, "accept": {"a": "2"}}]);
        check(&twice, "/answers", last);
        check(&twice, "/expect/questions", Value::Null);
        check(&twice[..1], "/expect/questions/0/fields", json!(["a"]));
    }

    #[test]
    fn a_server_is_named_without_secrets() {
        #[track_caller]
        fn check(file: &str, target: &Target, written: Value, left_out: &[&str]) {
            let mut secrets = Secrets::default();
            let server = server(Path::new(file), target, &mut secrets).map(Part::from);
            let server = server.and_then(|it| it.without(&secrets, &mut BTreeSet::new()));
            let server = server.map(|it| yaml_serde::from_value(it).expect("it is JSON"));
            assert_eq!(server.unwrap_or(Value::Null), written);
            assert_eq!(secrets.names.into_iter().collect::<Vec<_>>(), left_out);
        }
        let words = |words: &[&str]| {
            words
                .iter()
                .map(|&word| word.to_owned())
                .collect::<Vec<_>>()
        };
        let child = Target::child("npx", &words(&["-y", "x"]));
        let command = json!(["npx", "-y", "x"]);
        check("a.yaml", &child, json!({"command": command}), &[]);
        let here = std::env::current_dir().expect("there is a folder");
        let elsewhere = json!({"command": command, "cwd": here.display().to_string()});
        check("b/a.yaml", &child, elsewhere, &[]);
        let secret = Target::child("npx", &words(&["--token=hush"]));
        let left_out = ["the command of the server"];
        check("a.yaml", &secret, Value::Null, &left_out);
        let listed = Target {
            file: Some("mcp.json".into()),
            ..secret
        };
        check("a.yaml", &listed, json!({"name": listed.name}), &[]);
        let at = |url: &str| Target::address(url).expect("it is a URL");
        let url = json!({"url": "https://a.test/mcp"});
        let who = at("https://a.test/mcp?who=ada");
        check("a.yaml", &who, url, &["the query of the URL"]);
        let token = at("https://a.test/ghp_hush/mcp");
        check("a.yaml", &token, Value::Null, &["the URL of the server"]);
    }

    #[test]
    fn what_is_no_case_leaves_its_secrets_known() {
        #[track_caller]
        fn check(name: &str, request: Request<'_>, end: RecordedEnd<'_>, text: &str) {
            let folder = Folder::new(name);
            let mut recorder = folder.recorder("suite.yaml");
            let login = form("Who?", &["password"]);
            let typed = filled(json!({"password": "typed"}));
            recorder.noted.borrow_mut().push((login, typed));
            recorder.record(request, end).expect("nothing is written");
            assert!(recorder.cases.is_empty() && !recorder.file.exists());
            let call = Request::Call("t", &Map::new());
            recorder.record(call, ended(text)).expect("it is written");
            let written = std::fs::read_to_string(&recorder.file).expect("it was written");
            assert!(
                written.contains("call: t") && !written.contains(text),
                "{written}"
            );
        }
        let (none, some) = (
            BTreeMap::new(),
            BTreeMap::from([("password".to_owned(), "in-uri".to_owned())]),
        );
        let closed = ClientError::Closed;
        let call = Request::Call("t", &Map::new());
        check("closed", call, Err(&closed), "it was typed");
        let token = Request::Read("x://ghp_token", &none);
        check("token", token, ended("x"), "it was typed");
        check("whole", token, ended("x"), "it was x://ghp_token");
        let variable = Request::Read("vault://ada/in-uri", &some);
        check("variable", variable, ended("x"), "it was in-uri");
    }

    #[test]
    fn what_is_recorded_is_bounded() {
        let folder = Folder::new("bounded");
        let mut recorder = folder.recorder("suite.yaml");
        recorder.cases = vec![Part::Ours("a case"); CASES - 1];
        for _ in 0..2 {
            let call = Request::Call("t", &Map::new());
            recorder.record(call, ended("x")).expect("it is written");
            assert_eq!(recorder.cases.len(), CASES);
        }
        let mut noted = Vec::new();
        for _ in 0..=QUESTIONS {
            note(&mut noted, &sample(), &Reply::Link);
        }
        assert_eq!(noted.len(), QUESTIONS);
    }
}
