//! Spans of requests, following OpenTelemetry's conventions for MCP.

use std::sync::Arc;

use askback_core::{
    engine::client::ClientError,
    protocol::{ClientRequest, HasMeta, TraceContext},
    quote::excerpt,
    revision::Revision,
};
use serde::Deserialize;
use tracing::{Span, field::Empty};

use super::{Client, command::CallOutcome};
use crate::span::{record_failure, record_target};

pub(super) type Propagator = Arc<dyn Fn(&Span) -> TraceContext + Send + Sync>;

pub(super) struct SentSpan {
    span: Span,
    is_call: bool,
}

impl SentSpan {
    pub(super) fn begin(client: &Client, request: &mut ClientRequest) -> Self {
        let span = begin(request, || client.greeting().revision);
        if let Some(propagate) = &client.inner.propagate {
            propagate(&span).write_to(request.meta_mut());
        }
        let is_call = matches!(request, ClientRequest::CallTool(_));
        Self { span, is_call }
    }

    pub(super) fn end(&self, ended: &CallOutcome) {
        end(&self.span, self.is_call, ended);
    }
}

fn begin(request: &ClientRequest, revision: impl Fn() -> Revision) -> Span {
    let span = tracing::info_span!(
        target: "askback",
        "mcp.client",
        "otel.name" = Empty,
        "otel.kind" = "client",
        "otel.status_code" = Empty,
        "mcp.method.name" = request.known_method(),
        "mcp.protocol.version" = revision().as_str(),
        "mcp.resource.uri" = Empty,
        "gen_ai.operation.name" = Empty,
        "gen_ai.tool.name" = Empty,
        "gen_ai.prompt.name" = Empty,
        "rpc.response.status_code" = Empty,
        "error.type" = Empty,
    );
    if !span.is_disabled() {
        describe(&span, request);
    }
    span
}

/// Names come from the server's lists, so they are shortened for the log.
#[cold]
fn describe(span: &Span, request: &ClientRequest) {
    record_target(span, request, |request| match request {
        ClientRequest::CallTool(params) => Some(excerpt(&params.name)),
        ClientRequest::GetPrompt(params) => Some(excerpt(&params.name)),
        _ => None,
    });
}

fn end(span: &Span, is_call: bool, ended: &CallOutcome) {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct ToolFailure {
        #[serde(default)]
        is_error: bool,
    }
    if span.is_disabled() {
        return;
    }
    let (kind, code) = match ended {
        Ok(result) if is_call => {
            let result = serde_json::from_str::<ToolFailure>(result.get());
            if !result.is_ok_and(|result| result.is_error) {
                return;
            }
            ("tool_error".to_owned(), None)
        }
        Ok(_) => return,
        Err(ClientError::Server(error)) => (error.code.to_string(), Some(error.code)),
        Err(ClientError::TimedOut(_)) => ("timeout".to_owned(), None),
        Err(_) => ("_OTHER".to_owned(), None),
    };
    record_failure(span, &kind, code);
}
