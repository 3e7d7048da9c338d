//! The rules of HTTP.

use askback::{Revision, protocol::codes::HEADER_MISMATCH};
use http::Method;
use serde_json::json;

use super::{Conversation, Trials, greeting::UNKNOWN, lists::NOBODY};
use crate::{
    probe::{End, Reply, SESSION_ID as SESSION, Sent, Way},
    rules::*,
    steps::address::is_loopback,
};

/// The origin of a page that a user might have open.
const ELSEWHERE: &str = "https://askback-check.example";

const VERSION: &str = "mcp-protocol-version";
const METHOD: &str = "mcp-method";

impl Trials<'_> {
    pub(super) async fn http(&mut self) {
        let Some(mut talk) = self.begin(json!({})).await else {
            return;
        };
        let message = talk.probe.request(self.harmless_method(), json!({}));
        let seen = self.send(&mut talk, Sent::request(&message)).await;
        let media = seen.media();
        let mut known = ["application/json", "text/event-stream"].iter();
        let is_known = known.any(|known| media.starts_with(known));
        self.judge(&seen, [(MEDIA, is_known)]);
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

    /// Sends a request with another header than it should have, or without.
    async fn changed(
        &mut self,
        talk: &mut Conversation,
        name: &'static str,
        value: Option<&str>,
    ) -> Reply {
        let message = talk.probe.request(self.harmless_method(), json!({}));
        let sent = Sent::request(&message).header(name, value);
        self.send(talk, sent).await
    }

    async fn origin(&mut self, talk: &mut Conversation) {
        let Way::Address(address) = self.way else {
            return;
        };
        if !is_loopback(address.url().host_str().unwrap_or_default()) {
            return;
        }
        let seen = self.changed(talk, "origin", Some(ELSEWHERE)).await;
        let (is_403, is_refused) = (seen.has_status(403), seen.is_refused());
        self.judge(&seen, [(ORIGIN, is_403), (OLD_ORIGIN, is_refused)]);
    }

    /// Headers that do not say what the body says.
    async fn headers_of_body(&mut self, talk: &mut Conversation) {
        let refused = |seen: &Reply| seen.has_status(400) && seen.has_code(HEADER_MISMATCH);
        let other = Revision::LATEST_LEGACY.as_str();
        let seen = self.changed(talk, VERSION, Some(other)).await;
        // A server of both eras may take the request for one without its session.
        let is_of_both = self.newest_with_handshake().is_some();
        let is_refused = refused(&seen) || is_of_both && seen.has_status(400);
        self.judge(&seen, [(VERSION_HEADER, is_refused)]);
        let seen = self.changed(talk, METHOD, Some("tools/list")).await;
        self.judge(&seen, [(METHOD_HEADER, refused(&seen))]);
        let seen = self.changed(talk, METHOD, None).await;
        self.judge(&seen, [(MISSING_HEADER, refused(&seen))]);
        if talk.has("tools") {
            let params = json!({"name": NOBODY, "arguments": {}});
            let message = talk.probe.request("tools/call", params);
            let sent = Sent::request(&message).header("mcp-name", Some("askback-other"));
            let seen = self.send(talk, sent).await;
            self.judge(&seen, [(NAME_HEADER, refused(&seen))]);
        }
    }

    async fn without_sessions(&mut self, talk: &mut Conversation) {
        let seen = talk.probe.send(Sent::bare(Method::GET)).await;
        self.judge(&seen, [(MODERN_GET, seen.has_status(405))]);
        let seen = self.changed(talk, SESSION, Some("askback")).await;
        let is_none = seen.header(SESSION).is_none();
        self.judge(&seen, [(MODERN_SESSION, is_none)]);
    }

    async fn session(&mut self, mut talk: Conversation) {
        let seen = talk.probe.send(Sent::bare(Method::GET)).await;
        let is_stream = seen.has_status(200) && seen.media().starts_with("text/event-stream");
        let is_right = is_stream || seen.has_status(405);
        self.judge(&seen, [(GET_STREAM, is_right)]);
        let seen = self.changed(&mut talk, VERSION, Some(UNKNOWN)).await;
        self.judge(&seen, [(BAD_VERSION_HEADER, seen.has_status(400))]);
        let Some(id) = talk.probe.session() else {
            return;
        };
        let is_visible = id.chars().all(|c| c.is_ascii_graphic());
        self.judge(&talk.greeting, [(SESSION_ID, is_visible)]);
        let seen = self.changed(&mut talk, SESSION, None).await;
        self.judge(&seen, [(SESSION_MISSING, seen.has_status(400))]);
        let ended = talk.probe.send(Sent::bare(Method::DELETE)).await;
        let is_accepted = ended.status.is_some_and(|it| (200..300).contains(&it));
        if !is_accepted || ended.end != End::Done {
            return;
        }
        let message = talk.probe.request(self.harmless_method(), json!({}));
        let seen = self.send(&mut talk, Sent::request(&message)).await;
        self.judge(&seen, [(SESSION_ENDED, seen.has_status(404))]);
    }
}
