//! Headers that mirror a message: values are decoded as they were encoded, the server accepts what
//! the client sends, and no input causes more than an error on either side.

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

/// An encoded value is a valid header, and is decoded to the original.
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

/// Headers match the body from which they were made, and no other body.
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

/// The client sends the headers that the server expects.
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
    // Exactly the values that cannot be mirrored are refused.
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
