//! Shows the messages that were exchanged, and sends edited requests exactly as they are written.

use std::{path::Path, time::Duration};

use askback::{
    forms::{Field, FormSchema, TextField},
    internal::{jsonrpc::INVALID_PARAMS, revision::Era},
    protocol::{OrderedMap, RawJson},
};
use askback_check::probe::Reply as Came;
use askback_host::{
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
        if self.send_beside(edited).await? {
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

impl Repl<'_> {
    /// Sends a message on its own connection and shows the response. Returns whether a response arrived.
    async fn send_beside(&mut self, message: String) -> Result<bool, Error> {
        let has_state = members(&message).is_ok_and(|message| has_state(&message));
        let seen = self.exchange(message).await?;
        let mut page = out::stdout_page();
        let beside = match self.one_of_several() {
            Some(name) => words!("Sent to {} on a connection of its own", name),
            None => "Sent on a connection of its own".into(),
        };
        let then = match self.session.client.revision().era() {
            Era::Modern => ". What came back:",
            Era::Legacy => ", where questions are declined. What came back:",
        };
        page.note(Style::Dim, words!("{}{}", beside, then));
        if let Some(status) = seen.status {
            page.say(Style::Plain, words!("HTTP status {}", status));
        }
        self.session.host.print(page.take().trimmed())?;
        let mut shown = ShownResult::new(came(&seen), None, None);
        self.show_result(&mut shown)?;
        self.known.shown = Some(shown);
        let answer = seen.answer.as_ref();
        if has_state && answer.is_some_and(|answer| answer["error"]["code"] == INVALID_PARAMS) {
            self.page().say(Style::Dim, OTHER_PROCESS);
        }
        Ok(answer.is_some())
    }

    /// Sends a request with its own id, and over HTTP with the headers that belong to it.
    async fn exchange(&mut self, message: String) -> Result<Came, Error> {
        let bounds = self
            .session
            .beside(ProbeArgs::default().bounds(PATIENCE, WHOLE));
        let way = self.session.way(&bounds)?;
        let revision = self.session.client.revision();
        let is_beginning = members(&message).is_ok_and(|message| opens(&message));
        let bytes = |id: &Value| {
            with_id(&message, id)
                .unwrap_or_else(|_| message.clone())
                .into()
        };
        let sending = askback_check::send(&way, &bounds, revision, bytes, is_beginning);
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

/// Returns a request with this id. Everything else stays as it is written, including the order of members and numbers
/// that no type holds.
fn with_id(request: &str, id: &Value) -> Result<String, serde_json::Error> {
    let mut request = members(request)?;
    request.insert("id", RawJson::new(id)?);
    serde_json::to_string(&request)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_the_id_of_a_request_changes() {
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
