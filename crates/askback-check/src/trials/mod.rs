//! The trials, each of one revision of a server.

mod calls;
mod greeting;
mod http;
mod lists;
mod messages;
mod rounds;

use std::{collections::BTreeSet, ops::Range};

use askback::{
    Revision,
    protocol::codes::{
        HEADER_MISMATCH, MISSING_CAPABILITY, RESOURCE_NOT_FOUND, UNSUPPORTED_VERSION,
        URL_ELICITATION_REQUIRED,
    },
};
use askback_core::revision::Era;
use serde_json::{Map, Value, json};

use crate::{
    NamedTool, Scope,
    ledger::Ledger,
    probe::{
        Bounds, Fault, MODERN_CAPABILITIES, Probe, Reply, Sent, ServerRequest, Way, is_question,
    },
    rules::*,
};

/// How far the codes that the protocol keeps for itself are below the first of them.
const RESERVED: Range<i64> = 0..80;

/// The most tools that are called because they say that they change nothing.
const HARMLESS: usize = 4;

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
pub(crate) struct Conversation {
    pub(crate) probe: Probe,
    /// The capabilities of the server.
    offered: Value,
    /// The exchange it began with.
    greeting: Reply,
    /// The tools that were listed.
    listed: Vec<Value>,
}

impl Conversation {
    /// Begins one with these capabilities, if the server answers.
    pub(crate) async fn begin(
        way: &Way,
        bounds: &Bounds,
        revision: Revision,
        capabilities: Value,
    ) -> Option<Self> {
        // That it starts was seen before.
        let mut probe = way.open(bounds, revision).ok()?;
        probe.set_capabilities(capabilities);
        let greeting = probe.greet().await;
        if greeting.result().is_null() {
            return None;
        }
        if revision.era() == Era::Legacy {
            probe.initialized().await;
        }
        Some(Self {
            probe,
            offered: greeting.result()["capabilities"].clone(),
            greeting,
            listed: Vec::new(),
        })
    }

    /// Whether the server declares a capability.
    pub(crate) fn has(&self, capability: &str) -> bool {
        self.offered[capability].is_object()
    }

    /// The first of the listed tools that say that they change nothing, and are such.
    fn harmless(&self, is_such: impl Fn(&Value) -> bool) -> Vec<NamedTool> {
        let tools = self.listed.iter();
        let tools = tools.filter(|tool| tool["annotations"]["readOnlyHint"] == true);
        let tools = tools.filter(|tool| is_such(tool)).take(HARMLESS);
        tools
            .filter_map(|tool| tool["name"].as_str())
            .map(bare)
            .collect()
    }

    /// A listed tool, by its name; null if there is none.
    fn tool(&self, name: &str) -> &Value {
        let mut tools = self.listed.iter();
        tools
            .find(|tool| tool["name"] == name)
            .unwrap_or(&Value::Null)
    }
}

fn bare(name: &str) -> NamedTool {
    NamedTool {
        name: name.to_owned(),
        arguments: Map::new(),
    }
}

/// The capabilities of a client that can be asked everything.
pub(crate) fn asked_everything() -> Value {
    serde_json::from_str(MODERN_CAPABILITIES).unwrap_or_default()
}

impl Trials<'_> {
    /// Runs those that any server should outlive.
    pub(crate) async fn run(&mut self) {
        self.greetings().await;
        let Some(mut talk) = self.begin(json!({})).await else {
            return;
        };
        if talk.has("logging") {
            self.judge(&talk.greeting, [(LOGGING_DECLARED, true)]);
        }
        self.messages(&mut talk).await;
        self.lists(&mut talk).await;
        self.calls(&mut talk).await;
        self.end(talk).await;
        if self.is_modern() {
            self.subscription().await;
        }
        if FORM_SHAPE.row(self.revision, self.way.is_http()).is_some() {
            self.questions().await;
        }
        if self.way.is_http() {
            self.http().await;
        }
    }

    fn judge(&mut self, seen: &Reply, verdicts: impl IntoIterator<Item = (Rule, bool)>) {
        self.ledger.judge(seen, verdicts);
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

    async fn begin(&mut self, capabilities: Value) -> Option<Conversation> {
        Conversation::begin(self.way, self.bounds, self.revision, capabilities).await
    }

    /// Sends a request, and looks at the answer for what holds of all.
    async fn ask(&mut self, talk: &mut Conversation, method: &str, params: Value) -> Reply {
        let message = talk.probe.request(method, params);
        self.send(talk, Sent::request(&message)).await
    }

    /// Sends a request that should be refused with these codes.
    async fn refuse<const N: usize>(
        &mut self,
        talk: &mut Conversation,
        method: &str,
        params: Value,
        codes: [(Rule, i64); N],
    ) -> Reply {
        let seen = self.ask(talk, method, params).await;
        self.judge(&seen, codes.map(|(rule, code)| (rule, seen.has_code(code))));
        seen
    }

    /// Sends anything, and looks at the answer for what holds of all.
    async fn send(&mut self, talk: &mut Conversation, sent: Sent) -> Reply {
        let seen = talk.probe.send(sent).await;
        self.general(&seen);
        let mut messages = seen.notifications.iter();
        let is_log = |message: &Value| message["method"] == "notifications/message";
        if !talk.has("logging") && messages.any(is_log) {
            self.judge(&seen, [(LOGGING_DECLARED, false)]);
        }
        seen
    }

    /// Judges what holds of every answer.
    fn general(&mut self, seen: &Reply) {
        self.message(seen);
        if !seen.result().is_null() {
            let is_typed = seen.result()["resultType"].is_string();
            self.judge(seen, [(RESULT_TYPE, is_typed)]);
        }
        if let Some(code) = seen.error()["code"].as_i64() {
            let is_old_url = code == URL_ELICITATION_REQUIRED;
            let known = [HEADER_MISMATCH, MISSING_CAPABILITY, UNSUPPORTED_VERSION];
            let is_reserved = RESERVED.contains(&HEADER_MISMATCH.saturating_sub(code));
            let is_defined = known.contains(&code) || is_old_url || !is_reserved;
            self.judge(seen, [(RESERVED_CODES, is_defined)]);
            self.judge(seen, [(OLD_NOT_FOUND, code != RESOURCE_NOT_FOUND)]);
            self.judge(seen, [(OLD_URL_REQUIRED, !is_old_url)]);
        }
    }

    /// Judges the messages that came as messages of JSON-RPC.
    fn message(&mut self, seen: &Reply) {
        let Some(answer) = &seen.answer else {
            return;
        };
        let lacks = |fault| !seen.faults.iter().any(|(known, _)| *known == fault);
        let wanted = "`\"jsonrpc\": \"2.0\"` in each message";
        self.ledger
            .judge_as(JSON_RPC, lacks(Fault::Version), seen, wanted);
        self.ledger
            .judge_as(JSON_RPC, lacks(Fault::Both), seen, ONE_OUTCOME.wanted);
        let of_id = match answer.get("error").is_some() {
            true => ERROR_ID,
            false => RESULT_ID,
        };
        let verdicts = [
            (RESULT_SET, lacks(Fault::Neither)),
            (ONE_OUTCOME, lacks(Fault::Both)),
            (of_id, lacks(Fault::OtherId)),
        ];
        self.judge(seen, verdicts);
    }

    /// Notes a request that should not have come, with what had been sent then; or that there was none, since this.
    fn judge_asked(&mut self, rule: Rule, asked: Option<&ServerRequest>, since: &Reply) {
        let (sent, part) = match asked {
            Some(asked) => (&asked.during, json!({"method": asked.method}).to_string()),
            None => (&since.sent, String::new()),
        };
        self.ledger.judge_part(rule, asked.is_none(), sent, &part);
    }

    /// Ends a conversation in which the server was told that the client can be asked nothing.
    async fn end(&mut self, talk: Conversation) {
        let (asked, greeting) = (&talk.probe.asked, talk.greeting);
        let question = asked.iter().find(|asked| is_question(&asked.method));
        self.judge_asked(NEGOTIATED, question, &greeting);
        self.judge_asked(SERVER_REQUESTS, asked.first(), &greeting);
        let closed = talk.probe.close().await;
        let noise = closed.noise.join("\n");
        self.ledger
            .judge_part(NOISE, noise.is_empty(), &greeting.sent, &noise);
        if let Some(is_by_itself) = closed.is_by_itself {
            let seconds = closed.allowed.as_secs_f64();
            let part = format!("the process went on for {seconds:.1} s, and had to be ended");
            self.ledger
                .judge_part(PROMPT_EXIT, is_by_itself, &greeting.sent, &part);
        }
    }
}
