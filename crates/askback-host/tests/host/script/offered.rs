use askback_host::{
    model::{Ask, Asker, Call, Question, Reply},
    script::{Answer, Script, rule_for},
    text::acts_or_hides,
};

use super::{answer, sample, wishes};
use crate::{form, link, link_of_error, roots, travel};

#[test]
fn a_rule_to_start_from_is_offered() {
    #[track_caller]
    fn check(question: &Question, rule: &str) {
        assert_eq!(rule_for(&travel(), question).as_deref(), Some(rule));
        Script::parse(rule).expect("the rule is one");
    }
    check(
        &wishes(),
        "answers:\n  - when: {key: wishes}\n    accept: {confirm_booking: …}",
    );
    let mut odd = form("?", r#""a: b": {"type": "string"}"#, r#""a: b""#);
    odd.key = Some("no: \"".to_owned());
    check(
        &odd,
        "answers:\n  - when: {key: \"no: \\\"\"}\n    accept: {\"a: b\": …}",
    );
    check(
        &form(
            "Sure?",
            r#""value": {"type": "boolean", "default": false}"#,
            "",
        ),
        "answers:\n  - when: {key: wishes}\n    accept: {value: …}",
    );
    check(
        &link_of_error("https://a.com/"),
        "answers:\n  - when: {mode: url, server: travel, host: a.com, tool: connect_calendar}\n    accept: true",
    );
}

/// Names with characters that are special in YAML, in a terminal or in a rule.
const NAMES: [&str; 22] = [
    "plain",
    "",
    " ",
    "null",
    "No",
    "~",
    "7",
    "1e3",
    "2026-06-15",
    "a: b",
    "- a",
    "a #b",
    "{a}, [b]",
    "it's \"so\" \\",
    "&a *b !c",
    "%TAG",
    "${HOME} @file $${x}",
    "two\nlines\r\n\tand more",
    "\u{1b}[2J\u{7f}\u{0}",
    "\u{202e}\u{200b}\u{feff}\u{85}\u{2028}",
    "\u{e0041}\u{1d173}\u{1f600}",
    "zażółć 東京",
];

#[test]
fn every_rule_offered_is_read_back_and_fits_its_question() {
    #[track_caller]
    fn check(asker: &Asker, question: &Question) {
        let rule = rule_for(asker, question).expect("a server asks");
        let is_seen = |c: char| c == '\n' || !acts_or_hides(c);
        assert!(rule.chars().all(is_seen), "{rule:?}");
        let parsed = Script::parse(&rule);
        let script = parsed.unwrap_or_else(|why| panic!("{rule}\n{why}"));
        let rules = (
            script.answers.len(),
            script.sampling.len(),
            script.roots.is_some(),
        );
        let fits = match &question.ask {
            Ask::Form { .. } | Ask::Link { .. } => (1, 0, false),
            Ask::Sample(_) => (0, 1, false),
            _ => (0, 0, true),
        };
        assert_eq!(rules, fits, "{rule}");
        match answer(&rule, asker, question) {
            Answer::Unmatched => panic!("it fits nothing: {rule}"),
            // The user must choose the values, but the fields exist.
            Answer::Unfit { why, .. } => assert!(!why.contains("is not known"), "{rule}\n{why}"),
            _ => {}
        }
    }
    for name in NAMES {
        let asker = Asker {
            name: name.to_owned(),
            ..travel()
        };
        let field = serde_json::Value::from(name);
        let schema = format!(r#"{field}: {{"type": "integer"}}"#);
        let asks = [
            form("?", &schema, &field.to_string()),
            link("https://example.com/"),
            sample("?"),
            roots(),
        ];
        let calls = [
            None,
            Some(Call::Tool(name.to_owned())),
            Some(Call::Prompt(name.to_owned())),
            Some(Call::Resource(name.to_owned())),
        ];
        for question in asks {
            for call in &calls {
                for key in [None, Some(name.to_owned())] {
                    let question = Question {
                        call: call.clone(),
                        key,
                        ..question.clone()
                    };
                    check(&asker, &question);
                }
            }
        }
    }
}

#[test]
fn a_link_that_is_not_opened_has_no_rule() {
    for url in ["file:///etc/passwd", "javascript:alert(1)", "no link", ""] {
        assert_eq!(rule_for(&travel(), &link(url)), None, "{url}");
    }
}

#[test]
fn the_rule_offered_for_a_link_consents_to_no_other() {
    #[track_caller]
    fn check(tool: &str, key: Option<&str>) {
        let asked = |tool: &str, key: Option<&str>| Question {
            call: Some(Call::Tool(tool.to_owned())),
            key: key.map(str::to_owned),
            ..link("https://example.com/")
        };
        let question = asked(tool, key);
        let rule = rule_for(&travel(), &question).expect("a server asks");
        let consents = |asker: &Asker, question: &Question| {
            matches!(
                answer(&rule, asker, question),
                Answer::Given(Reply::Link, _)
            )
        };
        assert!(consents(&travel(), &question), "{rule}");
        let other = Asker {
            name: "other".to_owned(),
            ..travel()
        };
        assert!(!consents(&other, &question), "{rule}");
        assert!(!consents(&travel(), &asked("other", key)), "{rule}");
        if key.is_some() {
            assert!(!consents(&travel(), &asked(tool, Some("other"))), "{rule}");
        }
    }
    check("pay", None);
    check("pay", Some("consent"));
    check("a, mode: form}", Some("b: \"{"));
    for no_text in ["null", "Null", "true", "no", "~", ""] {
        check(no_text, Some(no_text));
    }
}
