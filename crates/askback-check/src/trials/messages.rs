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
        let largest = json!(9_007_199_254_740_991_u64);
        for id in [
            json!(7_001),
            json!("7001"),
            json!("askback-ä"),
            json!(-3),
            largest,
        ] {
            let mut message = talk.probe.request(self.harmless_method(), json!({}));
            message["id"] = id.clone();
            let seen = self.send(talk, Sent::request(&message)).await;
            let answer = seen.answer.as_ref();
            let is_same = answer.map(id_of) == Some(id);
            self.judge(&seen, [(RESULT_ID, is_same)]);
            let has = |member: &str| answer.is_some_and(|it| it.get(member).is_some());
            if !self.is_modern() && (has("result") || has("error")) {
                let members = seen.result().as_object();
                let is_empty = members.is_some_and(|it| it.keys().all(|key| key == "_meta"));
                self.judge(&seen, [(PING, is_empty)]);
            }
            if !is_same && !self.way.is_http() {
                // The others would be waited for in vain as well.
                return;
            }
        }
    }

    async fn unknown_method(&mut self, talk: &mut Conversation) {
        let seen = self.ask(talk, "askback/no-such-method", json!({})).await;
        let verdicts = [
            (JSON_RPC, seen.has_code(METHOD_NOT_FOUND)),
            (METHOD_STATUS, seen.has_status(404)),
        ];
        self.judge(&seen, verdicts);
        let (Some(answer), error) = (&seen.answer, seen.error()) else {
            return;
        };
        if error.is_object() {
            let request: Value = serde_json::from_str(&seen.sent).unwrap_or_default();
            let is_whole = !error["code"].is_null() && error["message"].is_string();
            let verdicts = [
                (ERROR_CODE, error["code"].is_i64()),
                (ERROR_SHAPE, is_whole),
                (ERROR_ID, answer["id"] == request["id"]),
            ];
            self.judge(&seen, verdicts);
        }
    }

    /// Notifications that mean nothing to the server, or cannot be read.
    async fn notifications(&mut self, talk: &mut Conversation) {
        let unknown = json!({"requestId": "askback-nobody"});
        for (rule, method, params) in [
            (NO_ANSWER, "notifications/askback-unknown", json!({})),
            (UNKNOWN_CANCELLED, "notifications/cancelled", unknown),
            (BROKEN_CANCELLED, "notifications/cancelled", json!({})),
        ] {
            if self.is_modern() && self.way.is_http() && rule != NO_ANSWER {
                // A cancellation is no message there.
                continue;
            }
            let message = json!({"jsonrpc": "2.0", "method": method, "params": params});
            let sent = Sent::message(&message, Wait::Nothing);
            let seen = talk.probe.send(sent).await;
            let is_taken = seen.has_status(202) && seen.bytes == 0;
            let is_right = is_taken || seen.is_refused();
            self.judge(&seen, [(ACCEPTED, is_right)]);
            if self.way.is_http() {
                // Its status says enough.
                continue;
            }
            let mut after = self.ask(talk, self.harmless_method(), json!({})).await;
            if after.is_silent() {
                // It may not answer anything.
                continue;
            }
            let is_ignored = after.strays.is_empty() && after.answer.is_some();
            after.sent = format!("{}\n{}", seen.sent, after.sent);
            let verdicts = [(rule, is_ignored), (NO_ANSWER, is_ignored)];
            self.judge(&after, verdicts);
        }
    }

    async fn batch(&mut self, talk: &mut Conversation) {
        let ids = ["askback-batch-1", "askback-batch-2"];
        let batch = ids.map(|id| json!({"jsonrpc": "2.0", "id": id, "method": "ping"}));
        let wait = Wait::Each(ids.map(Value::from).into());
        let seen = talk.probe.send(Sent::message(&json!(batch), wait)).await;
        let is_answered = |id: &&str| seen.strays.iter().any(|answer| answer["id"] == *id);
        self.judge(&seen, [(BATCHES, ids.iter().all(is_answered))]);
    }

    /// Bytes that are no JSON, on a connection of their own. A server may not outlive them.
    pub(crate) async fn no_json(&mut self) {
        let Some(mut talk) = self.begin(json!({})).await else {
            return;
        };
        let broken = br#"{"jsonrpc": "2.0", "id": "#.to_vec();
        if self.way.is_http() {
            let sent = Sent::bytes(broken, Wait::Any);
            let method = self.is_modern().then_some("server/discover");
            let seen = talk.probe.send(sent.header("mcp-method", method)).await;
            let is_refused = seen.is_refused() || seen.has_code(PARSE_ERROR);
            let wanted = "the status of an error, or the error -32700";
            self.ledger.judge_as(JSON_RPC, is_refused, &seen, wanted);
        } else {
            let broken = talk.probe.send(Sent::bytes(broken, Wait::Nothing)).await;
            let mut seen = talk.probe.ask(self.harmless_method(), json!({})).await;
            // The error to the first line, if one comes, has no id.
            let first = seen.answer.clone().filter(|it| it["id"].is_null());
            let code = first.as_ref().and_then(|it| it["error"]["code"].as_i64());
            let is_known = code.is_none_or(|it| matches!(it, PARSE_ERROR | INVALID_REQUEST));
            if first.is_some() {
                seen = talk.probe.ask(self.harmless_method(), json!({})).await;
            }
            let is_right = seen.end == End::Done && seen.answer.is_some() && is_known;
            seen.strays.splice(0..0, first);
            seen.sent = format!("{}\n{}", broken.sent, seen.sent);
            let wanted = "the error -32700 or nothing, and the answer to the request after it";
            self.ledger.judge_as(JSON_RPC, is_right, &seen, wanted);
        }
        talk.probe.close().await;
    }
}
