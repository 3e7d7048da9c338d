//! The scripted person who answers questions.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::report::ReceivedQuestion;

/// A person, a model and a client's roots, as a script.
///
/// The first answer for a question's key is used first, and the last one for every further time. A
/// question without an answer in the script is a finding of the [`Report`](super::Report).
///
/// ```
/// use std::time::Duration;
/// use askback::testing::Person;
/// use serde_json::json;
///
/// Person::new()
///     .answer("age", json!({"years": 430}))          // not usable: the question comes again
///     .answer("age", json!({"years": 43}))
///     .answer("seat", json!({"window": true}))
///     .after(Duration::from_secs(60))                // … which this person thinks about first
///     .decline_because("insurance", "I have one")
///     .roots(["file:///home/ada"]);
/// ```
#[derive(Debug, Clone)]
pub struct Person {
    rules: Vec<Rule>,
    capabilities: Value,
}

#[derive(Debug, Clone)]
struct Rule {
    /// The key of the question; any where there is none.
    key: Option<String>,
    reaction: Reaction,
    delay: Duration,
    used: bool,
}

/// The reaction to a question, and its delay.
#[derive(Debug, Clone)]
pub(super) enum Reaction {
    Result(Value),
    /// This error; a client of the stateless era does not come back.
    Error {
        code: i64,
        message: String,
    },
    /// Nothing.
    Silence,
}

impl Person {
    /// A person who has nothing to say yet, with a client that supports everything there is.
    #[must_use]
    pub fn new() -> Self {
        Self {
            rules: Vec::new(),
            capabilities: json!({
                "elicitation": {"form": {}, "url": {}},
                "sampling": {"tools": {}, "context": {}},
                "roots": {},
            }),
        }
    }

    /// Fills in the form of this key.
    #[must_use]
    pub fn answer(self, key: &str, content: Value) -> Self {
        self.does(Some(key), accept(content))
    }

    /// Fills in the next form for whose key the script has nothing.
    #[must_use]
    pub fn answer_next(self, content: Value) -> Self {
        self.does(None, accept(content))
    }

    /// Agrees to open the link of this key.
    #[must_use]
    pub fn agree(self, key: &str) -> Self {
        self.does(Some(key), Reaction::Result(json!({"action": "accept"})))
    }

    /// Says no to the question of this key.
    #[must_use]
    pub fn decline(self, key: &str) -> Self {
        self.refuse(key, "decline", "person")
    }

    /// Says no to the question of this key, and why.
    #[must_use]
    pub fn decline_because(self, key: &str, reason: &str) -> Self {
        let result = json!({"action": "decline", "_meta": {"dev.askback/reason": reason}});
        self.does(Some(key), Reaction::Result(result))
    }

    /// Leaves the question of this key without choosing.
    #[must_use]
    pub fn cancel(self, key: &str) -> Self {
        self.refuse(key, "cancel", "person")
    }

    /// Has the client decline the question of this key by itself, as clients do without a person.
    #[must_use]
    pub fn decline_by_client(self, key: &str) -> Self {
        self.refuse(key, "decline", "client")
    }

    /// Leaves the question of this key unanswered. In 2026-07-28 the client gives up after ten
    /// minutes and comes back without the answer; asked once more, it stays away.
    #[must_use]
    pub fn silent(self, key: &str) -> Self {
        self.does(Some(key), Reaction::Silence)
    }

    /// Has a model answer the sampling question of this key.
    #[must_use]
    pub fn reply(self, key: &str, text: &str) -> Self {
        let result = json!({
            "role": "assistant",
            "content": {"type": "text", "text": text},
            "model": "scripted",
            "stopReason": "endTurn",
        });
        self.does(Some(key), Reaction::Result(result))
    }

    /// Names these folders when asked for roots.
    #[must_use]
    pub fn roots<'a>(self, uris: impl IntoIterator<Item = &'a str>) -> Self {
        let roots = uris.into_iter().map(|uri| json!({"uri": uri}));
        let result = json!({"roots": roots.collect::<Vec<_>>()});
        self.does(Some("roots"), Reaction::Result(result))
    }

    /// Answers the question of this key with this result, whatever it is.
    #[must_use]
    pub fn result(self, key: &str, result: Value) -> Self {
        self.does(Some(key), Reaction::Result(result))
    }

    /// Has the client answer the question of this key with an error. In 2026-07-28 a client cannot
    /// say so, and does not come back.
    #[must_use]
    pub fn error(self, key: &str, code: i64, message: &str) -> Self {
        let message = message.to_owned();
        self.does(Some(key), Reaction::Error { code, message })
    }

    /// Takes this long over what was said last.
    #[must_use]
    pub fn after(mut self, delay: Duration) -> Self {
        if let Some(rule) = self.rules.last_mut() {
            rule.delay = delay;
        }
        self
    }

    /// Uses a client that supports this and nothing else: the JSON of `ClientCapabilities`.
    #[must_use]
    pub fn capabilities(mut self, capabilities: Value) -> Self {
        self.capabilities = capabilities;
        self
    }

    pub(super) fn declared(&self) -> &Value {
        &self.capabilities
    }

    /// Returns the reaction to a question, if the script has one.
    pub(super) fn react(&mut self, asked: &ReceivedQuestion) -> Option<(Reaction, Duration)> {
        let key = Some(&asked.key);
        let is_named = self.rules.iter().any(|rule| rule.key.as_ref() == key);
        let fits = |rule: &Rule| match is_named {
            true => rule.key.as_ref() == key,
            false => rule.key.is_none() && asked.method == "elicitation/create",
        };
        let at = self
            .rules
            .iter()
            .position(|rule| fits(rule) && !rule.used)
            .or_else(|| self.rules.iter().rposition(fits))?;
        let rule = &mut self.rules[at];
        rule.used = true;
        let reaction = match &rule.reaction {
            Reaction::Result(result) => Reaction::Result(fitted(result.clone(), asked)),
            other => other.clone(),
        };
        Some((reaction, rule.delay))
    }

    /// Says no, and whose no it is: a script answers faster than a person, and the time that it takes
    /// must not decide.
    fn refuse(self, key: &str, action: &str, by: &str) -> Self {
        let result = json!({"action": action, "_meta": {"dev.askback/answered-by": by}});
        self.does(Some(key), Reaction::Result(result))
    }

    fn does(mut self, key: Option<&str>, reaction: Reaction) -> Self {
        self.rules.push(Rule {
            key: key.map(str::to_owned),
            reaction,
            delay: Duration::ZERO,
            used: false,
        });
        self
    }
}

impl Default for Person {
    fn default() -> Self {
        Self::new()
    }
}

fn accept(content: Value) -> Reaction {
    Reaction::Result(json!({"action": "accept", "content": content}))
}

/// A revision without a choice of several asks for each option by itself, and the script says it as
/// the handler's form does.
fn fitted(mut result: Value, asked: &ReceivedQuestion) -> Value {
    let fields = asked.params["requestedSchema"]["properties"].as_object();
    if let (Some(content), Some(fields)) = (result["content"].as_object_mut(), fields) {
        let lists: Vec<String> = content
            .iter()
            .filter(|(name, value)| value.is_array() && !fields.contains_key(*name))
            .map(|(name, _)| name.clone())
            .collect();
        for name in lists {
            tick(content, &name, fields);
        }
    }
    result
}

fn tick(content: &mut Map<String, Value>, name: &str, fields: &Map<String, Value>) {
    let Some(chosen) = content.remove(name) else {
        return;
    };
    for field in fields.keys() {
        let option = field
            .strip_prefix(name)
            .and_then(|rest| rest.strip_prefix('.'));
        if let Some(option) = option {
            let ticked = chosen
                .as_array()
                .is_some_and(|chosen| chosen.contains(&option.into()));
            content.insert(field.clone(), ticked.into());
        }
    }
}
