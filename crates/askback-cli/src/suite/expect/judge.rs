//! Finds where the outcome of a case differs from its expectations.

use std::fmt;

use askback_host::{
    text::{PeerText, Words, given},
    words,
};
use serde_json::Value;

use super::{Condition, ErrorExpect, Expect, Place, QuestionExpect, Questions};
use crate::{
    error::{Error, Kind},
    suite::observe::{CaseEnd, Observation, ObservedQuestion, ReplyKind},
};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mismatch {
    pub expected: Words,
    pub came: Came,
}

/// The actual outcome: our own words, or the server's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Came {
    Ours(Words),
    Peer(PeerText),
}

impl Mismatch {
    /// Marks the mismatch as part of the named request of `before`.
    #[must_use]
    pub fn before(self, name: &str) -> Self {
        let expected = words!("{}, before the case: {}", given(name), self.expected);
        Self { expected, ..self }
    }
}

impl From<&'static str> for Came {
    fn from(words: &'static str) -> Self {
        Self::Ours(words.into())
    }
}

impl From<Words> for Came {
    fn from(words: Words) -> Self {
        Self::Ours(words)
    }
}

impl From<PeerText> for Came {
    fn from(text: PeerText) -> Self {
        Self::Peer(text)
    }
}

impl Came {
    /// The text as received, for programs.
    pub fn raw(&self) -> &str {
        match self {
            Self::Ours(words) => words.as_str(),
            Self::Peer(text) => text.raw(),
        }
    }
}

#[derive(Default)]
struct Mismatches(Vec<Mismatch>);

impl Mismatches {
    fn expected(&mut self, expected: impl Into<Words>, came: impl Into<Came>) {
        self.0.push(Mismatch {
            expected: expected.into(),
            came: came.into(),
        });
    }

    fn take(&mut self, what: impl Into<Words>, checked: Result<(), Words>, came: impl Into<Came>) {
        if let Err(wanted) = checked {
            self.expected(words!("{}: {}", what.into(), wanted), came);
        }
    }

    fn take_at(
        &mut self,
        what: &'static str,
        whole: Option<&Value>,
        name: &'static str,
        (place, condition): (&Place, &Condition),
    ) {
        let Place(pointer) = place;
        let mut what = match pointer.is_empty() {
            true => what.into(),
            false => words!("{} {}", what, given(pointer)),
        };
        let found = whole.and_then(|whole| whole.pointer(pointer));
        if let (None, Some(_)) = (found, whole) {
            what = words!("{} (nothing is there)", what);
        }
        let came = match found.or(whole) {
            Some(value) => Came::Peer(value.to_string().into()),
            None => words!("there is no {}", name).into(),
        };
        self.take(what, condition.check(found), came);
    }
}

impl Expect {
    pub fn judge(&self, observed: &Observation) -> Vec<Mismatch> {
        let mut judged = Mismatches::default();
        // After an unanswered question, later differences are expected.
        judge_answers(&observed.asked, &mut judged);
        // Servers report a declined question in several ways, including errors.
        let may_fail = observed.asked.iter().any(|asked| asked.is_expected_no);
        match (&observed.ended, &self.error) {
            (CaseEnd::Late(time), _) => {
                let milliseconds = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
                let expected = words!("an end within {} ms", milliseconds);
                judged.expected(expected, "it was given up then");
            }
            (CaseEnd::Error(error), Some(expected)) => expected.judge(error, &mut judged),
            (CaseEnd::Error(error), None)
                if may_fail && is_answer(error) && !self.wants_result() => {}
            (CaseEnd::Error(error), None) => judged.expected("a result", in_words(error)),
            (CaseEnd::Result { text, .. }, Some(_)) => judged.expected("an error", text.clone()),
            (
                CaseEnd::Result {
                    json,
                    text,
                    failed,
                    broken,
                },
                None,
            ) => {
                if !broken.is_empty() {
                    judged.expected("a result that keeps to the protocol", lines(broken));
                }
                let fits = match self.failed {
                    None => !failed || may_fail,
                    Some(wanted) => *failed == wanted,
                };
                match fits {
                    true => self.judge_result(json, text, &mut judged),
                    false => {
                        let expected = match failed {
                            false => "an error of the tool (`failed: true`)",
                            true => "a tool that reports no error",
                        };
                        judged.expected(expected, text.clone());
                    }
                }
            }
        }
        self.judge_questions(observed, &mut judged);
        judged.0
    }

    /// Whether an expectation needs a result.
    pub(super) fn wants_result(&self) -> bool {
        let has_values = !self.result.is_empty() || !self.structured.is_empty();
        has_values || self.text.is_some() || self.failed.is_some()
    }

    fn judge_result(&self, json: &Value, text: &PeerText, judged: &mut Mismatches) {
        if let Some(condition) = &self.text {
            judged.take("text", condition.check_text(text.raw()), text.clone());
        }
        let structured = json.get("structuredContent");
        let everywhere = self.result.iter().map(|of| ("result", Some(json), of));
        let within = self.structured.iter();
        let within = within.map(|of| ("structured", structured, of));
        for (what, whole, of) in everywhere.chain(within) {
            judged.take_at(what, whole, "structured content", of);
        }
    }

    fn judge_questions(&self, observed: &Observation, judged: &mut Mismatches) {
        let asked = &observed.asked;
        let count = match &self.questions {
            None => return,
            Some(Questions::Count(count)) => *count,
            Some(Questions::These(wanted)) => wanted.len(),
        };
        if asked.len() != count {
            let expected = match &observed.undeclared {
                // The server is not at fault.
                Some(undeclared) if asked.len() < count => {
                    words!("questions: {} ({})", count, undeclared.clone())
                }
                _ => words!("questions: {}", count),
            };
            let all: Vec<_> = asked.iter().map(in_a_line).collect();
            judged.expected(expected, lines(&all));
        }
        if let Some(Questions::These(wanted)) = &self.questions {
            for (number, (wanted, found)) in (1_usize..).zip(wanted.iter().zip(asked)) {
                wanted.judge(number, found, judged);
            }
        }
    }
}

impl ErrorExpect {
    fn judge(&self, error: &Error, judged: &mut Mismatches) {
        let Some(answer) = &error.answer else {
            judged.expected("an error that the server answers with", in_words(error));
            return;
        };
        if let Some(code) = self.code
            && answer.code != code
        {
            let came = words!("error code {}", answer.code);
            judged.expected(words!("error code {}", code), came);
        }
        if let Some(message) = &self.message {
            let came = PeerText::from(&answer.message);
            judged.take("error message", message.check_text(&answer.message), came);
        }
        for of in &self.data {
            judged.take_at("error data", answer.data.as_ref(), "data", of);
        }
    }
}

impl QuestionExpect {
    fn judge(&self, number: usize, found: &ObservedQuestion, judged: &mut Mismatches) {
        if let Some(key) = &self.key
            && found.key.as_ref() != Some(key)
        {
            let came = found.key.as_ref().map(PeerText::from);
            let expected = words!("question {}, key: {}", number, given(key));
            judged.expected(expected, came.map_or("no key".into(), Came::Peer));
        }
        if let Some(mode) = self.mode
            && found.mode != mode
        {
            let expected = words!("question {}, mode: {}", number, name(mode));
            judged.expected(expected, name(found.mode));
        }
        if let Some(message) = &self.message {
            let what = words!("question {}, message", number);
            let came = PeerText::from(&found.message);
            judged.take(what, message.check_text(&found.message), came);
        }
        if let Some(fields) = &self.fields {
            let (mut wanted, mut there) = (fields.clone(), found.fields.clone());
            wanted.sort();
            there.sort();
            if wanted != there {
                let expected = words!("question {}, fields: {}", number, given(fields.join(", ")));
                judged.expected(expected, PeerText::from(found.fields.join(", ")));
            }
        }
        if let Some(reply) = self.reply
            && found.reply != reply
        {
            let expected = words!("question {}, reply: {}", number, name(reply));
            judged.expected(expected, name(found.reply));
        }
    }
}

/// Whether the server rejected the request, or the client rejected a question.
fn is_answer(error: &Error) -> bool {
    matches!(error.kind, Kind::Server | Kind::Refused)
}

/// Requires that a rule answers every question. Reports only the first failure, because a server may ask any number
/// of questions.
fn judge_answers(asked: &[ObservedQuestion], judged: &mut Mismatches) {
    let mut open = asked
        .iter()
        .filter(|one| one.reply == ReplyKind::Unanswered);
    if let Some(first) = open.next() {
        let expected = match open.count() {
            0 => "a rule that answers every question".into(),
            more => words!(
                "a rule that answers every question (others without one: {})",
                more
            ),
        };
        judged.expected(expected, PeerText::from(&first.message));
    }
}

/// The name of a variant, as a suite writes it.
fn name(of: impl fmt::Debug) -> Words {
    given(format!("{of:?}").to_lowercase())
}

fn in_a_line(asked: &ObservedQuestion) -> String {
    let message = asked.message.replace('\n', " ");
    match &asked.key {
        Some(key) => format!("{}, key {key}: {message}", name(asked.mode)),
        None => format!("{}: {message}", name(asked.mode)),
    }
}

fn lines(all: &[String]) -> Came {
    match all.is_empty() {
        true => "none".into(),
        false => Came::Peer(all.join("\n").into()),
    }
}

fn in_words(error: &Error) -> Came {
    match &error.quoted {
        None => error.message.clone().into(),
        Some(quoted) => {
            let text = format!("{}\n{}", error.message, quoted.raw());
            Came::Peer(text.into())
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use askback::{ErrorObject, forms::FormSchema};
    use serde_json::json;

    use super::*;
    use crate::suite::observe::{QuestionMode, QuestionRequest};

    fn observed(ended: CaseEnd) -> Observation {
        let asked = |key: &str, reply| ObservedQuestion {
            mode: QuestionMode::Form,
            key: Some(key.to_owned()),
            message: format!("The {key}?"),
            fields: vec!["seat".to_owned(), "room".to_owned()],
            reply,
            is_expected_no: false,
            request: QuestionRequest::Form(FormSchema::default()),
        };
        Observation {
            undeclared: None,
            ended,
            asked: vec![
                asked("wishes", ReplyKind::Accept),
                asked("contact", ReplyKind::Decline),
            ],
        }
    }

    fn booked(failed: bool) -> CaseEnd {
        CaseEnd::Result {
            json: json!({"content": [], "structuredContent": {"total": 3000, "tags": ["a"]}}),
            text: "Booked.".into(),
            failed,
            broken: Vec::new(),
        }
    }

    fn refused(answer: Option<ErrorObject>) -> CaseEnd {
        CaseEnd::Error(Error {
            answer: answer.map(Box::new),
            ..Error::new(Kind::Server, "the server answered with error -32602:").quoting("no")
        })
    }

    /// Judges outcomes by rows of expectations, and what was expected and came for each difference.
    #[track_caller]
    fn check(ended: impl Fn() -> CaseEnd, rows: &str) {
        for row in rows.trim().lines() {
            let (expect, told) = row.split_once("=>").expect("a row");
            let expect: Expect = yaml_serde::from_str(expect.trim()).expect("expectations");
            let judged = expect.judge(&observed(ended()));
            let judged = judged
                .iter()
                .map(|it| format!("{} | {}", it.expected, it.came.raw()));
            let judged = judged.collect::<Vec<_>>().join(" || ").replace('\n', "¶");
            assert_eq!(judged, told.trim(), "{row}");
        }
    }

    #[test]
    fn a_result_is_judged() {
        check(
            || booked(false),
            r#"
            {} =>
            {text: Booked.} =>
            {text: {matches: '^B'}, failed: false} =>
            {text: Nothing.} => text: "Nothing." | Booked.
            {structured: {/total: 3000, /tags/0: a, /x: {present: false}}} =>
            {structured: {/total: 3001}} => structured /total: 3001 | 3000
            {structured: {/total: '3000'}} => structured /total: "3000" | 3000
            {structured: {/tags/3: a}} => structured /tags/3 (nothing is there): "a" | {"tags":["a"],"total":3000}
            {result: {/structuredContent/total: 3000, /content: []}} =>
            {result: {/content: {length: 1}}} => result /content: something of length 1 | []
            {failed: true} => an error of the tool (`failed: true`) | Booked.
            {error: {}} => an error | Booked.
            "#,
        );
        check(
            || booked(true),
            "
            {} => a tool that reports no error | Booked.
            {failed: true} =>
            ",
        );
        let bare = || CaseEnd::Result {
            json: json!({"content": []}),
            text: "Booked.".into(),
            failed: false,
            broken: Vec::new(),
        };
        let row = "{structured: {/x: {present: true}}} => structured /x: a value | there is no structured content";
        check(bare, row);
    }

    #[test]
    fn a_client_that_declares_less_is_asked_less_and_not_more() {
        #[track_caller]
        fn check(count: usize, expected: &str) {
            let expect = format!("{{questions: {count}}}");
            let expect: Expect = yaml_serde::from_str(&expect).expect("expectations");
            let observed = Observation {
                undeclared: Some("the client declares no forms".into()),
                ..observed(booked(false))
            };
            let judged = expect.judge(&observed);
            let judged: Vec<_> = judged.iter().map(|it| it.expected.as_str()).collect();
            assert_eq!(judged, [expected]);
        }
        check(3, "questions: 3 (the client declares no forms)");
        check(1, "questions: 1");
    }

    #[test]
    fn an_error_is_judged() {
        let answer = || {
            refused(Some(ErrorObject {
                code: -32602,
                message: "no trip".to_owned(),
                data: Some(json!({"trip": 1})),
            }))
        };
        check(
            answer,
            r#"
            {} => a result | the server answered with error -32602:¶no
            {error: {}} =>
            {error: {code: -32602, message: no trip, data: {/trip: 1}}} =>
            {error: {code: -32002}} => error code -32002 | error code -32602
            {error: {message: {contains: yes}}} => error message: something that contains "yes" | no trip
            {error: {data: {/trip: 2}}} => error data /trip: 2 | 1
            "#,
        );
        // The client rejected it, not the server.
        let row = "{error: {}} => an error that the server answers with | the server answered with error -32602:¶no";
        check(|| refused(None), row);
        let late = || CaseEnd::Late(Duration::from_secs(2));
        check(
            late,
            "{under: 2s} => an end within 2000 ms | it was given up then",
        );
    }

    #[test]
    fn an_error_after_an_expected_refusal_does_not_count() {
        #[track_caller]
        fn check(expect: &str, ended: CaseEnd, expected: Option<&str>) {
            let expect: Expect = yaml_serde::from_str(expect).expect("expectations");
            let mut observed = observed(ended);
            observed.asked[1].is_expected_no = true;
            let judged = expect.judge(&observed);
            let judged = judged.first().map(|one| one.expected.as_str());
            assert_eq!(judged, expected);
        }
        check("{}", refused(None), None);
        check("{}", booked(true), None);
        check("{}", booked(false), None);
        check("{text: Booked.}", booked(true), None);
        check("{text: Booked.}", refused(None), Some("a result"));
        let told = "a tool that reports no error";
        check("{failed: false}", booked(true), Some(told));
        check("{failed: true}", refused(None), Some("a result"));
        let told = "an error of the tool (`failed: true`)";
        check("{failed: true}", booked(false), Some(told));
        check("{error: {}}", booked(true), Some("an error"));
        let gone = CaseEnd::Error(Error::new(Kind::Protocol, "it speaks no MCP"));
        check("{}", gone, Some("a result"));
    }

    #[test]
    fn questions_are_judged() {
        check(
            || booked(false),
            "
            {questions: 2} =>
            {questions: 1} => questions: 1 | form, key wishes: The wishes?¶form, key contact: The contact?
            {questions: [{key: wishes, mode: form, fields: [room, seat]}, {reply: decline}]} =>
            {questions: [{message: The wishes?}, {message: {contains: The}}]} =>
            {questions: [{key: contact}, {}]} => question 1, key: contact | wishes
            {questions: [{mode: url}, {}]} => question 1, mode: url | form
            {questions: [{fields: [a]}, {}]} => question 1, fields: a | seat, room
            {questions: [{reply: cancel}, {}]} => question 1, reply: cancel | accept
            ",
        );
        let mut open = observed(booked(false));
        open.asked[1].reply = ReplyKind::Unanswered;
        let judged = |open: &Observation| {
            let judged = Expect::default().judge(open);
            let judged = judged.into_iter();
            let pairs = judged.map(|one| (one.expected.to_string(), one.came.raw().to_owned()));
            pairs.collect::<Vec<_>>()
        };
        let expected = "a rule that answers every question";
        assert_eq!(
            judged(&open),
            [(expected.to_owned(), "The contact?".to_owned())]
        );
        open.asked[0].reply = ReplyKind::Unanswered;
        let expected = format!("{expected} (others without one: 1)");
        assert_eq!(judged(&open), [(expected, "The wishes?".to_owned())]);
    }
}
