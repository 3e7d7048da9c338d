//! Refusals that a client gave by itself, and those of a person.

use askback_core::{
    ask::mark_refusal,
    limits::Limits,
    protocol::{AnswerSource, ElicitResult, RawJson},
};
use proptest::{prelude::*, test_runner::TestRunner};
use serde_json::{Value, json};

use crate::proptest_config;

/// Who gave this answer so many milliseconds after the question.
fn source(answer: &Value, took: u64) -> Option<AnswerSource> {
    let answer = RawJson::new(answer).expect("it is JSON");
    let marked = mark_refusal(answer, Some(took), &Limits::default().asking);
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
