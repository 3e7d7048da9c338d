//! The lines between a board and a front end: JSON objects with one member, named by its kind.

use std::collections::BTreeMap;

use askback::{
    client::{CallId, CallTarget, HostQuestion},
    protocol::{Implementation, InputRequest, InputResponse, RawJson},
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::value::RawValue;

use crate::{
    ending::{FrontEndKind, QuestionEnd},
    model::{Call, Origin, Typed},
    text::Words,
};

pub(super) const VERSION: u32 = 1;

/// The maximum size of the typed content of a question, in bytes of JSON. More is not kept.
pub(super) const MAX_TYPED_BYTES: usize = 128 << 10;

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum BoardLine {
    Hello(BoardHello),
    Asked(Box<AskedLine>),
    /// The reply of this front end is the answer.
    Taken {
        id: u64,
    },
    Settled {
        id: u64,
        by: FrontEndKind,
    },
    Withdrawn {
        id: u64,
        /// Older boards send none. An unknown reason of a later version is read as `Withdrawn`.
        #[serde(default)]
        why: QuestionEnd,
    },
    /// Another front end changed these fields.
    Typed {
        id: u64,
        fields: Typed,
    },
    Bye {},
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum FrontEndLine {
    Hello {
        version: u32,
        kind: FrontEndKind,
    },
    Seen {
        id: u64,
    },
    /// The front end has no answer. The question stays open for the others.
    Passed {
        id: u64,
    },
    /// The user changed these fields.
    Typed {
        id: u64,
        fields: Typed,
    },
    Reply {
        id: u64,
        response: RawJson,
    },
    /// A refusal, for questions whose answer in the protocol cannot say no.
    Refused {
        id: u64,
        reason: String,
    },
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct BoardHello {
    pub(super) version: u32,
    /// The user's name for the server.
    pub(super) name: Words,
    pub(super) reached: Origin,
    /// Identifies the server for receipts. Older boards send none.
    #[serde(default)]
    pub(super) identity: Option<String>,
}

/// A question in the terms of the protocol.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct AskedLine {
    pub(super) id: u64,
    request: RequestLine,
    call: Option<u64>,
    target: Option<Call>,
    key: Option<String>,
    claims: Option<Implementation>,
    #[serde(default)]
    retried: bool,
    #[serde(default)]
    pub(super) typed: Typed,
}

#[derive(Debug, Serialize, Deserialize)]
struct RequestLine {
    method: String,
    params: Option<Box<RawValue>>,
}

impl AskedLine {
    pub(super) fn new(
        id: u64,
        question: &HostQuestion,
        typed: Typed,
    ) -> Result<Self, serde_json::Error> {
        let request = serde_json::to_string(&question.request)?;
        Ok(Self {
            id,
            request: serde_json::from_str(&request)?,
            call: question.call.map(|call| call.0),
            target: question.target.clone().map(Call::from),
            key: question.key.clone(),
            claims: question.server.clone(),
            retried: question.retried,
            typed,
        })
    }

    /// Returns `None` if this version cannot read the question.
    pub(super) fn into_question(self) -> Option<HostQuestion> {
        let params = self.request.params.as_deref();
        let request = InputRequest::parse(&self.request.method, params).ok()?;
        Some(HostQuestion {
            server: self.claims,
            call: self.call.map(CallId),
            target: self.target.map(|target| match target {
                Call::Tool(name) | Call::Task { tool: name, .. } => CallTarget::Tool(name),
                Call::Prompt(name) => CallTarget::Prompt(name),
                Call::Resource(uri) => CallTarget::Resource(uri),
            }),
            key: self.key,
            request,
            retried: self.retried,
        })
    }
}

impl FrontEndLine {
    pub(super) fn reply(id: u64, response: askback::Result<InputResponse>) -> Self {
        let written = response.map(|response| RawJson::new(&response));
        let reason = match written {
            Ok(Ok(response)) => return Self::Reply { id, response },
            Ok(Err(error)) => error.to_string(),
            Err(error) => error.message().to_owned(),
        };
        Self::Refused { id, reason }
    }
}

pub(super) trait Line: Serialize + DeserializeOwned {
    const KINDS: &'static [&'static str];
}

impl Line for BoardLine {
    const KINDS: &'static [&'static str] = &[
        "hello",
        "asked",
        "taken",
        "settled",
        "withdrawn",
        "typed",
        "bye",
    ];
}

impl Line for FrontEndLine {
    const KINDS: &'static [&'static str] =
        &["hello", "seen", "passed", "typed", "reply", "refused"];
}

/// Reads a line. Returns `None` for an unknown kind, so that later versions can add kinds.
pub(super) fn read<L: Line>(text: &[u8]) -> Result<Option<L>, serde_json::Error> {
    let error = match serde_json::from_slice(text) {
        Ok(line) => return Ok(Some(line)),
        Err(error) => error,
    };
    let members = serde_json::from_slice::<BTreeMap<String, &RawValue>>(text);
    let is_known = |kind: &String| L::KINDS.contains(&kind.as_str());
    match members {
        Ok(members) if !members.keys().any(is_known) => Ok(None),
        _ => Err(error),
    }
}

pub(super) fn write<L: Line>(line: &L) -> Result<Vec<u8>, serde_json::Error> {
    let mut bytes = serde_json::to_vec(line)?;
    // A peer's JSON may have line breaks between its values. A space means the same there.
    for byte in &mut bytes {
        if matches!(byte, b'\n' | b'\r') {
            *byte = b' ';
        }
    }
    bytes.push(b'\n');
    Ok(bytes)
}

pub(super) fn typed_bytes(fields: &Typed) -> usize {
    serde_json::to_vec(fields).map_or(usize::MAX, |bytes| bytes.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_lines_are_ignored_and_malformed_lines_are_not() {
        #[track_caller]
        fn check(text: &str, expected: Option<bool>) {
            let read = read::<FrontEndLine>(text.as_bytes());
            assert_eq!(read.ok().map(|line| line.is_some()), expected, "{text}");
        }
        check(r#"{"seen":{"id":1}}"#, Some(true));
        check(r#"{"seen":{"id":1,"later":[]}}"#, Some(true));
        check(r#"{"hello":{"version":9,"kind":"watch"}}"#, Some(true));
        check(r#"{"wave":{"id":1}}"#, Some(false));
        check("{}", Some(false));
        check(r#"{"seen":{"id":"one"}}"#, None);
        check("seen", None);
        check("", None);
    }
}
