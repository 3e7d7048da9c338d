//! Any request, on a connection of its own.

use std::time::{Duration, Instant};

use askback_check::{
    greet,
    probe::{Exchange, MODERN_CAPABILITIES, Reply as Came, Sent, Wait, meta},
};
use askback_core::{jsonrpc::INVALID_PARAMS, revision::Era};
use askback_host::{
    page::{Style, out},
    text::{self, PeerText, given},
    wire::indented,
    words,
};
use serde_json::json;

use super::{
    Repl, attend,
    raw::{Members, message, with_id, with_meta},
    shown::Shown,
};
use crate::{
    error::{Error, Kind, OTHER_PROCESS},
    probe_args::ProbeArgs,
    session::Session,
};

/// How long an answer is waited for.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long the whole exchange may take.
const WHOLE: Duration = Duration::from_secs(2 * 60);

/// The kind of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Message {
    /// A response.
    Request,
    /// Nothing.
    Notification,
}

impl Message {
    /// The kind of a message with this method.
    fn of(method: &str) -> Self {
        match method.starts_with("notifications/") {
            true => Self::Notification,
            false => Self::Request,
        }
    }
}

impl Repl<'_> {
    /// Sends a message with this method and these parameters, and shows what came back.
    pub(super) async fn send(&mut self, method: &str, params: Option<&str>) -> Result<(), Error> {
        let kind = Message::of(method);
        let revision = self.session.client.revision();
        let params = match (revision.era(), kind, params) {
            (Era::Modern, Message::Request, params) => {
                let capabilities = serde_json::from_str(MODERN_CAPABILITIES).unwrap_or_default();
                let meta = meta(revision.as_str(), &capabilities);
                with_meta(params.unwrap_or("{}"), &meta).map(Some)
            }
            (_, _, Some(params)) => Members::read(params).map(|_| Some(params.to_owned())),
            (_, _, None) => Ok(None),
        };
        let params = params.map_err(|error| {
            let words = words!("the parameters are no object of JSON: {}", given(error));
            Error::usage(words).hint("Write them as in /send METHOD {\"name\": \"value\"}.")
        })?;
        self.send_beside(message(method, params.as_deref()), kind)
            .await?;
        Ok(())
    }

    /// Measures how long the server takes to answer a ping.
    pub(super) async fn ping(&mut self) -> Result<(), Error> {
        let revision = self.session.client.revision();
        if revision.era() == Era::Modern {
            let error = Error::usage(words!("{} has no ping", given(revision)));
            return Err(error.hint("/send server/discover asks the server for an answer."));
        }
        let began = Instant::now();
        let Session { client, host, .. } = &mut *self.session;
        attend(host, client.ping()).await?;
        let took = began.elapsed();
        let name = given(&self.session.host.desk().asker().name).short();
        self.tell(words!(
            "{} answered a ping after {} s.",
            name,
            given(format!("{:.3}", took.as_secs_f64()))
        ));
        Ok(())
    }

    /// Sends a message on a connection of its own, and shows what came back. Returns whether it was answered.
    pub(super) async fn send_beside(
        &mut self,
        message: String,
        kind: Message,
    ) -> Result<bool, Error> {
        let has_state = Members::read(&message).is_ok_and(|members| members.has_state());
        let seen = self.exchange(message, kind).await?;
        let mut page = out::stdout_page();
        let beside = match self.one_of_several() {
            Some(name) => words!("Sent to {} on a connection of its own", name),
            None => "Sent on a connection of its own".into(),
        };
        // Over HTTP a notification may be refused with a message.
        let has_come = seen.reply.answer.is_some() || seen.reply.is_gone();
        let is_shown = kind == Message::Request || has_come;
        let then = match (is_shown, self.session.client.revision().era()) {
            (false, _) => ". A notification has no response.",
            (true, Era::Modern) => ". What came back:",
            (true, Era::Legacy) => ", where questions are declined. What came back:",
        };
        page.note(Style::Dim, words!("{}{}", beside, then));
        if let Some(status) = seen.reply.status {
            page.say(Style::Plain, words!("HTTP status {}", status));
        }
        self.session.host.print(page.take().trimmed())?;
        if is_shown {
            let mut shown = Shown::new(came(&seen.reply), None, None);
            self.show_result(&mut shown)?;
            self.known.shown = Some(shown);
        }
        let answer = seen.reply.answer.as_ref();
        if has_state && answer.is_some_and(|answer| answer["error"]["code"] == INVALID_PARAMS) {
            self.session.host.page().say(Style::Dim, OTHER_PROCESS);
        }
        Ok(answer.is_some())
    }

    /// Sends a message, a request with an id of its own, and over HTTP with the headers that belong to it.
    async fn exchange(&mut self, message: String, kind: Message) -> Result<Exchange, Error> {
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
            let opens = Members::read(&message).is_ok_and(|members| members.opens());
            if revision.era() == Era::Legacy && !opens {
                greet(&mut probe).await;
                probe.initialized().await;
            }
            let id = probe.request("ping", json!({}))["id"].clone();
            let sent = match kind {
                Message::Request => {
                    let request = with_id(&message, &id).unwrap_or(message);
                    Sent::bytes(request.into_bytes(), Wait::For(id))
                }
                Message::Notification => Sent::bytes(message.into_bytes(), Wait::Nothing),
            };
            let seen = probe.send(sent).await;
            probe.close().await;
            seen
        };
        Ok(self.session.host.attend(exchanging).await?)
    }
}

/// Everything that came back, indented and otherwise as it came; in the words of the exchange where no message did.
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
