//! Results that are complete, and results that ask.

use alloc::{borrow::Cow, boxed::Box, string::String};

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{self, DeserializeOwned},
};
use serde_json::value::RawValue;

use super::{
    CreateMessageParams, CreateMessageResult, CreateTaskResult, DetailedTask, ElicitParams,
    ElicitResult, HasMeta, Keyed, ListRootsResult, Meta, RawJson, RequestParams, meta::has_meta,
};
use crate::jsonrpc::ErrorObject;

/// The questions of a round, by the key their answers will have, in the order they were put.
pub type InputRequests = Keyed<InputRequest>;

/// The answers of a round, by the key of their question. What an answer is only its question
/// tells, so it is kept as it came; [`InputRequest::read_response`] reads it.
pub type InputResponses = Keyed<RawJson>;

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

/// A result that asks: answer these questions and send the request again (2026-07-28,
/// basic/patterns/mrtr).
///
/// At least one of the two fields is there.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InputRequiredResult {
    /// The questions; none means only to send the request again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_requests: Option<InputRequests>,
    /// The state to send back, unread and unchanged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_state: Option<String>,
    /// The `_meta`.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Box<Meta>>,
}

/// The outcome of a request: a result cannot both be complete and ask.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome<T> {
    /// The request is done.
    Done(T),
    /// The server needs to know more (from 2026-07-28 on).
    NeedInput(InputRequiredResult),
    /// The request became a task of the extension (from 2026-07-28 on).
    Task(Box<DetailedTask>),
    /// The request became a task of the core protocol (2025-11-25).
    CoreTask(CreateTaskResult),
}

/// The `resultType` of a result that is complete; where none stands, this is meant.
pub const COMPLETE: &str = "complete";
/// The `resultType` of a result that asks.
pub const INPUT_REQUIRED: &str = "input_required";
/// The `resultType` of a result that is a task of the extension.
pub const TASK: &str = "task";

has_meta! {
    InputRequiredResult,
}

impl InputRequest {
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
    pub fn parse(method: &str, params: Option<&RawValue>) -> Result<Self, ErrorObject> {
        match method {
            ELICIT => super::method::decode(params).map(Self::Elicit),
            SAMPLE => super::method::decode(params).map(Self::Sample),
            ROOTS => super::method::decode(params).map(Self::Roots),
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

impl HasMeta for InputRequest {
    fn meta(&self) -> Option<&Meta> {
        match self {
            Self::Elicit(params) => params.meta(),
            Self::Sample(params) => params.meta(),
            Self::Roots(params) => params.meta(),
        }
    }

    fn meta_slot(&mut self) -> &mut Option<Box<Meta>> {
        match self {
            Self::Elicit(params) => params.meta_slot(),
            Self::Sample(params) => params.meta_slot(),
            Self::Roots(params) => params.meta_slot(),
        }
    }
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

impl<T> Outcome<T> {
    /// The result, if the request is done.
    pub fn done(self) -> Option<T> {
        match self {
            Self::Done(result) => Some(result),
            Self::NeedInput(_) | Self::Task(_) | Self::CoreTask(_) => None,
        }
    }
}

impl<T: DeserializeOwned> Outcome<T> {
    /// Reads the result of a request that may also ask or become a task.
    ///
    /// # Errors
    ///
    /// If it fits none of these, or has a `resultType` unknown here.
    pub fn parse(result: &RawValue) -> Result<Self, serde_json::Error> {
        let text = result.get();
        let peek: Peek<'_> = serde_json::from_str(text)?;
        let is_task = peek.task.is_some_and(|task| task.get().starts_with('{'));
        match peek.result_type.as_deref() {
            None if is_task => serde_json::from_str(text).map(Self::CoreTask),
            None | Some(COMPLETE) => serde_json::from_str(text).map(Self::Done),
            Some(INPUT_REQUIRED) => {
                let questions: InputRequiredResult = serde_json::from_str(text)?;
                if questions.input_requests.is_none() && questions.request_state.is_none() {
                    return Err(de::Error::custom(
                        "a result that asks has `inputRequests` or `requestState`",
                    ));
                }
                Ok(Self::NeedInput(questions))
            }
            Some(TASK) => serde_json::from_str(text).map(Self::Task),
            Some(other) => Err(de::Error::custom(format_args!(
                "the result is of the unknown type {other:?}"
            ))),
        }
    }
}

impl<T> From<T> for Outcome<T> {
    fn from(result: T) -> Self {
        Self::Done(result)
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

/// The member that tells the kinds of results apart.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Peek<'a> {
    #[serde(borrow)]
    result_type: Option<Cow<'a, str>>,
    #[serde(borrow)]
    task: Option<&'a RawValue>,
}
