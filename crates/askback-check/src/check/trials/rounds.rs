//! Calls that need input, and the states they travel with (2026-07-28, basic/patterns/mrtr).
//!
//! Forms and links are declined, so that nothing comes of a round that a server should have refused.

use serde_json::{Map, Value, json};

use super::{
    super::{Agreed, NamedTool, Unasked, attempt::Kind, rules::*},
    Conversation, Trials,
    calls::uncalled,
};
use crate::probe::{Exchange, MODERN_CAPABILITIES, Way, sampled};

/// The ways that need a state.
const OF_STATE: [Kind; 5] = [
    Kind::Tampered,
    Kind::OtherArguments,
    Kind::OtherTool,
    Kind::OtherPrincipal,
    Kind::Lapsed,
];

/// The member of `_meta` with which a client wants log messages.
const LOG_LEVEL_KEY: &str = "io.modelcontextprotocol/logLevel";

/// The most rounds of a call that are gone through.
const ROUNDS_OF_A_CALL: usize = 8;

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

/// Why nothing is known where a no and a refusal look the same.
const ALIKE: &str = "the tool reports a decline as an error, so a refusal looks the same; call one that does not (--tool, of check)";

/// A result that needs input.
struct Round {
    state: Option<String>,
    questions: Map<String, Value>,
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
                self.trouble(&mut talk, tool, &tools, round).await;
            }
        }
        let why = uncalled(&talk, &tools)
            .unwrap_or("no tool that was called asked something; name one with --tool");
        for rule in ROUNDS {
            self.ledger.tried_nowhere(rule, why);
        }
        self.unasked(&talk, &tools);
        talk.probe.close().await;
    }

    /// Tries the one call that was named, in all ways.
    pub(in crate::check) async fn rounds_of(&mut self, tool: &NamedTool) -> Result<(), Unasked> {
        let talk = self.begin_listed().await;
        let mut talk = talk.ok_or(Unasked::Unbegun)?;
        let harmless = talk.harmless().filter_map(|tool| tool["name"].as_str());
        let others = harmless.filter(|name| *name != tool.name).take(1);
        let others: Vec<_> = others
            .map(|name| NamedTool {
                name: name.to_owned(),
                arguments: Map::new(),
            })
            .collect();
        let seen = self.call(&mut talk, tool, json!({})).await;
        let round = self.round(&seen).ok_or_else(|| Unasked::of(&seen));
        let asked = match round {
            Ok(round) => {
                self.repeat(&mut talk, tool, &round).await;
                self.trouble(&mut talk, tool, &others, round).await;
                Ok(())
            }
            Err(why) => Err(why),
        };
        talk.probe.close().await;
        asked
    }

    /// Begins a conversation with a client that can be asked everything, and lists the tools.
    pub(super) async fn begin_listed(&mut self) -> Option<Conversation> {
        let mut talk = self.begin(asked_everything()).await?;
        let seen = self.ask(&mut talk, "tools/list", json!({})).await;
        let tools = seen.reply.result().map(|result| result["tools"].clone());
        talk.listed = tools
            .as_ref()
            .and_then(Value::as_array)
            .cloned()
            .unwrap_or_default();
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
                Some("sampling/createMessage") => Some(sampled()),
                _ => None,
            };
            let is_known = answer.is_some();
            let wanted = "`elicitation/create`, `sampling/createMessage` or `roots/list`";
            self.ledger.judge(ROUND_QUESTIONS, is_known, seen, wanted);
            answers.extend(answer.map(|answer| (key.clone(), answer)));
        }
        Some(Round {
            state: state.map(str::to_owned),
            questions: questions.cloned().unwrap_or_default(),
            answers,
        })
    }

    /// Makes the call again in ways that a client would not.
    async fn trouble(
        &mut self,
        talk: &mut Conversation,
        tool: &NamedTool,
        others: &[NamedTool],
        round: Round,
    ) {
        let answers = json!(round.answers);
        match &round.state {
            Some(state) => self.foul(talk, tool, others, state, &answers).await,
            None => {
                for kind in OF_STATE {
                    self.untried(kind, "the calls that ask have no state");
                }
            }
        }
        if round.answers.is_empty() {
            return;
        }
        let mut more = round.answers.clone();
        more.insert("askback-unknown".to_owned(), json!({"action": "cancel"}));
        for (kind, answers) in [
            (Kind::BadAnswers, json!([])),
            (Kind::NoAnswers, Value::Null),
            (Kind::ExtraAnswer, json!(more)),
        ] {
            let seen = self.call(talk, tool, again(&round.state, &answers)).await;
            self.tried(kind, seen);
        }
    }

    /// Sends the state where it does not belong.
    async fn foul(
        &mut self,
        talk: &mut Conversation,
        tool: &NamedTool,
        others: &[NamedTool],
        state: &str,
        answers: &Value,
    ) {
        let round = again(&Some(state.to_owned()), answers);
        let no = self.declined(talk, tool).await;
        let changed = changed(state);
        if changed.is_empty() {
            self.untried(Kind::Tampered, "the state is too short to be changed");
        }
        for (kind, changed) in [Kind::Tampered, Kind::TamperedElsewhere]
            .into_iter()
            .zip(changed)
        {
            let more = again(&Some(changed), answers);
            let seen = self.call(talk, tool, more).await;
            self.tried_beside(no.as_ref(), kind, seen);
        }
        match with_other_arguments(tool) {
            Some(other) => {
                let seen = self.call(talk, &other, round.clone()).await;
                self.tried_beside(no.as_ref(), Kind::OtherArguments, seen);
            }
            None => self.untried(Kind::OtherArguments, "no argument of the call is a text"),
        }
        match others.iter().find(|other| other.name != tool.name) {
            Some(other) => {
                let seen = self.call(talk, other, round.clone()).await;
                self.tried_beside(no.as_ref(), Kind::OtherTool, seen);
            }
            None => self.untried(Kind::OtherTool, "no other tool may be called"),
        }
        match self.other {
            Some(other) => match self.begin_at(other, asked_everything()).await {
                Some(mut talk) => {
                    let seen = self.call(&mut talk, tool, round.clone()).await;
                    self.tried_beside(no.as_ref(), Kind::OtherPrincipal, seen);
                    talk.probe.close().await;
                }
                None => self.untried(Kind::OtherPrincipal, "the other principal is not let in"),
            },
            None => self.untried(
                Kind::OtherPrincipal,
                "no other principal is known (--other NAME, of check and of /trouble)",
            ),
        }
        match self.lapse {
            Some(lapse) => {
                tokio::time::sleep(lapse).await;
                let seen = self.call(talk, tool, round).await;
                self.tried_beside(no.as_ref(), Kind::Lapsed, seen);
            }
            None => self.untried(
                Kind::Lapsed,
                "the lifetime of a state is not known (--lapse SECONDS, of check, or /trouble SECONDS)",
            ),
        }
    }

    /// Has the tool ask once more, and answers as a client would: the result of the no.
    async fn declined(&mut self, talk: &mut Conversation, tool: &NamedTool) -> Option<Value> {
        let asks = self.call(talk, tool, json!({})).await;
        let round = self.round(&asks)?;
        let more = again(&round.state, &json!(round.answers));
        let seen = self.call(talk, tool, more).await;
        seen.reply.result().cloned()
    }

    /// Notes what came of a state where it does not belong, beside the result of a plain no.
    fn tried_beside(&mut self, no: Option<&Value>, kind: Kind, seen: Exchange) {
        let is_error = |result: &Value| result["isError"] == true;
        let result = seen.reply.result().filter(|result| is_error(result));
        let alike = no.zip(result).is_some_and(|(no, result)| {
            // Another tool has other words for a no.
            is_error(no) && (kind == Kind::OtherTool || no["content"] == result["content"])
        });
        match alike {
            true => self.untried(kind, ALIKE),
            false => self.tried(kind, seen),
        }
    }

    /// Makes the call again in ways that are right for some servers and wrong for others. Without a
    /// state there is no round to be repeated.
    async fn repeat(&mut self, talk: &mut Conversation, tool: &NamedTool, first: &Round) {
        let round = again(&first.state, &json!(first.answers));
        if first.state.is_none() {
            return;
        }
        match self.way {
            Way::Start(_) => match self.begin(asked_everything()).await {
                Some(mut anew) => {
                    let seen = self.call(&mut anew, tool, round.clone()).await;
                    self.tried(Kind::Restarted, seen);
                    anew.probe.close().await;
                }
                None => self.untried(Kind::Restarted, "the server could not be started again"),
            },
            Way::Address(_) => self.untried(
                Kind::Restarted,
                "a server at a URL cannot be restarted from here",
            ),
        }
        let mut seen = self.call(talk, tool, round.clone()).await;
        let mut is_later = false;
        for _ in 0..ROUNDS_OF_A_CALL {
            let Some(next) = self.round(&seen) else { break };
            is_later = true;
            let more = again(&next.state, &json!(next.answers));
            seen = self.call(talk, tool, more).await;
        }
        let kind = match is_later {
            true => Kind::Old,
            false => Kind::Again,
        };
        let seen = self.call(talk, tool, round).await;
        self.tried(kind, seen);
        if !is_later {
            self.agree(talk, tool).await;
        }
    }

    /// Agrees to the first round as the person did, after which the call asked again, and sends it once more when
    /// that later round was declined.
    async fn agree(&mut self, talk: &mut Conversation, tool: &NamedTool) {
        let seen = self.call(talk, tool, json!({})).await;
        let first = self.round(&seen);
        let agreed = first.and_then(|first| Some(again(&first.state, &self.agreed_to(&first)?)));
        let Some(agreed) = agreed else { return };
        let seen = self.call(talk, tool, agreed.clone()).await;
        let Some(later) = self.round(&seen) else {
            return;
        };
        let declined = again(&later.state, &json!(later.answers));
        self.call(talk, tool, declined).await;
        let seen = self.call(talk, tool, agreed).await;
        self.tried(Kind::Old, seen);
    }

    /// The answers of the person to all forms of a round; none where one was not agreed to.
    fn agreed_to(&self, round: &Round) -> Option<Value> {
        let mut answers = round.answers.clone();
        let mut has_agreed = false;
        for (key, question) in &round.questions {
            if question["method"] == "elicitation/create" {
                let is_it = |agreed: &&Agreed| agreed.question == *question;
                let agreed = self.agreed.iter().find(is_it)?;
                answers.insert(key.clone(), agreed.answer.clone());
                has_agreed = true;
            }
        }
        has_agreed.then(|| json!(answers))
    }
}

/// The parameters of a round.
fn again(state: &Option<String>, answers: &Value) -> Value {
    let mut more = Map::new();
    more.extend(
        state
            .iter()
            .map(|it| ("requestState".to_owned(), json!(it))),
    );
    if !answers.is_null() {
        more.insert("inputResponses".to_owned(), answers.clone());
    }
    Value::Object(more)
}

/// The capabilities of a client that can be asked everything.
pub(in crate::check) fn asked_everything() -> Value {
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

/// The call with another argument, if one of its arguments is a text.
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
