//! How both sides come to speak.

use askback::{Revision, protocol::codes::UNSUPPORTED_VERSION};
use askback_core::jsonrpc::INVALID_PARAMS;
use serde_json::json;

use super::Trials;
use crate::{
    probe::{Probe, Reply, Sent, client_info, meta},
    rules::*,
};

/// A version that there never was.
pub(super) const UNKNOWN: &str = "1999-01-01";

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
        if seen.is_silent() {
            // It answered before, so that it starts slowly this time.
            return;
        }
        self.message(&seen);
        let info = &seen.result()["serverInfo"];
        let is_whole = seen.result()["capabilities"].is_object()
            && info["name"].is_string()
            && info["version"].is_string();
        self.judge(&seen, [(GREETING, is_whole)]);
        // Pings may be sent at this time, and show what else the server has to say.
        probe.ask("ping", json!({})).await;
        let early = probe.asked.iter().find(|asked| asked.method != "ping");
        self.judge_asked(EARLY_REQUESTS, early, &seen);
        probe.close().await;
        if self.newest_with_handshake() == Some(self.revision) {
            self.unknown_version().await;
        }
    }

    async fn unknown_version(&mut self) {
        let Some(mut probe) = self.open() else { return };
        let seen = probe.initialize(UNKNOWN).await;
        if seen.is_silent() {
            return;
        }
        let answered = seen.result()["protocolVersion"].as_str();
        let is_other = answered.is_some_and(|version| version != UNKNOWN);
        self.judge(&seen, [(OTHER_VERSION, is_other)]);
        if is_other {
            let is_latest = answered == Some(self.revision.as_str());
            self.judge(&seen, [(LATEST_VERSION, is_latest)]);
        }
        probe.close().await;
    }

    async fn discovery(&mut self) {
        let Some(mut probe) = self.open() else { return };
        let seen = probe.greet().await;
        if seen.is_silent() {
            return;
        }
        self.general(&seen);
        let result = seen.result();
        let is_whole = result["supportedVersions"].is_array() && result["capabilities"].is_object();
        let info = &result["_meta"]["io.modelcontextprotocol/serverInfo"];
        let is_named = info["name"].is_string();
        self.judge(&seen, [(DISCOVER, is_whole), (NAMED, is_named)]);
        self.caching(DISCOVER_CACHING, &seen);
        probe.close().await;
        let seen = self.greet_as(|probe| {
            let params = json!({"_meta": meta(UNKNOWN, &json!({}))});
            let message = probe.request("server/discover", params);
            Sent::request(&message).header("mcp-protocol-version", Some(UNKNOWN))
        });
        if let Some(seen) = seen.await {
            let names = seen.error()["data"]["supported"].is_array();
            let verdicts = [
                (UNKNOWN_VERSION, names && seen.has_code(UNSUPPORTED_VERSION)),
                (VERSION_STATUS, seen.has_status(400)),
            ];
            self.judge(&seen, verdicts);
        }
        let seen = self.greet_as(|probe| {
            let mut message = probe.request("server/discover", json!({}));
            if let Some(meta) = message["params"]["_meta"].as_object_mut() {
                meta.remove("io.modelcontextprotocol/clientCapabilities");
            }
            Sent::request(&message)
        });
        if let Some(seen) = seen.await {
            let verdicts = [
                (MISSING_META, seen.has_code(INVALID_PARAMS)),
                (MISSING_META_STATUS, seen.has_status(400)),
            ];
            self.judge(&seen, verdicts);
        }
        if self.newest_with_handshake().is_some() {
            return;
        }
        // A client that knows only the handshake.
        let seen = self.greet_as(|_| {
            let known = Revision::LATEST_LEGACY.as_str();
            let params =
                json!({"protocolVersion": known, "capabilities": {}, "clientInfo": client_info()});
            let message =
                json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
            Sent::request(&message).header("mcp-protocol-version", Some(known))
        });
        if let Some(seen) = seen.await {
            let is_named = seen.error().to_string().contains(self.revision.as_str());
            self.judge(&seen, [(MODERN_ONLY, is_named)]);
        }
    }

    /// Begins with this on a connection of its own.
    async fn greet_as(&mut self, sent: impl FnOnce(&mut Probe) -> Sent) -> Option<Reply> {
        let mut probe = self.open()?;
        let sent = sent(&mut probe);
        let seen = probe.send(sent).await;
        self.general(&seen);
        probe.close().await;
        Some(seen)
    }

    /// Whether a result says for how long it may be kept.
    pub(super) fn caching(&mut self, rule: Rule, seen: &Reply) {
        let result = seen.result();
        if !result.is_null() {
            let is_kept_for = result["ttlMs"].as_f64().is_some_and(|ttl| ttl >= 0.0);
            let is_scoped = matches!(result["cacheScope"].as_str(), Some("public" | "private"));
            self.judge(seen, [(rule, is_kept_for && is_scoped)]);
        }
    }
}
