//! Tests the conformance server's handlers in every revision without the suite, which separates handler bugs from
//! transport bugs.

use askback::{
    Skill,
    testing::{self, Person},
};
use lab::conformance::server::server;
use serde_json::{Value, json};

/// Calls a tool. The outcome must be the same in every revision that can ask, with this text.
async fn check(tool: &str, arguments: Value, person: Person, keys: &[&str], text: &str) {
    let call = testing::call(server, tool, arguments).with(person);
    let report = call.in_every_revision().await;
    let run = report.assert_same();
    assert_eq!(
        (run.keys(), run.text()),
        (keys.to_vec(), text.to_owned()),
        "{tool}"
    );
}

#[tokio::test(start_paused = true)]
async fn handlers_ask_and_report_the_answers() {
    let ada = || Person::new().answer("user_name", json!({"name": "Ada"}));
    let yes = || Person::new().answer("confirm", json!({"ok": true}));
    let roots = || json!({"roots": [{"uri": "file:///a"}]});
    let user = json!({"username": "ada", "email": "ada@example.com"});
    let cases = [
        (
            "test_sampling",
            json!({"prompt": "Well?"}),
            Person::new().reply("sample", "Yes."),
            vec!["sample"],
            "LLM response: Yes.".to_owned(),
        ),
        (
            "test_elicitation",
            json!({"message": "Who are you?"}),
            Person::new().answer("user", user.clone()),
            vec!["user"],
            format!("User response: action=accept, content={user}"),
        ),
        (
            "test_input_required_result_elicitation",
            json!({}),
            ada(),
            vec!["user_name"],
            "Hello, Ada!".to_owned(),
        ),
        (
            "test_input_required_result_sampling",
            json!({}),
            Person::new().reply("capital_question", "Paris"),
            vec!["capital_question"],
            "Paris".to_owned(),
        ),
        (
            "test_input_required_result_list_roots",
            json!({}),
            Person::new().result("client_roots", roots()),
            vec!["client_roots"],
            "Roots: file:///a".to_owned(),
        ),
        (
            "test_input_required_result_request_state",
            json!({}),
            yes(),
            vec!["confirm"],
            "state-ok".to_owned(),
        ),
        (
            "test_input_required_result_multiple_inputs",
            json!({}),
            ada()
                .reply("greeting", "Hello,")
                .result("client_roots", roots()),
            vec!["user_name", "greeting", "client_roots"],
            "Hello, Ada has 1 roots.".to_owned(),
        ),
        (
            "test_input_required_result_multi_round",
            json!({}),
            Person::new()
                .answer("step1", json!({"name": "Ada"}))
                .answer("step2", json!({"color": "blue"})),
            vec!["step1", "step2"],
            "Ada likes blue.".to_owned(),
        ),
        (
            "test_input_required_result_tampered_state",
            json!({}),
            yes(),
            vec!["confirm"],
            "confirmed".to_owned(),
        ),
        (
            "test_streaming_elicitation",
            json!({}),
            Person::new().answer("confirmation", json!({"confirm": true})),
            vec!["confirmation"],
            r#"action=accept, content={"confirm":true}"#.to_owned(),
        ),
    ];
    for (tool, arguments, person, keys, text) in cases {
        check(tool, arguments, person, &keys, &text).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_can_be_asked_is_asked() {
    let tool = "test_input_required_result_capabilities";
    let model = Person::new()
        .reply("greeting", "Hello!")
        .capabilities(json!({"sampling": {}}));
    check(tool, json!({}), model, &["greeting"], "Hello!").await;
    let nobody = Person::new().capabilities(json!({}));
    check(tool, json!({}), nobody, &[], "There is nobody to ask.").await;
}

#[tokio::test(start_paused = true)]
async fn everything_else_is_answered_at_once() {
    let cases = [
        (
            "test_simple_text",
            "This is a simple text response for testing.",
        ),
        ("test_tool_with_logging", "Three lines were logged."),
        ("test_tool_with_progress", "It is done."),
        ("test_logging_tool", "A line was logged, if it was wanted."),
        ("test_trigger_tool_change", "The tools have changed."),
        ("test_trigger_prompt_change", "The prompts have changed."),
        ("test_custom_header", ""),
    ];
    for (tool, text) in cases {
        check(tool, json!({}), Person::new(), &[], text).await;
    }
}

#[tokio::test(start_paused = true)]
async fn files_of_skills_are_read() {
    const SKILL: &str =
        "---\nname: refunds\ndescription: Refunds an order.\n---\nRead the rules.\n";
    let skilled = || server().skill(Skill::new(SKILL).file("rules.md", "For 30 days.\n"));
    for (uri, text) in [
        ("skill://refunds/SKILL.md", SKILL),
        ("skill://refunds/rules.md", "For 30 days.\n"),
    ] {
        let report = testing::read(skilled, uri).in_every_revision().await;
        let result = report.assert_same().result();
        assert_eq!(result["contents"][0]["text"], text, "{uri}");
    }
}
