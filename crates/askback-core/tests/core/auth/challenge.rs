//! The `WWW-Authenticate` header.

use askback_core::auth::{BadChallenge, Challenge, Scopes};
use proptest::prelude::*;

/// Parses a header and compares it with its serialized form.
#[track_caller]
fn check(header: &str, expected: &[&str]) {
    let challenges = Challenge::parse(header).expect(header);
    let written: Vec<String> = challenges.iter().map(Challenge::to_string).collect();
    assert_eq!(written, expected, "{header:?}");
    let again = Challenge::parse(&written.join(", "));
    assert_eq!(again, Ok(challenges), "{written:?}");
}

#[test]
fn challenges_are_read() {
    check("", &[]);
    check(" , ,", &[]);
    check("Bearer", &["Bearer"]);
    check("Negotiate, Bearer", &["Negotiate", "Bearer"]);
    check("Bearer realm=x", &[r#"Bearer realm="x""#]);
    check(
        "bearer  REALM = \"x\" ,\tscope=\"a b\"",
        &[r#"bearer realm="x", scope="a b""#],
    );
    check("Bearer , realm=x,,b=\"\"", &[r#"Bearer realm="x", b="""#]);
    check(
        r#"Basic realm="a, Bearer b=\"c\\", Bearer error="invalid_token", DPoP algs="ES256""#,
        &[
            r#"Basic realm="a, Bearer b=\"c\\""#,
            r#"Bearer error="invalid_token""#,
            r#"DPoP algs="ES256""#,
        ],
    );
    check(
        "Negotiate abc==, Bearer a=b",
        &["Negotiate", r#"Bearer a="b""#],
    );
    check("Negotiate abc", &["Negotiate"]);
    check("Negotiate a+/b=", &["Negotiate"]);
}

#[test]
fn ambiguous_challenges_are_refused() {
    #[track_caller]
    fn check(header: &str, expected: BadChallenge) {
        assert_eq!(Challenge::parse(header), Err(expected), "{header:?}");
    }
    for unreadable in [
        "=",
        "\"Bearer\"",
        "Bearer realm=\"x",
        "Bearer realm=\"x\\",
        "Bearer realm=\"x\ny\"",
        "Bearer realm=x scope=y",
        "Bearer realm=\"x\"scope=\"y\"",
        "Bearer Basic realm=x",
        "Bearer a=;",
        "Bearer a b=c",
        "Bearer realm=ä",
        "Bearer\0",
        "realm=x",
    ] {
        check(unreadable, BadChallenge::Unreadable);
    }
    check("Bearer a=b, A=c", BadChallenge::Duplicate);
    check(&"B,".repeat(Challenge::BYTES), BadChallenge::TooLarge);
    check(&"B,".repeat(Challenge::MOST + 1), BadChallenge::TooLarge);
    let params: Vec<String> = (0..=Challenge::PARAMS).map(|n| format!("p{n}=x")).collect();
    check(&format!("B {}", params.join(",")), BadChallenge::TooLarge);
}

#[test]
fn a_challenge_says_what_is_wanted() {
    let header = r#"Bearer error="insufficient_scope", scope="files:write files:read",
        resource_metadata="https://mcp.example.com/.well-known/oauth-protected-resource""#;
    let header = header.replace('\n', "");
    let challenges = Challenge::parse(&header).expect("a challenge");
    let [challenge] = &challenges[..] else {
        panic!("{challenges:?}");
    };
    assert!(challenge.is(Challenge::BEARER) && challenge.is("BEARER"));
    assert!(!challenge.is(Challenge::DPOP));
    assert_eq!(challenge.error(), Some("insufficient_scope"));
    assert_eq!(
        challenge.resource_metadata(),
        Some("https://mcp.example.com/.well-known/oauth-protected-resource")
    );
    let scopes = Scopes::parse("files:read files:write").expect("scopes");
    assert_eq!(challenge.scopes(), Ok(Some(scopes)));

    let bare = Challenge::new("Bearer").expect("a scheme");
    assert_eq!(bare.scopes(), Ok(None));
    let broken = bare.with("scope", "\"").expect("it can be quoted");
    assert!(broken.scopes().is_err());
}

#[test]
fn only_valid_header_values_are_written() {
    assert_eq!(Challenge::new(""), Err(BadChallenge::Unreadable));
    assert_eq!(Challenge::new("a b"), Err(BadChallenge::Unreadable));
    let bearer = || Challenge::new("Bearer").expect("a scheme");
    for (name, value) in [
        ("", "x"),
        ("a b", "x"),
        ("a", "x\r\ny"),
        ("a", "ä"),
        ("a", "\u{7f}"),
    ] {
        assert_eq!(bearer().with(name, value), Err(BadChallenge::Value));
    }
    let twice = bearer().with("a", "1").and_then(|it| it.with("A", "2"));
    assert_eq!(twice.expect("a challenge").to_string(), r#"Bearer a="2""#);
}

proptest! {
    #![proptest_config(crate::proptest_config())]

    #[test]
    fn reading_never_panics(header in "[ -~\t\"\\\\,=]{0,200}|.{0,60}") {
        let _ = Challenge::parse(&header);
    }

    #[test]
    fn what_is_written_is_read_back(values in prop::collection::vec("[ -~]{0,20}", 0..5)) {
        let mut challenge = Challenge::new("Bearer").expect("a scheme");
        for (place, value) in values.iter().enumerate() {
            challenge = challenge.with(&format!("p{place}"), value).expect("a value");
        }
        prop_assert_eq!(Challenge::parse(&challenge.to_string()), Ok(vec![challenge]));
    }
}
