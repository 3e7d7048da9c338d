//! Event streams.

use std::time::Duration;

use askback_core::{
    http::sse::{
        Parser, SseEvent, SseLimitError, write_comment, write_event, write_named_event,
        write_priming_event, write_retry,
    },
    limits::{Limits, WireLimits},
};
use proptest::prelude::*;

/// The id, type and data of each event.
type Seen = Vec<(Option<String>, Option<String>, String)>;

fn seen(events: Vec<SseEvent>) -> Seen {
    let text = |data: Vec<u8>| String::from_utf8(data).expect("UTF-8");
    let events = events.into_iter();
    events
        .map(|event| (event.id, event.event, text(event.data)))
        .collect()
}

fn read_all(
    parser: &mut Parser,
    mut input: &[u8],
    events: &mut Vec<SseEvent>,
) -> Result<(), SseLimitError> {
    while let Some(event) = parser.read(&mut input)? {
        events.push(event);
    }
    assert!(input.is_empty());
    Ok(())
}

/// Parses a stream in pieces of this size, with empty pieces in between.
fn read(stream: &[u8], size: usize) -> (Vec<SseEvent>, Parser) {
    let mut parser = Parser::new(&WireLimits::default());
    let mut events = Vec::new();
    for piece in stream.chunks(size) {
        read_all(&mut parser, piece, &mut events).expect("short enough");
        read_all(&mut parser, b"", &mut events).expect("short enough");
    }
    (events, parser)
}

/// Checks the events of a stream and its last event id, with pieces of any size.
#[track_caller]
fn check(stream: &[u8], expected: &[(&str, &str, &str)], last_event_id: Option<&str>) {
    let some = |text: &str| (text != "-").then(|| text.to_owned());
    let expected: Seen = expected
        .iter()
        .map(|(id, event, data)| (some(id), some(event), (*data).to_owned()))
        .collect();
    for size in 1..=stream.len().max(1) {
        let (events, parser) = read(stream, size);
        let shown = String::from_utf8_lossy(stream);
        assert_eq!(seen(events), expected, "{shown:?} in pieces of {size}");
        assert_eq!(
            parser.last_event_id(),
            last_event_id,
            "{shown:?} in pieces of {size}"
        );
    }
}

#[test]
fn events_are_read_from_any_pieces() {
    check(b"", &[], None);
    check(b"data: a\n\n", &[("-", "-", "a")], None);
    check(b"data:a\r\n\r\n", &[("-", "-", "a")], None);
    check(b"data:  a\r\r", &[("-", "-", " a")], None);
    check(
        b"data: a\r\n\rdata: b\n\r\n",
        &[("-", "-", "a"), ("-", "-", "b")],
        None,
    );
    check(b"data: a\ndata: b\ndata\n\n", &[("-", "-", "a\nb\n")], None);
    check(
        "data: Grüße 世界 🌍\n\n".as_bytes(),
        &[("-", "-", "Grüße 世界 🌍")],
        None,
    );
    check(
        b"\xef\xbb\xbfdata: a\n\ndata: b\n\n",
        &[("-", "-", "a"), ("-", "-", "b")],
        None,
    );
    // Anywhere else, a byte order mark is part of a field name.
    check(
        b"data: a\n\n\xef\xbb\xbfdata: b\n\n",
        &[("-", "-", "a")],
        None,
    );
    check(
        b"event: endpoint\ndata: /x\n\n",
        &[("-", "endpoint", "/x")],
        None,
    );
    check(b"\n\n\r\r\n\ndata: a\n\n\n\n", &[("-", "-", "a")], None);
    // An incomplete event is dropped.
    check(b"data: a\n\ndata: b\n", &[("-", "-", "a")], None);
    check(b"data: a", &[], None);
}

#[test]
fn comments_and_unknown_fields_are_skipped() {
    check(
        b":\n\n: ping\r\n\r\n:data: a\n\ndata: b\n\n",
        &[("-", "-", "b")],
        None,
    );
    check(
        b"data: a\n: in between\ndata: b\n\n",
        &[("-", "-", "a\nb")],
        None,
    );
    check(
        b"Data: a\ndatas: b\n data: c\ndata : d\nfoo\nfoo:\n\n",
        &[],
        None,
    );
    let mut parser = Parser::new(&WireLimits::default());
    let mut events = Vec::new();
    // An endless comment takes no memory and is not an error.
    read_all(&mut parser, b":", &mut events).expect("a comment");
    for _ in 0..8 {
        read_all(&mut parser, &[b'x'; 1 << 20], &mut events).expect("a comment");
    }
    read_all(&mut parser, b"\ndata: a\n\n", &mut events).expect("an event");
    assert_eq!(seen(events), [(None, None, "a".to_owned())]);
}

#[test]
fn the_last_id_is_remembered() {
    check(b"id: 7\ndata:\n\n", &[("7", "-", "")], Some("7"));
    check(
        b"id: 7\ndata: a\n\ndata: b\n\n",
        &[("7", "-", "a"), ("-", "-", "b")],
        Some("7"),
    );
    // An id alone is not an event, but counts.
    check(b"id: 7\n\n", &[], Some("7"));
    check(
        b"id: 7\ndata: a\n\nid\ndata: b\n\n",
        &[("7", "-", "a"), ("", "-", "b")],
        None,
    );
    check(b"id: 7\nid: 8\ndata: a\n\n", &[("8", "-", "a")], Some("8"));
    // The event must be complete.
    check(
        b"id: 7\ndata: a\n\nid: 8\ndata: b\n",
        &[("7", "-", "a")],
        Some("7"),
    );
    check(
        b"id: 7\ndata: a\n\nid: 8\0\ndata: b\n\n",
        &[("7", "-", "a"), ("-", "-", "b")],
        Some("7"),
    );
    // The type of an event does not carry over to the next.
    check(b"event: x\n\ndata: a\n\n", &[("-", "-", "a")], None);
}

// Shows HT25-11.
#[test]
fn the_pause_before_connecting_again_is_read() {
    #[track_caller]
    fn check(stream: &str, expected: Option<u64>) {
        for size in 1..=stream.len() {
            let (_, parser) = read(stream.as_bytes(), size);
            assert_eq!(
                parser.retry(),
                expected.map(Duration::from_millis),
                "{stream:?}"
            );
        }
    }
    check("retry: 500\n", Some(500));
    check("retry:0\n\n", Some(0));
    check("retry: 500\n\nretry: x\n", Some(500));
    check("retry: 500\n\nretry: 700\n", Some(700));
    check("retry: 99999999999999999999999\n", Some(u64::MAX));
    for bad in [
        "retry\n",
        "retry: \n",
        "retry: -1\n",
        "retry: 1.5\n",
        "retry: +1\n",
        "retry: 1 \n",
        "retry: 500",
    ] {
        check(bad, None);
    }
}

#[test]
fn a_stream_cannot_fill_the_memory() {
    let mut limits = Limits::default();
    limits.wire.message_bytes = 8;
    limits.wire.id_bytes = 3;
    let check = |stream: &str, expected: Result<usize, SseLimitError>| {
        for size in 1..=stream.len() {
            let mut parser = Parser::new(&limits.wire);
            let mut events = Vec::new();
            let mut pieces = stream.as_bytes().chunks(size);
            let outcome = pieces.try_for_each(|piece| read_all(&mut parser, piece, &mut events));
            assert_eq!(
                outcome.map(|()| events.len()),
                expected,
                "{stream:?} in pieces of {size}"
            );
        }
    };
    check("data: 12345678\n\ndata: 12345678\n\n", Ok(2));
    check("data: 123456789\n\n", Err(SseLimitError::Event(8)));
    check("data: 1234\ndata: 123\n\n", Ok(1));
    check("data: 1234\ndata: 1234\n\n", Err(SseLimitError::Event(8)));
    check(&format!("{}\n", "data\n".repeat(9)), Ok(1));
    check(
        &format!("{}\n", "data\n".repeat(10)),
        Err(SseLimitError::Event(8)),
    );
    check(&format!("{}\ndata: 1\n\n", "x".repeat(24)), Ok(1));
    check(
        &format!("{}\ndata: 1\n\n", "x".repeat(25)),
        Err(SseLimitError::Event(8)),
    );
    check(&format!(":{}\ndata: 1\n\n", "x".repeat(25)), Ok(1));
    check("id: 123\ndata: 1\n\n", Ok(1));
    check("id: 1234\ndata: 1\n\n", Err(SseLimitError::Id(3)));
    // Other fields have the same limit as data.
    let mut parser = Parser::new(&limits.wire);
    let endless = "x".repeat(1000);
    assert_eq!(
        parser.read(&mut endless.as_bytes()),
        Err(SseLimitError::Event(8))
    );
}

#[test]
fn events_are_written_as_they_are_read() {
    #[track_caller]
    fn check(write: impl FnOnce(&mut Vec<u8>), expected: &str) {
        let mut out = Vec::new();
        write(&mut out);
        assert_eq!(String::from_utf8(out).expect("UTF-8"), expected);
    }
    check(|out| write_event(out, None, b"{}"), "data: {}\n\n");
    check(
        |out| write_event(out, Some("7"), b"{}"),
        "id: 7\ndata: {}\n\n",
    );
    check(
        |out| write_event(out, None, b"{\n\"a\":\r\n1\r}"),
        "data: {\ndata: \"a\":\ndata: 1\ndata: }\n\n",
    );
    check(|out| write_priming_event(out, "7"), "id: 7\ndata:\n\n");
    check(
        |out| write_named_event(out, "endpoint", b"/m?s=1"),
        "event: endpoint\ndata: /m?s=1\n\n",
    );
    check(
        |out| write_named_event(out, "a\nid: 1", b"x"),
        "event: a\ndata: x\n\n",
    );
    check(|out| write_comment(out, ""), ":\n\n");
    check(|out| write_comment(out, "ping\r\ndata: x"), ": ping\n\n");
    check(
        |out| write_retry(out, Duration::from_millis(1500)),
        "retry: 1500\n\n",
    );
    for id in ["", "a\nb", "a\rb", "a\0b"] {
        check(|out| write_event(out, Some(id), b"{}"), "data: {}\n\n");
    }
}

proptest! {
    #![proptest_config(crate::proptest_config())]

    #[test]
    fn what_was_written_is_read_back(
        messages in prop::collection::vec(("[ -~é世]{0,12}", "([ -~é世]|\n|\r\n|:|id: 1)*"), 0..6),
        size in 1_usize..40,
    ) {
        let mut stream = Vec::new();
        for (id, data) in &messages {
            write_comment(&mut stream, data);
            write_event(&mut stream, Some(id), data.as_bytes());
        }
        let (events, _) = read(&stream, size);
        let expected: Seen = messages
            .into_iter()
            .map(|(id, data)| (Some(id).filter(|id| !id.is_empty()), None, data.replace("\r\n", "\n")))
            .collect();
        prop_assert_eq!(seen(events), expected);
    }

    #[test]
    fn pieces_make_no_difference(stream in "(data|id|event|retry|:| |a|\r|\n|\r\n|\u{feff}|é|0|1)*", size in 1_usize..9) {
        let (whole, parser) = read(stream.as_bytes(), stream.len().max(1));
        let (events, other) = read(stream.as_bytes(), size);
        prop_assert_eq!(seen(events), seen(whole));
        prop_assert_eq!(other.last_event_id(), parser.last_event_id());
        prop_assert_eq!(other.retry(), parser.retry());
    }
}
