//! A request that travelled, edited and sent again.

use std::{collections::BTreeMap, time::Duration};

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
use serde_json::{Map, Value, json, value::RawValue};

use super::{Repl, shown::Shown};
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
        let has_state = Members::read(&edited).is_ok_and(|members| members.has_state());
        let seen = self.exchange(edited).await?;
        if seen.reply.answer.is_some() {
            self.known.unsent.remove(&number);
        }
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
        Ok(())
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

/// The members of an object of JSON, each the text that it is.
struct Members<'a>(BTreeMap<String, &'a RawValue>);

impl<'a> Members<'a> {
    fn read(text: &'a str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text).map(Self)
    }

    fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Whether they are those of a request with the state of a round before.
    fn has_state(&self) -> bool {
        let params = self.0.get("params").map(|params| Self::read(params.get()));
        params.is_some_and(|params| params.is_ok_and(|params| params.has("requestState")))
    }

    /// Whether they are those of the request that opens a session.
    fn opens(&self) -> bool {
        let method = self.0.get("method");
        let method = method.and_then(|method| serde_json::from_str::<String>(method.get()).ok());
        method.is_some_and(|method| method == "initialize")
    }
}

/// Returns a request with this id. Everything else stays as it is written: the order of members, and
/// numbers that no type holds.
fn with_id(request: &str, id: &Value) -> Result<String, serde_json::Error> {
    let request = request.trim();
    let members = Members::read(request)?;
    let (before, after) = match members.0.get("id") {
        Some(old) => {
            // What was read is a part of the text.
            let start = old.get().as_ptr().addr();
            let start = start.saturating_sub(request.as_ptr().addr());
            let (before, rest) = request.split_at(start);
            (before.to_owned(), rest.get(old.get().len()..))
        }
        None if members.0.is_empty() => (r#"{"id":"#.to_owned(), Some("}")),
        None => {
            let rest = request.strip_suffix('}').unwrap_or(request);
            (format!(r#"{rest},"id":"#), Some("}"))
        }
    };
    Ok(format!("{before}{id}{}", after.unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

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
        // One that was taken out.
        check(r#"{"params":{"id":3}}"#, r#"{"params":{"id":3},"id":7}"#);
        check("{}", r#"{"id":7}"#);
        // What a number or an object of a program would lose.
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
            // What is shown of it is the same.
            check(&indented(&line("3")), &indented(&line("7")));
        }
    }
}
