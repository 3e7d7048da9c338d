//! Sets of scopes.

use askback_core::auth::{BadScopes, Scopes};

#[track_caller]
fn check(text: &str, expected: Result<&str, BadScopes>) {
    let read = Scopes::parse(text).map(|scopes| scopes.to_string());
    assert_eq!(read, expected.map(str::to_owned), "{text:?}");
}

#[test]
fn scopes_are_read_as_they_are_written() {
    check("", Ok(""));
    check("files:read", Ok("files:read"));
    check("b a", Ok("b a"));
    check("  b   a ", Ok("b a"));
    check("a b a", Ok("a b"));
    check("https://example.com/a!~", Ok("https://example.com/a!~"));
    for bad in ["a\tb", "a\"b", "a\\b", "ä", "a\u{7f}", "a\n"] {
        check(bad, Err(BadScopes::Scope(bad.to_owned())));
    }
}

#[test]
fn sets_are_bounded() {
    let many = |number: usize| {
        let names = (0..number).map(|number| format!("s{number}"));
        Scopes::of(names).map(|scopes| scopes.len())
    };
    assert_eq!(many(Scopes::MOST), Ok(Scopes::MOST));
    assert_eq!(many(Scopes::MOST + 1), Err(BadScopes::TooMany));
    check(&"s".repeat(Scopes::BYTES + 1), Err(BadScopes::TooMany));
    check(&" ".repeat(Scopes::BYTES + 1), Err(BadScopes::TooMany));
    let half = "s".repeat(Scopes::BYTES / 2);
    let both = [format!("{half}a"), format!("{half}b")];
    assert_eq!(Scopes::of(both), Err(BadScopes::TooMany));
}

#[test]
fn sets_are_compared_and_joined() {
    let set = |text| Scopes::parse(text).expect("scopes");
    assert_eq!(set("a b"), set("b a"));
    assert_ne!(set("a b"), set("a"));
    assert_ne!(set("a"), set("b"));
    assert!(set("a b c").contains_all(&set("c a")));
    assert!(!set("a b").contains_all(&set("a c")));
    let union = set("b a").union(&set("c a")).expect("few");
    assert_eq!(union.to_string(), "b a c");
    assert_eq!(serde_json::to_string(&union).expect("JSON"), r#""b a c""#);
    assert_eq!(
        serde_json::from_str::<Scopes>(r#""c b a""#).expect("scopes"),
        union
    );
    assert!(serde_json::from_str::<Scopes>(r#""\u0007""#).is_err());
}
