//! Calls that need input, and the states they travel with (2026-07-28, basic/patterns/mrtr).
//!
//! Every question is declined, so that nothing comes of a round that a server should have refused.

use serde_json::{Map, Value, json};

use super::{
    super::{NamedTool, rules::*},
    Conversation, Trials,
};
use crate::probe::{Exchange, MODERN_CAPABILITIES};

/// The rules that need a tool that asks.
const ROUNDS: [Rule; 9] = [
    ROUND_SHAPE,
    ROUND_QUESTIONS,
    FORM_SHAPE,
    LINK_SHAPE,
    TAMPERED,
    FOREIGN,
    BAD_RESPONSES,
    EXTRA_RESPONSES,
    ASKED_AGAIN,
];

/// A result that needs input.
struct Round {
    state: Option<String>,
    /// The answers to its questions.
    answers: Map<String, Value>,
}

impl Trials<'_> {
    pub(super) async fn rounds(&mut self) {
        let capabilities = serde_json::from_str(MODERN_CAPABILITIES).unwrap_or_default();
        let Some(mut talk) = self.begin(capabilities).await else {
            return;
        };
        let seen = self.ask(&mut talk, "tools/list", json!({})).await;
        let tools = seen.reply.result().map(|result| result["tools"].clone());
        talk.listed = tools
            .as_ref()
            .and_then(Value::as_array)
            .cloned()
            .unwrap_or_default();
        let tools = self.callable(&talk);
        for tool in &tools {
            let seen = self.call(&mut talk, tool, json!({})).await;
            if let Some(round) = self.round(&seen) {
                self.trouble(&mut talk, tool, &tools, round).await;
            }
        }
        for rule in ROUNDS {
            self.ledger.untried(
                rule,
                "no tool that was called asked something; name one with --tool",
            );
        }
        talk.probe.close().await;
    }

    /// Reads a result that needs input, and judges its shape.
    fn round(&mut self, seen: &Exchange) -> Option<Round> {
        let result = seen.reply.result()?;
        if result["resultType"] != "input_required" {
            return None;
        }
        let questions = result["inputRequests"].as_object();
        let state = result["requestState"].as_str();
        let has = questions.is_some() || state.is_some();
        self.ledger
            .judge(ROUND_SHAPE, has, seen, "`inputRequests` or `requestState`");
        let mut answers = Map::new();
        for (key, question) in questions.into_iter().flatten() {
            let params = &question["params"];
            let answer = match question["method"].as_str() {
                Some("elicitation/create") => {
                    self.question(seen, params);
                    Some(json!({"action": "decline"}))
                }
                Some("roots/list") => Some(json!({"roots": []})),
                Some("sampling/createMessage") => {
                    let content = json!({"type": "text", "text": "A word."});
                    Some(json!({"role": "assistant", "content": content, "model": "askback"}))
                }
                _ => None,
            };
            let is_known = answer.is_some();
            let wanted = "`elicitation/create`, `sampling/createMessage` or `roots/list`";
            self.ledger.judge(ROUND_QUESTIONS, is_known, seen, wanted);
            answers.extend(answer.map(|answer| (key.clone(), answer)));
        }
        Some(Round {
            state: state.map(str::to_owned),
            answers,
        })
    }

    fn question(&mut self, seen: &Exchange, params: &Value) {
        match params["mode"].as_str() {
            Some("url") => {
                let is_whole = params["message"].is_string() && params["url"].is_string();
                self.ledger
                    .judge(LINK_SHAPE, is_whole, seen, "`message` and `url`");
            }
            _ => {
                let is_whole =
                    params["message"].is_string() && params["requestedSchema"].is_object();
                self.ledger.judge(
                    FORM_SHAPE,
                    is_whole,
                    seen,
                    "`message` and `requestedSchema`",
                );
            }
        }
    }

    /// Makes the call again in ways that a client would not.
    async fn trouble(
        &mut self,
        talk: &mut Conversation,
        tool: &NamedTool,
        others: &[NamedTool],
        round: Round,
    ) {
        let Round { state, answers } = round;
        let again = |state: &Option<String>, answers: Value| {
            let mut more = Map::new();
            more.extend(
                state
                    .iter()
                    .map(|it| ("requestState".to_owned(), json!(it))),
            );
            if !answers.is_null() {
                more.insert("inputResponses".to_owned(), answers);
            }
            Value::Object(more)
        };
        if let Some(state) = &state {
            for changed in changed(state) {
                let more = again(&Some(changed), json!(answers));
                let seen = self.call(talk, tool, more).await;
                let wanted = "an error: the state was changed";
                self.ledger
                    .judge(TAMPERED, !is_success(&seen), &seen, wanted);
            }
            for other in foreign(tool, others) {
                let more = again(&Some(state.clone()), json!(answers));
                let seen = self.call(talk, &other, more).await;
                let wanted = "an error: the state is that of another request";
                self.ledger
                    .judge(FOREIGN, !is_success(&seen), &seen, wanted);
            }
        } else {
            for rule in [TAMPERED, FOREIGN] {
                self.ledger
                    .untried(rule, "the calls that ask have no state");
            }
        }
        if answers.is_empty() {
            return;
        }
        let seen = self.call(talk, tool, again(&state, json!([]))).await;
        let is_refused = seen.reply.code().is_some() || !is_success(&seen);
        self.ledger
            .judge(BAD_RESPONSES, is_refused, &seen, "the error -32602");
        let seen = self.call(talk, tool, again(&state, Value::Null)).await;
        let result = seen.reply.result();
        let is_asked = result.is_some_and(|result| result["resultType"] == "input_required");
        self.ledger
            .judge(ASKED_AGAIN, is_asked, &seen, "a result that asks again");
        let mut more = answers.clone();
        more.insert("askback-unknown".to_owned(), json!({"action": "cancel"}));
        let seen = self.call(talk, tool, again(&state, json!(more))).await;
        let is_ignored = seen.reply.code().is_none();
        self.ledger.judge(
            EXTRA_RESPONSES,
            is_ignored,
            &seen,
            "the result without that answer",
        );
    }
}

/// Whether a call came to a result that is no error, and asks nothing.
fn is_success(seen: &Exchange) -> bool {
    let result = seen.reply.result();
    result
        .is_some_and(|result| result["isError"] != true && result["resultType"] != "input_required")
}

/// A state with one character changed, at two places. The last characters stay: of some encodings
/// they hold bits that mean nothing.
fn changed(state: &str) -> Vec<String> {
    let length = state.chars().count();
    let places = [length.checked_div(3), length.checked_div(2)];
    let at = |place: usize| {
        let change = |(index, c): (usize, char)| match (index == place, c) {
            (false, c) => c,
            (true, 'A') => 'B',
            (true, _) => 'A',
        };
        state.chars().enumerate().map(change).collect()
    };
    match length {
        0..8 => Vec::new(),
        _ => places.into_iter().flatten().map(at).collect(),
    }
}

/// Requests that are not the one of a state: with other arguments, and of another tool.
fn foreign(tool: &NamedTool, others: &[NamedTool]) -> Vec<NamedTool> {
    let mut foreign = Vec::new();
    let mut texts = tool.arguments.iter().filter(|(_, value)| value.is_string());
    if let Some((key, Value::String(text))) = texts.next() {
        let mut other = tool.clone();
        other
            .arguments
            .insert(key.clone(), json!(format!("{text}a")));
        foreign.push(other);
    }
    let other = others.iter().find(|other| other.name != tool.name);
    foreign.extend(other.cloned());
    foreign
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_state_differs_in_one_character() {
        for state in ["AAAAAAAAAAAA", "AQHSo1oP4rP7E-qCElYA", "ääääääääää"] {
            let all = changed(state);
            assert_eq!(all.len(), 2);
            for other in all {
                let pairs = state.chars().zip(other.chars());
                assert_eq!(pairs.filter(|(a, b)| a != b).count(), 1, "{state} {other}");
                assert_eq!(other.chars().last(), state.chars().last());
            }
        }
        assert!(changed("short").is_empty());
    }
}
