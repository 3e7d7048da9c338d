//! A request that travelled, edited and sent again.

use std::time::Duration;

use askback_core::{
    forms::{Field, FormSchema, TextField},
    jsonrpc::INVALID_PARAMS,
    revision::Era,
};
use askback_host::{
    model::{Ask, Question, Reply},
    page::{Style, out},
    text::{PeerText, given},
    wire::indented,
    words,
};
use serde_json::{Map, Value, json};

use super::{
    Repl,
    raw::{Members, with_id},
    shown::Shown,
};
use crate::{
    check::greet,
    error::{Error, Kind, OTHER_PROCESS},
    probe::{Exchange, MODERN_CAPABILITIES, ProbeArgs, Reply as Came, Sent, Wait},
};

/// How long an answer is waited for.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long the whole exchange may take.
const WHOLE: Duration = Duration::from_secs(2 * 60);

/// The name of the one field in which a request is edited.
const FIELD: &str = "request";

impl Repl<'_> {
    /// Lets the person edit a request that was sent, sends it again on a connection of its own, and
    /// shows what came back.
    pub(super) async fn resend(&mut self, number: u64) -> Result<(), Error> {
        let Some(request) = self.request(number)? else {
            let words = words!("message {} is no request of ours", number);
            return Err(Error::usage(words).hint("/wire lists those that are kept."));
        };
        let unsent = self.known.unsent.get(&number).cloned();
        let request = unsent.unwrap_or(request);
        let Some(edited) = self.edit(request).await else {
            self.tell("Not sent.");
            return Ok(());
        };
        // Until it is answered, it is there again.
        self.known.unsent.insert(number, edited.clone());
        if self.send(edited).await? {
            self.known.unsent.remove(&number);
        }
        Ok(())
    }

    /// Sends a request on a connection of its own, and shows what came back. Returns whether it was answered.
    async fn send(&mut self, request: String) -> Result<bool, Error> {
        let has_state = Members::read(&request).is_ok_and(|members| members.has_state());
        let seen = self.exchange(request).await?;
        let mut page = out::stdout_page();
        let sent = match self.session.client.revision().era() {
            Era::Modern => "Sent on a connection of its own. What came back:",
            Era::Legacy => {
                "Sent on a connection of its own, where questions are declined. What came back:"
            }
        };
        page.note(Style::Dim, sent);
        if let Some(status) = seen.reply.status {
            page.say(Style::Plain, words!("HTTP status {}", status));
        }
        self.session.host.print(page.take().trimmed())?;
        let mut shown = Shown::new(came(&seen.reply), None);
        self.show_result(&mut shown)?;
        self.known.shown = Some(shown);
        let answer = seen.reply.answer.as_ref();
        if has_state && answer.is_some_and(|answer| answer["error"]["code"] == INVALID_PARAMS) {
            self.session.host.page().say(Style::Dim, OTHER_PROCESS);
        }
        Ok(answer.is_some())
    }

    /// The text of the request of this number, indented and otherwise as it was sent.
    fn request(&self, number: u64) -> Result<Option<String>, Error> {
        let Some(log) = &self.session.wire else {
            return Err(Error::usage("the messages of this session are not kept"));
        };
        let kept = log.lock();
        let entry = kept.get(number).filter(|entry| entry.is_sent());
        let text = entry.and_then(|entry| str::from_utf8(entry.message()).ok());
        let is_request = |text: &&str| {
            Members::read(text).is_ok_and(|members| members.has("id") && members.has("method"))
        };
        Ok(text.filter(is_request).map(indented))
    }

    /// Has the person edit a request until it is an object of JSON; none if they cancel.
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
                },
            };
            match self.session.host.fill(question, &()).await? {
                Reply::Form(mut form) => match form.remove(FIELD) {
                    Some(Value::String(edited)) => text = edited,
                    _ => return None,
                },
                _ => return None,
            }
            match Members::read(&text) {
                Ok(_) => return Some(text),
                Err(error) => {
                    let words = words!("that is no object of JSON: {}", given(error));
                    let page = self.session.host.page();
                    page.item("× ", Style::Warning, words);
                }
            }
        }
    }

    /// Sends a request with an id of its own, and over HTTP with the headers that belong to it.
    async fn exchange(&mut self, request: String) -> Result<Exchange, Error> {
        let bounds = self
            .session
            .beside(ProbeArgs::default().bounds(PATIENCE, WHOLE));
        let way = self.session.way(&bounds)?;
        let revision = self.session.client.revision();
        let opened = way.open(&bounds, revision);
        let mut probe = opened.map_err(|error| {
            Error::new(Kind::Connection, "the server cannot be started:").quoting(error.to_string())
        })?;
        let exchanging = async {
            let capabilities = serde_json::from_str(MODERN_CAPABILITIES).unwrap_or_default();
            probe.set_capabilities(capabilities);
            let opens = Members::read(&request).is_ok_and(|members| members.opens());
            if revision.era() == Era::Legacy && !opens {
                greet(&mut probe).await;
                probe.initialized().await;
            }
            let id = probe.request("ping", json!({}))["id"].clone();
            let body = with_id(&request, &id).unwrap_or(request).into_bytes();
            let seen = probe.send(Sent::bytes(body, Wait::For(id))).await;
            probe.close().await;
            seen
        };
        Ok(self.session.host.attend(exchanging).await?)
    }
}

/// Everything that came back, indented; in the words of the exchange where no message did.
fn came(reply: &Came) -> PeerText {
    let others = [&reply.asked, &reply.notifications, &reply.strays];
    let messages = others.into_iter().flatten().chain(&reply.answer);
    let messages: Vec<_> = messages
        .map(|message| askback_host::text::json(&indented(&message.to_string())))
        .collect();
    match messages.is_empty() {
        true => reply.shown().into(),
        false => messages.join("\n").into(),
    }
}
