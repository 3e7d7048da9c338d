//! What is told of a request: a span, by the conventions of OpenTelemetry for MCP.

use std::sync::Arc;

use askback_core::{
    engine::client::ClientError,
    protocol::{ClientRequest, HasMeta, TraceContext},
    revision::Revision,
};
use serde::Deserialize;
use serde_json::value::RawValue;
use tracing::{Span, field::Empty};

/// Says where the span of a request stands in its trace.
pub(super) type Propagate = Arc<dyn Fn(&Span) -> TraceContext + Send + Sync>;

/// Begins the span of a request, and writes into the request where that stands in its trace.
pub(super) fn begin(
    request: &mut ClientRequest,
    revision: impl Fn() -> Revision,
    propagate: Option<&Propagate>,
) -> Span {
    let span = tracing::info_span!(
        target: "askback",
        "mcp.client",
        "otel.name" = Empty,
        "otel.kind" = "client",
        "otel.status_code" = Empty,
        "mcp.method.name" = request.method(),
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
    if let Some(propagate) = propagate {
        propagate(&span).write_to(request.meta_mut());
    }
    span
}

#[cold]
fn describe(span: &Span, request: &ClientRequest) {
    let method = request.method();
    let name = match request {
        ClientRequest::CallTool(params) => {
            span.record("gen_ai.operation.name", "execute_tool");
            span.record("gen_ai.tool.name", &*params.name);
            Some(&params.name)
        }
        ClientRequest::GetPrompt(params) => {
            span.record("gen_ai.prompt.name", &*params.name);
            Some(&params.name)
        }
        ClientRequest::ReadResource(params) => {
            span.record("mcp.resource.uri", &*params.uri);
            None
        }
        _ => None,
    };
    match name {
        Some(name) => span.record("otel.name", format!("{method} {name}")),
        None => span.record("otel.name", method),
    };
}

/// Tells in its span how a request ended.
pub(super) fn end(span: &Span, is_call: bool, ended: &Result<Box<RawValue>, ClientError>) {
    /// What a result of a tool says of itself.
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Failed {
        #[serde(default)]
        is_error: bool,
    }
    if span.is_disabled() {
        return;
    }
    let kind = match ended {
        Ok(result) if is_call => {
            let result = serde_json::from_str::<Failed>(result.get());
            if !result.is_ok_and(|result| result.is_error) {
                return;
            }
            "tool_error".to_owned()
        }
        Ok(_) => return,
        Err(ClientError::Server(error)) => {
            span.record("rpc.response.status_code", error.code.to_string());
            error.code.to_string()
        }
        Err(ClientError::TimedOut(_)) => "timeout".to_owned(),
        Err(_) => "_OTHER".to_owned(),
    };
    span.record("error.type", kind);
    span.record("otel.status_code", "ERROR");
}
