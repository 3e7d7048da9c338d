//! Which questions may be asked.

use askback_core::{
    ask::{Capability, Question},
    forms::{Field, FormSchema, SharedForm, TextField},
    limits::Limits,
    protocol::{ElicitParams, HasMeta, InputRequest},
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
        let schema: FormSchema = serde_json::from_value(schema).unwrap();
        ElicitParams::form("Sign in.", schema)
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

#[test]
fn a_question_with_other_visible_text_is_another_question() {
    let of = |request: ElicitParams| {
        let question = Question::new(InputRequest::Elicit(request), &Limits::default());
        question.unwrap().digest
    };
    let form = |names: &[&str]| {
        let fields = names
            .iter()
            .map(|name| Field::new(*name, TextField::default()).optional());
        FormSchema::new(fields)
    };
    let trip = form(&["from", "to"]);
    let asked = of(ElicitParams::form("Where to?", trip.clone()));
    let written = SharedForm::written(trip.clone());
    assert_eq!(of(ElicitParams::form("Where to?", written)), asked);
    assert_eq!(
        of(ElicitParams::form("Where to?", form(&["to", "from"]))),
        asked
    );

    let mut without_mode = ElicitParams::form("Where to?", trip.clone());
    let mut with_meta = without_mode.clone();
    if let ElicitParams::Form(form) = &mut without_mode {
        form.mode = None;
    }
    with_meta.meta_mut().extra.insert("a".into(), json!(1));
    let others = [
        ElicitParams::form("Where from?", trip.clone()),
        ElicitParams::form("Where to?", form(&["to"])),
        ElicitParams::url("Where to?", "https://example.com/trip"),
        without_mode,
        with_meta,
    ];
    let mut digests: Vec<_> = others.into_iter().map(of).chain([asked]).collect();
    digests.sort_unstable_by_key(|digest| digest.0);
    digests.dedup();
    assert_eq!(digests.len(), 6);
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
