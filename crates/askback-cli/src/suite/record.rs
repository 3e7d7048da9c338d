//! Writes a suite from a session, for its author to edit. Known secrets are left out: headers, environment and secret
//! arguments that the user gave for the server; secret fields of forms; and arguments and members whose names suggest
//! secrets. Text that repeats one of these values is left out as well. A server may show secrets that are not marked,
//! so the author should read the file first.

mod secrets;

use std::{
    cell::RefCell,
    collections::BTreeMap,
    fmt::Write as _,
    io,
    path::{Path, PathBuf},
    rc::Rc,
};

use askback::{
    Revision,
    client::ClientError,
    protocol::{CreateMessageParams, CreateMessageResult, SamplingBlock},
};
use askback_host::{
    content::CallOutcome,
    model::{Ask, Question, Reply, link},
    page::{Page, Style},
    script::literal,
    text::{self, Words, given},
    words,
};
use serde::Serialize;
use serde_json::{Map, Value, json};
use url::Url;

use self::secrets::Secrets;
use super::observe::{ObservedQuestion, QuestionMode, ReplyKind};
use crate::{
    error::Error,
    private_file,
    secret::{is_in, is_name, is_setting},
    servers::conceal_args,
    session::Session,
    target::{Reach, Target},
};

/// Longer texts are not expected word for word.
const MAX_EXPECTED_CHARS: usize = 4_096;

/// Later cases are dropped.
const MAX_CASES: usize = 1_000;

const MAX_QUESTIONS: usize = 1_000;

/// How many characters of a message a rule matches.
const MAX_MESSAGE_CHARS: usize = 80;

pub struct Recorder {
    file: PathBuf,
    is_made: bool,
    server: Option<Value>,
    /// The revision of the first case. Cases without a revision run in it.
    revision: &'static str,
    spoken: &'static str,
    /// The simulated client, without its revision.
    played: Option<Words>,
    cases: Vec<RecordedCase>,
    /// The questions since the last case.
    noted: Rc<RefCell<Vec<(Question, Reply)>>>,
    secrets: Secrets,
}

#[derive(Debug, Clone, Copy)]
pub enum Request<'a> {
    Call(&'a str, &'a Map<String, Value>),
    Prompt(&'a str, &'a BTreeMap<String, String>),
    /// A resource by its URI, and the possible secrets in the URI.
    Read(&'a str, &'a BTreeMap<String, String>),
}

pub type RecordedEnd<'a> = Result<&'a CallOutcome, &'a ClientError>;

#[derive(Debug, Serialize)]
struct RecordedSuite<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<&'a Value>,
    revisions: &'a str,
    cases: Vec<RecordedCase>,
}

/// A recorded case. Secrets are removed when it is written, because later cases may reveal more of them.
#[derive(Debug, Clone, Default, Serialize)]
struct RecordedCase {
    name: String,
    #[serde(flatten)]
    request: BTreeMap<&'static str, String>,
    #[serde(skip_serializing_if = "is_default")]
    revisions: Option<&'static str>,
    #[serde(skip_serializing_if = "is_default")]
    arguments: Map<String, Value>,
    #[serde(skip_serializing_if = "is_default")]
    answers: Vec<RecordedRule>,
    #[serde(skip_serializing_if = "is_default")]
    sampling: Vec<RecordedRule>,
    #[serde(skip_serializing_if = "is_default")]
    roots: Option<Vec<String>>,
    expect: Map<String, Value>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct RecordedRule {
    when: Map<String, Value>,
    #[serde(flatten)]
    act: Map<String, Value>,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl Recorder {
    pub fn new(file: &Path, target: &Target) -> Result<Self, Error> {
        if file.symlink_metadata().is_ok() {
            return Err(Error::unwritten(file, &io::ErrorKind::AlreadyExists.into()));
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
        })
    }

    pub fn attach(&mut self, session: &mut Session) {
        let mut role = session.role();
        role.named = None;
        self.played = role.played();
        let Session { client, host, .. } = session;
        self.speak(client.revision());
        let noted = Rc::clone(&self.noted);
        host.note(move |question, reply| {
            note(&mut noted.borrow_mut(), question, reply);
        });
    }

    /// Sets the revision of the next cases, because a restarted server may speak another one.
    pub fn speak(&mut self, revision: Revision) {
        self.spoken = revision.as_str();
        if self.cases.is_empty() {
            self.revision = self.spoken;
        }
    }

    /// Writes a request and its end to the file, with the questions since the previous request. Skips a request that
    /// the server did not answer.
    pub fn record(&mut self, request: Request<'_>, end: RecordedEnd<'_>) -> Result<(), Error> {
        let noted = self.noted.take();
        match self.add(request, &noted, end) {
            true => self
                .write()
                .map_err(|error| Error::unwritten(&self.file, &error)),
            false => Ok(()),
        }
    }

    fn add(
        &mut self,
        request: Request<'_>,
        noted: &[(Question, Reply)],
        end: RecordedEnd<'_>,
    ) -> bool {
        // Make the rules even if the case is dropped, so that their secrets are known from now on.
        let mut case = self.answered(noted);
        if self.cases.len() >= MAX_CASES || !matches!(&end, Ok(_) | Err(ClientError::Server(_))) {
            return false;
        }
        let (verb, name) = match request {
            Request::Call(tool, arguments) => {
                case.arguments.clone_from(arguments);
                ("call", tool)
            }
            Request::Prompt(name, arguments) => {
                let texts = arguments.iter();
                let texts = texts.map(|(key, value)| (key.clone(), value.as_str().into()));
                case.arguments = texts.collect();
                ("prompt", name)
            }
            Request::Read(uri, secrets) if !secrets.is_empty() || is_in(uri, is_name) => {
                self.secrets.note("the URI of a resource", &uri.into());
                for (name, value) in secrets {
                    self.secrets.note(name, &value.as_str().into());
                }
                return false;
            }
            Request::Read(uri, _) => ("read", uri),
        };
        self.secrets.remove_from_members(&mut case.arguments);
        case.name = format!("{}: {verb} {name}", self.cases.len().saturating_add(1));
        case.request = BTreeMap::from([(verb, name.to_owned())]);
        case.revisions = Some(self.spoken).filter(|revision| *revision != self.revision);
        // After a refusal, the server may say whether a user read the question. It judges that by the time, and the
        // rules of a suite are faster than a user.
        let is_refused = noted
            .iter()
            .any(|(_, reply)| matches!(reply, Reply::Declined { .. } | Reply::Cancelled(_)));
        let fits = |text: &str| !is_refused && text.chars().nth(MAX_EXPECTED_CHARS).is_none();
        let mut expect =
            |member: &str, value: Value| drop(case.expect.insert(member.to_owned(), value));
        match end {
            Ok(result) => {
                if result.failed {
                    expect("failed", true.into());
                }
                if fits(result.text.raw()) {
                    expect("text", result.text.raw().into());
                }
                let structured = &result.json["structuredContent"];
                if fits(&structured.to_string())
                    && let Some(structured) = self.secrets.conditions(structured)
                {
                    expect("structured", structured.into());
                }
            }
            Err(ClientError::Server(error)) => {
                let mut told = json!({"code": error.code});
                if fits(&error.message) {
                    told["message"] = error.message.as_str().into();
                }
                expect("error", told);
            }
            Err(_) => {}
        }
        self.cases.push(case);
        true
    }

    fn write(&mut self) -> io::Result<()> {
        let text = self.text();
        if !self.is_made {
            // Another program may have created it meanwhile.
            private_file::create_new(&self.file)?;
            self.is_made = true;
        }
        private_file::write(&self.file, &text)
    }

    /// Prints where the recording is and what was left out.
    pub fn tell(&self, page: &mut Page) {
        let file = given(self.file.display());
        let words = match self.cases.len() {
            0 => words!("nothing is recorded in {}", file),
            cases => words!("recorded in {}, cases: {}", file, cases),
        };
        page.say(Style::Dim, words);
        if !self.secrets.names.is_empty() {
            // Some are names of the server's fields.
            page.quote_line("left out, since it may be secret ", self.left_out());
        }
    }

    /// The names of what was left out, except names that repeat a secret.
    fn left_out(&self) -> String {
        let names = self.secrets.names.iter();
        let names = names.filter(|name| !self.secrets.are_in(name));
        let names: Vec<_> = names.map(String::as_str).collect();
        names.join(", ")
    }

    /// A case with these questions and answers, still without a request.
    fn answered(&mut self, noted: &[(Question, Reply)]) -> RecordedCase {
        let mut case = RecordedCase::default();
        let mut questions = Some(Vec::new());
        for (question, reply) in noted {
            if let (Ask::Roots, Reply::Roots(roots)) = (&question.ask, reply) {
                let paths = roots.iter().filter_map(|root| {
                    let path = Url::parse(&root.uri).ok()?.to_file_path().ok()?;
                    Some(path.display().to_string())
                });
                case.roots = Some(paths.collect());
                continue;
            }
            let Some(asked) = ObservedQuestion::of(question, reply) else {
                continue;
            };
            let rule = self.rule(question, &asked, reply);
            let list = match asked.mode {
                QuestionMode::Sampling => &mut case.sampling,
                QuestionMode::Form | QuestionMode::Url => &mut case.answers,
            };
            if let Some(at) = list.iter().position(|other| other.when == rule.when) {
                // The first matching rule answers. Of two answers, only the last one let the call continue.
                list.remove(at);
                questions = None;
            }
            list.push(rule);
            if let Some(questions) = &mut questions {
                questions.push(expected_question(&asked));
            }
        }
        // Without them if the same question was asked twice and answered differently.
        if let Some(questions) = questions {
            case.expect.insert("questions".to_owned(), questions.into());
        }
        case
    }

    fn rule(
        &mut self,
        question: &Question,
        asked: &ObservedQuestion,
        reply: &Reply,
    ) -> RecordedRule {
        let mut act = Map::new();
        let mut put = |member: &str, value: Value| drop(act.insert(member.to_owned(), value));
        match (&question.ask, reply) {
            (Ask::Form { message, schema }, Reply::Form(content)) => {
                let mut content = content.clone();
                for field in schema.secret_fields(message) {
                    if let Some(value) = content.remove(&field.name) {
                        self.secrets.note(&field.name, &value);
                    }
                }
                self.secrets.remove_from_members(&mut content);
                put("accept", content.into());
            }
            (_, Reply::Text(reply)) => put("reply", reply.as_str().into()),
            (_, Reply::Sampled(result)) => put("reply", said(result, &mut self.secrets)),
            (Ask::Sample(_), Reply::Declined { .. } | Reply::Cancelled(_)) => {
                put("decline", true.into());
            }
            (_, Reply::Declined { reason, .. }) => {
                put("decline", true.into());
                if let Some(reason) = reason {
                    put("reason", reason.as_str().into());
                }
            }
            (_, Reply::Cancelled(_)) => put("cancel", true.into()),
            _ => put("accept", true.into()),
        }
        RecordedRule {
            when: when(question, asked),
            act,
        }
    }

    fn text(&mut self) -> String {
        let cases = self.cases.iter();
        let cases = cases.filter_map(|case| case.redacted(&mut self.secrets));
        let suite = RecordedSuite {
            server: self.server.as_ref(),
            revisions: self.revision,
            cases: cases.collect(),
        };
        let mut text =
            "# Recorded by askback. Remove from `expect` what changes from run to run, and read it before you share it.\n"
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
            let names = text::line(&self.left_out());
            let _ = writeln!(text, "# Left out, since it may be secret: {names}");
        }
        // A map of strings, numbers, lists and maps can always be serialized.
        text.push_str(&yaml_serde::to_string(&suite).unwrap_or_default());
        text
    }
}

impl RecordedCase {
    /// The case without text that repeats a secret. Returns `None` if the request repeats one.
    fn redacted(&self, secrets: &mut Secrets) -> Option<Self> {
        let mut case = self.clone();
        if secrets.are_in(&case.name) {
            secrets.names.insert("a case".to_owned());
            return None;
        }
        case.arguments = secrets.without_members(case.arguments);
        for rules in [&mut case.answers, &mut case.sampling] {
            let all = rules.len();
            rules.retain_mut(|rule| rule.redact(secrets));
            if rules.len() < all {
                secrets.names.insert("an answer".to_owned());
            }
        }
        if let Some(roots) = &mut case.roots {
            roots.retain(|path| !secrets.are_in(path));
        }
        case.expect.retain(|_, value| match value {
            Value::Object(parts) => {
                parts.retain(|name, part| {
                    let is_plain = !secrets.are_in(name) && !secrets.are_within(part);
                    if !is_plain {
                        secrets
                            .names
                            .insert(name.trim_start_matches('/').to_owned());
                    }
                    is_plain
                });
                !parts.is_empty()
            }
            value => !secrets.are_within(value),
        });
        Some(case)
    }
}

impl RecordedRule {
    /// Removes everything that repeats a secret. Returns whether the rule still works.
    fn redact(&mut self, secrets: &mut Secrets) -> bool {
        if self.when.values().any(|text| secrets.are_within(text)) {
            return false;
        }
        let all = std::mem::take(&mut self.act);
        for (member, value) in all {
            match secrets.without(value) {
                Some(value) => drop(self.act.insert(member, literal_texts(value))),
                None if member == "reason" => {}
                None => return false,
            }
        }
        true
    }
}

/// Escapes texts so that a rule takes them literally: a server may have made a model say `@file`.
fn literal_texts(value: Value) -> Value {
    match value {
        Value::String(text) => literal(&text).into(),
        Value::Array(items) => items.into_iter().map(literal_texts).collect(),
        Value::Object(members) => {
            let members = members.into_iter();
            members
                .map(|(name, value)| (name, literal_texts(value)))
                .collect()
        }
        value => value,
    }
}

/// The server as this suite names it, or `None` if the name may hold a secret.
fn server(file: &Path, target: &Target, secrets: &mut Secrets) -> Option<Value> {
    match &target.reach {
        _ if target.file.is_some() => Some(json!({"name": target.name})),
        Reach::Start(command) => {
            if conceal_args(&command.args) != command.args {
                secrets.names.insert("the command of the server".to_owned());
                return None;
            }
            let words = std::iter::once(&command.program).chain(&command.args);
            let words: Vec<_> = words.collect();
            let here = std::env::current_dir().ok()?;
            let folder = file.parent().unwrap_or(Path::new(""));
            // A suite starts its server in the suite's folder.
            Some(match here.join(folder) == here {
                true => json!({"command": words}),
                false => json!({"command": words, "cwd": here.display().to_string()}),
            })
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
            Some(json!({"url": url.as_str()}))
        }
    }
}

fn note(noted: &mut Vec<(Question, Reply)>, question: &Question, reply: &Reply) {
    if noted.len() < MAX_QUESTIONS {
        noted.push((question.clone(), reply.clone()));
    }
}

fn expected_question(asked: &ObservedQuestion) -> Value {
    let reply = match (asked.reply, asked.mode) {
        // If no model is asked, the question is declined.
        (ReplyKind::Cancel | ReplyKind::Unanswered, QuestionMode::Sampling) => ReplyKind::Decline,
        (ReplyKind::Unanswered, _) => ReplyKind::Cancel,
        (reply, _) => reply,
    };
    let mut expected = json!({"mode": asked.mode, "reply": reply});
    if let Some(key) = &asked.key {
        expected["key"] = key.as_str().into();
    }
    if !asked.fields.is_empty() {
        expected["fields"] = asked.fields.clone().into();
    }
    expected
}

/// The condition by which a rule recognizes a question. A message is matched by the start of its first line.
fn when(question: &Question, asked: &ObservedQuestion) -> Map<String, Value> {
    let mut when = Map::new();
    let mut put = |member: &str, text: String| drop(when.insert(member.to_owned(), text.into()));
    if let Ask::Link { url, .. } = &question.ask
        && let Ok(link) = link::judge(url)
    {
        put("mode", "url".to_owned());
        put("host", link.named().to_string());
    }
    if let Some(key) = &question.key {
        put("key", key.clone());
    } else {
        let message = match &question.ask {
            // A rule matches one text at a time.
            Ask::Sample(request) => first_text(request),
            _ => None,
        };
        let message = message.unwrap_or(&asked.message);
        let line = message.lines().next().unwrap_or_default();
        put("message", line.chars().take(MAX_MESSAGE_CHARS).collect());
    }
    when
}

/// The first text in a request to a model.
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

/// A model's reply as a rule gives it: texts and calls. Other content is reduced to its text.
fn said(result: &CreateMessageResult, secrets: &mut Secrets) -> Value {
    let blocks = result.content.blocks();
    let has_calls = blocks
        .iter()
        .any(|block| matches!(block, SamplingBlock::ToolUse(_)));
    if !has_calls {
        return result.content.text().into();
    }
    let parts = blocks.iter().filter_map(|block| match block {
        SamplingBlock::Text(text) => Some(Value::from(text.text.as_str())),
        SamplingBlock::ToolUse(call) => {
            let mut input = call.input.decode().unwrap_or(Value::Null);
            secrets.remove_from(&mut input);
            Some(json!({"tool": call.name, "input": input}))
        }
        _ => None,
    });
    parts.collect()
}

#[cfg(test)]
mod tests {
    use askback::{
        ErrorObject,
        forms::{Field, FormSchema, TextField},
        protocol::Root,
    };
    use askback_host::model::{By, Why};
    use tempfile::TempDir;

    use super::*;

    fn recorder(folder: &TempDir) -> Recorder {
        let target = Target::address("https://a.test/mcp").expect("it is a URL");
        Recorder::new(&folder.path().join("suite.yaml"), &target).expect("it is a new file")
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

    /// The written case of a call with these questions and this end.
    fn case(noted: &[(Question, Reply)], end: RecordedEnd<'_>) -> Value {
        let folder = tempfile::tempdir().expect("there is room");
        let mut recorder = recorder(&folder);
        assert!(recorder.add(Request::Call("t", &Map::new()), noted, end));
        let suite: Value = yaml_serde::from_str(&recorder.text()).expect("it is YAML");
        suite["cases"][0].clone()
    }

    fn ended(text: &str) -> CallOutcome {
        CallOutcome {
            text: text.into(),
            failed: false,
            structured: None,
            json: json!({}),
        }
    }

    #[test]
    fn a_recorded_outcome_is_the_expected_outcome() {
        #[track_caller]
        fn check(end: RecordedEnd<'_>, mut expected: Value) {
            expected["questions"] = json!([]);
            assert_eq!(case(&[], end)["expect"], expected);
        }
        check(Ok(&ended("done")), json!({"text": "done"}));
        let failed = CallOutcome {
            failed: true,
            ..ended("sold out")
        };
        check(Ok(&failed), json!({"text": "sold out", "failed": true}));
        let whole = "x".repeat(MAX_EXPECTED_CHARS);
        check(Ok(&ended(&whole)), json!({"text": whole}));
        let long = ended(&"x".repeat(MAX_EXPECTED_CHARS + 1));
        check(Ok(&long), json!({}));
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
            let mut end = ended("done");
            end.json = json!({"content": [], "structuredContent": structured});
            let login = form("Who?", &["password"]);
            let typed = filled(json!({"password": "typed"}));
            let case = case(&[(login, typed)], Ok(&end));
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
        for nothing in [
            json!([1, 2]),
            json!({}),
            json!({"long": "x".repeat(MAX_EXPECTED_CHARS)}),
            json!(null),
        ] {
            check(nothing, Value::Null);
        }
        // Secrets of the user and of the server.
        check(
            json!({"a": 1, "b": "typed", "c": {"d": ["it was typed"]}, "typed": 2, "token": "x1", "e": {"apiKey": "x2"}, "f": "ghp_x"}),
            json!({"/a": 1}),
        );
    }

    #[test]
    fn a_text_is_expected_unless_it_repeats_what_may_be_secret_in_structured_content() {
        #[track_caller]
        fn check(structured: Value, is_expected: bool, left_out: &[&str]) {
            let folder = tempfile::tempdir().expect("there is room");
            let mut recorder = recorder(&folder);
            let mut end = ended("it is hush");
            end.json = json!({"structuredContent": structured});
            assert!(recorder.add(Request::Call("t", &Map::new()), &[], Ok(&end)));
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
        check(json!({"a": {"token": "hush"}}), false, &["token"]);
        check(json!({"a": [{"b": {"token": "hush"}}]}), false, &["token"]);
        check(json!([{"token": "hush"}, 1]), false, &["token"]);
        // Text next to a secret may be repeated.
        check(json!({"a": {"b": "hush", "token": "x1"}}), true, &["token"]);
    }

    #[test]
    fn a_reply_is_a_rule_for_its_question() {
        #[track_caller]
        fn check(noted: &[(Question, Reply)], part: &str, expected: Value) {
            let case = case(noted, Ok(&ended("done")));
            let found = case.pointer(part).unwrap_or(&Value::Null);
            assert_eq!(found, &expected, "{case:#}");
        }
        let first = "/answers/0";
        // A question is recognized by the start of its message's first line.
        let yes = filled(json!({"a": "1"}));
        let long = form(&"é".repeat(MAX_MESSAGE_CHARS + 1), &["a"]);
        let when = json!({"message": "é".repeat(MAX_MESSAGE_CHARS)});
        check(&[(long, yes.clone())], "/answers/0/when", when);
        let when = json!({"message": "One"});
        check(&[(form("One\ntwo", &["a"]), yes)], "/answers/0/when", when);
        // Texts that would refer to a file or a variable.
        let texts = filled(json!({"a": "@/etc/passwd", "b": ["${HOME}"], "c": "a@b"}));
        let kept = json!({"a": "@@/etc/passwd", "b": ["$${HOME}"], "c": "a@b"});
        check(
            &[(form("Which?", &["a", "b", "c"]), texts)],
            "/answers/0/accept",
            kept,
        );
        let said = Reply::Text("@/etc/passwd".to_owned());
        check(
            &[(sample(), said)],
            "/sampling/0/reply",
            json!("@@/etc/passwd"),
        );
        // A secret is recognized by its field's name or by its form.
        let three = form("Hello.", &["a", "b", "password"]);
        let content = json!({"a": "1", "b": "ghp_x", "password": "pw"});
        let kept = json!({"a": "1"});
        check(&[(three, filled(content))], "/answers/0/accept", kept);
        // Links. One of them is never opened.
        let when = json!({"mode": "url", "host": "a.test", "key": "k"});
        let rule = json!({"when": when, "accept": true});
        check(&[(link("https://a.test/x"), Reply::Link)], first, rule);
        let elsewhere = link("http://a.test:8080/x");
        let host = json!("http://a.test:8080");
        check(&[(elsewhere, Reply::Link)], "/answers/0/when/host", host);
        let no = json!({"when": {"key": "k"}, "decline": true, "reason": "too dear"});
        let refused = link("javascript:alert(1)");
        check(&[(refused, declined(By::Policy))], first, no);
        // A rule for a model has no reason and can only decline.
        let no = json!({"when": {"key": "s"}, "decline": true});
        let cancelled = Reply::Cancelled(Why::Person);
        for reply in [declined(By::Person), cancelled] {
            check(&[(sample(), reply)], "/sampling/0", no.clone());
        }
        let root = Root {
            uri: "file:///tmp/a%20b".to_owned(),
            ..Root::default()
        };
        let roots = (question(None, Ask::Roots), Reply::Roots(vec![root]));
        check(&[roots], "/roots", json!(["/tmp/a b"]));
        // Of two answers to the same question, the last one let the call continue.
        let twice = ["1", "2"].map(|a| (form("Which?", &["a"]), filled(json!({"a": a}))));
        let last = json!([{"when": {"message": "Which?"}, "accept": {"a": "2"}}]);
        check(&twice, "/answers", last);
        check(&twice, "/expect/questions", Value::Null);
        check(&twice[..1], "/expect/questions/0/fields", json!(["a"]));
    }

    #[test]
    fn a_server_is_named_without_secrets() {
        #[track_caller]
        fn check(file: &str, target: &Target, written: Value, left_out: &[&str]) {
            let mut secrets = Secrets::default();
            let server = server(Path::new(file), target, &mut secrets);
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
    fn a_call_that_is_not_recorded_still_reveals_its_secrets() {
        #[track_caller]
        fn check(request: Request<'_>, end: RecordedEnd<'_>, text: &str) {
            let folder = tempfile::tempdir().expect("there is room");
            let mut recorder = recorder(&folder);
            let login = form("Who?", &["password"]);
            let typed = filled(json!({"password": "typed"}));
            recorder.noted.borrow_mut().push((login, typed));
            recorder.record(request, end).expect("nothing is written");
            assert!(recorder.cases.is_empty() && !recorder.file.exists());
            let call = Request::Call("t", &Map::new());
            recorder
                .record(call, Ok(&ended(text)))
                .expect("it is written");
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
        check(call, Err(&closed), "it was typed");
        let token = Request::Read("x://ghp_token", &none);
        check(token, Ok(&ended("x")), "it was typed");
        check(token, Ok(&ended("x")), "it was x://ghp_token");
        let variable = Request::Read("vault://ada/in-uri", &some);
        check(variable, Ok(&ended("x")), "it was in-uri");
    }

    #[test]
    fn what_is_recorded_is_bounded() {
        let folder = tempfile::tempdir().expect("there is room");
        let mut recorder = recorder(&folder);
        assert!(recorder.add(Request::Call("t", &Map::new()), &[], Ok(&ended("x"))));
        recorder.cases = vec![recorder.cases[0].clone(); MAX_CASES - 1];
        for _ in 0..2 {
            let call = Request::Call("t", &Map::new());
            recorder
                .record(call, Ok(&ended("x")))
                .expect("it is written");
            assert_eq!(recorder.cases.len(), MAX_CASES);
        }
        let mut noted = Vec::new();
        for _ in 0..=MAX_QUESTIONS {
            note(&mut noted, &sample(), &Reply::Link);
        }
        assert_eq!(noted.len(), MAX_QUESTIONS);
    }
}
