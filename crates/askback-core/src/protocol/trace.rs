//! Trace contexts.

use alloc::string::{String, ToString};

use serde_json::Value;

use super::Meta;

const TRACEPARENT: &str = "traceparent";
const TRACESTATE: &str = "tracestate";
const BAGGAGE: &str = "baggage";

/// The trace context in the `_meta` of a request, in the formats of the W3C (2026-07-28, basic,
/// `_meta`, OpenTelemetry trace context). Earlier revisions carry it, too.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TraceContext {
    /// `traceparent`: the trace, the span that sent the request, and flags.
    pub traceparent: Option<String>,
    /// `tracestate`: data of tracing systems, only together with a `traceparent`.
    pub tracestate: Option<String>,
    /// `baggage`: data of the application. Any intermediary may have changed it.
    pub baggage: Option<String>,
}

impl TraceContext {
    /// The longest `tracestate` that is accepted, in bytes (W3C Trace Context, 3.3.1.5).
    pub const TRACESTATE_BYTES: usize = 512;

    /// The longest `baggage` that is accepted, in bytes (W3C Baggage, Limits).
    pub const BAGGAGE_BYTES: usize = 8192;

    /// Reads the trace context of a `_meta`. Values that are too long or malformed are dropped.
    /// Returns `None` if nothing is left.
    #[must_use]
    pub fn of(meta: &Meta) -> Option<Self> {
        if meta.extra.is_empty() {
            return None;
        }
        let text = |key| {
            let text = meta.extra.get(key)?.as_str()?;
            (text.len() <= Self::BAGGAGE_BYTES).then(|| text.to_string())
        };
        let context = Self {
            traceparent: text(TRACEPARENT),
            tracestate: text(TRACESTATE),
            baggage: text(BAGGAGE),
        };
        let context = context.in_format();
        (context != Self::default()).then_some(context)
    }

    /// Drops values that are too long or malformed.
    fn in_format(self) -> Self {
        let bounded = |text: &String, most| text.len() <= most && text.bytes().all(is_printable);
        let traceparent = self.traceparent.filter(|text| is_traceparent(text));
        let tracestate = self
            .tracestate
            .filter(|text| traceparent.is_some() && bounded(text, Self::TRACESTATE_BYTES));
        let baggage = self
            .baggage
            .filter(|text| bounded(text, Self::BAGGAGE_BYTES));
        Self {
            traceparent,
            tracestate,
            baggage,
        }
    }

    /// Writes the trace context into a `_meta`, without values that are too long or malformed.
    pub fn write_to(self, meta: &mut Meta) {
        let context = self.in_format();
        let values = [
            (TRACEPARENT, context.traceparent),
            (TRACESTATE, context.tracestate),
            (BAGGAGE, context.baggage),
        ];
        for (key, value) in values {
            if let Some(value) = value {
                meta.extra.insert(key.to_string(), Value::String(value));
            }
        }
    }
}

fn is_printable(byte: u8) -> bool {
    matches!(byte, b' '..=b'~')
}

/// Whether a text is a `traceparent` of version 00, or begins like one of a later version (W3C
/// Trace Context, 3.2.2 and 4.3).
fn is_traceparent(text: &str) -> bool {
    const LENGTH: usize = 55;
    let is_later = || text.get(..2) != Some("00") && text.as_bytes().get(LENGTH) == Some(&b'-');
    if text.len() != LENGTH && !(text.len() <= 2 * LENGTH && is_later()) {
        return false;
    }
    let Some(known) = text.get(..LENGTH) else {
        return false;
    };
    let is_hex = |part: &str| {
        let mut bytes = part.bytes();
        bytes.all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    };
    let mut parts = known.split('-');
    let parts = [(); 4].map(|()| parts.next().unwrap_or_default());
    let [version, trace, span, flags] = parts;
    let lengths = parts.map(str::len) == [2, 32, 16, 2];
    let is_set = |id: &str| id.bytes().any(|byte| byte != b'0');
    lengths
        && [version, trace, span, flags].into_iter().all(is_hex)
        && version != "ff"
        && is_set(trace)
        && is_set(span)
        && text.bytes().all(is_printable)
}
