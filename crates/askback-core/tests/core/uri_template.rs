//! URI templates: matching URIs and their values.

use std::collections::BTreeMap;

use askback_core::uri_template::UriTemplate;
use proptest::prelude::*;

fn check(template: &str, uri: &str, expected: Option<&[(&str, &str)]>) {
    let template = UriTemplate::parse(template).expect("a legal template");
    let expected = expected.map(|pairs| {
        pairs
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect()
    });
    assert_eq!(template.matches(uri), expected, "{uri}");
}

#[test]
fn a_uri_gives_the_values_of_the_variables() {
    check("a://b/{name}", "a://b/rome", Some(&[("name", "rome")]));
    check(
        "a://b/{name}",
        "a://b/new%20york",
        Some(&[("name", "new york")]),
    );
    check("a://b/{name}", "a://b/%E2%82%AC", Some(&[("name", "€")]));
    check("a://b/{name}", "a://b/", None);
    check("a://b/{name}", "a://b/rome/1", None);
    check("a://b/{name}", "a://b/rome?x", None);
    check("a://b/{name}", "a://b/%FF", None);
    check("a://{x}/{y}", "a://1/2", Some(&[("x", "1"), ("y", "2")]));
    check("a://{x}-{y}", "a://€-2", Some(&[("x", "€"), ("y", "2")]));
    check("file:///{+path}", "file:///a/b", Some(&[("path", "a/b")]));
    check("a://b", "a://b", Some(&[]));
    check("a://b", "a://bc", None);
}

// Shows RE-13, RE-17.
#[test]
fn no_value_leads_out_of_its_place() {
    for hostile in [
        "..",
        ".",
        "%2e%2e",
        "%2E",
        ".%2e",
        "..%2F..%2Fetc%2Fpasswd",
        "..%2f..%2fetc%2fpasswd",
        "a%2Fb",
        "%2Fetc",
        "..%5C..%5Cboot.ini",
        "a\\b",
        "a%00b",
        "a\0b",
    ] {
        check("x://docs/{name}", &format!("x://docs/{hostile}"), None);
        check("x://docs/{+path}", &format!("x://docs/{hostile}"), None);
        let inside = format!("x://docs/a/{hostile}/b");
        check("x://docs/{+path}", &inside, None);
        check("x://docs/a/{name}/b", &inside, None);
    }
    for hostile in ["a%2", "a%", "%zz", "%c0%ae%c0%ae%c0%af"] {
        check("x://docs/{name}", &format!("x://docs/{hostile}"), None);
        check("x://docs/{+path}", &format!("x://docs/{hostile}"), None);
    }
    // Joined to a folder, an absolute path would replace it.
    check("file:///{+path}", "file:////etc/passwd", None);
    check("x://{+path}", "x:///etc/passwd", None);
}

#[test]
fn a_value_is_decoded_once() {
    let twice = "..%252F..%252Fetc";
    check(
        "x://{name}",
        &format!("x://{twice}"),
        Some(&[("name", "..%2F..%2Fetc")]),
    );
    check("x://{+path}", &format!("x://{twice}"), None);
    check("x://{name}", "x://100%25", Some(&[("name", "100%")]));
    check("x://{+path}", "x://100%25", Some(&[("path", "100%")]));
    check("x://{name}", "x://...", Some(&[("name", "...")]));
    check("x://{name}", "x://.env", Some(&[("name", ".env")]));
}

#[test]
fn invalid_templates_are_refused() {
    for template in [
        "{", "a}", "a}{b}", "{}", "{=a}", "{a:}", "{a b}", "{?}", "{a,,b}",
        // A value could complete an escape.
        "%5{a}", "x%{+a}", "{a}%zz",
    ] {
        assert!(UriTemplate::parse(template).is_none(), "{template}");
    }
}

#[test]
fn a_template_that_can_only_be_expanded_matches_nothing() {
    for (template, uri) in [
        ("{?q}", "?q=x"),
        ("{a}{b}", "xx"),
        ("{a,b}", "x,x"),
        ("{a*}", "x"),
        ("{/a}", "/x"),
        ("{a}/{a}", "x/x"),
        ("{a}/{+a}", "x/x"),
        ("{a:3}", "x"),
        ("a{.b}", "a.x"),
    ] {
        let template = UriTemplate::parse(template).expect("a template");
        assert!(!template.can_match());
        assert_eq!(template.example(), uri);
        assert_eq!(template.matches(uri), None);
    }
}

#[test]
fn values_are_put_in() {
    #[track_caller]
    fn check(template: &str, values: &[(&str, &str)], expected: &str) {
        let template = UriTemplate::parse(template).expect("it is a template");
        let values = values
            .iter()
            .map(|&(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(template.expand(&values.collect()), expected);
    }
    check("a://b", &[("c", "d")], "a://b");
    check("a://{b}/c", &[("b", "New York")], "a://New%20York/c");
    check("a://{b}", &[("b", "c/d?e#f%20")], "a://c%2Fd%3Fe%23f%2520");
    check("a:///{+b}", &[("b", "c/d e.txt")], "a:///c/d%20e.txt");
    check("a://{b}", &[("b", "Çeşme~-._")], "a://%C3%87e%C5%9Fme~-._");
    check("a://{b}/{c}", &[("c", "d")], "a:///d");
    // Every operator and modifier of RFC 6570.
    let all = &[("a", "x y"), ("b", "1/2")];
    check("s://i{?a,b}", all, "s://i?a=x%20y&b=1%2F2");
    check("s://i{?a,c}", all, "s://i?a=x%20y");
    check("s://i{?c}", all, "s://i");
    check("s://i?d=1{&a}", all, "s://i?d=1&a=x%20y");
    check("s://i{#b}", all, "s://i#1/2");
    check("s://i{/a,b}", all, "s://i/x%20y/1%2F2");
    check("s://i{.a}", all, "s://i.x%20y");
    check("s://i{;a}", all, "s://i;a=x%20y");
    check("s://{+b}/{b}", all, "s://1/2/1%2F2");
    check("s://{a:1}/{b:2}", all, "s://x/1%2F");
    check("s://{a*}{b}", all, "s://x%20y1%2F2");
    check("s://{a}/{a}", all, "s://x%20y/x%20y");
    check("s://caf\u{e9} {a}", all, "s://caf%C3%A9%20x%20y");
    check(
        "s://{user-id}{?user-id}",
        &[("user-id", "7")],
        "s://7?user-id=7",
    );
}

proptest! {
    #[test]
    fn what_was_put_in_is_read_back(a in "[^/\\\\\0]{1,8}", b in "[^/\\\\\0]{1,8}") {
        prop_assume!(![".", ".."].iter().any(|dots| a == *dots || b == *dots));
        let template = UriTemplate::parse("x://{a}/y/{b}").expect("it is a template");
        let values = [("a", a), ("b", b)].map(|(name, value)| (name.to_owned(), value));
        let values = BTreeMap::from(values);
        prop_assert_eq!(template.matches(&template.expand(&values)), Some(values));
    }
}

#[test]
fn text_that_is_no_template_is_refused() {
    #[track_caller]
    fn check(text: &str) {
        assert!(UriTemplate::parse(text).is_none(), "{text}");
    }
    for name in ["", "..a", "a.", "a..b", "a b", "é", "%", "%4", "%zz", "%é"] {
        check(&format!("x:{{{name}}}"));
    }
    for variable in [
        "a:", "a:0", "a:01", "a:10000", "a:é", "a:1*", "a**", "=a", "++a", "a,",
    ] {
        check(&format!("x:{{{variable}}}"));
    }
    for literal in [
        "%",
        "%{é",
        "%é{a}",
        "%4",
        "100% of {a}",
        "{",
        "}",
        "{a",
        "a}",
        "{a}}",
        "{{a}}",
    ] {
        check(literal);
    }
}

proptest! {
    #[test]
    fn a_template_is_what_another_implementation_takes(text in "[-%{}ab19._:*+?#,/=]{1,12}") {
        // The other implementation accepts names with `..` and names that end in a dot, unlike RFC
        // 6570.
        prop_assume!(!["..", ".}", ".,", ".:", ".*"].iter().any(|dot| text.contains(dot)));
        // The other implementation does not accept hyphens in names.
        let encoded = text.replace('-', "%2D");
        let expected = iri_string::template::UriTemplateStr::new(&encoded).is_ok();
        prop_assert_eq!(UriTemplate::parse(&text).is_some(), expected);
    }
}

#[test]
fn a_variable_is_named_once_and_required_where_its_place_is_not_left_out() {
    let template = UriTemplate::parse("s://{a}/{+b}{/c}{?d,a,e}{#f:3}").expect("a template");
    let variables: Vec<_> = template.variables().collect();
    assert_eq!(variables, ["a", "b", "c", "d", "e", "f"]);
    let required = variables.iter().filter(|name| template.requires(name));
    assert_eq!(required.collect::<Vec<_>>(), [&"a", &"b"]);
}

#[test]
fn a_percent_sign_is_encoded_whatever_follows() {
    #[track_caller]
    fn check(template: &str, value: &str, expected: &str) {
        let template = UriTemplate::parse(template).expect("a legal template");
        let values = [("a-b".to_owned(), value.to_owned())].into();
        assert_eq!(template.expand(&values), expected, "{value}");
    }
    for (value, encoded, reserved) in [
        ("%ä", "%25%C3%A4", "%25%C3%A4"),
        ("%€%", "%25%E2%82%AC%25", "%25%E2%82%AC%25"),
        ("%4ä", "%254%C3%A4", "%254%C3%A4"),
        ("%%41", "%25%2541", "%25%41"),
        ("100%", "100%25", "100%25"),
        ("a/%2F", "a%2F%252F", "a/%2F"),
    ] {
        check("x:{a-b}", value, &format!("x:{encoded}"));
        check("x:{?a-b}", value, &format!("x:?a-b={encoded}"));
        check("x:{+a-b}", value, &format!("x:{reserved}"));
        check("x:{#c,a-b}", value, &format!("x:#{reserved}"));
        check("x:{a-b}{+a-b}", value, &format!("x:{encoded}{reserved}"));
    }
    check("x:{+a-b:1}", "%ä", "x:%25");
    check("x:{a-b:3}", "äöüß", "x:%C3%A4%C3%B6%C3%BC");
    check("x:{a-b:3}", "abcd", "x:abc");
}
