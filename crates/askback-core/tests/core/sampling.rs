//! Which conversations may be sent to a model.

use askback_core::{
    ask::{AskError, Question},
    limits::Limits,
    protocol::{CreateMessageParams, InputRequest},
};
use serde_json::{Value, json};

fn check(messages: &[Value], wrong: Option<&str>) {
    let params: CreateMessageParams =
        serde_json::from_value(json!({"maxTokens": 9, "messages": messages})).unwrap();
    let asked = Question::new(InputRequest::Sample(Box::new(params)), &Limits::default());
    match (asked, wrong) {
        (Ok(_), None) => {}
        (Err(AskError::BadRequest(why)), Some(wrong)) => assert!(why.contains(wrong), "{why}"),
        (asked, wrong) => panic!("{messages:?}: {asked:?}, but {wrong:?} was expected"),
    }
}

fn says(role: &str, blocks: Value) -> Value {
    json!({"role": role, "content": blocks})
}

fn text() -> Value {
    json!({"type": "text", "text": "hello"})
}

fn uses(id: &str) -> Value {
    json!({"type": "tool_use", "id": id, "name": "weather", "input": {}})
}

fn result(id: &str) -> Value {
    json!({"type": "tool_result", "toolUseId": id, "content": [text()]})
}

// Shows SA-10, SA-11, SA-18, SA-22.
#[test]
fn every_use_of_a_tool_has_its_result() {
    check(&[says("user", text())], None);
    check(
        &[says("assistant", uses("a")), says("user", result("a"))],
        None,
    );
    check(
        &[
            says("user", text()),
            says("assistant", json!([text(), uses("a"), uses("b")])),
            says("user", json!([result("b"), result("a")])),
            says("assistant", text()),
        ],
        None,
    );
    for (messages, wrong) in [
        (
            vec![says("assistant", uses("a"))],
            "`a` of a tool is not followed",
        ),
        (
            vec![says("assistant", uses("a")), says("user", text())],
            "`a` of a tool is not followed",
        ),
        (vec![says("user", result("a"))], "a result for `a`"),
        (
            vec![
                says("assistant", uses("a")),
                says("user", json!([result("a"), result("b")])),
            ],
            "a result for `b`",
        ),
        (
            vec![
                says("assistant", uses("a")),
                says("user", json!([result("a"), text()])),
            ],
            "holds nothing else",
        ),
        (
            vec![says("assistant", uses("a")), says("assistant", result("a"))],
            "holds nothing else",
        ),
        (vec![says("user", uses("a"))], "only the assistant"),
        (
            vec![says("assistant", json!([uses("a"), uses("a")]))],
            "the same id",
        ),
        (
            vec![
                says("assistant", uses("a")),
                says("user", json!([result("a"), result("a")])),
            ],
            "two results",
        ),
    ] {
        check(&messages, Some(wrong));
    }
}

// Shows SA-23.
#[test]
fn a_model_uses_tools_only_so_often() {
    let most = usize::try_from(Limits::default().asking.tool_rounds).unwrap();
    let rounds = |count: usize| {
        (0..count)
            .flat_map(|_| [says("assistant", uses("a")), says("user", result("a"))])
            .collect::<Vec<_>>()
    };
    check(&rounds(most), None);
    check(
        &rounds(most + 1),
        Some("has used tools 11 times (at most 10)"),
    );
}
