//! Any text as an answers file, with any form or link as the question.
//!
//! The first line is the form, the second the link; the rest is the file.

#![no_main]

use askback_core::{forms::FormSchema, limits::Limits};
use askback_host::{
    model::{Ask, Asker, Call, Origin, Question, Reply, link},
    script::{Answer, Script, ScriptRun, rule_for},
};
use libfuzzer_sys::fuzz_target;
use std::time::SystemTime;

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
        again: false,
    });
    can_be_answered_by_a_rule(&link);
    if let Some(script) = &script {
        answered(script, &link, &limits);
    }
});

/// A file's answer matches the question, and a link is only opened by a rule for its host.
fn answered(script: &Script, question: &Question, limits: &Limits) {
    let mut run = ScriptRun::new(script.clone(), SystemTime::UNIX_EPOCH);
    let (reply, rule) = match run.answer("agency", question, limits) {
        Answer::Given(reply, rule) => (reply, rule),
        Answer::Later { reply, rule, .. } => (reply, Some(rule)),
        Answer::Unfit { why, .. } => return assert!(!why.is_empty()),
        Answer::Unmatched => return,
    };
    match (reply, &question.ask) {
        (Reply::Form(content), Ask::Form { schema, .. }) => {
            schema
                .check(&content, &limits.forms)
                .expect("what is sent fits");
            assert!(rule.is_some(), "a rule gave it");
        }
        (Reply::Link, Ask::Link { url, .. }) => {
            let link = link::judge(url).expect("no other link is opened");
            let rule = &script.answers[rule.expect("a rule gave it") - 1];
            assert_eq!(rule.when.host, Some(link.named()));
        }
        (reply, _) => assert!(reply.is_refusal(), "{reply:?}"),
    }
}

/// The rule that is suggested for a question is valid in an answers file.
fn can_be_answered_by_a_rule(question: &Question) {
    let Some(rule) = rule_for(&asker(), question) else {
        // The link is not opened.
        return assert!(matches!(question.ask, Ask::Link { .. }));
    };
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
        reached: Origin::Typed("agency serve".to_owned()),
        claims: None,
    }
}
