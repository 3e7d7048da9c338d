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

#[cfg(test)]
mod tests {
    use alloc::{format, string::ToString};

    use serde_json::json;

    use super::TraceContext;
    use crate::protocol::Meta;

    /// Checks the values that are read from these three.
    #[track_caller]
    fn check(written: [&str; 3], read: [Option<&str>; 3]) {
        let [traceparent, tracestate, baggage] = written;
        let meta: Meta = serde_json::from_value(json!({
            "traceparent": traceparent, "tracestate": tracestate, "baggage": baggage,
        }))
        .unwrap();
        let context = TraceContext::of(&meta).unwrap_or_default();
        let got = [&context.traceparent, &context.tracestate, &context.baggage];
        assert_eq!(got.map(|text| text.as_deref()), read);
    }

    const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01";

    #[test]
    fn what_is_in_its_format_is_read() {
        check(
            [PARENT, "a=1,b=2", "user=al%20ice"],
            [Some(PARENT), Some("a=1,b=2"), Some("user=al%20ice")],
        );
        let later = format!("{}-more", PARENT.replacen("00", "01", 1));
        check([&later, "", ""], [Some(&later), Some(""), Some("")]);
        for wrong in [
            "",
            "00",
            &PARENT.to_uppercase(),
            &PARENT.replacen("00", "ff", 1),
            &format!("{PARENT}-more"),
            &PARENT.replace("0af7651916cd43dd8448eb211c80319c", &"0".repeat(32)),
            &PARENT.replace("00f067aa0ba902b7", &"0".repeat(16)),
            &PARENT.replace("-01", "_01"),
            &PARENT.replace("f7", "é"),
            &format!("{}-{}", PARENT.replacen("00", "01", 1), "x".repeat(1000)),
        ] {
            // A `tracestate` is meaningless without a `traceparent`.
            check([wrong, "a=1", "b=2"], [None, None, Some("b=2")]);
        }
    }

    #[test]
    fn what_is_too_long_or_not_printed_is_left_out() {
        let (state, baggage) = ("x".repeat(512), "y".repeat(8192));
        let all = [Some(PARENT), Some(&*state), Some(&*baggage)];
        check([PARENT, &state, &baggage], all);
        let longer = [format!("{state}x"), format!("{baggage}y")];
        check([PARENT, &longer[0], &longer[1]], [Some(PARENT), None, None]);
        check([PARENT, "a\n", "b\u{1b}"], [Some(PARENT), None, None]);
    }

    #[test]
    fn nothing_is_written_that_would_not_be_read() {
        let mut meta = Meta::default();
        let context = TraceContext {
            traceparent: Some("wrong".to_string()),
            tracestate: Some("a=1".to_string()),
            baggage: Some("b\n".to_string()),
        };
        context.write_to(&mut meta);
        assert!(meta.is_empty());
    }

    #[test]
    fn what_is_written_is_read() {
        let context = TraceContext {
            traceparent: Some(PARENT.to_string()),
            tracestate: None,
            baggage: Some("b=2".to_string()),
        };
        let mut meta = Meta::default();
        context.clone().write_to(&mut meta);
        assert_eq!(TraceContext::of(&meta), Some(context));
        assert_eq!(TraceContext::of(&Meta::default()), None);
    }
}
