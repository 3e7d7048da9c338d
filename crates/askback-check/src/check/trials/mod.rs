//! The trials, each of one revision of a server.

mod calls;
mod conversation;
mod greeting;
mod http;
mod lists;
mod messages;
mod names;
mod questions;
mod rounds;
mod sessions;
mod subscription;

use std::{collections::BTreeSet, time::Duration};

use askback_core::{
    protocol::codes::{
        HEADER_MISMATCH, MISSING_CAPABILITY, RESOURCE_NOT_FOUND, UNSUPPORTED_VERSION,
        URL_ELICITATION_REQUIRED,
    },
    revision::{Era, Revision},
};
use serde_json::Value;

pub(super) use self::rounds::asked_everything;

use self::conversation::Conversation;
use super::{
    Agreed, Ledger, NamedTool,
    attempt::{Attempt, Kind},
    greet,
    rules::*,
};
use crate::probe::{Asked, Bounds, Exchange, Fault, Probe, Sent, Way, is_question};

/// How far the codes that the protocol keeps for itself are below the first of them.
const RESERVED: std::ops::Range<i64> = 0..80;

/// The trials of one revision.
pub(super) struct Trials<'a> {
    pub(super) way: &'a Way,
    pub(super) bounds: &'a Bounds,
    pub(super) revision: Revision,
    /// The revisions that the server speaks.
    pub(super) spoken: &'a BTreeSet<Revision>,
    /// The tools that the person named.
    pub(super) tools: &'a [NamedTool],
    /// The same server, as another principal reaches it.
    pub(super) other: Option<&'a Way>,
    /// How long a state is kept until it should have lapsed.
    pub(super) lapse: Option<Duration>,
    /// The forms that may be agreed to again.
    pub(super) agreed: &'a [Agreed],
    pub(super) ledger: &'a mut Ledger,
    /// The ways in which calls were made again.
    pub(super) attempts: Vec<Attempt>,
}

impl Trials<'_> {
    /// Runs those that any server should outlive.
    pub(super) async fn run(&mut self) {
        self.greetings().await;
        let Some(mut talk) = self.begin(Value::Object(Default::default())).await else {
            return;
        };
        if talk.has("logging") {
            let wanted = "the capability `logging`";
            self.ledger
                .judge(LOGGING_DECLARED, true, &talk.greeting, wanted);
        }
        self.messages(&mut talk).await;
        self.lists(&mut talk).await;
        self.calls(&mut talk).await;
        self.end(talk).await;
        if self.is_modern() {
            self.subscription().await;
            self.rounds().await;
        } else if FORM_SHAPE.applies(self.revision, self.way.is_http()) {
            self.questions().await;
        }
        if self.way.is_http() {
            self.http().await;
        }
        self.ledger
            .tried_nowhere(LOGGING_DECLARED, "the server sent no log messages");
    }

    /// Runs those that a server may not outlive.
    pub(super) async fn run_harsh(&mut self) {
        self.no_json().await;
    }

    fn is_modern(&self) -> bool {
        self.revision.era() == Era::Modern
    }

    /// The newest revision with a handshake that the server speaks.
    fn newest_with_handshake(&self) -> Option<Revision> {
        let mut spoken = self.spoken.iter().rev();
        spoken
            .find(|revision| revision.era() == Era::Legacy)
            .copied()
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
        self.logs(talk, &seen);
        seen
    }

    /// Judges the log messages of a server that declares none.
    fn logs(&mut self, talk: &Conversation, seen: &Exchange) {
        let mut messages = seen.reply.notifications.iter();
        let is_log = |message: &Value| message["method"] == "notifications/message";
        if !talk.has("logging") && messages.any(is_log) {
            let wanted = "the capability `logging`, or no log messages";
            self.ledger.judge(LOGGING_DECLARED, false, seen, wanted);
        }
    }

    /// Notes what came of a way in which a call was made again.
    fn tried(&mut self, kind: Kind, seen: Exchange) {
        if let (Some(rule), Some(is_kept)) = (kind.rule(), kind.is_kept(&seen)) {
            self.ledger.judge(rule, is_kept, &seen, kind.wanted());
        }
        let seen = Ok(seen);
        self.attempts.push(Attempt { kind, seen });
    }

    /// Notes why a call was not made again in a way.
    fn untried(&mut self, kind: Kind, why: &'static str) {
        if let Some(rule) = kind.rule() {
            self.ledger.untried(rule, why);
        }
        let seen = Err(why);
        self.attempts.push(Attempt { kind, seen });
    }

    /// Judges what holds of every answer.
    fn general(&mut self, seen: &Exchange) {
        self.message(seen);
        if let Some(result) = seen.reply.result() {
            let is_typed = result["resultType"].is_string();
            self.ledger
                .judge(RESULT_TYPE, is_typed, seen, "a result with `resultType`");
        }
        if let Some(code) = seen.reply.code() {
            let is_reserved = RESERVED.contains(&HEADER_MISMATCH.saturating_sub(code))
                && code != URL_ELICITATION_REQUIRED;
            let known = [HEADER_MISMATCH, MISSING_CAPABILITY, UNSUPPORTED_VERSION];
            let is_known = known.contains(&code);
            let ledger = &mut *self.ledger;
            ledger.judge(
                RESERVED_CODES,
                is_known || !is_reserved,
                seen,
                "a code that is defined",
            );
            ledger.judge(
                OLD_NOT_FOUND,
                code != RESOURCE_NOT_FOUND,
                seen,
                "the code -32602",
            );
            ledger.judge(
                OLD_URL_REQUIRED,
                code != URL_ELICITATION_REQUIRED,
                seen,
                "a result that asks",
            );
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
            .judge(JSON_RPC, lacks(Fault::Version), seen, wanted);
        for rule in [RESULT_SET, OUTCOME_SET] {
            self.ledger
                .judge(rule, lacks(Fault::Neither), seen, "a result or an error");
        }
        for rule in [JSON_RPC, ONE_OUTCOME] {
            self.ledger
                .judge(rule, lacks(Fault::Both), seen, "one of result and error");
        }
        let ids: &[Rule] = match answer.get("error").is_some() {
            true => &[ERROR_ID, RESPONSE_ID],
            false => &[RESULT_ID, RESPONSE_ID],
        };
        for rule in ids {
            let wanted = "an answer with the id of the request";
            self.ledger
                .judge(*rule, lacks(Fault::OtherId), seen, wanted);
        }
    }

    /// Notes a request that should not have come, with what had been sent then; or that there was none, since this.
    fn judge_asked(
        &mut self,
        rule: Rule,
        asked: Option<&Asked>,
        since: &Exchange,
        wanted: &'static str,
    ) {
        let (sent, part) = match asked {
            Some(asked) => (&asked.during, asked.outline.to_string()),
            None => (&since.shown, String::new()),
        };
        self.ledger
            .judge_part(rule, asked.is_none(), sent, &part, wanted);
    }

    /// Ends a conversation in which the server was told that the client can be asked nothing.
    async fn end(&mut self, talk: Conversation) {
        let greeting = talk.greeting;
        let asked = talk.probe.asked().iter();
        let question = asked.clone().find(|asked| is_question(&asked.outline));
        for rule in [NEGOTIATED, OLD_NEGOTIATED] {
            self.judge_asked(rule, question, &greeting, "no question");
        }
        let first = asked.clone().next();
        self.judge_asked(SERVER_REQUESTS, first, &greeting, "no request");
        let closed = talk.probe.close().await;
        let part = closed.noise.join("\n");
        self.ledger.judge_part(
            NOISE,
            closed.noise.is_empty(),
            &greeting.shown,
            &part,
            "messages alone",
        );
        if let Some(is_by_itself) = closed.is_by_itself {
            let seconds = closed.allowed.as_secs_f64();
            let part = format!("the process went on for {seconds:.1} s, and had to be ended");
            self.ledger.judge_part(
                PROMPT_EXIT,
                is_by_itself,
                &greeting.shown,
                &part,
                "the end of the process",
            );
        }
    }
}
