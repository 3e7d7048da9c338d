//! Servers that speak 2026-07-28 but ask only on a session. They are connected a second time, with a session.

use std::sync::Arc;

use askback_core::{
    future::BoxFuture,
    protocol::{CallToolResult, ContentBlock, OtherRequest},
};
use serde_json::value::RawValue;
use tokio::sync::OnceCell;

use super::{
    ForwardCtx, Forwarded, OlderRule, OlderSign,
    hold::HeldCall,
    upstream::{Upstream, call_error, is_later_round, target},
};
use crate::error::Result;

/// The second connection to a server.
pub(super) struct OlderServer {
    rule: OlderRule,
    connect: Connect,
    /// `None` if the server has no sessions.
    upstream: OnceCell<Option<Box<Upstream>>>,
}

type Connect = Box<dyn Fn() -> BoxFuture<'static, Option<Upstream>> + Send + Sync>;

impl OlderServer {
    pub(super) fn new(
        rule: OlderRule,
        connect: impl Fn() -> BoxFuture<'static, Option<Upstream>> + Send + Sync + 'static,
    ) -> Self {
        Self {
            rule,
            connect: Box::new(connect),
            upstream: OnceCell::new(),
        }
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
            let upstream = (self.connect)().await?;
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
