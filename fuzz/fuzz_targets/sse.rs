//! Any event stream: it reads the same however it is split, memory stays within the limits, and the
//! events can be written and read again.

#![no_main]

use std::time::Duration;

use askback_core::{
    http::sse::{Parser, SseEvent, SseLimitError, write_comment, write_event, write_retry},
    limits::WireLimits,
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: (u8, &[u8])| {
    let (size, stream) = data;
    let mut limits = WireLimits::default();
    limits.message_bytes = 64;
    limits.id_bytes = 16;

    let (whole, events, failed) = read(stream, stream.len().max(1), &limits);
    let (pieces, again, failed_again) = read(stream, usize::from(size).max(1), &limits);
    assert_eq!(events, again);
    assert_eq!(failed.is_some(), failed_again.is_some());
    if failed.is_none() {
        assert_eq!(whole.last_event_id(), pieces.last_event_id());
        assert_eq!(whole.retry(), pieces.retry());
    }
    for event in &events {
        assert!(event.data.len() <= limits.message_bytes);
        assert!(
            event
                .id
                .as_ref()
                .is_none_or(|id| id.len() <= 3 * limits.id_bytes)
        );
    }
    rewritten(&events, &limits);
});

fn read(
    stream: &[u8],
    size: usize,
    limits: &WireLimits,
) -> (Parser, Vec<SseEvent>, Option<SseLimitError>) {
    let mut parser = Parser::new(limits);
    let mut events = Vec::new();
    for mut piece in stream.chunks(size) {
        loop {
            match parser.read(&mut piece) {
                Ok(Some(event)) => events.push(event),
                Ok(None) => break,
                Err(too_long) => return (parser, events, Some(too_long)),
            }
        }
    }
    (parser, events, None)
}

/// Events that are written and read again are the same, except for their names, which are not
/// written.
fn rewritten(events: &[SseEvent], limits: &WireLimits) {
    let mut stream = Vec::new();
    for event in events {
        write_comment(&mut stream, "between");
        write_retry(&mut stream, Duration::from_millis(7));
        write_event(&mut stream, event.id.as_deref(), &event.data);
    }
    let mut roomy = limits.clone();
    // Each invalid UTF-8 byte in an id becomes three bytes.
    roomy.id_bytes *= 3;
    let (_, again, failed) = read(&stream, stream.len().max(1), &roomy);
    assert_eq!(failed, None);
    let kept = |event: &SseEvent| {
        (
            event.id.clone().filter(|id| !id.is_empty()),
            event.data.clone(),
        )
    };
    let expected: Vec<_> = events.iter().map(kept).collect();
    assert_eq!(again.iter().map(kept).collect::<Vec<_>>(), expected);
}
