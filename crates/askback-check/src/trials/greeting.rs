//! How both sides come to speak.

use askback::{Revision, protocol::codes::UNSUPPORTED_VERSION};
use askback_core::jsonrpc::INVALID_PARAMS;
use serde_json::{Value, json};

use super::Trials;
use crate::{
    probe::{Exchange, Sent, Wait, meta},
    rules::*,
};

/// A version that there never was.
const UNKNOWN: &str = "1999-01-01";

impl Trials<'_> {
    pub(super) async fn greetings(&mut self) {
        match self.is_modern() {
            true => self.discovery().await,
            false => self.handshake().await,
        }
    }

    async fn handshake(&mut self) {
        let Some(mut probe) = self.open() else { return };
        let seen = probe.initialize(self.revision.as_str()).await;
        if seen.reply.is_silent() {
            // It answered before, so that it starts slowly this time.
            return;
        }
        self.message(&seen);
        let result = seen.reply.result().cloned().unwrap_or_default();
        let info = &result["serverInfo"];
        let is_whole = result["capabilities"].is_object()
            && info["name"].is_string()
            && info["version"].is_string();
        self.ledger.judge(GREETING, is_whole, &seen);
        // Pings may be sent at this time, and show what else the server has to say.
        probe.ask("ping", json!({})).await;
        let mut asked = probe.asked().iter();
        let early = asked.find(|asked| asked.outline["method"] != "ping");
        self.judge_asked(EARLY_REQUESTS, early, &seen);
        probe.close().await;
        if self.newest_with_handshake() == Some(self.revision) {
            self.unknown_version().await;
        }
    }

    async fn unknown_version(&mut self) {
        let Some(mut probe) = self.open() else { return };
        let seen = probe.initialize(UNKNOWN).await;
        if seen.reply.is_silent() {
            let why = "there was no answer in time";
            return self.ledger.untried(&[OTHER_VERSION], why);
        }
        let result = seen.reply.result();
        let answered = result.and_then(|result| result["protocolVersion"].as_str());
        let is_other = answered.is_some_and(|version| version != UNKNOWN);
        self.ledger.judge(OTHER_VERSION, is_other, &seen);
        if is_other {
            let is_latest = answered == Some(self.revision.as_str());
            self.ledger.judge(LATEST_VERSION, is_latest, &seen);
        }
        probe.close().await;
    }

    async fn discovery(&mut self) {
        let Some(mut probe) = self.open() else { return };
        let seen = probe.ask("server/discover", json!({})).await;
        if seen.reply.is_silent() {
            return;
        }
        self.general(&seen);
        let result = seen.reply.result().cloned().unwrap_or_default();
        let is_whole = result["supportedVersions"].is_array() && result["capabilities"].is_object();
        self.ledger.judge(DISCOVER, is_whole, &seen);
        let info = &result["_meta"]["io.modelcontextprotocol/serverInfo"];
        let is_named = info["name"].is_string();
        self.ledger.judge(NAMED, is_named, &seen);
        self.caching(DISCOVER_CACHING, &seen);
        probe.close().await;
        self.unknown_modern_version().await;
        self.missing_meta().await;
        if self.newest_with_handshake().is_none() {
            self.refused_handshake().await;
        }
    }

    /// Whether a result says for how long it may be kept.
    pub(super) fn caching(&mut self, rule: Rule, seen: &Exchange) {
        let Some(result) = seen.reply.result() else {
            return;
        };
        let is_kept_for = result["ttlMs"].as_f64().is_some_and(|ttl| ttl >= 0.0);
        let is_scoped = matches!(result["cacheScope"].as_str(), Some("public" | "private"));
        self.ledger.judge(rule, is_kept_for && is_scoped, seen);
    }

    async fn unknown_modern_version(&mut self) {
        let Some(mut probe) = self.open() else { return };
        let params = json!({"_meta": meta(UNKNOWN, &json!({}))});
        let message = probe.request("server/discover", params);
        let sent = Sent::request(&message).header("mcp-protocol-version", Some(UNKNOWN));
        let seen = probe.send(sent).await;
        self.general(&seen);
        let data = seen.reply.error().map(|error| &error["data"]);
        let names = data.is_some_and(|data| data["supported"].is_array());
        let is_refused = seen.reply.code() == Some(UNSUPPORTED_VERSION) && names;
        self.ledger.judge(UNKNOWN_VERSION, is_refused, &seen);
        let is_400 = seen.reply.status == Some(400);
        self.ledger.judge(VERSION_STATUS, is_400, &seen);
        probe.close().await;
    }

    async fn missing_meta(&mut self) {
        let Some(mut probe) = self.open() else { return };
        let mut message = probe.request("server/discover", json!({}));
        let meta = message["params"]["_meta"].as_object_mut();
        if let Some(meta) = meta {
            meta.remove("io.modelcontextprotocol/clientCapabilities");
        }
        let seen = probe.send(Sent::request(&message)).await;
        self.general(&seen);
        let is_refused = seen.reply.code() == Some(INVALID_PARAMS);
        self.ledger.judge(MISSING_META, is_refused, &seen);
        let is_400 = seen.reply.status == Some(400);
        self.ledger.judge(MISSING_META_STATUS, is_400, &seen);
        probe.close().await;
    }

    /// A client that knows only the handshake.
    async fn refused_handshake(&mut self) {
        let Some(mut probe) = self.open() else { return };
        let known = Revision::LATEST_LEGACY.as_str();
        let info = json!({"name": "askback", "version": env!("CARGO_PKG_VERSION")});
        let message = json!({
            "jsonrpc": "2.0", "id": 1, "method": "initialize",
            "params": {"protocolVersion": known, "capabilities": {}, "clientInfo": info},
        });
        let sent = Sent::message(&message, Wait::For(json!(1)));
        let sent = sent.header("mcp-protocol-version", Some(known));
        let seen = probe.send(sent).await;
        self.general(&seen);
        let error = seen.reply.error().map(Value::to_string).unwrap_or_default();
        let is_named = error.contains(self.revision.as_str());
        self.ledger.judge(MODERN_ONLY, is_named, &seen);
        probe.close().await;
    }
}
