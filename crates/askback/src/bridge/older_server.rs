//! Servers that speak 2026-07-28 but ask only on a session. They are connected a second time, with a session.

use std::sync::{Arc, Weak};

use askback_core::{
    protocol::{CallToolResult, ContentBlock, OtherRequest},
    revision::Era,
};
use serde_json::value::RawValue;
use tokio::sync::OnceCell;

use super::{
    Bridge, ForwardCtx, Forwarded, OlderRule, OlderSign,
    greeting::ClientGreeting,
    hold::HeldCall,
    session::Session,
    upstream::{Upstream, call_error, is_later_round, target},
};
use crate::error::Result;

/// The second connection to a server.
pub(super) struct OlderServer {
    rule: OlderRule,
    bridge: Bridge,
    client: ClientGreeting,
    session: Weak<Session>,
    /// `None` if the server has no sessions.
    upstream: OnceCell<Option<Box<Upstream>>>,
}

impl OlderServer {
    pub(super) fn new(
        rule: OlderRule,
        bridge: Bridge,
        client: ClientGreeting,
        session: Weak<Session>,
    ) -> Self {
        Self {
            rule,
            bridge,
            client,
            session,
            upstream: OnceCell::new(),
        }
    }

    async fn connect(&self) -> Option<Upstream> {
        let session = Arc::new(self.session.upgrade()?.beside());
        let connected = self.bridge.connect(&self.client, &session, true).await;
        let upstream = connected
            .inspect_err(|error| {
                session.note(format!("the server was not connected again: {error}"));
            })
            .ok()?;
        if upstream.revision().era() == Era::Modern {
            upstream.close().await;
            return None;
        }
        let (bridge, client) = (&self.bridge, &self.client);
        Some(Upstream::new(bridge, client, session, upstream, None))
    }

    /// Answers a call through the second connection, if there is one. A round that the first connection began, and
    /// all other requests, stay there: a server that runs here is another process with its own memory.
    pub(super) async fn answer(
        &self,
        request: &OtherRequest,
        ctx: &ForwardCtx,
        held: Option<&Arc<HeldCall>>,
    ) -> Option<Result<Forwarded>> {
        target(request)?;
        let upstream = self.upstream.get()?.as_ref()?;
        if is_later_round(request) && !upstream.is_parked(request, ctx) {
            return None;
        }
        let (request, ctx) = (request.clone().into(), ctx.clone());
        Some(upstream.answer_boxed(request, ctx, held).await)
    }

    /// Connects with a session if this failure says that the server cannot ask. Returns what the client is told. The
    /// call is not repeated here, because it may have had an effect before it asked.
    pub(super) async fn replace(
        &self,
        request: &OtherRequest,
        failure: &str,
    ) -> Option<Result<Forwarded>> {
        target(request)?;
        if !(self.rule.is_older)(OlderSign::Failure(failure)) {
            return None;
        }
        let connecting = async {
            let upstream = self.connect().await?;
            (self.rule.found)(upstream.client.server_info().as_ref());
            Some(Box::new(upstream))
        };
        let upstream = self.upstream.get_or_init(|| connecting).await.as_ref()?;
        let why = format!(
            "The call failed, it seems because the server wanted to ask a person: it asks only in older revisions. It is \
             connected in {} now. Call `{}` again with the same arguments, and the person is asked. Do not ask the user \
             yourself. The server said: {failure}",
            upstream.revision.as_str(),
            request.target().unwrap_or_default(),
        );
        Some(call_error(request, why))
    }

    pub(super) async fn close(&self) {
        if let Some(Some(upstream)) = self.upstream.get() {
            upstream.client.clone().close().await;
        }
    }
}

/// Returns the text of a failed tool.
pub(super) fn failure(result: &RawValue) -> Option<String> {
    if !result.get().contains("isError") {
        return None;
    }
    let result = CallToolResult::from_text(result.get()).ok()?;
    let texts = result.content.iter().filter_map(ContentBlock::as_text);
    result
        .failed()
        .then(|| texts.collect::<Vec<_>>().join("\n"))
}
