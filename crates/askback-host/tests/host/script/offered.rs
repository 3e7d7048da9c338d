//! The rule that is offered where none fits.

use askback_host::{
    model::{Asker, Call, Question, Reply},
    script::{Answer, Script, rule_for},
};

use super::{answer, wishes};
use crate::{form, link, travel};

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
        &link("https://a.com/"),
        "answers:\n  - when: {mode: url, server: travel, host: a.com, tool: connect_calendar}\n    accept: true",
    );
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
