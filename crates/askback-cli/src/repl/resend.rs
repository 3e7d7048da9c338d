//! A request that travelled, edited and sent again.

use std::time::Duration;

use askback_core::{
    forms::{Field, FormSchema, TextField},
    revision::Era,
};
use askback_host::{
    model::{Ask, Question, Reply},
    page::{Style, out},
    text::given,
    words,
};
use serde_json::{Map, Value, json};

use super::Repl;
use crate::{
    check::greet,
    error::{Error, Kind},
    probe::{Exchange, MODERN_CAPABILITIES, ProbeArgs, Sent},
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
        let Some(edited) = self.edit(request).await else {
            self.tell("Not sent.");
            return Ok(());
        };
        let seen = self.exchange(edited).await?;
        let mut page = out::stdout_page();
        let sent = match self.session.client.revision().era() {
            Era::Modern => "Sent on a connection of its own. What came back:",
            Era::Legacy => {
                "Sent on a connection of its own, where questions are declined. What came back:"
            }
        };
        page.note(Style::Dim, sent);
        let reply = &seen.reply;
        if let Some(status) = reply.status {
            page.say(Style::Plain, words!("HTTP status {}", status));
        }
        let others = [&reply.asked, &reply.notifications, &reply.strays];
        let came: Vec<_> = others.into_iter().flatten().chain(&reply.answer).collect();
        for message in &came {
            let text = serde_json::to_string_pretty(message).unwrap_or_default();
            page.quote(askback_host::text::json(&text));
        }
        if came.is_empty() {
            page.quote(reply.shown());
        }
        Ok(self.session.host.print(page.take().trimmed())?)
    }

    /// The request of this number, without its id.
    fn request(&self, number: u64) -> Result<Option<Map<String, Value>>, Error> {
        let Some(log) = &self.session.wire else {
            return Err(Error::usage("the messages of this session are not kept"));
        };
        let kept = log.lock();
        let entry = kept.get(number).filter(|entry| entry.is_sent());
        let message = entry.and_then(|entry| serde_json::from_slice(entry.message()).ok());
        let Some(Value::Object(mut message)) = message else {
            return Ok(None);
        };
        let had_id = message.remove("id").is_some();
        Ok((had_id && message.contains_key("method")).then_some(message))
    }

    /// Has the person edit a request until it is an object of JSON; none if they cancel.
    async fn edit(&mut self, request: Map<String, Value>) -> Option<Map<String, Value>> {
        let mut text = serde_json::to_string_pretty(&request).unwrap_or_default();
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
            match serde_json::from_str::<Map<String, Value>>(&text) {
                Ok(edited) => return Some(edited),
                Err(error) => {
                    let words = words!("that is no object of JSON: {}", given(error));
                    let page = self.session.host.page();
                    page.item("× ", Style::Warning, words);
                }
            }
        }
    }

    /// Sends a request with an id of its own, and over HTTP with the headers that belong to it.
    async fn exchange(&mut self, request: Map<String, Value>) -> Result<Exchange, Error> {
        let bounds = ProbeArgs::default().bounds(PATIENCE, WHOLE);
        let way = self.session.way(&bounds)?;
        let revision = self.session.client.revision();
        let opened = way.open(&bounds, revision);
        let mut probe = opened.map_err(|error| {
            Error::new(Kind::Connection, "the server cannot be started:").quoting(error.to_string())
        })?;
        let exchanging = async {
            let capabilities = serde_json::from_str(MODERN_CAPABILITIES).unwrap_or_default();
            probe.set_capabilities(capabilities);
            let opens = request
                .get("method")
                .is_some_and(|method| method == "initialize");
            if revision.era() == Era::Legacy && !opens {
                greet(&mut probe).await;
                probe.initialized().await;
            }
            let id = probe.request("ping", json!({}))["id"].clone();
            let mut request = request;
            request.insert("id".to_owned(), id);
            let seen = probe.send(Sent::request(&Value::Object(request))).await;
            probe.close().await;
            seen
        };
        Ok(self.session.host.attend(exchanging).await?)
    }
}
