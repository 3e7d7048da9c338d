//! Headers that repeat the body, and the encoding of their values.

use askback_core::{
    http::{
        Mismatch,
        headers::{
            BodySummary, HeaderDecodeError, MirroredHeaders, check as agree, decode, encode,
        },
    },
    jsonrpc::ErrorObject,
    protocol::name_member,
};

const BODY: BodySummary<'_> = BodySummary {
    version: "2026-07-28",
    method: "tools/call",
    name: Some("foo"),
};

#[track_caller]
fn check(headers: &[(&str, &str)], body: BodySummary<'_>, expected: Result<(), Mismatch>) {
    let headers = headers
        .iter()
        .map(|(name, value)| (*name, value.as_bytes()));
    let outcome = MirroredHeaders::of(headers).and_then(|headers| agree(&headers, body));
    assert_eq!(outcome, expected);
}

/// Checks the three headers with one of them replaced.
#[track_caller]
fn check_with(name: &str, value: &str, body: BodySummary<'_>, expected: Result<(), Mismatch>) {
    let mut headers = [
        ("MCP-Protocol-Version", body.version),
        ("Mcp-Method", body.method),
        ("Mcp-Name", body.name.unwrap_or("")),
    ];
    let slot = headers.iter_mut().find(|(known, _)| *known == name);
    slot.expect("one of the three").1 = value;
    check(&headers, body, expected);
}

#[test]
fn headers_say_what_the_body_says() {
    let version = ("MCP-Protocol-Version", "2026-07-28");
    let method = ("Mcp-Method", "tools/call");
    let name = ("Mcp-Name", "foo");
    check(&[version, method, name], BODY, Ok(()));
    check(
        &[
            ("mcp-protocol-version", version.1),
            ("MCP-METHOD", method.1),
            ("mCP-nAME", name.1),
        ],
        BODY,
        Ok(()),
    );
    check(
        &[method, name],
        BODY,
        Err(Mismatch::Missing("MCP-Protocol-Version".into())),
    );
    check(
        &[version, name],
        BODY,
        Err(Mismatch::Missing("Mcp-Method".into())),
    );
    check(
        &[version, method],
        BODY,
        Err(Mismatch::Missing("Mcp-Name".into())),
    );
    check(
        &[version, method, name, ("mcp-name", "foo")],
        BODY,
        Err(Mismatch::Repeated("Mcp-Name".into())),
    );
    // Other headers are ignored.
    check(&[version, method, name, ("mcp-param-x", "é")], BODY, Ok(()));
}

#[test]
fn values_are_compared_exactly() {
    let differs = |name: &'static str| Err(Mismatch::Differs(name.into()));
    let invalid = |name: &'static str| Err(Mismatch::Invalid(name.into()));
    check_with("Mcp-Method", "TOOLS/CALL", BODY, differs("Mcp-Method"));
    check_with("Mcp-Method", "prompts/get", BODY, differs("Mcp-Method"));
    check_with("Mcp-Method", "", BODY, differs("Mcp-Method"));
    check_with("Mcp-Method", " \ttools/call  ", BODY, Ok(()));
    // Only names are encoded.
    check_with(
        "Mcp-Method",
        "=?base64?dG9vbHMvY2FsbA==?=",
        BODY,
        differs("Mcp-Method"),
    );
    check_with(
        "MCP-Protocol-Version",
        "2025-11-25",
        BODY,
        differs("MCP-Protocol-Version"),
    );
    check_with("Mcp-Name", "bar", BODY, differs("Mcp-Name"));
    check_with("Mcp-Name", "Foo", BODY, differs("Mcp-Name"));
    check_with("Mcp-Name", "  foo ", BODY, Ok(()));
    check_with("Mcp-Name", "=?base64?Zm9v?=", BODY, Ok(()));
    check_with("Mcp-Name", "=?BASE64?Zm9v?=", BODY, differs("Mcp-Name"));
    check_with("Mcp-Name", "=?base64?Zm9?=", BODY, invalid("Mcp-Name"));
    // Equal bytes on both sides are still not a valid header.
    let accented = BodySummary {
        name: Some("é"),
        ..BODY
    };
    check_with("Mcp-Name", "é", accented, invalid("Mcp-Name"));
    check_with("Mcp-Name", "=?base64?w6k=?=", accented, Ok(()));
    let odd = BodySummary {
        method: "é",
        ..BODY
    };
    check_with("Mcp-Method", "é", odd, invalid("Mcp-Method"));
}

#[test]
fn a_name_without_counterpart_is_only_read() {
    let list = BodySummary {
        method: "tools/list",
        name: None,
        ..BODY
    };
    check_with("Mcp-Name", "anything", list, Ok(()));
    check_with(
        "Mcp-Name",
        "\u{7f}",
        list,
        Err(Mismatch::Invalid("Mcp-Name".into())),
    );
}

// Shows TA-48.
#[test]
fn what_a_request_is_about_depends_on_its_method() {
    for (method, member) in [
        ("tools/call", Some("name")),
        ("prompts/get", Some("name")),
        ("resources/read", Some("uri")),
        ("tasks/get", Some("taskId")),
        ("tools/list", None),
        ("completion/complete", None),
    ] {
        assert_eq!(name_member(method), member, "{method}");
    }
}

#[test]
fn a_mismatch_has_a_code_and_does_not_repeat_what_was_sent() {
    let error = ErrorObject::from(Mismatch::Differs("Mcp-Name".into()));
    assert_eq!(error.code, -32020);
    assert_eq!(
        error.message,
        "Header mismatch: the Mcp-Name header does not match the body"
    );
}

// Shows HT-39, HT-40, HT-45.
#[test]
fn values_are_encoded_where_they_must_be() {
    for (value, encoded) in [
        ("us-west1", "us-west1"),
        ("us west 1", "us west 1"),
        ("", ""),
        (
            "file:///path/to/file%20name.txt",
            "file:///path/to/file%20name.txt",
        ),
        ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
        (" padded ", "=?base64?IHBhZGRlZCA=?="),
        (" us-west1", "=?base64?IHVzLXdlc3Qx?="),
        ("us-west1 ", "=?base64?dXMtd2VzdDEg?="),
        ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
        ("line1\r\nline2", "=?base64?bGluZTENCmxpbmUy?="),
        ("\tindented", "=?base64?CWluZGVudGVk?="),
        ("in\tside", "=?base64?aW4Jc2lkZQ==?="),
        ("\u{7f}", "=?base64?fw==?="),
        ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
        ("=?base64?=", "=?base64?PT9iYXNlNjQ/PQ==?="),
        ("=?base64?open", "=?base64?open"),
        ("=?BASE64?x?=", "=?BASE64?x?="),
    ] {
        assert_eq!(encode(value), encoded, "{value:?}");
        assert_eq!(
            decode(encoded.as_bytes()).as_deref(),
            Ok(value),
            "{encoded:?}"
        );
    }
}

// Shows HT-42, HT-43.
#[test]
fn values_are_decoded_or_refused() {
    let check = |header: &[u8], expected: Result<&str, HeaderDecodeError>| {
        assert_eq!(
            decode(header).as_deref(),
            expected.as_ref().copied(),
            "{header:?}"
        );
    };
    for (header, value) in [
        ("=?base64?SGVsbG8=?=", "Hello"),
        ("=?base64??=", ""),
        ("SGVsbG8=", "SGVsbG8="),
        ("=?base64?SGVsbG8=", "=?base64?SGVsbG8="),
        ("SGVsbG8=?=", "SGVsbG8=?="),
        ("=?BASE64?SGVsbG8=?=", "=?BASE64?SGVsbG8=?="),
        (" \t in side\t", "in side"),
        ("a\tb", "a\tb"),
        (" ", ""),
        ("", ""),
    ] {
        check(header.as_bytes(), Ok(value));
    }
    for header in [
        &b"=?base64?SGVsbG8?="[..],
        b"=?base64?SGVs!!!bG8=?=",
        b"=?base64?SGVsbG9=?=",
        b"=?base64?-_8=?=",
        b"=?base64? SGVsbG8=?=",
        b"=?base64?=",
        // Not UTF-8.
        b"=?base64?/w==?=",
        b"a\x00b",
        b"a\rb",
        b"a\nb",
        b"a\x7fb",
        b"caf\xe9",
        "世界".as_bytes(),
    ] {
        check(header, Err(HeaderDecodeError));
    }
}
