//! The trace context of a request.

use askback_core::protocol::{Meta, TraceContext};
use serde_json::json;

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
