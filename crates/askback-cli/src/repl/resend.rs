//! A request that travelled, edited and sent again.

use askback_core::forms::{Field, FormSchema, TextField};
use askback_host::{
    model::{Ask, Question, Reply},
    page::Style,
    text::given,
    wire::indented,
    words,
};
use serde_json::{Map, Value, json};

use super::{Repl, raw::Members, send::Message, wire::LISTED};
use crate::error::Error;

/// The name of the one field in which a request is edited.
const FIELD: &str = "request";

impl Repl<'_> {
    /// Lets the person edit a request that was sent, sends it again on a connection of its own, and
    /// shows what came back.
    pub(super) async fn resend(&mut self, number: u64) -> Result<(), Error> {
        let Some(request) = self.request(number)? else {
            let words = words!("message {} is no request of ours", number);
            return Err(Error::usage(words).hint(LISTED));
        };
        let unsent = self.known.unsent.get(&number).cloned();
        let request = unsent.unwrap_or(request);
        let Some(edited) = self.edit(request).await else {
            self.tell("Not sent.");
            return Ok(());
        };
        // Until it is answered, it is there again.
        self.known.unsent.insert(number, edited.clone());
        if self.send_beside(edited, Message::Request).await? {
            self.known.unsent.remove(&number);
        }
        Ok(())
    }

    /// The text of the request of this number, indented and otherwise as it was sent.
    fn request(&self, number: u64) -> Result<Option<String>, Error> {
        let log = self.wire_log()?;
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
}
