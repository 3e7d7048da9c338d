//! Shows the messages that were exchanged, and sends messages exactly as they are written.

use std::{path::Path, time::Duration};

use askback::{
    forms::{Field, FormSchema, TextField},
    internal::{jsonrpc::INVALID_PARAMS, revision::Era},
    protocol::{OrderedMap, RawJson},
};
use askback_check::probe::{MODERN_CAPABILITIES, Reply as Came, meta};
use askback_host::{
    diff,
    model::{Ask, Question, Reply},
    page::{Style, out},
    text::{self, PeerText, given},
    wire::{self, MessageSelection as ShownMessages, indented},
    words,
};
use serde_json::{Map, Value, json};

use super::{
    Repl,
    grammar::{self, WireAction},
    results::ShownResult,
};
use crate::{
    error::{Error, Kind, OTHER_PROCESS},
    probe_args::ProbeArgs,
    wire::WireLog,
};

pub(super) const LISTED: &str = "/wire lists those that are kept.";

impl Repl<'_> {
    pub(super) async fn wire(
        &mut self,
        text: &[String],
        action: Option<WireAction>,
    ) -> Result<(), Error> {
        let shown = match action {
            Some(WireAction::Edit { number }) => return self.resend(number).await,
            Some(WireAction::Save { file }) => {
                let path = Path::new(&file);
                let saved = self.wire_log()?.save(path)?;
                let words = words!("{} messages are in {}.", saved, given(path.display()));
                return self.list(|page| page.note(Style::Plain, words));
            }
            Some(WireAction::All) => Some(ShownMessages::All),
            None => ShownMessages::read(&text.join(" ")),
        };
        let shown = shown.ok_or_else(|| grammar::expected("wire"))?;
        let mut page = out::stdout_page();
        if let Some(name) = self.one_of_several() {
            wire::heading(&mut page, name);
        }
        let put = wire::put(&mut page, &self.wire_log()?.lock(), shown);
        put.map_err(|why| Error::usage(why).hint(LISTED))?;
        Ok(self.session.host.print(page.take().trimmed())?)
    }

    /// Shows the differences between two messages, except their ids, which always differ.
    pub(super) fn diff(&mut self, before: u64, after: u64) -> Result<(), Error> {
        let [was, is] = [self.message(before)?, self.message(after)?];
        let mut page = out::stdout_page();
        if let Some(name) = self.one_of_several() {
            wire::heading(&mut page, name);
        }
        if was == is {
            let words = words!("Message {} is the same as message {}.", after, before);
            page.note(Style::Dim, words);
        } else {
            let words = words!("What differs in message {} from message {}:", after, before);
            page.note(Style::Dim, words);
            diff::put_all(&mut page, &was, &is);
        }
        Ok(self.session.host.print(page.take().trimmed())?)
    }

    fn message(&self, number: u64) -> Result<Value, Error> {
        let log = self.wire_log()?;
        let kept = log.lock();
        let Some(entry) = kept.get(number) else {
            let error = Error::usage(words!("there is no message {}", number));
            return Err(error.hint(LISTED));
        };
        let no_json = |_| Error::usage(words!("message {} is not JSON", number)).hint(LISTED);
        let mut message: Value = serde_json::from_slice(entry.message()).map_err(no_json)?;
        if let Some(members) = message.as_object_mut() {
            members.remove("id");
        }
        Ok(message)
    }

    pub(super) fn wire_log(&self) -> Result<&WireLog, Error> {
        let unkept = || Error::usage("the messages of this session are not kept");
        self.session.wire.as_ref().ok_or_else(unkept)
    }
}

/// The name of the only field of the form in which a request is edited.
const FIELD: &str = "request";

impl Repl<'_> {
    /// Lets the user edit a request, sends it again on its own connection, and shows the response.
    pub(super) async fn resend(&mut self, number: u64) -> Result<(), Error> {
        let Some(request) = self.request(number)? else {
            let words = words!("message {} is not a request of this client", number);
            return Err(Error::usage(words).hint(LISTED));
        };
        let unsent = self.known.unsent.get(&number).cloned();
        let request = unsent.unwrap_or(request);
        let Some(edited) = self.edit(request).await else {
            self.tell("Not sent.");
            return Ok(());
        };
        // Kept until it is answered, so that the edit is not lost.
        self.known.unsent.insert(number, edited.clone());
        if self.send_beside(edited, Message::Request).await? {
            self.known.unsent.remove(&number);
        }
        Ok(())
    }

    /// The text of a request, indented and otherwise as it was sent.
    fn request(&self, number: u64) -> Result<Option<String>, Error> {
        let log = self.wire_log()?;
        let kept = log.lock();
        let entry = kept.get(number).filter(|entry| entry.is_sent());
        let text = entry.and_then(|entry| str::from_utf8(entry.message()).ok());
        let is_request = |text: &&str| {
            members(text).is_ok_and(|it| it.get("id").is_some() && it.get("method").is_some())
        };
        Ok(text.filter(is_request).map(indented))
    }

    async fn edit(&mut self, mut text: String) -> Option<String> {
        loop {
            let mut field = Field::new(FIELD, TextField::default());
            field.description = Some("A request as JSON. Ctrl-G opens your editor.".to_owned());
            field.required = true;
            let question = Question {
                call: None,
                key: None,
                ask: Ask::Arguments {
                    about: None,
                    schema: FormSchema::new([field]),
                    preset: Map::from_iter([(FIELD.to_owned(), json!(text))]),
                    suggests: false,
                    given: Map::new(),
                    is_destructive: false,
                },
            };
            match self.session.host.fill(question, &()).await? {
                Reply::Form(mut form) => match form.remove(FIELD) {
                    Some(Value::String(edited)) => text = edited,
                    _ => return None,
                },
                _ => return None,
            }
            match members(&text) {
                Ok(_) => return Some(text),
                Err(error) => {
                    let words = words!("expected a JSON object: {}", given(error));
                    self.page().item("× ", Style::Error, words);
                }
            }
        }
    }
}

/// How long to wait for a response.
const PATIENCE: Duration = Duration::from_secs(30);

/// The limit for the whole exchange.
const WHOLE: Duration = Duration::from_secs(2 * 60);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Message {
    Request,
    Notification,
}

impl Message {
    fn of(method: &str) -> Self {
        match method.starts_with("notifications/") {
            true => Self::Notification,
            false => Self::Request,
        }
    }
}

impl Repl<'_> {
    pub(super) async fn send(&mut self, method: &str, params: Option<&str>) -> Result<(), Error> {
        let kind = Message::of(method);
        let revision = self.session.client.revision();
        let params = match (revision.era(), kind, params) {
            (Era::Modern, Message::Request, params) => {
                let capabilities = serde_json::from_str(MODERN_CAPABILITIES).unwrap_or_default();
                let meta = meta(revision.as_str(), &capabilities);
                with_meta(params.unwrap_or("{}"), &meta).map(Some)
            }
            (_, _, Some(params)) => members(params).map(|_| Some(params.to_owned())),
            (_, _, None) => Ok(None),
        };
        let params = params.map_err(|error| {
            let words = words!("the parameters are not a JSON object: {}", given(error));
            Error::usage(words).hint("Write them as in /send METHOD {\"name\": \"value\"}.")
        })?;
        self.send_beside(message(method, params.as_deref()), kind)
            .await?;
        Ok(())
    }

    /// Sends a message on its own connection and shows the response. Returns whether a response arrived.
    pub(super) async fn send_beside(
        &mut self,
        message: String,
        kind: Message,
    ) -> Result<bool, Error> {
        let has_state = members(&message).is_ok_and(|message| has_state(&message));
        let seen = self.exchange(message, kind).await?;
        let mut page = out::stdout_page();
        let beside = match self.one_of_several() {
            Some(name) => words!("Sent to {} on a connection of its own", name),
            None => "Sent on a connection of its own".into(),
        };
        // Over HTTP, a server may reject a notification with a message.
        let has_come = seen.answer.is_some() || seen.is_gone();
        let is_shown = kind == Message::Request || has_come;
        let then = match (is_shown, self.session.client.revision().era()) {
            (false, _) => ". A notification has no response.",
            (true, Era::Modern) => ". What came back:",
            (true, Era::Legacy) => ", where questions are declined. What came back:",
        };
        page.note(Style::Dim, words!("{}{}", beside, then));
        if let Some(status) = seen.status {
            page.say(Style::Plain, words!("HTTP status {}", status));
        }
        self.session.host.print(page.take().trimmed())?;
        if is_shown {
            let mut shown = ShownResult::new(came(&seen), None, None);
            self.show_result(&mut shown)?;
            self.known.shown = Some(shown);
        }
        let answer = seen.answer.as_ref();
        if has_state && answer.is_some_and(|answer| answer["error"]["code"] == INVALID_PARAMS) {
            self.page().say(Style::Dim, OTHER_PROCESS);
        }
        Ok(answer.is_some())
    }

    /// Sends a message. A request has its own id, and over HTTP the headers that belong to it.
    async fn exchange(&mut self, message: String, kind: Message) -> Result<Came, Error> {
        let bounds = self
            .session
            .beside(ProbeArgs::default().bounds(PATIENCE, WHOLE));
        let way = self.session.way(&bounds)?;
        let revision = self.session.client.revision();
        let is_beginning = members(&message).is_ok_and(|message| opens(&message));
        let is_request = kind == Message::Request;
        let bytes = |id: &Value| match is_request {
            true => with_id(&message, id)
                .unwrap_or_else(|_| message.clone())
                .into(),
            false => message.clone().into(),
        };
        let sending = askback_check::send(&way, &bounds, revision, bytes, is_beginning, is_request);
        self.session.host.attend(sending).await?.map_err(|error| {
            Error::new(Kind::Connection, "the server cannot be started:").quoting(error.to_string())
        })
    }
}

/// All responses, indented and otherwise as they arrived. Without responses, the description of the exchange.
fn came(reply: &Came) -> PeerText {
    let messages = reply.came.iter();
    let messages: Vec<_> = messages
        .map(|message| text::json(&indented(message)))
        .collect();
    match messages.is_empty() {
        true => reply.shown().into(),
        false => messages.join("\n").into(),
    }
}

/// The members of a JSON object in their order, each with its original text.
type Members = OrderedMap<RawJson>;

fn members(text: &str) -> Result<Members, serde_json::Error> {
    serde_json::from_str(text)
}

/// Whether a message is a request with the state of an earlier round.
fn has_state(message: &Members) -> bool {
    let params = message.get("params").map(RawJson::decode::<Members>);
    params.is_some_and(|params| params.is_ok_and(|params| params.get("requestState").is_some()))
}

fn opens(message: &Members) -> bool {
    let method = message.get("method").map(RawJson::decode::<String>);
    method.is_some_and(|method| method.is_ok_and(|method| method == "initialize"))
}

fn message(method: &str, params: Option<&str>) -> String {
    let method = Value::from(method);
    match params {
        Some(params) => format!(r#"{{"jsonrpc":"2.0","method":{method},"params":{params}}}"#),
        None => format!(r#"{{"jsonrpc":"2.0","method":{method}}}"#),
    }
}

/// Returns a request with this id. Everything else stays as it is written, including the order of members and numbers
/// that no type holds.
fn with_id(request: &str, id: &Value) -> Result<String, serde_json::Error> {
    let mut request = members(request)?;
    request.insert("id", RawJson::new(id)?);
    serde_json::to_string(&request)
}

/// Adds the members of `meta` that `params` lacks in its `_meta`. Everything else stays as it is written.
fn with_meta(params: &str, meta: &Value) -> Result<String, serde_json::Error> {
    let mut params = members(params)?;
    let there = params.get("_meta").map(RawJson::decode::<Members>);
    // Parameters that are not an object are sent unchanged.
    if let Ok(mut all) = there.unwrap_or_else(|| Ok(Members::new())) {
        for (name, value) in meta.as_object().into_iter().flatten() {
            if all.get(name).is_none() {
                all.insert(name, RawJson::new(value)?);
            }
        }
        params.insert("_meta", RawJson::new(&all)?);
    }
    serde_json::to_string(&params)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn of_parameters_the_meta_alone_changes() {
        #[track_caller]
        fn check(params: &str, expected: &str) {
            let meta = json!({"a": 1, "b": {}});
            let params = with_meta(params, &meta).expect("it is an object of JSON");
            assert_eq!(params, expected);
        }
        check("{}", r#"{"_meta":{"a":1,"b":{}}}"#);
        check(
            r#" { "z": 1e400, "c": [1.50] } "#,
            r#"{"z":1e400,"c":[1.50],"_meta":{"a":1,"b":{}}}"#,
        );
        check(
            r#"{"_meta":{"b":7},"z":1e400}"#,
            r#"{"_meta":{"b":7,"a":1},"z":1e400}"#,
        );
        check(r#"{"_meta":{}}"#, r#"{"_meta":{"a":1,"b":{}}}"#);
        check(r#"{"_meta":null}"#, r#"{"_meta":null}"#);
    }

    #[test]
    fn of_a_request_the_id_alone_changes() {
        #[track_caller]
        fn check(request: &str, expected: &str) {
            let sent = with_id(request, &json!(7)).expect("it is an object of JSON");
            assert_eq!(sent, expected);
        }
        check(r#"{"id":3,"method":"a"}"#, r#"{"id":7,"method":"a"}"#);
        check(
            r#"{"method":"a","id":"long","jsonrpc":"2.0"}"#,
            r#"{"method":"a","id":7,"jsonrpc":"2.0"}"#,
        );
        check(
            r#"{"params":{"id":3},"id":3}"#,
            r#"{"params":{"id":3},"id":7}"#,
        );
        // The id was removed.
        check(r#"{"params":{"id":3}}"#, r#"{"params":{"id":3},"id":7}"#);
        check("{}", r#"{"id":7}"#);
        // Parsing into numbers or objects would lose these.
        for written in [
            "123456789012345678901234567890",
            "0.10000000000000000001",
            "1e400",
            "1.50",
            r#"{"z":1,"a":2,"z":3}"#,
            r#""\u0041 \\\" \t  é""#,
        ] {
            let line = |id: &str| format!(r#"{{"z":{written},"id":{id},"a":[{written}]}}"#);
            check(&line("3"), &line("7"));
        }
    }
}
