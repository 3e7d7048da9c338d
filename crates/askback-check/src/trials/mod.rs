//! The trials, each of one revision of a server.

mod calls;
mod greeting;
mod http;
mod lists;
mod messages;
mod questions;
mod rounds;
mod subscription;

use std::collections::BTreeSet;

use askback::{
    Revision,
    protocol::codes::{
        HEADER_MISMATCH, MISSING_CAPABILITY, RESOURCE_NOT_FOUND, UNSUPPORTED_VERSION,
        URL_ELICITATION_REQUIRED,
    },
};
use askback_core::revision::Era;
use serde_json::{Value, json};

pub(crate) use self::rounds::asked_everything;

use crate::{
    Scope, greet,
    ledger::Ledger,
    probe::{Asked, Bounds, Exchange, Fault, Probe, Sent, Way, is_question},
    rules::*,
};

/// How far the codes that the protocol keeps for itself are below the first of them.
const RESERVED: std::ops::Range<i64> = 0..80;

/// The trials of one revision.
pub(crate) struct Trials<'a> {
    pub(crate) way: &'a Way,
    pub(crate) bounds: &'a Bounds,
    pub(crate) revision: Revision,
    /// The revisions that the server speaks.
    pub(crate) spoken: &'a BTreeSet<Revision>,
    pub(crate) scope: &'a Scope,
    pub(crate) ledger: &'a mut Ledger,
}

/// A conversation that was begun.
struct Conversation {
    probe: Probe,
    /// The capabilities of the server.
    offered: Value,
    /// The exchange it began with.
    greeting: Exchange,
    /// The tools that were listed.
    listed: Vec<Value>,
}

impl Conversation {
    /// Whether the server declares a capability.
    fn has(&self, capability: &str) -> bool {
        self.offered.get(capability).is_some_and(Value::is_object)
    }

    /// The listed tools that say that they change nothing.
    fn harmless(&self) -> impl Iterator<Item = &Value> {
        let tools = self.listed.iter();
        tools.filter(|tool| tool["annotations"]["readOnlyHint"] == true)
    }

    /// A listed tool, by its name.
    fn tool(&self, name: &str) -> Option<&Value> {
        self.listed.iter().find(|tool| tool["name"] == name)
    }
}

impl Trials<'_> {
    /// Runs those that any server should outlive.
    pub(crate) async fn run(&mut self) {
        self.greetings().await;
        let Some(mut talk) = self.begin(json!({})).await else {
            return;
        };
        if talk.has("logging") {
            self.ledger.judge(LOGGING_DECLARED, true, &talk.greeting);
        }
        self.messages(&mut talk).await;
        self.lists(&mut talk).await;
        self.calls(&mut talk).await;
        self.end(talk).await;
        if self.is_modern() {
            self.subscription().await;
            self.rounds().await;
        } else if FORM_SHAPE.row(self.revision, self.way.is_http()).is_some() {
            self.questions().await;
        }
        if self.way.is_http() {
            self.http().await;
        }
        let why = "the server sent no log messages";
        self.ledger.untried(&[LOGGING_DECLARED], why);
    }

    /// Runs those that a server may not outlive.
    pub(crate) async fn run_harsh(&mut self) {
        self.no_json().await;
    }

    fn is_modern(&self) -> bool {
        self.revision.era() == Era::Modern
    }

    /// The newest revision with a handshake that the server speaks.
    fn newest_with_handshake(&self) -> Option<Revision> {
        let mut spoken = self.spoken.iter().rev();
        spoken.find(|it| it.era() == Era::Legacy).copied()
    }

    /// The method that every server of this revision answers.
    fn harmless_method(&self) -> &'static str {
        match self.is_modern() {
            true => "server/discover",
            false => "ping",
        }
    }

    /// Opens a connection, on which nothing was said.
    fn open(&self) -> Option<Probe> {
        if self.bounds.patience.lost().is_some() {
            return None;
        }
        // That it starts was seen before.
        self.way.open(self.bounds, self.revision).ok()
    }

    /// Begins a conversation with these capabilities.
    async fn begin(&mut self, capabilities: Value) -> Option<Conversation> {
        self.begin_at(self.way, capabilities).await
    }

    /// Begins one with a server that is reached so.
    async fn begin_at(&mut self, way: &Way, capabilities: Value) -> Option<Conversation> {
        // That it starts was seen before.
        let mut probe = way.open(self.bounds, self.revision).ok()?;
        probe.set_capabilities(capabilities);
        let greeting = greet(&mut probe).await;
        let offered = greeting.reply.result()?["capabilities"].clone();
        if !self.is_modern() {
            probe.initialized().await;
        }
        Some(Conversation {
            probe,
            offered,
            greeting,
            listed: Vec::new(),
        })
    }

    /// Sends a request, and looks at the answer for what holds of all.
    async fn ask(&mut self, talk: &mut Conversation, method: &str, params: Value) -> Exchange {
        let message = talk.probe.request(method, params);
        self.send(talk, Sent::request(&message)).await
    }

    /// Sends anything, and looks at the answer for what holds of all.
    async fn send(&mut self, talk: &mut Conversation, sent: Sent) -> Exchange {
        let seen = talk.probe.send(sent).await;
        self.general(&seen);
        let mut messages = seen.reply.notifications.iter();
        let is_log = |message: &Value| message["method"] == "notifications/message";
        if !talk.has("logging") && messages.any(is_log) {
            self.ledger.judge(LOGGING_DECLARED, false, &seen);
        }
        seen
    }

    /// Judges what holds of every answer.
    fn general(&mut self, seen: &Exchange) {
        self.message(seen);
        if let Some(result) = seen.reply.result() {
            let is_typed = result["resultType"].is_string();
            self.ledger.judge(RESULT_TYPE, is_typed, seen);
        }
        if let Some(code) = seen.reply.code() {
            let is_old_url = code == URL_ELICITATION_REQUIRED;
            let is_reserved =
                RESERVED.contains(&HEADER_MISMATCH.saturating_sub(code)) && !is_old_url;
            let known = [HEADER_MISMATCH, MISSING_CAPABILITY, UNSUPPORTED_VERSION];
            let is_defined = known.contains(&code) || !is_reserved;
            self.ledger.judge(RESERVED_CODES, is_defined, seen);
            let is_other = code != RESOURCE_NOT_FOUND;
            self.ledger.judge(OLD_NOT_FOUND, is_other, seen);
            self.ledger.judge(OLD_URL_REQUIRED, !is_old_url, seen);
        }
    }

    /// Judges the messages that came as messages of JSON-RPC.
    fn message(&mut self, seen: &Exchange) {
        let Some(answer) = &seen.reply.answer else {
            return;
        };
        let lacks = |fault| !seen.reply.faults.iter().any(|(known, _)| *known == fault);
        let wanted = "`\"jsonrpc\": \"2.0\"` in each message";
        self.ledger
            .judge_as(JSON_RPC, lacks(Fault::Version), seen, wanted);
        self.ledger.judge(RESULT_SET, lacks(Fault::Neither), seen);
        let wanted = ONE_OUTCOME.wanted;
        self.ledger
            .judge_as(JSON_RPC, lacks(Fault::Both), seen, wanted);
        self.ledger.judge(ONE_OUTCOME, lacks(Fault::Both), seen);
        let rule = match answer.get("error").is_some() {
            true => ERROR_ID,
            false => RESULT_ID,
        };
        self.ledger.judge(rule, lacks(Fault::OtherId), seen);
    }

    /// Notes a request that should not have come, with what had been sent then; or that there was none, since this.
    fn judge_asked(&mut self, rule: Rule, asked: Option<&Asked>, since: &Exchange) {
        let (sent, part) = match asked {
            Some(asked) => (&asked.during, asked.outline.to_string()),
            None => (&since.shown, String::new()),
        };
        self.ledger.judge_part(rule, asked.is_none(), sent, &part);
    }

    /// Ends a conversation in which the server was told that the client can be asked nothing.
    async fn end(&mut self, talk: Conversation) {
        let greeting = talk.greeting;
        let asked = talk.probe.asked().iter();
        let question = asked.clone().find(|asked| is_question(&asked.outline));
        self.judge_asked(NEGOTIATED, question, &greeting);
        let first = asked.clone().next();
        self.judge_asked(SERVER_REQUESTS, first, &greeting);
        let closed = talk.probe.close().await;
        let noise = closed.noise.join("\n");
        let is_clean = closed.noise.is_empty();
        self.ledger
            .judge_part(NOISE, is_clean, &greeting.shown, &noise);
        if let Some(is_by_itself) = closed.is_by_itself {
            let seconds = closed.allowed.as_secs_f64();
            let part = format!("the process went on for {seconds:.1} s, and had to be ended");
            self.ledger
                .judge_part(PROMPT_EXIT, is_by_itself, &greeting.shown, &part);
        }
    }
}
