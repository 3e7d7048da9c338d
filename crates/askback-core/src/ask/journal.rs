//! The journal of a flow: every settlement, in the order in which it came.

use alloc::string::String;

use serde::{Deserialize, Serialize};

use super::{AskError, Millis};
use crate::{jsonrpc::ErrorObject, protocol::RawJson};

/// The digest of an exact question: the first half of a SHA-256. Two questions that mean the same have
/// the same, however their members are ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct QuestionDigest(pub [u8; 16]);

/// One settlement: something a handler waited for, and how it ended.
///
/// Entries are delivered to the handler in this order, one at a time; that order, not the order in
/// which futures happen to be polled, decides every race on a replay.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Entry {
    /// The name under which the handler waits.
    #[serde(rename = "k")]
    pub key: String,
    /// When it settled.
    #[serde(rename = "t")]
    pub at: Millis,
    /// How it settled.
    #[serde(rename = "o")]
    pub outcome: Settlement,
}

/// How something a handler waited for ended.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Settlement {
    /// A question was answered. The answer is bound to the exact question that was asked.
    #[serde(rename = "a")]
    Answered(RecordedAnswer),
    /// A step (`ctx.run`, `ctx.commit`) ended with this value.
    #[serde(rename = "s")]
    Done(RawJson),
    /// A timer ran out.
    #[serde(rename = "f")]
    Fired,
}

/// An answer and the question it belongs to.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RecordedAnswer {
    /// The digest of the question.
    #[serde(rename = "q")]
    pub question: QuestionDigest,
    /// The reply.
    #[serde(rename = "r")]
    pub reply: Reply,
}

/// The reply to a question.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reply {
    /// The client's result; once it is delivered, what the question has read of it.
    #[serde(rename = "v")]
    Value(RawJson),
    /// The client could not process the question.
    #[serde(rename = "e")]
    Error {
        /// The JSON-RPC error code.
        #[serde(rename = "c")]
        code: i64,
        /// The error's message.
        #[serde(rename = "m")]
        message: String,
    },
    /// The answers broke their form too often; this was wrong with the last one.
    #[serde(rename = "x")]
    Refused(String),
    /// No answer came in time.
    #[serde(rename = "t")]
    TimedOut,
    /// The link was opened, and what is behind it was not done in time.
    #[serde(rename = "u")]
    Unfinished,
}

impl Reply {
    /// The client's result.
    ///
    /// # Errors
    ///
    /// Why there is none.
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
