//! Calls tools, prompts and resources, and repeats the last call.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use askback::{
    client::Received,
    forms::Content,
    protocol::{CallToolResult, Prompt, Tool},
};
use askback_host::{
    content::{self, CallOutcome},
    diff,
    model::{self, Ask, Change, How, Question},
    page::Style,
    text::{PeerText, Words, given},
    words,
};
use serde_json::{Map, Value};

use super::{Repl, attend, grammar, line, resources::Resource, results::ShownResult};
use crate::{
    args,
    error::{Error, Kind},
    lookup, missing, older,
    session::{Session, failed},
    suite::record::{Recorder, Request},
};

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Call {
    Tool(Box<Tool>, Map<String, Value>),
    Prompt(String, BTreeMap<String, String>),
    Read(Resource),
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct LastCall {
    call: Call,
    /// If the server may have acted on the answers, they are not given again.
    is_outcome_unknown: bool,
    result: Option<Arc<Value>>,
}

impl Repl<'_> {
    /// Asks for required arguments that are not given, with `preset` filled in.
    pub async fn call(
        &mut self,
        name: &str,
        words: &[String],
        preset: Content,
    ) -> Result<(), Error> {
        let tool = self.tool(name).await?;
        match self.arguments(&tool, words, preset).await? {
            Some(arguments) => {
                self.make(Call::Tool(Box::new(tool), arguments), false)
                    .await
            }
            None => Ok(()),
        }
    }

    /// Reads the list again only if it changed or lacks the tool.
    pub(super) async fn tool(&mut self, name: &str) -> Result<Tool, Error> {
        let server = self.session.server();
        if self.session.host.changed().has(server) {
            self.known.tools = None;
        } else {
            let listed = self.session.host.server().catalog();
            let listed = listed.map(|catalog| &catalog.tools);
            let mut tools = self.known.tools.iter().chain(listed).flatten();
            if let Some(tool) = tools.find(|tool| tool.name == name) {
                return Ok(tool.clone());
            }
        }
        let tools = attend(&mut self.session.host, self.session.client.tools()).await?;
        let tools = self.known.tools.insert(tools.items).clone();
        let tool = lookup::tool(&tools, name).map_err(|error| self.switching(error, name))?;
        Ok(tool.clone())
    }

    /// Returns the arguments of a call. Asks for required arguments that are not given, with `preset` filled in. Returns
    /// `None` if the user cancels.
    pub(super) async fn arguments(
        &mut self,
        tool: &Tool,
        words: &[String],
        preset: Content,
    ) -> Result<Option<Content>, Error> {
        let schema = tool.input_schema.decode().unwrap_or(Value::Null);
        let mut given = preset;
        given.extend(args::for_tool(args::parse(words)?, &schema)?);
        missing::tell_unfit(&mut self.session.host, &schema, &given);
        let asks_all = words.is_empty();
        let before = given.clone();
        let filled =
            missing::for_tool(&mut self.session.host, tool, &schema, given, asks_all).await?;
        match &filled {
            None => self.page().say(Style::Plain, "Not called."),
            Some(arguments) if asks_all || *arguments != before => self.tell_filled(arguments),
            Some(_) => {}
        }
        Ok(filled)
    }

    /// Shows the arguments that the user filled in, because the form is gone then.
    fn tell_filled(&mut self, arguments: &Content) {
        if !arguments.is_empty() {
            let shown = Value::Object(missing::without_secrets(arguments));
            self.page().quote_line("Called with ", shown.to_string());
        }
    }

    fn has_tool(&self, name: &str) -> bool {
        let lists = self.session.host.server().catalog().into_iter();
        lists
            .flat_map(|lists| &lists.tools)
            .any(|tool| tool.name == name)
    }

    /// Makes a call and shows its result. If it repeats the last call, also shows the differences. If the server
    /// cannot ask in the newest revision, the user may have the call made again in an older one.
    pub(super) async fn make(&mut self, call: Call, is_repeated: bool) -> Result<(), Error> {
        let mut said = None;
        let made = self.make_once(call.clone(), is_repeated, &mut said).await;
        let said = said.unwrap_or_default();
        let Some(revision) = self.session.asks_in_older(&said) else {
            return made;
        };
        self.heed(made)?;
        let host = &mut self.session.host;
        if !host.is_person() || self.recorder.is_some() {
            host.page().note(Style::Warning, older::hint());
            return Ok(());
        }
        let question = Question {
            call: Some(call.asked()),
            key: None,
            ask: Ask::Older {
                revision: revision.as_str(),
            },
        };
        if host.fill(question, None).await.is_none() {
            return Ok(());
        }
        self.session.speak(revision);
        self.restart().await?;
        // A comparison with the failure is of no use.
        self.make_once(call, false, &mut None).await
    }

    /// `said` receives the server's words if the call failed.
    async fn make_once(
        &mut self,
        call: Call,
        is_repeated: bool,
        said: &mut Option<String>,
    ) -> Result<(), Error> {
        self.known.shown = None;
        let before = self.known.last.take().filter(|_| is_repeated);
        let gives_answers = before.as_ref().is_some_and(|last| !last.is_outcome_unknown);
        let before = before.and_then(|last| last.result);
        let line = call.offered();
        self.session.host.change(Change::Called {
            server: self.session.host.chosen(),
            call: call.asked(),
            line,
            is_repeated: gives_answers,
        });
        if let Some(recorder) = &mut self.recorder {
            recorder.speak(self.session.client.revision());
        }
        let answered = self.session.host.answering();
        let outcome = call.send(self.session, self.recorder.as_deref_mut()).await;
        let how = match &outcome {
            Ok(received) if !received.failed => How::Done,
            Ok(_) => How::Error,
            Err(error) if error.kind == Kind::Interrupted => How::Stopped,
            Err(_) => How::Failed,
        };
        let host = &mut self.session.host;
        host.change(Change::Ended(host.chosen(), how));
        *said = match &outcome {
            Ok(received) if received.failed => Some(received.text.raw().to_owned()),
            Err(error) => error.answer.as_ref().map(|answer| answer.message.clone()),
            Ok(_) => None,
        };
        let last = self.known.last.insert(LastCall::new(call));
        let received = match outcome {
            Ok(received) => received,
            Err(error) => {
                // Compare the next result with the previous one.
                last.result = before;
                last.is_outcome_unknown = error.kind == Kind::OutcomeUnknown;
                let has_answered = self.session.host.answering() > answered;
                return Err(match (error.kind, has_answered) {
                    (Kind::Connection, true) => {
                        error.hint("/again makes the call again, with what you wrote.")
                    }
                    (Kind::OutcomeUnknown, _) => error.hint(
                        "/again makes the call from its beginning, so what it did before it was lost may be done \
                         twice. It asks you anew.",
                    ),
                    _ => error,
                });
            }
        };
        self.present(received, before)
    }

    pub(super) fn present(
        &mut self,
        received: CallOutcome,
        before: Option<Arc<Value>>,
    ) -> Result<(), Error> {
        if let Some(last) = &self.known.last {
            let call = last.call.asked();
            self.session.host.show_result(&call, &received);
        }
        let result = Arc::new(received.json);
        let took = self.session.host.took().map(tenths);
        let is_person = self.session.host.is_person();
        let page = self.session.host.page();
        if received.failed {
            self.tool_error = true;
            page.blank();
            page.item("× ", Style::Error, "The tool reports an error:");
        } else if let (true, Some(took)) = (is_person, took) {
            page.item("✓ ", Style::Success, words!("Done in {} s", took));
        }
        let mut shown = ShownResult::new(received.text, received.structured, Arc::clone(&result));
        self.show_result(&mut shown)?;
        self.known.shown = Some(shown);
        if self.session.host.is_person() {
            let files = content::files(&result);
            if !files.is_empty() {
                let words = "/save FILE writes it to a file.";
                self.page().note(Style::Dim, words);
            }
        }
        if let Some(before) = before {
            self.list(|page| diff::put(page, &before, &result))?;
        }
        if let Some(last) = &mut self.known.last {
            last.result = Some(result);
        }
        Ok(())
    }

    /// Gives the same answers to the same questions.
    pub(super) async fn again(&mut self) -> Result<(), Error> {
        let Some(last) = &self.known.last else {
            return Err(Error::usage("there is no call to make again"));
        };
        let call = last.call.clone();
        self.page().quote_line("Again: ", call.name());
        self.make(call, true).await
    }
}

fn tenths(took: Duration) -> Words {
    words!("{}.{}", took.as_secs(), took.subsec_millis() / 100)
}

impl Repl<'_> {
    pub(super) async fn change(&mut self) -> Result<(), Error> {
        let Some(last) = &self.known.last else {
            return Err(Error::usage("there is no call to change"));
        };
        match last.call.clone() {
            Call::Tool(tool, arguments) => self.call(&tool.name, &[], arguments).await,
            Call::Prompt(name, arguments) => {
                let prompts = attend(&mut self.session.host, self.session.client.prompts()).await?;
                let prompt = lookup::prompt(&prompts, &name)?;
                self.fill_prompt(prompt, arguments, true).await
            }
            Call::Read(resource) => self.read_resource(resource.shown().to_owned()).await,
        }
    }
}

impl Call {
    async fn send(
        &self,
        session: &mut Session,
        recorder: Option<&mut Recorder>,
    ) -> Result<CallOutcome, Error> {
        let Session { client, host, .. } = session;
        let (request, received) = match self {
            Self::Tool(tool, arguments) => {
                let called = host.attend(client.call_listed(tool, arguments)).await;
                let called = called.map_err(Error::cancelled)?;
                let called = called.map(|called| of_tool(&called));
                (Request::Call(&tool.name, arguments), called)
            }
            Self::Prompt(name, arguments) => {
                let got = host.attend(client.get_prompt(name, arguments)).await;
                let got = got.map_err(Error::cancelled)?;
                let got = got.map(|got| of(&got, content::prompt(&got.value), false));
                (Request::Prompt(name, arguments), got)
            }
            Self::Read(resource) => {
                let read = host.attend(client.read_resource(&resource.uri)).await;
                let read = read.map_err(Error::cancelled)?;
                let read = read.map(|read| of(&read, content::resource(&read.value), false));
                (Request::Read(&resource.uri, &resource.secrets), read)
            }
        };
        if let Some(recorder) = recorder {
            recorder.record(request, received.as_ref())?;
        }
        received.map_err(failed)
    }

    fn asked(&self) -> model::Call {
        match self {
            Self::Tool(tool, _) => model::Call::Tool(tool.name.clone()),
            Self::Prompt(name, _) => model::Call::Prompt(name.clone()),
            Self::Read(resource) => model::Call::Resource(resource.shown().to_owned()),
        }
    }

    fn offered(&self) -> Option<String> {
        match self {
            Self::Tool(..) => line::tool(self.name()),
            Self::Prompt(..) => line::prompt(self.name()),
            Self::Read(_) => line::resource(self.name()),
        }
    }

    /// The name of the tool or prompt; for a resource its URI, or its template if the URI holds a secret.
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Tool(tool, _) => &tool.name,
            Self::Prompt(name, _) => name,
            Self::Read(resource) => resource.shown(),
        }
    }
}

impl LastCall {
    pub(super) fn call(&self) -> &Call {
        &self.call
    }

    pub(super) fn new(call: Call) -> Self {
        Self {
            call,
            is_outcome_unknown: false,
            result: None,
        }
    }
}

pub fn of_tool(end: &Received<CallToolResult>) -> CallOutcome {
    CallOutcome {
        structured: content::structured(&end.value),
        ..of(end, content::tool_result(&end.value), end.failed())
    }
}

fn of<T>(end: &Received<T>, text: PeerText, failed: bool) -> CallOutcome {
    CallOutcome {
        text,
        structured: None,
        // The result was parsed before, so it is valid JSON.
        json: serde_json::from_str(end.raw.get()).unwrap_or_default(),
        failed,
    }
}

impl Repl<'_> {
    pub(super) async fn prompt(&mut self, name: &str, words: &[String]) -> Result<(), Error> {
        let prompts = attend(&mut self.session.host, self.session.client.prompts()).await?;
        let prompt = lookup::prompt(&prompts, name).map_err(|error| {
            if self.has_tool(name) {
                return error.hint("It is a tool: /call calls it.");
            }
            let error = Error {
                message: words!("found no prompt and no command `{}`", given(name)),
                ..error
            };
            let error = self.switching(error, name);
            error.hint(grammar::near(name).unwrap_or("/help lists the commands.".into()))
        })?;
        let given = args::for_prompt(args::parse(words)?);
        missing::tell_unknown(&mut self.session.host, prompt, &given);
        self.fill_prompt(prompt, given, words.is_empty()).await
    }

    /// Gets a prompt, after the user filled in what is missing or, with `asks_all`, looked at all arguments.
    async fn fill_prompt(
        &mut self,
        prompt: &Prompt,
        given: BTreeMap<String, String>,
        asks_all: bool,
    ) -> Result<(), Error> {
        let Session { client, host, .. } = &mut *self.session;
        let before = given.clone();
        let filled = missing::for_prompt(client, host, prompt, given, asks_all).await;
        let Some(given) = filled else { return Ok(()) };
        if given != before {
            let shown = given.iter();
            let shown = shown.map(|(name, text)| (name.clone(), text.as_str().into()));
            self.tell_filled(&shown.collect());
        }
        self.make(Call::Prompt(prompt.name.clone(), given), false)
            .await
    }
}
