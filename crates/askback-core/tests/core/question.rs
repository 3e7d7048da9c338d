//! Which questions may be asked at all.

use askback_core::{
    ask::{Capability, Question},
    limits::Limits,
    protocol::{ElicitParams, InputRequest},
};
use serde_json::{Value, json};

#[track_caller]
fn check(request: ElicitParams, wrong: Option<&str>) {
    let asked = Question::new(InputRequest::Elicit(request.clone()), &Limits::default());
    match (asked, wrong) {
        (Ok(_), None) => {}
        (Err(error), Some(wrong)) => assert!(error.to_string().contains(wrong), "{error}"),
        (asked, wrong) => panic!("{request:?}: {asked:?}, but {wrong:?} was expected"),
    }
}

// Shows EL-01, EL-45.
#[test]
fn a_form_asks_for_no_secret() {
    let form = |properties: Value| {
        let schema = json!({"type": "object", "properties": properties});
        ElicitParams::form("Sign in.", serde_json::from_value(schema).unwrap())
    };
    check(form(json!({"user": {"type": "string"}})), None);
    for properties in [
        json!({"password": {"type": "string"}}),
        json!({"user": {"type": "string"}, "apiKey": {"type": "string"}}),
        json!({"value": {"type": "string", "title": "Access token"}}),
        json!({"value": {"type": "string", "description": "Your PIN"}}),
        json!({"cvv": {"type": "integer"}}),
    ] {
        check(form(properties), Some("looks like a secret"));
    }
}

// Shows EL-15, EL-34.
#[test]
fn a_link_is_the_address_of_a_page() {
    for url in [
        "https://example.com",
        "http://localhost:3000/a?b=c#d",
        "https://example.com/a@b",
        "http://localhost",
        "http://app.localhost:3000/",
        "http://127.0.0.1:8000/",
        "http://127.9.9.9?a",
        "http://[::1]:65535",
    ] {
        check(ElicitParams::url("Look.", url), None);
    }
    for (url, wrong) in [
        ("example.com", "absolute https URL"),
        ("/relative", "absolute https URL"),
        ("javascript:alert(1)", "absolute https URL"),
        ("file:///etc/passwd", "absolute https URL"),
        ("HTTP://localhost/", "absolute https URL"),
        ("http://example.com/", "http is for pages of this machine"),
        ("http://localhost.example.com/", "http is for pages of"),
        ("http://127.0.0.1.example.com/", "http is for pages of"),
        ("http://localhost:80.example.com/", "http is for pages of"),
        ("http://localhost:99999/", "http is for pages of"),
        ("http://[::1].example.com/", "http is for pages of"),
        ("http://[::2]/", "http is for pages of"),
        ("http://0.0.0.0/", "http is for pages of"),
        ("http://192.168.0.1/", "http is for pages of"),
        ("http://localhost\\.example.com/", "must not hold spaces"),
        ("https://example.com\\@evil.example/", "must not carry"),
        ("https://", "must name a host"),
        ("https:///path", "must name a host"),
        ("https://good.com@evil.com/", "must not carry credentials"),
        (
            "https://example.com/a b",
            "must not hold spaces, backslashes or control characters",
        ),
        (
            "https://example.com/\u{1b}[2J",
            "must not hold spaces, backslashes or control characters",
        ),
    ] {
        check(ElicitParams::url("Look.", url), Some(wrong));
    }
}

#[test]
fn a_client_that_declares_what_is_required_has_that_and_no_more() {
    let check = |capability: Capability, required: Value| {
        let says = serde_json::to_value(capability.required()).unwrap();
        assert_eq!(says, required, "{capability}");
    };
    check(Capability::ElicitForm, json!({"elicitation": {"form": {}}}));
    check(Capability::ElicitUrl, json!({"elicitation": {"url": {}}}));
    check(Capability::Sampling, json!({"sampling": {}}));
    check(
        Capability::SamplingTools,
        json!({"sampling": {"tools": {}}}),
    );
    check(
        Capability::SamplingContext,
        json!({"sampling": {"context": {}}}),
    );
    check(Capability::Roots, json!({"roots": {}}));
    let tasks = json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
    check(Capability::Tasks, tasks);
}
