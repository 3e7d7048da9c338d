//! The rules of HTTP.

use askback::{Revision, protocol::codes::HEADER_MISMATCH};
use serde_json::json;

use super::{Conversation, Trials, lists::NOBODY};
use crate::{
    probe::{End, Exchange, Sent, Verb, Way},
    rules::*,
    steps::address::is_loopback,
};

/// The origin of a page that a person might have open.
const ELSEWHERE: &str = "https://askback-check.example";

impl Trials<'_> {
    pub(super) async fn http(&mut self) {
        let Some(mut talk) = self.begin(json!({})).await else {
            return;
        };
        self.media(&mut talk).await;
        self.origin(&mut talk).await;
        match self.is_modern() {
            true => {
                self.headers_of_body(&mut talk).await;
                if self.newest_with_handshake().is_none() {
                    self.without_sessions(&mut talk).await;
                }
                talk.probe.close().await;
            }
            false => self.session(talk).await,
        }
    }

    async fn probed(
        &mut self,
        talk: &mut Conversation,
        change: impl FnOnce(Sent) -> Sent,
    ) -> Exchange {
        let message = talk.probe.request(self.harmless_method(), json!({}));
        self.send(talk, change(Sent::request(&message))).await
    }

    async fn media(&mut self, talk: &mut Conversation) {
        let seen = self.probed(talk, |sent| sent).await;
        let media = seen.reply.media();
        let is_known = ["application/json", "text/event-stream"]
            .into_iter()
            .any(|known| media.starts_with(known));
        self.ledger.judge(MEDIA, is_known, &seen);
    }

    async fn origin(&mut self, talk: &mut Conversation) {
        let Way::Address(address) = self.way else {
            return;
        };
        let host = address.url().host_str().unwrap_or_default();
        if !is_loopback(host) {
            let why = "a server on the internet may be for the pages of all sites";
            return self.ledger.untried(&[ORIGIN, OLD_ORIGIN], why);
        }
        let seen = self
            .probed(talk, |sent| sent.header("origin", Some(ELSEWHERE)))
            .await;
        let is_403 = seen.reply.status == Some(403);
        self.ledger.judge(ORIGIN, is_403, &seen);
        let is_refused = seen.reply.is_refused();
        self.ledger.judge(OLD_ORIGIN, is_refused, &seen);
    }

    /// Headers that do not say what the body says.
    async fn headers_of_body(&mut self, talk: &mut Conversation) {
        let refused = |seen: &Exchange| {
            seen.reply.status == Some(400) && seen.reply.code() == Some(HEADER_MISMATCH)
        };
        let other = Revision::LATEST_LEGACY.as_str();
        let seen = self
            .probed(talk, |sent| {
                sent.header("mcp-protocol-version", Some(other))
            })
            .await;
        // A server of both eras may take the request for one without its session.
        let is_of_both = self.newest_with_handshake().is_some();
        let is_refused = refused(&seen) || is_of_both && seen.reply.status == Some(400);
        self.ledger.judge(VERSION_HEADER, is_refused, &seen);
        let seen = self
            .probed(talk, |sent| sent.header("mcp-method", Some("tools/list")))
            .await;
        self.ledger.judge(METHOD_HEADER, refused(&seen), &seen);
        let seen = self
            .probed(talk, |sent| sent.header("mcp-method", None))
            .await;
        self.ledger.judge(MISSING_HEADER, refused(&seen), &seen);
        if talk.has("tools") {
            let params = json!({"name": NOBODY, "arguments": {}});
            let message = talk.probe.request("tools/call", params);
            let sent = Sent::request(&message).header("mcp-name", Some("askback-other"));
            let seen = self.send(talk, sent).await;
            self.ledger.judge(NAME_HEADER, refused(&seen), &seen);
        }
    }

    async fn without_sessions(&mut self, talk: &mut Conversation) {
        let seen = talk.probe.send(Sent::bare(Verb::Get)).await;
        let is_405 = seen.reply.status == Some(405);
        self.ledger.judge(MODERN_GET, is_405, &seen);
        let sent = |sent: Sent| sent.header("mcp-session-id", Some("askback"));
        let seen = self.probed(talk, sent).await;
        let is_none = seen.reply.header("mcp-session-id").is_none();
        self.ledger.judge(MODERN_SESSION, is_none, &seen);
    }

    async fn session(&mut self, mut talk: Conversation) {
        let seen = talk.probe.send(Sent::bare(Verb::Get)).await;
        let media = seen.reply.media();
        let is_stream = seen.reply.status == Some(200) && media.starts_with("text/event-stream");
        let is_right = is_stream || seen.reply.status == Some(405);
        self.ledger.judge(GET_STREAM, is_right, &seen);
        let seen = self
            .probed(&mut talk, |sent| {
                sent.header("mcp-protocol-version", Some("1999-01-01"))
            })
            .await;
        let is_400 = seen.reply.status == Some(400);
        self.ledger.judge(BAD_VERSION_HEADER, is_400, &seen);
        let Some(id) = talk.probe.session().map(str::to_owned) else {
            let rules = [SESSION_ID, SESSION_MISSING, SESSION_ENDED];
            return self.ledger.untried(&rules, "the server has no sessions");
        };
        let is_visible = id.chars().all(|c| c.is_ascii_graphic());
        self.ledger.judge(SESSION_ID, is_visible, &talk.greeting);
        let seen = self
            .probed(&mut talk, |sent| sent.header("mcp-session-id", None))
            .await;
        let is_400 = seen.reply.status == Some(400);
        self.ledger.judge(SESSION_MISSING, is_400, &seen);
        let ended = talk.probe.send(Sent::bare(Verb::Delete)).await;
        if !ended.reply.is_accepted() || ended.reply.end != End::Done {
            let why = "the server does not let clients end its sessions";
            return self.ledger.untried(&[SESSION_ENDED], why);
        }
        let seen = self.probed(&mut talk, |sent| sent).await;
        let is_404 = seen.reply.status == Some(404);
        self.ledger.judge(SESSION_ENDED, is_404, &seen);
    }
}
