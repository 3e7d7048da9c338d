//! Any text as an answers file, and any form or link as the question it is to answer.
//!
//! The first line is the form, the second the link; the rest is the file.

#![no_main]

use askback_core::{forms::FormSchema, limits::Limits};
use askback_host::{
    model::{Ask, Asker, Call, Question, Reached, Reply, link},
    script::{Answer, Mode, Script, rule_for},
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let mut lines = text.splitn(3, '\n');
    let (Some(form), Some(url), Some(file)) = (lines.next(), lines.next(), lines.next()) else {
        return;
    };
    let limits = Limits::default();
    let script = Script::parse(file).ok();
    if let Ok(schema) = FormSchema::parse(form.as_bytes(), &limits.forms) {
        let message = "Which one?".to_owned();
        let question = asked(Ask::Form { message, schema });
        can_be_answered_by_a_rule(&question);
        if let Some(script) = &script {
            answered(script, &question, &limits);
        }
    }
    let link = asked(Ask::Link {
        message: "Here?".to_owned(),
        url: url.to_owned(),
        id: None,
        retried: false,
    });
    can_be_answered_by_a_rule(&link);
    if let Some(script) = &script {
        answered(script, &link, &limits);
    }
});

/// What a file answers fits the question, and a link is opened by a rule for links alone.
fn answered(script: &Script, question: &Question, limits: &Limits) {
    match (script.answer(&asker(), question, limits), &question.ask) {
        (Answer::Given(Reply::Form(content), rule), Ask::Form { schema, .. }) => {
            schema
                .check(&content, &limits.forms)
                .expect("what is sent fits");
            assert!(rule.is_some(), "a rule gave it");
        }
        (Answer::Given(Reply::Link, rule), Ask::Link { url, .. }) => {
            link::judge(url).expect("no other link is opened");
            let rule = &script.answers[rule.expect("a rule gave it") - 1];
            assert_eq!(rule.when.mode, Some(Mode::Url));
        }
        (Answer::Given(reply, _), _) => assert!(reply.is_refusal(), "{reply:?}"),
        (Answer::Unfit { why, .. }, _) => assert!(!why.is_empty()),
        (Answer::Unmatched, _) => {}
    }
}

/// The rule that is shown for a question is one that an answers file may hold.
fn can_be_answered_by_a_rule(question: &Question) {
    let rule = rule_for(&asker(), question).expect("a server asks");
    Script::parse(&rule).unwrap_or_else(|error| panic!("{rule}: {error:?}"));
}

fn asked(ask: Ask) -> Question {
    Question {
        call: Some(Call::Tool("book".to_owned())),
        key: None,
        ask,
    }
}

fn asker() -> Asker {
    Asker {
        name: "agency".to_owned(),
        reached: Reached::Typed("agency serve".to_owned()),
        claims: None,
    }
}
