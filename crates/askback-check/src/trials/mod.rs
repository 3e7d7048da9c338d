mod http;
mod messages;
mod offers;
mod rounds;
mod skills;

use std::{
    collections::BTreeSet,
    ops::{Deref, DerefMut},
};

use askback::{Revision, internal::revision::Era, protocol::codes::URL_ELICITATION_REQUIRED};
use serde_json::{Value, json};

use crate::{
    Scope,
    ledger::Ledger,
    probe::{Bounds, Fault, Probe, ProbeRequest, Reply, ServerRequest, Wait, Way, is_question},
    rules::*,
};

const NOBODY: &str = "askback-no-such-name";

const UNKNOWN: &str = "1999-01-01";

/// The member of `_meta` with which a client requests log messages.
const LOG_LEVEL_KEY: &str = "io.modelcontextprotocol/logLevel";

pub(crate) struct Trials<'a> {
    pub(crate) way: &'a Way,
    pub(crate) bounds: &'a Bounds,
    pub(crate) spoken: &'a BTreeSet<Revision>,
    pub(crate) scope: &'a Scope,
    pub(crate) ledger: &'a mut Ledger,
}

struct Conversation<'a> {
    trials: Trials<'a>,
    probe: Probe,
    greeting: Reply,
    listed: Vec<Value>,
}

impl<'a> Deref for Conversation<'a> {
    type Target = Trials<'a>;

    fn deref(&self) -> &Self::Target {
        &self.trials
    }
}

impl DerefMut for Conversation<'_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.trials
    }
}

/// The capabilities of a client that can be asked everything.
fn asked_everything() -> Value {
    json!({"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}})
}

impl Trials<'_> {
    /// Runs the trials that every server should survive.
    pub(crate) async fn run(&mut self) {
        match self.is_modern() {
            true => self.discovery().await,
            false => self.handshake().await,
        }
        let Some(mut talk) = self.begin(json!({})).await else {
            return;
        };
        if talk.has("logging") {
            let kept = [(LOGGING_DECLARED, true)];
            talk.trials.judge(&talk.greeting, kept);
        }
        talk.ids().await;
        talk.unknown_method().await;
        talk.notifications().await;
        talk.lists().await;
        talk.skills().await;
        talk.calls().await;
        talk.end().await;
        if self.is_modern() {
            self.subscription().await;
        }
        if FORM_SHAPE
            .row(self.ledger.revision, self.way.is_http())
            .is_some()
        {
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
        self.ledger.revision.era() == Era::Modern
    }

    fn newest_with_handshake(&self) -> Option<Revision> {
        let mut spoken = self.spoken.iter().rev();
        spoken.find(|it| it.era() == Era::Legacy).copied()
    }

    fn harmless_method(&self) -> &'static str {
        match self.is_modern() {
            true => "server/discover",
            false => "ping",
        }
    }

    fn open(&self, capabilities: Value) -> Option<Probe> {
        let is_lost = self.bounds.patience.lost().is_some();
        // An earlier step has shown that it starts.
        let open = || {
            self.way
                .open(self.bounds, self.ledger.revision, capabilities)
        };
        (!is_lost).then(open)?.ok()
    }

    async fn begin(&mut self, capabilities: Value) -> Option<Conversation<'_>> {
        let mut probe = self.open(capabilities)?;
        let greeting = probe.greet().await;
        if greeting.result().is_null() {
            return None;
        }
        if !self.is_modern() {
            let message = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
            let sent = ProbeRequest::message(&message, Wait::Nothing);
            probe.send(sent).await;
        }
        Some(Conversation {
            trials: Trials {
                ledger: &mut *self.ledger,
                ..*self
            },
            probe,
            greeting,
            listed: Vec::new(),
        })
    }

    /// Checks the rules for every answer.
    fn general(&mut self, seen: &Reply) {
        self.message(seen);
        let is_typed = seen.result()["resultType"].is_string();
        let typed = (!seen.result().is_null()).then_some((RESULT_TYPE, is_typed));
        self.judge(seen, typed);
        if let Some(code) = seen.error()["code"].as_i64() {
            let is_kept = code != URL_ELICITATION_REQUIRED;
            self.judge(seen, [(OLD_URL_REQUIRED, is_kept)]);
        }
    }

    /// Checks the JSON-RPC rules for the received messages.
    fn message(&mut self, seen: &Reply) {
        let Some(answer) = &seen.answer else {
            return;
        };
        let lacks = |fault| !seen.faults.iter().any(|(known, _)| *known == fault);
        for (fault, wanted) in [
            (Fault::VERSION, "`\"jsonrpc\": \"2.0\"` in each message"),
            (Fault::BOTH, ONE_OUTCOME.wanted),
        ] {
            self.ledger.judge_as(JSON_RPC, lacks(fault), seen, wanted);
        }
        let of_id = match answer.get("error").is_some() {
            true => ERROR_ID,
            false => RESULT_ID,
        };
        let verdicts = [
            (RESULT_SET, lacks(Fault::NEITHER)),
            (ONE_OUTCOME, lacks(Fault::BOTH)),
            (of_id, lacks(Fault::OTHER_ID)),
        ];
        self.judge(seen, verdicts);
    }

    /// Records a forbidden request and what was being sent at that time, or that there was none
    /// since `since`.
    fn judge_asked(&mut self, rule: Rule, asked: Option<&ServerRequest>, since: &Reply) {
        let (sent, part) = match asked {
            Some(asked) => (&asked.during, json!({"method": asked.method}).to_string()),
            None => (&since.sent, String::new()),
        };
        self.ledger.judge_part(rule, asked.is_none(), sent, part);
    }
}

impl Conversation<'_> {
    fn offered(&self) -> &Value {
        &self.greeting.result()["capabilities"]
    }

    fn has(&self, capability: &str) -> bool {
        self.offered()[capability].is_object()
    }

    fn tool(&self, name: &str) -> &Value {
        let mut tools = self.listed.iter();
        let tool = tools.find(|tool| tool["name"] == name);
        tool.unwrap_or(&Value::Null)
    }

    async fn ask(&mut self, method: &str, params: Value) -> Reply {
        let message = self.probe.request(method, params);
        self.send(ProbeRequest::request(&message)).await
    }

    async fn send(&mut self, sent: ProbeRequest) -> Reply {
        let seen = self.probe.send(sent).await;
        self.general(&seen);
        let mut messages = seen.notifications.iter();
        let is_log = |message: &Value| message["method"] == "notifications/message";
        if !self.has("logging") && messages.any(is_log) {
            self.judge(&seen, [(LOGGING_DECLARED, false)]);
        }
        seen
    }

    /// Ends a conversation in which the client has declared no capabilities.
    async fn end(mut self) {
        let (asked, greeting) = (&self.probe.asked, &self.greeting);
        let question = asked.iter().find(|asked| is_question(&asked.method));
        self.trials.judge_asked(NEGOTIATED, question, greeting);
        self.trials
            .judge_asked(SERVER_REQUESTS, asked.first(), greeting);
        let closed = self.probe.close().await;
        let (ledger, sent) = (&mut self.trials.ledger, &greeting.sent);
        let noise = closed.noise.join("\n");
        ledger.judge_part(NOISE, noise.is_empty(), sent, noise);
        if let Some(is_by_itself) = closed.is_by_itself {
            let seconds = closed.allowed.as_secs_f64();
            let part = format!("the process went on for {seconds:.1} s, and was killed");
            ledger.judge_part(PROMPT_EXIT, is_by_itself, sent, part);
        }
    }
}
