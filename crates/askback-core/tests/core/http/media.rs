//! Media types.

use askback_core::http::media::{AcceptedMedia, Media};

#[test]
fn a_client_says_what_it_takes() {
    #[track_caller]
    fn check(headers: &[&str], json: bool, event_stream: bool) {
        let accepted = AcceptedMedia::of(headers.iter().map(|header| header.as_bytes()));
        let expected = AcceptedMedia { json, event_stream };
        assert_eq!(accepted, expected, "{headers:?}");
    }
    check(&[], true, true);
    check(&[""], false, false);
    check(&["application/json, text/event-stream"], true, true);
    check(&["application/json", "text/event-stream"], true, true);
    check(&["Application/JSON,TEXT/Event-Stream"], true, true);
    check(&["application/json"], true, false);
    check(&["text/event-stream; charset=utf-8"], false, true);
    check(&["*/*"], true, true);
    check(&["text/*"], false, true);
    check(&["text/html, application/*;q=0.2"], true, false);
    check(&["text/event-stream; q=0.9 ; x, Application/*"], true, true);
    // Weights are ignored.
    check(&["application/json, text/event-stream;q=0"], true, true);
    check(
        &["application/jsonx, xtext/event-stream, /, */json, application/"],
        false,
        false,
    );
}

#[test]
fn a_body_is_json_or_events() {
    #[track_caller]
    fn check(header: &str, expected: Option<Media>) {
        assert_eq!(Media::of(header.as_bytes()), expected, "{header}");
    }
    for header in [
        "application/json",
        "Application/Json",
        " application/json ; charset=UTF-8",
        "application/json;charset=\"utf-8\"",
        "application/json;",
        "application/json; profile=x",
    ] {
        check(header, Some(Media::Json));
    }
    check("text/event-stream", Some(Media::EventStream));
    check("text/event-stream;charset=utf-8", Some(Media::EventStream));
    for header in [
        "",
        "text/html",
        "text/plain;application/json",
        "application/jsonp",
        "application/json, text/event-stream",
        "application/json; charset=latin1",
        "application/json; charset=utf-8; charset=utf-16",
        "application/vnd.api+json",
    ] {
        check(header, None);
    }
}
