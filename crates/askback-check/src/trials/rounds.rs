//! Calls that need input, and the states they travel with (2026-07-28, basic/patterns/mrtr).
//!
//! Forms and links are declined, so that nothing comes of a round that a server should have refused.

use serde_json::{Map, Value, json};

use super::{Conversation, Trials, calls::uncalled};
use crate::{
    NamedTool,
    listed::Lists,
    probe::{Exchange, MODERN_CAPABILITIES, sampled},
    rules::*,
};

/// The member of `_meta` with which a client wants log messages.
const LOG_LEVEL_KEY: &str = "io.modelcontextprotocol/logLevel";

/// The rules about a state.
const OF_STATE: [Rule; 4] = [TAMPERED, FOREIGN, PRINCIPAL, LAPSED];

/// The rules that need a tool that asks.
const ROUNDS: [Rule; 9] = [
    ROUND_SHAPE,
    ROUND_QUESTIONS,
    TAMPERED,
    FOREIGN,
    PRINCIPAL,
    LAPSED,
    BAD_RESPONSES,
    EXTRA_RESPONSES,
    ASKED_AGAIN,
];

/// Why nothing is known of a state if a decline and a refusal look the same.
const ALIKE: &str = "the tool reports a decline as an error, so a refusal looks the same; name one that does not with --tool";

/// A result that needs input.
struct Round {
    state: Option<String>,
    /// The answers to its questions.
    answers: Map<String, Value>,
}

impl Trials<'_> {
    pub(super) async fn rounds(&mut self) {
        let Some(mut talk) = self.begin_listed().await else {
            return;
        };
        let tools = self.callable(&talk);
        for tool in &tools {
            let more = match talk.has("logging") {
                true => json!({}),
                // It has no log messages that could be wanted.
                false => json!({"_meta": {LOG_LEVEL_KEY: "debug"}}),
            };
            let seen = self.call(&mut talk, tool, more).await;
            if let Some(round) = self.round(&seen) {
                self.misuse(&mut talk, tool, &tools, round).await;
            }
        }
        let why = uncalled(&talk, &tools)
            .unwrap_or("no tool that was called asked something; name one with --tool");
        self.ledger.untried(&ROUNDS, why);
        self.unasked(&talk, &tools);
        talk.probe.close().await;
    }

    /// Begins a conversation with a client that can be asked everything, and lists the tools.
    pub(super) async fn begin_listed(&mut self) -> Option<Conversation> {
        let mut talk = self.begin(asked_everything()).await?;
        let seen = self.ask(&mut talk, "tools/list", json!({})).await;
        let tools = seen.reply.result().and_then(|it| it["tools"].as_array());
        talk.listed = tools.cloned().unwrap_or_default();
        // Some servers list a tool that asks only to a client that can be asked.
        let lists = Lists {
            tools: talk.listed.clone(),
            ..Lists::default()
        };
        lists.judge(self.ledger);
        Some(talk)
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
        self.ledger.judge(ROUND_SHAPE, has, seen);
        let mut answers = Map::new();
        for (key, question) in questions.into_iter().flatten() {
            let answer = match question["method"].as_str() {
                Some("elicitation/create") => {
                    self.question(seen, &question["params"]);
                    Some(json!({"action": "decline"}))
                }
                Some("roots/list") => Some(json!({"roots": []})),
                Some("sampling/createMessage") => Some(sampled()),
                _ => None,
            };
            self.ledger.judge(ROUND_QUESTIONS, answer.is_some(), seen);
            answers.extend(answer.map(|answer| (key.clone(), answer)));
        }
        let state = state.map(str::to_owned);
        Some(Round { state, answers })
    }

    /// Makes the call again in ways that a client would not.
    async fn misuse(
        &mut self,
        talk: &mut Conversation,
        tool: &NamedTool,
        others: &[NamedTool],
        round: Round,
    ) {
        let answers = json!(round.answers);
        match &round.state {
            Some(state) => self.misuse_state(talk, tool, others, state, &answers).await,
            None => self
                .ledger
                .untried(&OF_STATE, "the calls that ask have no state"),
        }
        if round.answers.is_empty() {
            return;
        }
        let seen = self.call(talk, tool, again(&round.state, &json!([]))).await;
        self.ledger.judge(BAD_RESPONSES, !is_success(&seen), &seen);
        let seen = self
            .call(talk, tool, again(&round.state, &Value::Null))
            .await;
        self.ledger.judge(ASKED_AGAIN, is_asked(&seen), &seen);
        let mut more = round.answers;
        more.insert("askback-unknown".to_owned(), json!({"action": "cancel"}));
        let seen = self
            .call(talk, tool, again(&round.state, &json!(more)))
            .await;
        let is_ignored = seen.reply.code().is_none();
        self.ledger.judge(EXTRA_RESPONSES, is_ignored, &seen);
    }

    /// Sends the state with other requests than its own.
    async fn misuse_state(
        &mut self,
        talk: &mut Conversation,
        tool: &NamedTool,
        others: &[NamedTool],
        state: &str,
        answers: &Value,
    ) {
        let round = again(&Some(state.to_owned()), answers);
        let declined = self.declined(talk, tool).await;
        let declined = declined.as_ref();
        let changed = changed(state);
        if changed.is_empty() {
            let why = "the state is too short to be changed";
            self.ledger.untried(&[TAMPERED], why);
        }
        for changed in changed {
            let seen = self.call(talk, tool, again(&Some(changed), answers)).await;
            self.judge_refusal(TAMPERED, &seen, is_alike(declined, &seen));
        }
        if let Some(other) = with_other_arguments(tool) {
            let seen = self.call(talk, &other, round.clone()).await;
            self.judge_refusal(FOREIGN, &seen, is_alike(declined, &seen));
        }
        if let Some(other) = others.iter().find(|other| other.name != tool.name) {
            let seen = self.call(talk, other, round.clone()).await;
            // It has other words for a decline.
            let is_alike = is_error(seen.reply.result()) && is_error(declined);
            self.judge_refusal(FOREIGN, &seen, is_alike);
        }
        let why = "no argument of the call is a text, and no other tool may be called";
        self.ledger.untried(&[FOREIGN], why);
        match self.scope.other.as_ref() {
            Some(other) => match self.begin_at(other, asked_everything()).await {
                Some(mut talk) => {
                    let seen = self.call(&mut talk, tool, round.clone()).await;
                    self.judge_refusal(PRINCIPAL, &seen, is_alike(declined, &seen));
                    talk.probe.close().await;
                }
                None => {
                    let why = "the other principal is not let in";
                    self.ledger.untried(&[PRINCIPAL], why);
                }
            },
            None => {
                let why = "no other principal is known (--other NAME)";
                self.ledger.untried(&[PRINCIPAL], why);
            }
        }
        match self.scope.lapse {
            Some(lapse) => {
                tokio::time::sleep(lapse).await;
                let seen = self.call(talk, tool, round).await;
                self.judge_refusal(LAPSED, &seen, is_alike(declined, &seen));
            }
            None => {
                let why = "the lifetime of a state is not known (--lapse SECONDS)";
                self.ledger.untried(&[LAPSED], why);
            }
        }
    }

    /// Has the tool ask once more, and answers as a client would: the result of the decline.
    async fn declined(&mut self, talk: &mut Conversation, tool: &NamedTool) -> Option<Value> {
        let asks = self.call(talk, tool, json!({})).await;
        let round = self.round(&asks)?;
        let more = again(&round.state, &json!(round.answers));
        let seen = self.call(talk, tool, more).await;
        seen.reply.result().cloned()
    }

    /// Judges whether a state was refused, unless a refusal looks like a decline.
    fn judge_refusal(&mut self, rule: Rule, seen: &Exchange, is_alike: bool) {
        match is_alike {
            true => self.ledger.untried(&[rule], ALIKE),
            false => self.ledger.judge(rule, !is_success(seen), seen),
        }
    }
}

/// Whether a call came to a result that asks.
fn is_asked(seen: &Exchange) -> bool {
    let result = seen.reply.result();
    result.is_some_and(|result| result["resultType"] == "input_required")
}

/// Whether a call came to a result that is no error, and asks nothing.
fn is_success(seen: &Exchange) -> bool {
    let result = seen.reply.result();
    result.is_some_and(|result| result["isError"] != true) && !is_asked(seen)
}

fn is_error(result: Option<&Value>) -> bool {
    result.is_some_and(|result| result["isError"] == true)
}

/// Whether a call ended as one that was declined, both with an error.
fn is_alike(declined: Option<&Value>, seen: &Exchange) -> bool {
    let result = seen.reply.result();
    let content = |result: Option<&Value>| result.map(|result| result["content"].clone());
    is_error(declined) && is_error(result) && content(declined) == content(result)
}

/// The parameters of a round.
fn again(state: &Option<String>, answers: &Value) -> Value {
    let mut more = json!({});
    if let Some(state) = state {
        more["requestState"] = json!(state);
    }
    if !answers.is_null() {
        more["inputResponses"] = answers.clone();
    }
    more
}

/// The capabilities of a client that can be asked everything.
pub(crate) fn asked_everything() -> Value {
    serde_json::from_str(MODERN_CAPABILITIES).unwrap_or_default()
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

/// The call with another argument, if it has an argument that is a text.
fn with_other_arguments(tool: &NamedTool) -> Option<NamedTool> {
    let mut other = tool.clone();
    let mut texts = other.arguments.values_mut();
    let text = texts.find(|value| value.is_string())?;
    *text = json!(format!("{}a", text.as_str().unwrap_or_default()));
    Some(other)
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
