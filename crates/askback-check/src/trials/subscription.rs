//! Subscriptions (2026-07-28, basic/patterns/subscriptions).

use serde_json::{Value, json};

use super::Trials;
use crate::{
    probe::{Sent, Wait, id_of},
    rules::*,
};

impl Trials<'_> {
    pub(super) async fn subscription(&mut self) {
        let Some(mut talk) = self.begin(json!({})).await else {
            return;
        };
        let wanted = ["tools", "prompts", "resources"];
        let told = wanted
            .into_iter()
            .find(|kind| talk.offered[kind]["listChanged"] == true);
        let Some(kind) = told else {
            let rules = [ACKNOWLEDGED, UNREQUESTED, STREAM_BUFFERING];
            self.ledger
                .untried(&rules, "the server tells of no changes");
            talk.probe.close().await;
            return;
        };
        let filter = json!({format!("{kind}ListChanged"): true});
        let params = json!({"notifications": filter});
        let message = talk.probe.request("subscriptions/listen", params);
        let id = id_of(&message);
        let seen = self
            .send(&mut talk, Sent::message(&message, Wait::Any))
            .await;
        let first = seen.reply.notifications.first();
        let is_first = first.is_some_and(|first| {
            let meta = &first["params"]["_meta"];
            first["method"] == "notifications/subscriptions/acknowledged"
                && meta["io.modelcontextprotocol/subscriptionId"] == id
        });
        self.ledger.judge(ACKNOWLEDGED, is_first, &seen);
        let allowed = format!("notifications/{kind}/list_changed");
        let is_asked_for = |message: &Value| {
            let method = message["method"].as_str().unwrap_or_default();
            method == allowed || method == "notifications/subscriptions/acknowledged"
        };
        let is_quiet = seen.reply.notifications.iter().all(is_asked_for);
        self.ledger.judge(UNREQUESTED, is_quiet, &seen);
        if seen.reply.media().starts_with("text/event-stream") {
            let is_unbuffered = seen.reply.header("x-accel-buffering").as_deref() == Some("no");
            self.ledger.judge(STREAM_BUFFERING, is_unbuffered, &seen);
        }
        talk.probe.close().await;
    }
}
