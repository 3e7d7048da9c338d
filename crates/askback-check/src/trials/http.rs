use askback::{Revision, internal::address::is_loopback_host, protocol::codes::HEADER_MISMATCH};
use http::Method;
use serde_json::json;

use super::{Conversation, NOBODY, Trials};
use crate::{
    probe::{End, ProbeRequest, Reply, SESSION_ID, Way},
    rules::*,
};

/// The origin of another page that a user might have open.
const ELSEWHERE: &str = "https://askback-check.example";

const VERSION: &str = "mcp-protocol-version";
const METHOD: &str = "mcp-method";

impl Trials<'_> {
    pub(super) async fn http(&mut self) {
        let Some(mut talk) = self.begin(json!({})).await else {
            return;
        };
        let seen = talk.ask(talk.harmless_method(), json!({})).await;
        let media = seen.media();
        let mut known = ["application/json", "text/event-stream"].iter();
        let is_known = known.any(|known| media.starts_with(known));
        talk.judge(&seen, [(MEDIA, is_known)]);
        if let Way::Address(address) = talk.way
            && is_loopback_host(address.url.host_str().unwrap_or_default())
        {
            let seen = talk.changed("origin", Some(ELSEWHERE)).await;
            let (is_403, is_refused) = (seen.has_status(403), seen.is_refused());
            talk.judge(&seen, [(ORIGIN, is_403), (OLD_ORIGIN, is_refused)]);
        }
        match talk.is_modern() {
            true => talk.modern_headers().await,
            false => talk.session().await,
        }
    }
}

impl Conversation<'_> {
    async fn changed(&mut self, name: &str, value: Option<&str>) -> Reply {
        let method = self.harmless_method();
        let message = self.probe.request(method, json!({}));
        self.send(ProbeRequest::request(&message).header(name, value))
            .await
    }

    /// Headers that contradict the body, and headers of sessions.
    async fn modern_headers(mut self) {
        let refused = |seen: &Reply| seen.has_status(400) && seen.has_code(HEADER_MISMATCH);
        // A server of both eras may read a request with another version as one without a session.
        let is_of_both = self.newest_with_handshake().is_some();
        let other = Revision::LATEST_LEGACY.as_str();
        for (rule, name, value) in [
            (VERSION_HEADER, VERSION, Some(other)),
            (METHOD_HEADER, METHOD, Some("tools/list")),
            (MISSING_HEADER, METHOD, None),
        ] {
            let seen = self.changed(name, value).await;
            let may_be_400 = is_of_both && name == VERSION;
            let is_refused = refused(&seen) || may_be_400 && seen.has_status(400);
            self.judge(&seen, [(rule, is_refused)]);
        }
        if self.has("tools") {
            let params = json!({"name": NOBODY, "arguments": {}});
            let message = self.probe.request("tools/call", params);
            let sent = ProbeRequest::request(&message).header("mcp-name", Some("askback-other"));
            let seen = self.send(sent).await;
            self.judge(&seen, [(NAME_HEADER, refused(&seen))]);
        }
        if !is_of_both {
            let seen = self.probe.send(ProbeRequest::bare(Method::GET)).await;
            self.judge(&seen, [(MODERN_GET, seen.has_status(405))]);
        }
        self.probe.close().await;
    }

    async fn session(mut self) {
        let seen = self.probe.send(ProbeRequest::bare(Method::GET)).await;
        let is_stream = seen.has_status(200) && seen.media().starts_with("text/event-stream");
        let is_right = is_stream || seen.has_status(405);
        self.judge(&seen, [(GET_STREAM, is_right)]);
        if self.greeting.header(SESSION_ID).is_none() {
            return;
        }
        let seen = self.changed(SESSION_ID, None).await;
        self.judge(&seen, [(SESSION_MISSING, seen.has_status(400))]);
        let ended = self.probe.send(ProbeRequest::bare(Method::DELETE)).await;
        let is_accepted = ended.status.is_some_and(|it| (200..300).contains(&it));
        if is_accepted && ended.end == End::Done {
            let seen = self.ask(self.harmless_method(), json!({})).await;
            self.judge(&seen, [(SESSION_ENDED, seen.has_status(404))]);
        }
    }
}
