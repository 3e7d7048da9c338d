//! Which questions rules answer, how often, and in which order.

use std::time::UNIX_EPOCH;

use askback::{
    limits::Limits,
    protocol::{CreateMessageParams, Tool},
};
use askback_host::{
    model::{Ask, Question, Reply, WorstEnd},
    script::{Answer, Script, ScriptRun},
};
use serde_json::{Value, json};

use super::{answer, answers, play, sample, wishes};
use crate::{form, link, offering, travel};

fn offered(tools: &[&str]) -> Question {
    let tools = tools.iter().map(|name| Tool {
        name: (*name).to_owned(),
        ..Tool::default()
    });
    let request = CreateMessageParams {
        tools: Some(tools.collect()),
        ..CreateMessageParams::new("Shall I take an umbrella?", 100)
    };
    Question {
        ask: Ask::Sample(Box::new(request)),
        ..sample("")
    }
}

#[test]
fn a_model_is_played_that_calls_tools() {
    let file = "
sampling:
  - reply: {tool: weather, input: {city: Kyoto, days: 2}}
    then:
      - reply: [Let me see., {tool: weather}, {tool: flights}]
      - reply: [Take one., It rains.]
      - reply: Take one.
      - reply: {tool: trains}
";
    let request = offered(&["weather", "flights"]);
    let answers = answers(file, "travel", &[&request; 5]);
    let sampled = |answer: &Answer| match answer {
        Answer::Given(Reply::Sampled(result), Some(1)) => json!(result),
        other => panic!("{other:?}"),
    };
    let call = |id: &str, name: &str, input: Value| json!({"type": "tool_use", "id": id, "name": name, "input": input});
    assert_eq!(
        sampled(&answers[0]),
        json!({
            "role": "assistant", "model": "person", "stopReason": "toolUse",
            "content": call("call-1", "weather", json!({"city": "Kyoto", "days": 2})),
        })
    );
    let text = |text: &str| json!({"type": "text", "text": text});
    let second = sampled(&answers[1]);
    assert_eq!(second["stopReason"], "toolUse");
    assert_eq!(
        second["content"],
        json!([
            text("Let me see."),
            call("call-2", "weather", json!({})),
            call("call-3", "flights", json!({}))
        ])
    );
    let third = sampled(&answers[2]);
    assert_eq!(third["stopReason"], "endTurn");
    assert_eq!(
        third["content"],
        json!([text("Take one."), text("It rains.")])
    );
    assert_eq!(
        answers[3],
        Answer::Given(Reply::Text("Take one.".to_owned()), Some(1))
    );
    let why = "the request does not offer the tool `trains`".to_owned();
    assert_eq!(answers[4], Answer::Unfit { rule: Some(1), why });

    let of_mode =
        |mode: &str, file: &str| match answer(file, &travel(), &offering(mode, Vec::new())) {
            Answer::Unfit { why, .. } => why,
            other => panic!("{other:?}"),
        };
    assert_eq!(
        of_mode("required", "sampling: [{reply: Take one.}]"),
        "the request requires a tool call"
    );
    assert_eq!(
        of_mode("none", "sampling: [{reply: {tool: now}}]"),
        "the request allows no tool call"
    );

    let calls = |file: &str| Script::parse(file).is_ok_and(|script| script.calls_tools());
    assert!(calls(file));
    assert!(!calls("sampling: [{reply: [a, b]}, {decline: true}]"));
}

#[test]
fn rules_name_their_questions() {
    #[track_caller]
    fn check(when: &str, question: &Question, fits: bool) {
        let list = match question.ask {
            Ask::Sample(_) => "sampling",
            _ => "answers",
        };
        let file = format!("{list}: [{{when: {{{when}}}, decline: true}}]");
        let answer = answer(&file, &travel(), question);
        assert_eq!(answer != Answer::Unmatched, fits, "{when}");
    }
    let form = &form(
        "Book 7 nights for 3000 USD?",
        r#""a": {"type": "boolean"}, "b": {"type": "string"}"#,
        "",
    );
    check("message: 3000 USD", form, true);
    check("message: 3000 usd", form, false);
    // Without `regex`, text is literal.
    check("message: 30.. USD", form, false);
    check("message: {regex: '30.. USD'}", form, true);
    check("message: {regex: '^Book \\d+ nights'}", form, true);
    check("message: {regex: '^\\d+ nights'}", form, false);
    check("message: {regex: '(?i)BOOK'}", form, true);
    check("fields: [a]", form, true);
    check("fields: [b, a]", form, true);
    check("fields: []", form, true);
    check("fields: [a, c]", form, false);
    check("fields: [b, a], only: true", form, true);
    check("fields: [a], only: true", form, false);
    check("fields: [a, b, c], only: true", form, false);
    check("fields: [a], only: false", form, true);
    check(
        "fields: [a], message: USD, key: wishes, tool: book_holiday",
        form,
        true,
    );
    check("fields: [a], message: EUR", form, false);
    let link = &link("https://pay.example.com/");
    check("fields: [a]", link, false);
    check("host: pay.example.com", link, true);
    check("host: example.com", link, false);
    // The scheme and the port are part of the name.
    for (url, named) in [
        ("http://pay.example.com/", "http://pay.example.com"),
        ("https://pay.example.com:8443/", "pay.example.com:8443"),
        (
            "http://pay.example.com:8080/",
            "http://pay.example.com:8080",
        ),
    ] {
        let link = &crate::link(url);
        check("host: pay.example.com", link, false);
        check(&format!("host: '{named}'"), link, true);
    }
    check(
        "host: localhost",
        &crate::link("http://localhost:3000/"),
        true,
    );
    check("message: {regex: 'calendar\\.$'}", link, true);
    let model = &sample("Which flight?");
    check("message: {regex: '[Ff]light'}", model, true);
    check("message: {regex: 'hotel'}", model, false);
    let model = &offered(&["weather", "flights"]);
    check("tools: [weather]", model, true);
    check("tools: [weather, flights]", model, true);
    check("tools: [hotels]", model, false);
    check("tools: []", &sample("Which flight?"), true);
}

#[test]
fn answers_come_one_after_the_other() {
    #[track_caller]
    fn check(rules: &str, asked: &[&Question], seats: &[&str]) {
        let answers = answers(&format!("answers:\n{rules}"), "travel", asked);
        let shown = answers.iter().map(|answer| match answer {
            Answer::Given(Reply::Form(content), _) => content["seat"].as_str().unwrap_or("none"),
            Answer::Given(Reply::Link, _) => "link",
            Answer::Given(Reply::Declined { .. }, _) => "declined",
            Answer::Given(Reply::Cancelled(_), _) => "cancelled",
            Answer::Unmatched => "unmatched",
            other => panic!("{other:?}"),
        });
        assert_eq!(shown.collect::<Vec<_>>(), seats, "{rules}");
    }
    let form = &wishes();
    let other = &Question {
        key: Some("other".to_owned()),
        ..wishes()
    };
    let aisle = "accept: {confirm_booking: true, seat: aisle}";
    let window = "accept: {confirm_booking: true, seat: window}";
    let then =
        format!("  - {{when: {{key: wishes}}, {aisle}, then: [{{{window}}}, {{decline: true}}]}}");
    check(
        &then,
        &[form, other, form, form, form],
        &["aisle", "unmatched", "window", "declined", "unmatched"],
    );
    let twice = format!("  - {{{aisle}, times: 2, then: [{{{window}, times: 2}}]}}");
    check(
        &twice,
        &[form; 5],
        &["aisle", "aisle", "window", "window", "unmatched"],
    );
    let falls_through = format!("  - {{{aisle}, times: 1}}\n  - {{{window}}}");
    check(&falls_through, &[form; 3], &["aisle", "window", "window"]);
    // A step that accepts a link needs the rule to name its host.
    let link = &link("https://example.com/");
    let consent = "  - {decline: true, then: [{accept: true}]}";
    check(consent, &[link; 2], &["declined", "unmatched"]);
    let named = "  - {when: {host: example.com}, decline: true, then: [{accept: true}]}";
    check(named, &[link; 3], &["declined", "link", "unmatched"]);
}

#[test]
fn rules_say_how_often_they_are_asked() {
    #[track_caller]
    fn check(rules: &str, questions: &[&Question], told: &[&str], fails: bool) {
        let mut run = play(rules);
        for question in questions {
            let _ = run.answer("travel", question, &Limits::default());
        }
        let report = run.report();
        let unused = report.unused.iter();
        let words = unused.map(ToString::to_string);
        assert_eq!(words.collect::<Vec<_>>(), told, "{rules}");
        assert_eq!(report.ended() == WorstEnd::Unexpected, fails, "{rules}");
    }
    let form = wishes();
    let accepts = "answers: [{accept: {confirm_booking: true}}]";
    check(accepts, &[&form], &[], false);
    check(accepts, &[], &["rule 1 answered no question"], false);

    // A rule that only refuses may stay unused, unless its refusal is expected.
    check(
        "answers: [{decline: true}, {cancel: true}]",
        &[],
        &[],
        false,
    );
    check("sampling: [{decline: true}]", &[], &[], false);
    let expected = "answers: [{decline: true, expected: true}]";
    check(expected, &[], &["rule 1 answered no question"], false);
    let model = "sampling: [{reply: Yes.}]";
    check(model, &[], &["sampling rule 1 answered no question"], false);

    let unused = |is: &str| format!("{accepts}\nunused: {is}");
    check(&unused("allow"), &[], &[], false);
    check(
        &unused("warn"),
        &[],
        &["rule 1 answered no question"],
        false,
    );
    check(
        &unused("error"),
        &[],
        &["rule 1 answered no question"],
        true,
    );
    check(&unused("error"), &[&form], &[], false);
}

#[test]
fn a_rule_of_a_suite_is_told_from_one_of_a_case() {
    let parse = |file: &str| Script::parse(file).expect("it is a file");
    let rule = "{accept: {}}";
    let case = parse(&format!(
        "answers: [{rule}, {rule}]\nsampling: [{{reply: Yes}}]"
    ));
    let suite = parse(&format!("answers: [{rule}]\nunused: error"));
    let run = ScriptRun::new(case.with_shared(&suite), UNIX_EPOCH);
    let unused: Vec<_> = run
        .report()
        .unused
        .iter()
        .map(ToString::to_string)
        .collect();
    let told = ["case rule 1", "case rule 2", "case sampling rule 1"];
    assert_eq!(
        unused,
        told.map(|rule| format!("{rule} answered no question"))
    );
}
