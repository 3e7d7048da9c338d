use std::time::Duration;

use serde_json::{Map, Value, json};

use super::report::ReceivedQuestion;

/// A script for the user, the model and the client's roots.
///
/// The answers for a question's key are used in order, and the last one repeats. A question without an answer in the
/// script is a finding in the [`Report`](super::Report).
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
    /// The key of the question; `None` for any question.
    key: Option<String>,
    reaction: Reaction,
    delay: Duration,
    used: bool,
}

#[derive(Debug, Clone)]
pub(super) enum Reaction {
    Result(Value),
    /// An error. In the stateless era, the client gives up.
    Error {
        code: i64,
        message: String,
    },
    Silence,
}

impl Person {
    /// Creates an empty script, with a client that supports everything.
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

    /// Fills in the form with this key.
    #[must_use]
    pub fn answer(self, key: &str, content: Value) -> Self {
        self.does(Some(key), accept(content))
    }

    /// Fills in the next form whose key has no answer in the script.
    #[must_use]
    pub fn answer_next(self, content: Value) -> Self {
        self.does(None, accept(content))
    }

    /// Agrees to open the link with this key.
    #[must_use]
    pub fn agree(self, key: &str) -> Self {
        self.does(Some(key), Reaction::Result(json!({"action": "accept"})))
    }

    /// Declines the question with this key.
    #[must_use]
    pub fn decline(self, key: &str) -> Self {
        self.refuse(key, "decline", "person")
    }

    /// Declines the question with this key, with a reason.
    #[must_use]
    pub fn decline_because(self, key: &str, reason: &str) -> Self {
        let result = json!({"action": "decline", "_meta": {"dev.askback/reason": reason}});
        self.does(Some(key), Reaction::Result(result))
    }

    /// Cancels the question with this key.
    #[must_use]
    pub fn cancel(self, key: &str) -> Self {
        self.refuse(key, "cancel", "person")
    }

    /// Has the client decline the question with this key by itself, as clients without a user do.
    #[must_use]
    pub fn decline_by_client(self, key: &str) -> Self {
        self.refuse(key, "decline", "client")
    }

    /// Leaves the question with this key unanswered. In 2026-07-28 the client waits ten minutes and then sends the call
    /// again without the answer. If it is asked again, it gives up.
    #[must_use]
    pub fn silent(self, key: &str) -> Self {
        self.does(Some(key), Reaction::Silence)
    }

    /// Has the model answer the sampling request with this key.
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

    /// Sets the client's roots.
    #[must_use]
    pub fn roots<'a>(self, uris: impl IntoIterator<Item = &'a str>) -> Self {
        let roots = uris.into_iter().map(|uri| json!({"uri": uri}));
        let result = json!({"roots": roots.collect::<Vec<_>>()});
        self.does(Some("roots"), Reaction::Result(result))
    }

    /// Answers the question with this key with any result.
    #[must_use]
    pub fn result(self, key: &str, result: Value) -> Self {
        self.does(Some(key), Reaction::Result(result))
    }

    /// Has the client answer the question with this key with an error. In 2026-07-28 a client cannot send one, and
    /// gives up instead.
    #[must_use]
    pub fn error(self, key: &str, code: i64, message: &str) -> Self {
        let message = message.to_owned();
        self.does(Some(key), Reaction::Error { code, message })
    }

    /// Delays the last answer by this time.
    #[must_use]
    pub fn after(mut self, delay: Duration) -> Self {
        if let Some(rule) = self.rules.last_mut() {
            rule.delay = delay;
        }
        self
    }

    /// Sets the client's only capabilities, as the JSON of `ClientCapabilities`.
    #[must_use]
    pub fn capabilities(mut self, capabilities: Value) -> Self {
        self.capabilities = capabilities;
        self
    }

    pub(super) fn declared(&self) -> &Value {
        &self.capabilities
    }

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

    /// Declines, and says whether the user or the client did. A script answers too fast to tell by the time.
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

/// Adapts an answer to a revision without multiple choice, which asks for each option separately. The script answers
/// the handler's form.
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
