//! Questions of a server and their answers.

use alloc::{boxed::Box, string::String};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::value::RawValue;

use super::{
    CreateMessageParams, CreateMessageResult, ElicitParams, ElicitResult, ListRootsResult,
    OrderedMap, RawJson, RequestParams, messages::messages, meta::has_meta, raw::decode_params,
};
use crate::jsonrpc::ErrorObject;

/// The questions of a round by key, in the order in which they were asked.
pub type InputRequests = OrderedMap<InputRequest>;

/// A question of a server to a client.
#[derive(Debug, Clone, PartialEq)]
pub enum InputRequest {
    /// `elicitation/create`: asks the user.
    Elicit(ElicitParams),
    /// `sampling/createMessage`: asks the model.
    Sample(Box<CreateMessageParams>),
    /// `roots/list`: asks where the server may work.
    Roots(RequestParams),
}

/// An answer to a known question.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum InputResponse {
    /// The answer to [`InputRequest::Elicit`].
    Elicit(ElicitResult),
    /// The answer to [`InputRequest::Sample`].
    Sample(Box<CreateMessageResult>),
    /// The answer to [`InputRequest::Roots`].
    Roots(ListRootsResult),
}

messages! {
    /// A result that asks the client to answer these questions and send the request again
    /// (2026-07-28, basic/patterns/mrtr).
    ///
    /// It has at least one of the two fields.
    #[derive(Default, Deserialize)]
    struct InputRequiredResult {
        /// The questions. If absent, the client only sends the request again.
        input_requests?: InputRequests;
        /// The state, which the client sends back unchanged.
        request_state?: String;
        meta;
    }
}

impl InputRequest {
    /// Whether a method is a question.
    pub fn has(method: &str) -> bool {
        matches!(method, ELICIT | SAMPLE | ROOTS)
    }

    /// Returns the name of the method.
    pub const fn method(&self) -> &'static str {
        match self {
            Self::Elicit(_) => ELICIT,
            Self::Sample(_) => SAMPLE,
            Self::Roots(_) => ROOTS,
        }
    }

    /// Parses a question.
    ///
    /// # Errors
    ///
    /// Method not found for any other method, invalid params with the reason for invalid
    /// parameters.
    #[inline] // As those of methods.
    pub fn parse(method: &str, params: Option<&RawValue>) -> Result<Self, ErrorObject> {
        match method {
            ELICIT => decode_params(params).map(Self::Elicit),
            SAMPLE => decode_params(params).map(Self::Sample),
            ROOTS => decode_params(params).map(Self::Roots),
            _ => Err(ErrorObject::method_not_found(method)),
        }
    }

    /// Parses the answer to this question.
    ///
    /// # Errors
    ///
    /// Fails if it is not an answer to this kind of question.
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
