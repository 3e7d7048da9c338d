//! Span fields of both sides, following OpenTelemetry's conventions for MCP.

use askback_core::{protocol::ClientRequest, quote::excerpt};
use tracing::Span;

/// Records the target of a request and the name of the span. `name` converts the name of a tool or prompt, or drops it,
/// because the peer's names must not get into a log unchanged.
pub(crate) fn record_target(
    span: &Span,
    request: &ClientRequest,
    name: impl FnOnce(&ClientRequest) -> Option<String>,
) -> Option<String> {
    let name = name(request);
    match request {
        ClientRequest::CallTool(_) => {
            span.record("gen_ai.operation.name", "execute_tool");
            span.record("gen_ai.tool.name", name.as_deref());
        }
        ClientRequest::GetPrompt(_) => {
            span.record("gen_ai.prompt.name", name.as_deref());
        }
        ClientRequest::ReadResource(params) => {
            span.record("mcp.resource.uri", excerpt(&params.uri));
        }
        _ => {}
    }
    let method = request.known_method();
    match &name {
        Some(name) => span.record("otel.name", format!("{method} {name}")),
        None => span.record("otel.name", method),
    };
    name
}

pub(crate) fn record_failure(span: &Span, kind: &str, code: Option<i64>) {
    if let Some(code) = code {
        span.record("rpc.response.status_code", code.to_string());
    }
    span.record("error.type", kind);
    span.record("otel.status_code", "ERROR");
}
