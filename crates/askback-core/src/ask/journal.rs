//! The journal of a flow: its settlements, in the order in which they happened.

use alloc::string::String;

use serde::{Deserialize, Serialize};

use super::{AskError, Millis};
use crate::{jsonrpc::ErrorObject, protocol::RawJson};

/// The first half of the SHA-256 of a question. Questions with the same meaning have the same
/// digest, regardless of the order of their members.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct QuestionDigest(pub [u8; 16]);

/// One settlement: how something a handler waited for ended.
///
/// Entries are delivered to the handler in this order, one at a time. This order decides every race
/// on a replay, not the order in which futures happen to be polled.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Entry {
    #[serde(rename = "k")]
    pub key: String,
    #[serde(rename = "t")]
    pub at: Millis,
    #[serde(rename = "o")]
    pub outcome: Settlement,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Settlement {
    /// A question was answered. The answer is bound to the exact question.
    #[serde(rename = "a")]
    Answered(RecordedAnswer),
    /// A step (`ctx.run`, `ctx.commit`) ended with this value.
    #[serde(rename = "s")]
    Done(RawJson),
    #[serde(rename = "f")]
    Fired,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RecordedAnswer {
    #[serde(rename = "q")]
    pub question: QuestionDigest,
    #[serde(rename = "r")]
    pub reply: Reply,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reply {
    /// The client's result. After delivery, only the members that the question has read.
    #[serde(rename = "v")]
    Value(RawJson),
    #[serde(rename = "e")]
    Error {
        #[serde(rename = "c")]
        code: i64,
        #[serde(rename = "m")]
        message: String,
    },
    /// The answers broke the form too often. The text says what was wrong with the last one.
    #[serde(rename = "x")]
    Refused(String),
    #[serde(rename = "t")]
    TimedOut,
    /// The user opened the link but did not finish there in time.
    #[serde(rename = "u")]
    Unfinished,
}

impl Reply {
    /// Returns the client's result.
    ///
    /// # Errors
    ///
    /// Says why the question has no answer.
    pub fn into_value(self) -> Result<RawJson, AskError> {
        match self {
            Self::Value(value) => Ok(value),
            Self::Error { code, message } => Err(AskError::Client { code, message }),
            Self::Refused(reason) => Err(AskError::Refused(reason)),
            Self::TimedOut => Err(AskError::TimedOut),
            Self::Unfinished => Err(AskError::Unfinished),
        }
    }
}

impl From<Result<RawJson, ErrorObject>> for Reply {
    fn from(response: Result<RawJson, ErrorObject>) -> Self {
        match response {
            Ok(value) => Self::Value(value),
            Err(ErrorObject { code, message, .. }) => Self::Error { code, message },
        }
    }
}

impl Serialize for QuestionDigest {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        super::bytes::serialize(&self.0, serializer)
    }
}

impl<'de> Deserialize<'de> for QuestionDigest {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        super::bytes::deserialize(deserializer).map(Self)
    }
}
