//! The span of a request, by the conventions of OpenTelemetry for MCP, and the metrics.
//!
//! Without a subscriber, a span costs one comparison.

use std::{sync::OnceLock, time::Instant};

use askback_core::{
    engine::server::Origin,
    jsonrpc::{ErrorObject, RequestId},
    protocol::{ClientRequest, Outcome},
    quote::excerpt,
};
use tracing::{Span, field::Empty, span::Entered};

use super::Shared;
#[cfg(feature = "http-server")]
use crate::journal::JournalStatus;
use crate::span::{record_failure, record_target};

pub(super) struct Trace {
    span: Span,
    started: Option<Instant>,
    method: &'static str,
    name: Option<String>,
    ended: OnceLock<CallEnd>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallEnd {
    Done,
    Failed,
    Asked,
    Task,
}

impl CallEnd {
    pub(super) fn of<T>(outcome: &Outcome<T>) -> Self {
        match outcome {
            Outcome::Done(_) => Self::Done,
            Outcome::NeedInput(_) => Self::Asked,
            Outcome::Task(_) | Outcome::CoreTask(_) => Self::Task,
        }
    }
}

impl Trace {
    pub(super) fn begin(
        shared: &Shared,
        request: &ClientRequest,
        id: &RequestId,
        origin: &Origin,
        counts: bool,
    ) -> Self {
        let span = tracing::info_span!(
            target: "askback",
            "mcp.server",
            "otel.name" = Empty,
            "otel.kind" = "server",
            "otel.status_code" = Empty,
            "mcp.method.name" = Empty,
            "mcp.protocol.version" = Empty,
            "mcp.resource.uri" = Empty,
            "jsonrpc.request.id" = Empty,
            "gen_ai.operation.name" = Empty,
            "gen_ai.tool.name" = Empty,
            "gen_ai.prompt.name" = Empty,
            "enduser.id" = Empty,
            "askback.outcome" = Empty,
            "rpc.response.status_code" = Empty,
            "error.type" = Empty,
        );
        let counts = counts && tracing::enabled!(target: "askback::metrics", tracing::Level::DEBUG);
        let mut trace = Self {
            span,
            started: counts.then(Instant::now),
            method: request.known_method(),
            name: None,
            ended: OnceLock::new(),
        };
        if trace.is_told() {
            trace.describe(shared, request, id, origin);
        }
        trace
    }

    #[cold]
    fn describe(
        &mut self,
        shared: &Shared,
        request: &ClientRequest,
        id: &RequestId,
        origin: &Origin,
    ) {
        let span = &self.span;
        if let (Some(parent), Some(context)) = (&shared.trace_parent, &origin.trace) {
            parent(span, context);
        }
        span.record("mcp.method.name", self.method);
        span.record("mcp.protocol.version", origin.revision.as_str());
        span.record("jsonrpc.request.id", excerpt(&id.to_string()));
        if let Some(principal) = &origin.principal {
            span.record("enduser.id", excerpt(&principal.subject));
        }
        // An unknown name comes from the client, and there is no limit on different names.
        let catalog = shared.catalog.load();
        self.name = record_target(span, request, |request| match request {
            ClientRequest::CallTool(params) => {
                let known = catalog.tools.get(&params.name).is_some();
                known.then(|| params.name.clone())
            }
            ClientRequest::GetPrompt(params) => {
                let known = catalog.prompts.get(&params.name).is_some();
                known.then(|| params.name.clone())
            }
            _ => None,
        });
    }

    fn is_told(&self) -> bool {
        !self.span.is_disabled() || self.started.is_some()
    }

    pub(super) fn enter(&self) -> Entered<'_> {
        self.span.enter()
    }

    pub(super) fn note<T>(&self, outcome: &Outcome<T>) {
        if self.is_told() {
            self.ended.get_or_init(|| CallEnd::of(outcome));
        }
    }

    /// Notes that the call waits in the journal for answers.
    pub(super) fn note_parked(&self) {
        if self.is_told() {
            self.ended.get_or_init(|| CallEnd::Asked);
        }
    }

    pub(super) fn note_failed_tool(&self) {
        if self.is_told() {
            self.ended.get_or_init(|| CallEnd::Failed);
        }
    }

    pub(super) fn end(&self, error: Option<&ErrorObject>) {
        if self.is_told() {
            self.tell_end(error);
        }
    }

    #[cold]
    fn tell_end(&self, error: Option<&ErrorObject>) {
        let ended = self.ended.get().copied().unwrap_or(CallEnd::Done);
        let (outcome, kind) = match (error, ended) {
            (Some(error), _) => ("error", Some(error.code.to_string())),
            (None, CallEnd::Failed) => ("error", Some("tool_error".to_owned())),
            (None, CallEnd::Done) => ("done", None),
            (None, CallEnd::Asked) => ("asked", None),
            (None, CallEnd::Task) => ("task", None),
        };
        self.span.record("askback.outcome", outcome);
        if let Some(kind) = &kind {
            record_failure(&self.span, kind, error.map(|error| error.code));
        }
        let Some(started) = self.started else { return };
        let (tool, prompt) = match self.method {
            "tools/call" => (self.name.as_deref(), None),
            _ => (None, self.name.as_deref()),
        };
        tracing::event!(
            target: "askback::metrics",
            tracing::Level::DEBUG,
            histogram.mcp.server.operation.duration = started.elapsed().as_secs_f64(),
            mcp.method.name = self.method,
            gen_ai.tool.name = tool,
            gen_ai.prompt.name = prompt,
            askback.outcome = outcome,
            error.type = kind,
        );
    }
}

/// Adds to counters, with attributes.
macro_rules! count {
    ($($what:tt)*) => {
        tracing::event!(target: "askback::metrics", tracing::Level::DEBUG, $($what)*)
    };
}

pub(super) fn count_round(method: &str, questions: usize) {
    count!(
        monotonic_counter.askback.rounds = 1_u64,
        monotonic_counter.askback.questions = questions as u64,
        mcp.method.name = method,
    );
}

pub(super) fn count_replay(method: &str) {
    count!(
        monotonic_counter.askback.replays = 1_u64,
        mcp.method.name = method
    );
}

#[cfg(feature = "http-server")]
pub(super) fn count_takeover() {
    count!(monotonic_counter.askback.takeovers = 1_u64);
}

#[cfg(feature = "http-server")]
pub(super) fn count_gap() {
    count!(monotonic_counter.askback.gaps = 1_u64);
}

/// Whether anything reads counts.
#[cfg(feature = "http-server")]
pub(super) fn is_counted() -> bool {
    tracing::enabled!(target: "askback::metrics", tracing::Level::DEBUG)
}

#[cfg(feature = "http-server")]
pub(super) fn tell_status(status: &JournalStatus) {
    count!(
        gauge.askback.waiting_calls = status.waiting_calls,
        gauge.askback.running_calls = status.running_calls,
        gauge.askback.overdue_calls = status.overdue_calls,
        gauge.askback.lag = status.lag.as_secs_f64(),
    );
}

pub(super) fn count_refusal(reason: &'static str) {
    count!(
        monotonic_counter.askback.refusals = 1_u64,
        askback.reason = reason
    );
}
