use askback::{
    Revision,
    internal::jsonrpc::{INVALID_REQUEST, METHOD_NOT_FOUND, PARSE_ERROR},
    protocol::codes::UNSUPPORTED_VERSION,
};
use serde_json::{Value, json};

use super::{Conversation, Trials, UNKNOWN};
use crate::{
    probe::{End, ProbeRequest, Reply, Wait, client_info, meta},
    rules::*,
};

impl Trials<'_> {
    pub(super) async fn handshake(&mut self) {
        let Some(mut probe) = self.open(json!({})) else {
            return;
        };
        let seen = probe.initialize(self.ledger.revision.as_str()).await;
        if seen.is_silent() {
            // The server answered before, so only this start is slow.
            return;
        }
        self.message(&seen);
        let (result, server) = (seen.result(), &seen.result()["serverInfo"]);
        let is_named = server["name"].is_string() && server["version"].is_string();
        let is_whole = result["capabilities"].is_object() && is_named;
        self.judge(&seen, [(GREETING, is_whole)]);
        // Pings are allowed at this time. They show what else the server sends.
        probe.ask("ping", json!({})).await;
        let early = probe.asked.iter().find(|asked| asked.method != "ping");
        self.judge_asked(EARLY_REQUESTS, early, &seen);
        probe.close().await;
        if self.newest_with_handshake() != Some(self.ledger.revision) {
            return;
        }
        let Some(mut probe) = self.open(json!({})) else {
            return;
        };
        let seen = probe.initialize(UNKNOWN).await;
        if seen.is_silent() {
            return;
        }
        let answered = seen.result()["protocolVersion"].as_str();
        let is_other = answered.is_some_and(|version| version != UNKNOWN);
        self.judge(&seen, [(OTHER_VERSION, is_other)]);
        probe.close().await;
    }

    pub(super) async fn discovery(&mut self) {
        let Some(mut probe) = self.open(json!({})) else {
            return;
        };
        let seen = probe.greet().await;
        if seen.is_silent() {
            return;
        }
        self.general(&seen);
        let result = seen.result();
        let is_whole = result["supportedVersions"].is_array() && result["capabilities"].is_object();
        let is_named = result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"].is_string();
        self.judge(&seen, [(DISCOVER, is_whole), (NAMED, is_named)]);
        self.caching(DISCOVER_CACHING, &seen);
        probe.close().await;
        let spoken = self.ledger.revision.as_str();
        let params = json!({"_meta": meta(UNKNOWN, &json!({}))});
        if let Some(seen) = self.greet_as("server/discover", params, UNKNOWN).await {
            let names = seen.error()["data"]["supported"].is_array();
            let verdicts = [
                (UNKNOWN_VERSION, names && seen.has_code(UNSUPPORTED_VERSION)),
                (VERSION_STATUS, seen.has_status(400)),
            ];
            self.judge(&seen, verdicts);
        }
        if self.newest_with_handshake().is_some() {
            return;
        }
        // A client that only knows the handshake.
        let known = Revision::LATEST_LEGACY.as_str();
        let params =
            json!({"protocolVersion": known, "capabilities": {}, "clientInfo": client_info()});
        if let Some(seen) = self.greet_as("initialize", params, known).await {
            let is_named = seen.error().to_string().contains(spoken);
            self.judge(&seen, [(MODERN_ONLY, is_named)]);
        }
    }

    async fn greet_as(&mut self, method: &str, params: Value, version: &str) -> Option<Reply> {
        let mut probe = self.open(json!({}))?;
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let sent = ProbeRequest::request(&message).header("mcp-protocol-version", Some(version));
        let seen = probe.send(sent).await;
        self.general(&seen);
        probe.close().await;
        Some(seen)
    }

    /// Whether a result says how long it may be cached.
    pub(super) fn caching(&mut self, rule: Rule, seen: &Reply) {
        let result = seen.result();
        if !result.is_null() {
            let is_kept_for = result["ttlMs"].as_f64().is_some_and(|ttl| ttl >= 0.0);
            let is_scoped = matches!(result["cacheScope"].as_str(), Some("public" | "private"));
            self.judge(seen, [(rule, is_kept_for && is_scoped)]);
        }
    }

    /// Sends bytes that are not JSON on a new connection. A server may crash on them.
    pub(crate) async fn no_json(&mut self) {
        let Some(mut talk) = self.begin(json!({})).await else {
            return;
        };
        let broken = br#"{"jsonrpc": "2.0", "id": "#.to_vec();
        let (is_right, seen, wanted) = if talk.way.is_http() {
            let sent = ProbeRequest::bytes(broken, Wait::Any);
            let method = talk.is_modern().then_some("server/discover");
            let seen = talk.probe.send(sent.header("mcp-method", method)).await;
            let is_refused = seen.is_refused() || seen.has_code(PARSE_ERROR);
            let wanted = "the status of an error, or the error -32700";
            (is_refused, seen, wanted)
        } else {
            let harmless = talk.harmless_method();
            let broken = talk
                .probe
                .send(ProbeRequest::bytes(broken, Wait::Nothing))
                .await;
            let mut seen = talk.probe.ask(harmless, json!({})).await;
            // The error for the first line, if any, has no id.
            let first = seen.answer.clone().filter(|it| it["id"].is_null());
            let code = first.as_ref().and_then(|it| it["error"]["code"].as_i64());
            let is_known = code.is_none_or(|it| matches!(it, PARSE_ERROR | INVALID_REQUEST));
            if first.is_some() {
                seen = talk.probe.ask(harmless, json!({})).await;
            }
            let is_right = seen.end == End::Done && seen.answer.is_some() && is_known;
            seen.strays.splice(0..0, first);
            seen.sent = format!("{}\n{}", broken.sent, seen.sent);
            let wanted = "the error -32700 or nothing, and the answer to the request after it";
            (is_right, seen, wanted)
        };
        talk.ledger.judge_as(JSON_RPC, is_right, &seen, wanted);
        talk.probe.close().await;
    }
}

impl Conversation<'_> {
    pub(super) async fn ids(&mut self) {
        let largest = json!(9_007_199_254_740_991_u64);
        let text = json!("askback-ä");
        for id in [json!(7_001), json!("7001"), text, json!(-3), largest] {
            let mut message = self.probe.request(self.trials.harmless_method(), json!({}));
            message["id"] = id.clone();
            let seen = self.send(ProbeRequest::request(&message)).await;
            let answer = seen.answer.as_ref();
            let is_same = answer.is_some_and(|answer| answer["id"] == id);
            self.judge(&seen, [(RESULT_ID, is_same)]);
            let has = |member: &str| answer.is_some_and(|it| it.get(member).is_some());
            if !self.is_modern() && (has("result") || has("error")) {
                let members = seen.result().as_object();
                let is_empty = members.is_some_and(|it| it.keys().all(|key| key == "_meta"));
                self.judge(&seen, [(PING, is_empty)]);
            }
            if !is_same && !self.way.is_http() {
                // The others would time out too.
                return;
            }
        }
    }

    pub(super) async fn unknown_method(&mut self) {
        let seen = self.ask("askback/no-such-method", json!({})).await;
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

    /// Sends notifications that are invalid, or that the server does not know.
    pub(super) async fn notifications(&mut self) {
        let unknown = json!({"requestId": "askback-nobody"});
        for (rule, method, params) in [
            (NO_ANSWER, "notifications/askback-unknown", json!({})),
            (UNKNOWN_CANCELLED, "notifications/cancelled", unknown),
        ] {
            if self.is_modern() && self.way.is_http() && rule != NO_ANSWER {
                // Over HTTP, a cancellation is not a message.
                continue;
            }
            let message = json!({"jsonrpc": "2.0", "method": method, "params": params});
            let sent = ProbeRequest::message(&message, Wait::Nothing);
            let seen = self.probe.send(sent).await;
            let is_taken = seen.has_status(202) && seen.bytes == 0;
            self.judge(&seen, [(ACCEPTED, is_taken || seen.is_refused())]);
            if self.way.is_http() {
                // The status is enough.
                continue;
            }
            let mut after = self.ask(self.harmless_method(), json!({})).await;
            if after.is_silent() {
                // It need not answer.
                continue;
            }
            let is_ignored = after.strays.is_empty() && after.answer.is_some();
            after.sent = format!("{}\n{}", seen.sent, after.sent);
            self.judge(&after, [(rule, is_ignored), (NO_ANSWER, is_ignored)]);
        }
    }
}
