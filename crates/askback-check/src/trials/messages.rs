//! Messages as JSON-RPC has them.

use askback_core::jsonrpc::{INVALID_REQUEST, METHOD_NOT_FOUND, PARSE_ERROR};
use serde_json::{Value, json};

use super::{Conversation, Trials};
use crate::{
    probe::{End, Sent, Wait, id_of},
    rules::*,
};

impl Trials<'_> {
    pub(super) async fn messages(&mut self, talk: &mut Conversation) {
        self.ids(talk).await;
        self.unknown_method(talk).await;
        self.notifications(talk).await;
        if self.revision.facts().batches {
            self.batch(talk).await;
        }
    }

    async fn ids(&mut self, talk: &mut Conversation) {
        for id in [
            json!(7_001),
            json!("7001"),
            json!("askback-ä"),
            json!(-3),
            json!(9_007_199_254_740_991_u64),
        ] {
            let mut message = talk.probe.request(self.harmless_method(), json!({}));
            message["id"] = id.clone();
            let seen = self.send(talk, Sent::request(&message)).await;
            let is_same = seen.reply.answer.as_ref().map(id_of) == Some(id);
            self.ledger.judge(RESULT_ID, is_same, &seen);
            let is_answered = seen.reply.result().or(seen.reply.error()).is_some();
            if !self.is_modern() && is_answered {
                let members = seen.reply.result().and_then(Value::as_object);
                let is_empty = members.is_some_and(|it| it.keys().all(|key| key == "_meta"));
                self.ledger.judge(PING, is_empty, &seen);
            }
            if !is_same && !self.way.is_http() {
                // The others would be waited for in vain as well.
                return;
            }
        }
    }

    async fn unknown_method(&mut self, talk: &mut Conversation) {
        let seen = self.ask(talk, "askback/no-such-method", json!({})).await;
        let is_refused = seen.reply.code() == Some(METHOD_NOT_FOUND);
        self.ledger.judge(JSON_RPC, is_refused, &seen);
        let is_404 = seen.reply.status == Some(404);
        self.ledger.judge(METHOD_STATUS, is_404, &seen);
        let Some(answer) = &seen.reply.answer else {
            return;
        };
        let error = &answer["error"];
        if !error.is_object() {
            return;
        }
        let is_integer = error["code"].is_i64();
        self.ledger.judge(ERROR_CODE, is_integer, &seen);
        let is_whole = !error["code"].is_null() && error["message"].is_string();
        self.ledger.judge(ERROR_SHAPE, is_whole, &seen);
        let request: Value = serde_json::from_str(&seen.shown).unwrap_or_default();
        let is_named = answer["id"] == request["id"];
        self.ledger.judge(ERROR_ID, is_named, &seen);
    }

    /// Notifications that mean nothing to the server, or cannot be read.
    async fn notifications(&mut self, talk: &mut Conversation) {
        let cases = [
            (NO_ANSWER, "notifications/askback-unknown", json!({})),
            (
                UNKNOWN_CANCELLED,
                "notifications/cancelled",
                json!({"requestId": "askback-nobody"}),
            ),
            (BROKEN_CANCELLED, "notifications/cancelled", json!({})),
        ];
        for (rule, method, params) in cases {
            if self.is_modern() && self.way.is_http() && rule != NO_ANSWER {
                // A cancellation is no message there.
                continue;
            }
            let message = json!({"jsonrpc": "2.0", "method": method, "params": params});
            let seen = talk
                .probe
                .send(Sent::message(&message, Wait::Nothing))
                .await;
            let reply = &seen.reply;
            let is_taken = reply.status == Some(202) && reply.bytes == 0;
            let is_right = is_taken || reply.is_refused();
            self.ledger.judge(ACCEPTED, is_right, &seen);
            if self.way.is_http() {
                // Its status says enough.
                continue;
            }
            let mut after = self.ask(talk, self.harmless_method(), json!({})).await;
            if after.reply.is_silent() {
                // It may not answer anything.
                continue;
            }
            let is_ignored = after.reply.strays.is_empty() && after.reply.answer.is_some();
            after.shown = format!("{}\n{}", seen.shown, after.shown);
            self.ledger.judge(rule, is_ignored, &after);
            self.ledger.judge(NO_ANSWER, is_ignored, &after);
        }
    }

    async fn batch(&mut self, talk: &mut Conversation) {
        let ping = |id: &str| json!({"jsonrpc": "2.0", "id": id, "method": "ping"});
        let ids = ["askback-batch-1", "askback-batch-2"];
        let batch = json!(ids.map(ping));
        let wait = Wait::Each(ids.map(|id| json!(id)).into());
        let seen = talk.probe.send(Sent::message(&batch, wait)).await;
        let answers = seen.reply.strays.iter();
        let answered = ids.map(|id| answers.clone().any(|answer| answer["id"] == id));
        self.ledger.judge(BATCHES, answered == [true; 2], &seen);
    }

    /// Bytes that are no JSON, on a connection of their own.
    pub(super) async fn no_json(&mut self) {
        let Some(mut talk) = self.begin(json!({})).await else {
            return;
        };
        let broken = br#"{"jsonrpc": "2.0", "id": "#.to_vec();
        if self.way.is_http() {
            let sent = Sent::bytes(broken, Wait::Any);
            let method = self.is_modern().then_some("server/discover");
            let seen = talk.probe.send(sent.header("mcp-method", method)).await;
            let is_refused = seen.reply.is_refused() || seen.reply.code() == Some(PARSE_ERROR);
            let wanted = "the status of an error, or the error -32700";
            self.ledger.judge_as(JSON_RPC, is_refused, &seen, wanted);
        } else {
            let shown = talk
                .probe
                .send(Sent::bytes(broken, Wait::Nothing))
                .await
                .shown;
            let message = talk.probe.request(self.harmless_method(), json!({}));
            let mut seen = talk.probe.send(Sent::request(&message)).await;
            // The error to the first line, where one comes, has no id.
            let first = seen
                .reply
                .answer
                .clone()
                .filter(|answer| answer["id"].is_null());
            let mut code = seen.reply.code();
            if first.is_some() {
                let message = talk.probe.request(self.harmless_method(), json!({}));
                seen = talk.probe.send(Sent::request(&message)).await;
            } else {
                code = None;
            }
            let goes_on = seen.reply.end == End::Done && seen.reply.answer.is_some();
            let is_right =
                goes_on && code.is_none_or(|code| matches!(code, PARSE_ERROR | INVALID_REQUEST));
            if let Some(first) = first {
                seen.reply.strays.insert(0, first);
            }
            seen.shown = format!("{shown}\n{}", seen.shown);
            let wanted = "the error -32700 or nothing, and the answer to the request after it";
            self.ledger.judge_as(JSON_RPC, is_right, &seen, wanted);
        }
        talk.probe.close().await;
    }
}
