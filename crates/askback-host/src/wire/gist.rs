//! A summary of a message.

use std::{
    collections::BTreeMap,
    hash::{DefaultHasher, Hash, Hasher},
};

use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use crate::text::cut;

/// The kind of a message, and what it is about. Strings in it come from a peer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Gist {
    Request {
        id: String,
        method: String,
        /// The name of the tool or prompt, or the URI of the resource.
        target: Option<String>,
        answers: Vec<String>,
        state: Option<State>,
        token: Option<String>,
    },
    /// A notification. `about` is the id or the progress token of the request that it belongs to.
    Notification {
        method: String,
        about: Option<String>,
        says: Option<String>,
    },
    Response {
        id: String,
        outcome: Outcome,
    },
    /// A batch with this many messages.
    Batch(usize),
    Nothing,
    Unreadable,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Outcome {
    /// A result. `failed` is set if a tool reported an error, `action` if it answers a question.
    Done {
        failed: bool,
        action: Option<String>,
    },
    /// The call needs another round, with answers to these keys.
    Asked {
        asks: Vec<String>,
        state: Option<State>,
    },
    Error {
        code: String,
        message: String,
    },
}

const NAME: usize = 100;

const KEYS: usize = 16;

/// The members of an object. Each is parsed on its own, so that a member of the wrong type does not
/// hide the others.
#[derive(Default)]
struct Members<'a>(BTreeMap<String, &'a RawValue>);

impl Gist {
    pub(super) fn read(message: &[u8]) -> Self {
        if message.is_empty() {
            return Self::Nothing;
        }
        if message.trim_ascii_start().first() == Some(&b'[') {
            return match serde_json::from_slice::<Vec<IgnoredAny>>(message) {
                Ok(batch) => Self::Batch(batch.len()),
                Err(_) => Self::Unreadable,
            };
        }
        let envelope = std::str::from_utf8(message).ok().and_then(Members::parse);
        let Some(envelope) = envelope else {
            return Self::Unreadable;
        };
        let id = envelope.raw("id");
        let (result, error) = (envelope.has("result"), envelope.has("error"));
        match (envelope.text("method"), id) {
            (None, _) if envelope.has("method") => Self::Unreadable,
            (Some(method), Some(id)) => {
                let params = envelope.object("params");
                Self::Request {
                    id,
                    method,
                    target: params.text(if params.has("name") { "name" } else { "uri" }),
                    answers: params.keys("inputResponses"),
                    state: params.state(),
                    token: params.object("_meta").raw("progressToken"),
                }
            }
            (Some(method), None) => {
                let params = envelope.object("params");
                Self::Notification {
                    method,
                    about: params.raw("progressToken").or(params.raw("requestId")),
                    says: params.says(),
                }
            }
            (None, id) if result || error => Self::Response {
                id: id.unwrap_or_default(),
                outcome: match result {
                    true => Outcome::of(&envelope.object("result")),
                    false => {
                        let error = envelope.object("error");
                        Outcome::Error {
                            code: error.raw("code").unwrap_or_default(),
                            message: error.text("message").unwrap_or_default(),
                        }
                    }
                },
            },
            (None, _) => Self::Unreadable,
        }
    }

    pub(super) fn state(&self) -> Option<&State> {
        match self {
            Self::Request { state, .. } => state.as_ref(),
            Self::Response {
                outcome: Outcome::Asked { state, .. },
                ..
            } => state.as_ref(),
            _ => None,
        }
    }

    pub(super) fn line(&self) -> String {
        match self {
            Self::Request {
                method,
                target,
                answers,
                state,
                ..
            } => {
                let mut line = method.clone();
                if let Some(target) = target {
                    line = format!("{line} {target}");
                }
                if !answers.is_empty() {
                    line = format!("{line}, answers {}", answers.join(", "));
                }
                with_state(line, state.as_ref())
            }
            Self::Notification { method, says, .. } => match says {
                Some(says) => format!("{method} {says}"),
                None => method.clone(),
            },
            Self::Response { outcome, .. } => match outcome {
                Outcome::Done { failed: false, .. } => "result".to_owned(),
                Outcome::Done { failed: true, .. } => {
                    "result, the tool reports an error".to_owned()
                }
                Outcome::Asked { asks, state } => {
                    let line = match asks.is_empty() {
                        true => "wants to be called again".to_owned(),
                        false => format!("asks {}", asks.join(", ")),
                    };
                    with_state(line, state.as_ref())
                }
                Outcome::Error { code, message } => format!("error {code}: {message}"),
            },
            Self::Batch(many) => format!("batch of {many}"),
            Self::Nothing => String::new(),
            Self::Unreadable => "not a message of JSON-RPC".to_owned(),
        }
    }
}

fn with_state(line: String, state: Option<&State>) -> String {
    match state {
        Some(state) => format!("{line}, state of {} characters", state.chars()),
        None => line,
    }
}

impl Outcome {
    /// The summary of an answer to a peer's request with this method, in one line.
    pub(super) fn answer(&self, method: &str) -> String {
        match self {
            Self::Done {
                action: Some(action),
                ..
            } => format!("answers {method}: {action}"),
            Self::Done { .. } | Self::Asked { .. } => format!("answers {method}"),
            Self::Error { code, message } => format!("answers {method}: error {code}: {message}"),
        }
    }

    fn of(result: &Members<'_>) -> Self {
        match (result.has("inputRequests"), result.state()) {
            (false, None) => Self::Done {
                failed: result.raw("isError").is_some_and(|it| it == "true"),
                action: result.text("action"),
            },
            (_, state) => Self::Asked {
                asks: result.keys("inputRequests"),
                state,
            },
        }
    }
}

impl<'a> Members<'a> {
    fn parse(json: &'a str) -> Option<Self> {
        serde_json::from_str(json).ok().map(Self)
    }

    /// Whether there is a member with this name other than null.
    fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    fn get(&self, name: &str) -> Option<&'a str> {
        let value = self.0.get(name)?.get();
        (value != "null").then_some(value)
    }

    fn raw(&self, name: &str) -> Option<String> {
        self.get(name).map(short)
    }

    fn text(&self, name: &str) -> Option<String> {
        let text: String = serde_json::from_str(self.get(name)?).ok()?;
        Some(short(&text))
    }

    fn object(&self, name: &str) -> Self {
        self.get(name).and_then(Self::parse).unwrap_or_default()
    }

    fn keys(&self, name: &str) -> Vec<String> {
        let object = self.object(name);
        object.0.keys().take(KEYS).map(|key| short(key)).collect()
    }

    fn state(&self) -> Option<State> {
        let state: String = serde_json::from_str(self.get("requestState")?).ok()?;
        Some(State::read(&state))
    }

    /// The text of a notification: progress, log message, resource or reason.
    fn says(&self) -> Option<String> {
        let words = self.text(if self.has("message") {
            "message"
        } else {
            "reason"
        });
        let words = words
            .or_else(|| self.text("data"))
            .or_else(|| self.raw("data"));
        let of = match (self.raw("progress"), self.raw("total")) {
            (Some(progress), Some(total)) => Some(format!("{progress} of {total}")),
            (Some(progress), None) => Some(progress),
            (None, _) => {
                let named = ["level", "logger", "uri"].map(|name| self.text(name));
                let named: Vec<_> = named.into_iter().flatten().collect();
                (!named.is_empty()).then(|| named.join(" "))
            }
        };
        match (of, words) {
            (Some(of), Some(words)) => Some(format!("{of}: {words}")),
            (of, words) => of.or(words),
        }
    }
}

fn short(text: &str) -> String {
    cut(text, NAME)
}

/// A `requestState`, as far as it is needed to recognize it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct State {
    chars: usize,
    digest: u64,
}

impl State {
    fn read(state: &str) -> Self {
        let mut hasher = DefaultHasher::new();
        state.hash(&mut hasher);
        Self {
            chars: state.chars().count(),
            digest: hasher.finish(),
        }
    }

    pub(super) fn chars(&self) -> usize {
        self.chars
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_told_in_a_line() {
        #[track_caller]
        fn check(message: &str, line: &str) {
            assert_eq!(Gist::read(message.as_bytes()).line(), line);
        }
        check(
            r#"{"id":1,"method":"tools/call","params":{"name":"book","requestState":"abc",
                "inputResponses":{"seat":{},"meal":{}}}}"#,
            "tools/call book, answers meal, seat, state of 3 characters",
        );
        check(
            r#"{"id":1,"error":{"code":-32602,"message":"no"}}"#,
            "error -32602: no",
        );
        check(r#"{"method":"notifications/x"}"#, "notifications/x");
        let progress = r#"{"method":"notifications/progress","params":{"progressToken":1,"#;
        for (params, says) in [
            (
                r#""progress":3,"total":10,"message":"Packing"}}"#,
                "3 of 10: Packing",
            ),
            (r#""progress":0.50,"total":1}}"#, "0.50 of 1"),
            (r#""progress":3,"message":"Packing"}}"#, "3: Packing"),
            (r#""progress":1e400}}"#, "1e400"),
        ] {
            let line = format!("notifications/progress {says}");
            check(&format!("{progress}{params}"), &line);
        }
        check(
            r#"{"method":"notifications/message","params":{"level":"warning","logger":"db","data":"slow"}}"#,
            "notifications/message warning db: slow",
        );
        check(
            r#"{"method":"notifications/message","params":{"level":"error","data":{"ms":9}}}"#,
            r#"notifications/message error: {"ms":9}"#,
        );
        check(
            r#"{"method":"notifications/resources/updated","params":{"uri":"a://b"}}"#,
            "notifications/resources/updated a://b",
        );
        check(
            r#"{"method":"notifications/cancelled","params":{"requestId":1,"reason":"late"}}"#,
            "notifications/cancelled late",
        );
        check("[{},{}]", "batch of 2");
        // Members of the wrong type are ignored.
        check(
            r#"{"id":{},"method":"a","params":{"name":1,"uri":"b","requestState":2}}"#,
            "a",
        );
        check(r#"{"id":1,"method":"a","params":[]}"#, "a");
        check(r#"{"id":1,"method":2}"#, "not a message of JSON-RPC");
        check("[{", "not a message of JSON-RPC");
        check("hello", "not a message of JSON-RPC");
        check("", "");
        let large = "123456789012345678901234567890";
        let message = format!(r#"{{"id":{large},"method":"a"}}"#);
        let read = Gist::read(message.as_bytes());
        assert!(
            matches!(&read, Gist::Request { id, .. } if id == large),
            "{read:?}"
        );
        let long = format!(r#"{{"method":"{}"}}"#, "x".repeat(1000));
        check(&long, &format!("{}…", "x".repeat(NAME)));
    }
}
