//! Tools that ask questions: forms, links, and the states of calls (2026-07-28,
//! basic/patterns/mrtr).
//!
//! Forms and links are declined, so a round that the server should have rejected has no effect.

use askback::protocol::codes::URL_ELICITATION_REQUIRED;
use serde_json::{Map, Value, json};

use super::{Conversation, LOG_LEVEL_KEY, Trials, asked_everything};
use crate::{
    NamedTool,
    listed::Lists,
    probe::{Reply, answer_to},
    rules::*,
};

struct Round {
    state: Option<String>,
    answers: Map<String, Value>,
}

impl Trials<'_> {
    pub(super) async fn questions(&mut self) {
        let Some(mut talk) = self.begin(asked_everything()).await else {
            return;
        };
        // Some servers hide tools that ask questions from a client that cannot be asked.
        let seen = talk.ask("tools/list", json!({})).await;
        let tools = seen.result()["tools"].as_array();
        talk.listed = tools.cloned().unwrap_or_default();
        Lists([("tools", talk.listed.clone())].into()).judge(talk.trials.ledger);
        let tools = talk.callable();
        for tool in &tools {
            let more = match talk.is_modern() && !talk.has("logging") {
                // Requests log messages, although the server does not declare them.
                true => json!({"_meta": {LOG_LEVEL_KEY: "debug"}}),
                false => json!({}),
            };
            let seen = talk.call(tool, more).await;
            if talk.is_modern() {
                if let Some(round) = talk.round(&seen) {
                    talk.misuse(tool, &tools, round).await;
                }
                continue;
            }
            for asked in &seen.asked {
                if asked["method"] == "elicitation/create" {
                    talk.question(&seen, &asked["params"]);
                }
            }
            if seen.has_code(URL_ELICITATION_REQUIRED) {
                let links = seen.error()["data"]["elicitations"].as_array();
                for link in links.into_iter().flatten() {
                    talk.question(&seen, link);
                }
            }
        }
        talk.probe.close().await;
    }
}

impl Conversation<'_> {
    /// Checks a form or a link. The error -32042 lists only links.
    fn question(&mut self, seen: &Reply, params: &Value) {
        let is_link = params["mode"] == "url" || seen.has_code(URL_ELICITATION_REQUIRED);
        let (rule, has) = match is_link {
            true => (LINK_SHAPE, params["url"].is_string()),
            false => (FORM_SHAPE, params["requestedSchema"].is_object()),
        };
        self.judge(seen, [(rule, has && params["message"].is_string())]);
    }

    fn round(&mut self, seen: &Reply) -> Option<Round> {
        let result = seen.result();
        if !is_asked(seen) {
            return None;
        }
        let questions = result["inputRequests"].as_object();
        let state = result["requestState"].as_str();
        let has = questions.is_some() || state.is_some();
        self.judge(seen, [(ROUND_SHAPE, has)]);
        let mut answers = Map::new();
        for (key, question) in questions.into_iter().flatten() {
            if question["method"] == "elicitation/create" {
                self.question(seen, &question["params"]);
            }
            let answer = answer_to(&question["method"]);
            self.judge(seen, [(ROUND_QUESTIONS, answer.is_some())]);
            answers.extend(answer.map(|answer| (key.clone(), answer)));
        }
        let state = state.map(str::to_owned);
        Some(Round { state, answers })
    }

    /// Repeats the call in ways that a client would not.
    async fn misuse(&mut self, tool: &NamedTool, others: &[NamedTool], round: Round) {
        let Round { state, answers } = round;
        let state = state.as_deref();
        if let Some(state) = state {
            let answers = json!(answers);
            self.misuse_state(tool, others, state, &answers).await;
        }
        if answers.is_empty() {
            return;
        }
        let seen = self.call(tool, again(state, &json!([]))).await;
        self.judge(&seen, [(BAD_RESPONSES, !is_success(&seen))]);
        let seen = self.call(tool, again(state, &Value::Null)).await;
        self.judge(&seen, [(ASKED_AGAIN, is_asked(&seen))]);
    }

    async fn misuse_state(
        &mut self,
        tool: &NamedTool,
        others: &[NamedTool],
        state: &str,
        answers: &Value,
    ) {
        let round = again(Some(state), answers);
        let declined = self.declined(tool).await;
        for changed in changed(state) {
            let seen = self.call(tool, again(Some(&changed), answers)).await;
            self.judge_refusal(TAMPERED, &seen, &declined);
        }
        if let Some(other) = with_other_arguments(tool) {
            let seen = self.call(&other, round.clone()).await;
            self.judge_refusal(FOREIGN, &seen, &declined);
        }
        if let Some(other) = others.iter().find(|other| other.name != tool.name) {
            let seen = self.call(other, round).await;
            // Another tool may decline in other words.
            let as_declined = match declined["isError"] == true {
                true => seen.result(),
                false => &Value::Null,
            };
            self.judge_refusal(FOREIGN, &seen, as_declined);
        }
    }

    /// Lets the tool ask again, and answers like a client. Returns the result of the decline, or null.
    async fn declined(&mut self, tool: &NamedTool) -> Value {
        let asks = self.call(tool, json!({})).await;
        let Some(round) = self.round(&asks) else {
            return Value::Null;
        };
        let more = again(round.state.as_deref(), &json!(round.answers));
        self.call(tool, more).await.result().clone()
    }

    /// Records whether a state was rejected. A rejection that looks like a decline is skipped: both
    /// are errors with the same content.
    fn judge_refusal(&mut self, rule: Rule, seen: &Reply, declined: &Value) {
        let result = seen.result();
        let is_error = |result: &Value| result["isError"] == true;
        let is_same = declined["content"] == result["content"];
        if !(is_error(declined) && is_error(result) && is_same) {
            self.judge(seen, [(rule, !is_success(seen))]);
        }
    }
}

fn is_asked(seen: &Reply) -> bool {
    seen.result()["resultType"] == "input_required"
}

/// Whether a call succeeded without a question.
fn is_success(seen: &Reply) -> bool {
    let result = seen.result();
    !result.is_null() && result["isError"] != true && !is_asked(seen)
}

fn again(state: Option<&str>, answers: &Value) -> Value {
    let mut more = json!({});
    if let Some(state) = state {
        more["requestState"] = json!(state);
    }
    if !answers.is_null() {
        more["inputResponses"] = answers.clone();
    }
    more
}

/// Returns the state with one character changed, at two places. The last characters are not
/// changed, because some encodings have unused bits there.
fn changed(state: &str) -> Vec<String> {
    let length = state.chars().count();
    let places = [length / 3, length / 2];
    let places = places.into_iter().filter(|_| length >= 8);
    let at = |place: usize| {
        let change = |(index, c): (usize, char)| match (index == place, c) {
            (false, c) => c,
            (true, 'A') => 'B',
            (true, _) => 'A',
        };
        state.chars().enumerate().map(change).collect()
    };
    places.map(at).collect()
}

/// Returns the call with a changed argument, if it has a text argument.
fn with_other_arguments(tool: &NamedTool) -> Option<NamedTool> {
    let mut other = tool.clone();
    let mut texts = other.arguments.values_mut();
    let text = texts.find(|value| value.is_string())?;
    *text = json!(format!("{}a", text.as_str().unwrap_or_default()));
    Some(other)
}
