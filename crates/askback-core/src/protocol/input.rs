//! Questions of a server, and the answers to them.

use alloc::{boxed::Box, string::String};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::value::RawValue;

use super::{
    CreateMessageParams, CreateMessageResult, ElicitParams, ElicitResult, ListRootsResult,
    OrderedMap, RawJson, RequestParams, messages::messages, meta::has_meta, raw::decode_params,
};
use crate::jsonrpc::ErrorObject;

/// The questions of a round, by the key their answers will have, in the order they were put.
pub type InputRequests = OrderedMap<InputRequest>;

/// A question a server puts to a client.
#[derive(Debug, Clone, PartialEq)]
pub enum InputRequest {
    /// `elicitation/create`: ask a person.
    Elicit(ElicitParams),
    /// `sampling/createMessage`: ask the model.
    Sample(Box<CreateMessageParams>),
    /// `roots/list`: say where the server may work.
    Roots(RequestParams),
}

/// An answer that was matched with its question.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum InputResponse {
    /// To [`InputRequest::Elicit`].
    Elicit(ElicitResult),
    /// To [`InputRequest::Sample`].
    Sample(Box<CreateMessageResult>),
    /// To [`InputRequest::Roots`].
    Roots(ListRootsResult),
}

messages! {
    /// A result that asks: answer these questions and send the request again (2026-07-28,
    /// basic/patterns/mrtr).
    ///
    /// At least one of the two fields is there.
    #[derive(Default, Deserialize)]
    struct InputRequiredResult {
        /// The questions; none means only to send the request again.
        input_requests?: InputRequests;
        /// The state to send back, unread and unchanged.
        request_state?: String;
        meta;
    }
}

impl InputRequest {
    /// Whether a method asks a question.
    pub fn has(method: &str) -> bool {
        matches!(method, ELICIT | SAMPLE | ROOTS)
    }

    /// The name of the method.
    pub const fn method(&self) -> &'static str {
        match self {
            Self::Elicit(_) => ELICIT,
            Self::Sample(_) => SAMPLE,
            Self::Roots(_) => ROOTS,
        }
    }

    /// Reads a question.
    ///
    /// # Errors
    ///
    /// Method not found for another method, invalid params with the reason for parameters that do
    /// not fit.
    #[inline] // As those of methods.
    pub fn parse(method: &str, params: Option<&RawValue>) -> Result<Self, ErrorObject> {
        match method {
            ELICIT => decode_params(params).map(Self::Elicit),
            SAMPLE => decode_params(params).map(Self::Sample),
            ROOTS => decode_params(params).map(Self::Roots),
            _ => Err(ErrorObject::method_not_found(method)),
        }
    }

    /// Reads the answer to this question.
    ///
    /// # Errors
    ///
    /// If it is no answer to a question of this kind.
    pub fn read_response(&self, answer: &RawJson) -> Result<InputResponse, serde_json::Error> {
        match self {
            Self::Elicit(_) => answer.decode().map(InputResponse::Elicit),
            Self::Sample(_) => answer.decode().map(InputResponse::Sample),
            Self::Roots(_) => answer.decode().map(InputResponse::Roots),
        }
    }
}

has_meta! {
    InputRequest: Elicit | Sample | Roots;
    InputResponse: Elicit | Sample | Roots;
}

impl From<ElicitParams> for InputRequest {
    fn from(params: ElicitParams) -> Self {
        Self::Elicit(params)
    }
}

impl From<CreateMessageParams> for InputRequest {
    fn from(params: CreateMessageParams) -> Self {
        Self::Sample(Box::new(params))
    }
}

impl Serialize for InputRequest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Question<'a, T> {
            method: &'static str,
            #[serde(skip_serializing_if = "Option::is_none")]
            params: Option<&'a T>,
        }
        fn question<T: Serialize, S: Serializer>(
            method: &'static str,
            params: Option<&T>,
            serializer: S,
        ) -> Result<S::Ok, S::Error> {
            Question { method, params }.serialize(serializer)
        }
        let method = self.method();
        match self {
            Self::Elicit(params) => question(method, Some(params), serializer),
            Self::Sample(params) => question(method, Some(params), serializer),
            Self::Roots(params) => {
                question(method, Some(params).filter(|p| !p.is_empty()), serializer)
            }
        }
    }
}

impl<'de> Deserialize<'de> for InputRequest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Question {
            method: String,
            params: Option<Box<RawValue>>,
        }
        let Question { method, params } = Question::deserialize(deserializer)?;
        Self::parse(&method, params.as_deref()).map_err(|error| de::Error::custom(error.message))
    }
}

const ELICIT: &str = "elicitation/create";

const SAMPLE: &str = "sampling/createMessage";

const ROOTS: &str = "roots/list";
