//! Headers and what they mirror: a value is read as it was written, what a client sends a server
//! accepts, and nothing anybody sends makes either side fail otherwise than by an error.

#![no_main]

use askback_core::{
    http::{
        guard::Guard,
        headers::{BodySummary, MirroredHeaders, check, decode, encode},
        media::{AcceptedMedia, Media},
        params::HeaderAnnotations,
    },
    protocol::{RawObject, Schema},
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let mut parts = data.splitn(4, |byte| *byte == b'\n');
    let mut part = || parts.next().unwrap_or_default();
    let (first, second, third, fourth) = (part(), part(), part(), part());

    value(data);
    mirrored(first, second, third);
    let _ = Media::of(first);
    let _ = AcceptedMedia::of([first, second]);
    let _ = Guard::default().check(Some(first), Some(second));
    if let (Ok(schema), Ok(arguments)) = (str::from_utf8(first), str::from_utf8(second)) {
        parameters(schema, arguments, third, fourth);
    }
});

/// What is written is a header, and is read as what it was.
fn value(data: &[u8]) {
    if let Ok(text) = str::from_utf8(data) {
        let encoded = encode(text);
        assert!(
            encoded.bytes().all(|byte| matches!(byte, b' '..=b'~')),
            "{encoded:?}"
        );
        assert_eq!(decode(encoded.as_bytes()).as_deref(), Ok(text));
    }
    if let Ok(text) = decode(data) {
        let encoded = encode(&text);
        assert_eq!(decode(encoded.as_bytes()).as_deref(), Ok(&*text));
    }
}

/// Headers agree with the body they were made from, and with no other.
fn mirrored(version: &[u8], method: &[u8], name: &[u8]) {
    let headers = MirroredHeaders {
        version: Some(version),
        method: Some(method),
        name: Some(name),
    };
    let text = |bytes| str::from_utf8(bytes).unwrap_or("?");
    let read = decode(name);
    let body = BodySummary {
        version: text(version).trim_matches([' ', '\t']),
        method: text(method).trim_matches([' ', '\t']),
        name: read.as_deref().ok(),
    };
    if check(&headers, body).is_ok() {
        let other = BodySummary { method: "", ..body };
        assert!(body.method.is_empty() || check(&headers, other).is_err());
    }
}

/// The headers a client makes are those a server wants.
fn parameters(schema: &str, arguments: &str, name: &[u8], value: &[u8]) {
    let (Ok(schema), Ok(arguments)) = (
        Schema::from_text(schema.to_owned()),
        RawObject::from_text(arguments.to_owned()),
    ) else {
        return;
    };
    let Ok(annotations) = HeaderAnnotations::of(&schema) else {
        return;
    };
    let headers = annotations.headers(Some(&arguments));
    let find = |wanted: &str| {
        let found = headers.iter().filter(move |(name, _)| name == wanted);
        found.map(|(_, value)| value.as_bytes()).collect::<Vec<_>>()
    };
    let outcome = annotations.check(find, Some(&arguments));
    // What cannot be mirrored is refused, and only that.
    let unfit = matches!(
        outcome,
        Err(askback_core::http::Mismatch::Unfit(_) | askback_core::http::Mismatch::Unreadable)
    );
    assert!(unfit || outcome.is_ok(), "{outcome:?} of {arguments:?}");
    let _ = annotations.check(
        |wanted| (wanted.as_bytes() == name).then_some(value),
        Some(&arguments),
    );
}
