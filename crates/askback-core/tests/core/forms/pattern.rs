//! Patterns: the meaning of ECMA-262 in linear time.

use std::time::{Duration, Instant};

use askback_core::limits::Limits;
use serde_json::json;

use super::field;

/// Whether the pattern matches the text; `None` if it cannot be checked.
#[track_caller]
fn check(pattern: &str, text: &str, expected: Option<bool>) {
    let field = field(json!({"type": "string", "pattern": pattern}));
    let limits = Limits::default();
    let matched = field.check(&json!(text), &limits.forms).is_ok();
    let checked = super::form_of([field]).lint(&limits.forms).is_ok();
    assert_eq!(checked.then_some(matched), expected, "{pattern} on {text}");
    // A value that cannot be checked passes.
    assert!(checked || matched);
}

#[test]
fn the_classes_are_those_of_ecma() {
    check(r"^\d+$", "042", Some(true));
    check(r"^\d+$", "٤٢", Some(false));
    check(r"^\D$", "٤", Some(true));
    check(r"^\w+$", "aZ_9", Some(true));
    check(r"^\w+$", "é", Some(false));
    check(r"^\W$", "é", Some(true));
    check(r"^[\w.-]+@[\w-]+$", "a.b-c@d", Some(true));
    check(r"^[^\d\s]+$", "a1", Some(false));
    check(r"^[^\W]+$", "a", Some(true));
    check(r"^a\sb$", "a\u{a0}b", Some(true));
    check(r"^a\Sb$", "a b", Some(false));
    check(r"\bcat\b", "the cat sat", Some(true));
    check(r"\bcat\b", "concat", Some(false));
    check(r"\Bcat", "concat", Some(true));
    check(r"^\p{Lu}\p{L}*$", "Émile", Some(true));
    check(r"^[\u4e00-\u9fa5]{2}$", "密码", Some(true));
    check(r"^\/a\-b\.c\@$", "/a-b.c@", Some(true));
}

#[test]
fn operators_of_other_engines_are_plain_characters() {
    check(r"^[[]$", "[", Some(true));
    check(r"^[a&&b]+$", "a&b", Some(true));
    check(r"^[a~~b]$", "~", Some(true));
    check(r"^[a-]$", "-", Some(true));
    check(r"^[+--]$", ",", None);
    check(r"^[^[]$", "a", Some(true));
    check(r"^[\]]$", "]", Some(true));
    check(r"^[\b]$", "\u{8}", Some(true));
    check(r"x y", "x y", Some(true));
    check(r"a#b", "a#b", Some(true));
}

#[test]
fn an_unsupported_pattern_is_not_checked() {
    for pattern in [
        r"(?=a)b",
        r"(?<!a)b",
        r"(a)\1",
        r"\A",
        r"\z",
        "[]",
        "[^]",
        "a{,3}",
        "(",
        "[",
        "\\",
        "*a",
        r"\p{Nope}",
    ] {
        check(pattern, "x", None);
    }
}

#[test]
fn no_pattern_takes_long() {
    let corpus = [
        "^(a+)+$",
        "^(a|a)*$",
        "^(a|aa)+$",
        "(a*)*b",
        "(.*a){12}",
        "(a?){30}a{30}",
        "^(([a-z])+.)+[A-Z]([a-z])+$",
        "((a{0,20}){0,20}){0,20}b",
        "(.?.?.?){60}b",
        r"(\p{L}?){40}b",
        "(?:a|b|ab)*c",
        "([a-zA-Z0-9]+)*@",
    ];
    let limits = Limits::default();
    let text = json!("a".repeat(limits.forms.pattern_text_bytes));
    for pattern in corpus {
        let field = field(json!({"type": "string", "pattern": pattern}));
        let start = Instant::now();
        // The pattern may match or be too large.
        let _ = field.check(&text, &limits.forms);
        // A backtracking engine would never finish. This one needs some hundred milliseconds
        // without optimization on a busy machine.
        assert!(start.elapsed() < Duration::from_secs(20), "{pattern}");
    }
}

#[test]
fn a_pattern_is_not_applied_to_a_long_text() {
    let limits = Limits::default();
    let field = field(json!({"type": "string", "pattern": "^a"}));
    let text = "a".repeat(limits.forms.pattern_text_bytes);
    field.check(&json!(text), &limits.forms).unwrap();
    let issue = field.check(&json!(text + "a"), &limits.forms).unwrap_err();
    assert_eq!(issue.message, "is longer than 4096 bytes");
}
