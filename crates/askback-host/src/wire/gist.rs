//! A summary of a message.

use std::{borrow::Cow, collections::BTreeMap};

use serde::{Deserialize, de::IgnoredAny};
use serde_json::value::RawValue;

use super::state::State;
use crate::text::head;

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
    /// Not a JSON-RPC message.
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

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

/// The members of parameters and results that describe a message. Each is parsed on its own, so
/// that a member of the wrong type does not hide the others.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Members<'a> {
    #[serde(borrow)]
    name: Option<&'a RawValue>,
    #[serde(borrow)]
    uri: Option<&'a RawValue>,
    #[serde(borrow)]
    request_state: Option<&'a RawValue>,
    #[serde(borrow)]
    input_requests: Option<&'a RawValue>,
    #[serde(borrow)]
    input_responses: Option<&'a RawValue>,
    #[serde(borrow)]
    is_error: Option<&'a RawValue>,
    #[serde(borrow)]
    request_id: Option<&'a RawValue>,
    #[serde(borrow)]
    progress_token: Option<&'a RawValue>,
    #[serde(borrow)]
    progress: Option<&'a RawValue>,
    #[serde(borrow)]
    total: Option<&'a RawValue>,
    #[serde(borrow)]
    level: Option<&'a RawValue>,
    #[serde(borrow)]
    logger: Option<&'a RawValue>,
    #[serde(borrow)]
    data: Option<&'a RawValue>,
    #[serde(borrow)]
    reason: Option<&'a RawValue>,
    #[serde(borrow)]
    action: Option<&'a RawValue>,
    #[serde(borrow)]
    code: Option<&'a RawValue>,
    #[serde(borrow)]
    message: Option<&'a RawValue>,
    #[serde(borrow, rename = "_meta")]
    meta: Option<&'a RawValue>,
}

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
        let Ok(envelope) = serde_json::from_slice::<Envelope<'_>>(message) else {
            return Self::Unreadable;
        };
        let id = envelope.id.map(|id| short(id.get()));
        match (envelope.method, id) {
            (Some(method), Some(id)) => {
                let params = Members::read(envelope.params);
                Self::Request {
                    id,
                    method: short(&method),
                    target: text(params.name.or(params.uri)),
                    answers: keys(params.input_responses),
                    state: params.state(),
                    token: raw(Members::read(params.meta).progress_token),
                }
            }
            (Some(method), None) => {
                let params = Members::read(envelope.params);
                Self::Notification {
                    method: short(&method),
                    about: raw(params.progress_token.or(params.request_id)),
                    says: params.says(),
                }
            }
            (None, id) => match (envelope.result, envelope.error) {
                (Some(result), _) => Self::Response {
                    id: id.unwrap_or_default(),
                    outcome: Outcome::of(&Members::read(Some(result))),
                },
                (None, Some(error)) => {
                    let error = Members::read(Some(error));
                    Self::Response {
                        id: id.unwrap_or_default(),
                        outcome: Outcome::Error {
                            code: raw(error.code).unwrap_or_default(),
                            message: text(error.message).unwrap_or_default(),
                        },
                    }
                }
                (None, None) => Self::Unreadable,
            },
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
        let state = result.state();
        match (result.input_requests, state) {
            (None, None) => Self::Done {
                failed: result.is_error.is_some_and(|it| it.get() == "true"),
                action: text(result.action),
            },
            (asked, state) => Self::Asked {
                asks: keys(asked),
                state,
            },
        }
    }
}

impl<'a> Members<'a> {
    /// The text of a notification: progress, log message, resource or reason.
    fn says(&self) -> Option<String> {
        let words = text(self.message.or(self.reason));
        let words = words.or_else(|| text(self.data).or_else(|| raw(self.data)));
        let of = match (raw(self.progress), raw(self.total)) {
            (Some(progress), Some(total)) => Some(format!("{progress} of {total}")),
            (Some(progress), None) => Some(progress),
            (None, _) => {
                let named = [text(self.level), text(self.logger), text(self.uri)];
                let named: Vec<_> = named.into_iter().flatten().collect();
                (!named.is_empty()).then(|| named.join(" "))
            }
        };
        match (of, words) {
            (Some(of), Some(words)) => Some(format!("{of}: {words}")),
            (of, words) => of.or(words),
        }
    }

    fn read(object: Option<&'a RawValue>) -> Self {
        let read = object.and_then(|object| serde_json::from_str(object.get()).ok());
        read.unwrap_or_default()
    }

    fn state(&self) -> Option<State> {
        let state = self.request_state?;
        let state: String = serde_json::from_str(state.get()).ok()?;
        Some(State::read(&state))
    }
}

fn text(value: Option<&RawValue>) -> Option<String> {
    let text: String = serde_json::from_str(value?.get()).ok()?;
    Some(short(&text))
}

fn raw(value: Option<&RawValue>) -> Option<String> {
    value.map(|value| short(value.get()))
}

fn keys(object: Option<&RawValue>) -> Vec<String> {
    let read =
        |object: &RawValue| serde_json::from_str::<BTreeMap<String, IgnoredAny>>(object.get()).ok();
    let keys = object.and_then(read).unwrap_or_default().into_keys();
    keys.take(KEYS).map(|key| short(&key)).collect()
}

fn short(text: &str) -> String {
    match head(text, NAME) {
        (_, 0) => text.to_owned(),
        (head, _) => format!("{head}…"),
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
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#,
            "tools/list",
        );
        check(
            r#"{"id":1,"method":"tools/call","params":{"name":"book","arguments":{}}}"#,
            "tools/call book",
        );
        check(
            r#"{"id":1,"method":"tools/call","params":{"name":"book","requestState":"abc",
                "inputResponses":{"seat":{},"meal":{}}}}"#,
            "tools/call book, answers meal, seat, state of 3 characters",
        );
        check(
            r#"{"id":1,"result":{"inputRequests":{"seat":{}},"requestState":"abcd"}}"#,
            "asks seat, state of 4 characters",
        );
        check(
            r#"{"id":1,"result":{"requestState":"abcd"}}"#,
            "wants to be called again, state of 4 characters",
        );
        check(r#"{"id":1,"result":{"content":[]}}"#, "result");
        check(
            r#"{"id":1,"result":{"isError":true}}"#,
            "result, the tool reports an error",
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
