//! Refusals that a client gave by itself, and those of a person.

use askback_core::{
    ask::mark_refusal,
    limits::Limits,
    protocol::{AnswerSource, ElicitResult, Implementation, RawJson},
};
use proptest::{prelude::*, test_runner::TestRunner};
use serde_json::{Value, json};

use crate::proptest_config;

/// Who gave this answer so many milliseconds after the question.
fn source(answer: &Value, took: u64) -> Option<AnswerSource> {
    source_at("unknown", answer, took)
}

/// Who gave this answer at the client with this name.
fn source_at(client: &str, answer: &Value, took: u64) -> Option<AnswerSource> {
    let answer = RawJson::new(answer).expect("it is JSON");
    let client = Implementation::new(client, "1");
    let limits = Limits::default().asking;
    let marked = mark_refusal(answer, Some(took), Some(&client), &limits);
    let marked: ElicitResult = marked.decode().expect("it is an answer");
    marked.meta?.answered_by()
}

#[test]
fn clients_that_refuse_by_themselves_are_told_from_a_person() {
    // As recorded on 26 November 2026.
    for (client, action, took) in [
        ("claude -p", "cancel", 10),
        ("claude -p, slow", "cancel", 30),
        ("codex exec", "decline", 9),
        ("codex with approvals off", "decline", 9),
        ("codex, an http link", "decline", 9),
        ("copilot -p", "decline", 9),
    ] {
        let answer = json!({"action": action});
        let by = source(&answer, took);
        assert_eq!(by, Some(AnswerSource::Client), "{client}");
        assert_eq!(source(&answer, 1_000), None, "a person: {action}");
    }
}

#[test]
fn a_client_that_is_known_to_refuse_slowly_is_told_from_a_person() {
    let (cancel, decline) = (json!({"action": "cancel"}), json!({"action": "decline"}));
    let reason = json!({"action": "cancel", "_meta": {"dev.askback/reason": "later"}});
    let accept = json!({"action": "accept"});
    let by_client = Some(AnswerSource::Client);
    // On a busy machine.
    assert_eq!(source_at("claude-code", &cancel, 444), by_client);
    assert_eq!(source_at("claude-code", &decline, 444), None);
    assert_eq!(source_at("claude-code", &cancel, 3_181), None);
    assert_eq!(source_at("codex-mcp-client", &decline, 444), by_client);
    assert_eq!(source_at("codex-mcp-client", &cancel, 444), None);
    assert_eq!(source_at("copilot-cli", &decline, 444), by_client);
    // Without a terminal it took 136 and 589 ms. At a terminal, a person took 22 s.
    for (answer, took, by) in [
        (&cancel, 136, by_client),
        (&cancel, 589, by_client),
        (&cancel, 1_500, None),
        (&cancel, 21_979, None),
        (&decline, 136, by_client),
        (&decline, 589, None),
        (&reason, 589, None),
        (&accept, 589, None),
    ] {
        let source = source_at("fast-agent-mcp", answer, took);
        assert_eq!(source, by, "{took} ms: {answer}");
    }
    let answer = RawJson::new(&cancel).expect("it is JSON");
    let mut limits = Limits::default().asking;
    limits.person_reaction = std::time::Duration::ZERO;
    let client = Implementation::new("fast-agent-mcp", "1");
    let marked = mark_refusal(answer, Some(0), Some(&client), &limits);
    let marked: ElicitResult = marked.decode().expect("it is an answer");
    assert!(marked.meta.is_none(), "each answer is a person's");
}

/// How fast a practised person answers, in milliseconds: noticing the question takes 200 or more, each word 60 or more
/// (1,000 words a minute), and a key or click 50 or more.
fn fast_person() -> impl Strategy<Value = u64> {
    (200..400_u64, 2..80_u64, 60..300_u64, 50..200_u64)
        .prop_map(|(notices, words, word, presses)| notices + words * word + presses)
}

fn persons_answer() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(json!({"action": "decline"})),
        Just(json!({"action": "cancel"})),
        Just(json!({"action": "accept"})),
        any::<bool>().prop_map(|yes| json!({"action": "accept", "content": {"confirm": yes}})),
        "[a-z ]{1,40}".prop_map(|reason| {
            json!({"action": "decline", "_meta": {"dev.askback/reason": reason}})
        }),
    ]
}

#[test]
fn ten_thousand_fast_answers_of_a_person_are_not_misjudged() {
    let mut config = proptest_config();
    config.cases = 10_000;
    let mut runner = TestRunner::new(config);
    runner
        .run(&(fast_person(), persons_answer()), |(took, answer)| {
            prop_assert_eq!(source(&answer, took), None, "{} ms: {}", took, answer);
            // What only a person or a program with an answer sends may come at once.
            if answer["action"] == "accept" || answer.get("_meta").is_some() {
                prop_assert_eq!(source(&answer, 0), None, "at once: {}", answer);
            }
            Ok(())
        })
        .unwrap_or_else(|error| panic!("{error}"));
}
