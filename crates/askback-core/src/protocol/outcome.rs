//! Results that are complete, and results that ask for input.

use alloc::{borrow::Cow, boxed::Box};

use serde::{
    Deserialize,
    de::{self, DeserializeOwned},
};
use serde_json::value::RawValue;

use super::{CreateTaskResult, DetailedTask, InputRequiredResult};
use crate::jsonrpc::Walk;

/// The outcome of a request. A result is either complete or asks for input.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome<T> {
    /// The request is done.
    Done(T),
    /// The server needs input (from 2026-07-28 on).
    NeedInput(InputRequiredResult),
    /// The request became a task of the extension (from 2026-07-28 on).
    Task(Box<DetailedTask>),
    /// The request became a task of the core protocol (2025-11-25).
    CoreTask(CreateTaskResult),
}

/// The `resultType` of a complete result. It is the default.
pub const COMPLETE: &str = "complete";
/// The `resultType` of a result that asks for input.
pub const INPUT_REQUIRED: &str = "input_required";
/// The `resultType` of a task of the extension.
pub const TASK: &str = "task";

impl<T> Outcome<T> {
    /// Returns the result if the request is done.
    pub fn done(self) -> Option<T> {
        match self {
            Self::Done(result) => Some(result),
            Self::NeedInput(_) | Self::Task(_) | Self::CoreTask(_) => None,
        }
    }
}

impl<T: DeserializeOwned> Outcome<T> {
    /// Parses the result of a request that may also ask for input or become a task.
    ///
    /// # Errors
    ///
    /// Fails if it is none of these, or has an unknown `resultType`.
    pub fn parse(result: &RawValue) -> Result<Self, serde_json::Error> {
        Self::parse_with(result, |text| serde_json::from_str(text))
    }
}

#[cfg(feature = "client")]
impl Outcome<()> {
    /// Parses a result that asks for input or is a task. A complete result is not parsed.
    ///
    /// # Errors
    ///
    /// As [`Outcome::parse`], except that a complete result is not checked.
    pub(crate) fn peek(result: &RawValue) -> Result<Self, serde_json::Error> {
        Self::parse_with(result, |_| Ok(()))
    }
}

impl Outcome<super::CallToolResult> {
    /// Like [`Outcome::parse`], but parses the result as leniently as possible.
    ///
    /// # Errors
    ///
    /// As [`Outcome::parse`].
    pub fn parse_call(result: &RawValue) -> Result<Self, serde_json::Error> {
        Self::parse_with(result, super::CallToolResult::from_text)
    }
}

impl<T> Outcome<T> {
    /// Parses a result. `done` parses a complete one.
    fn parse_with(
        result: &RawValue,
        done: impl FnOnce(&str) -> Result<T, serde_json::Error>,
    ) -> Result<Self, serde_json::Error> {
        let text = result.get();
        let peek: KindMembers<'_> = match KindMembers::of_plain(result) {
            Some(peek) => peek,
            None => serde_json::from_str(text)?,
        };
        let is_task = peek.task.is_some_and(|task| task.get().starts_with('{'));
        match peek.result_type.as_deref() {
            None if is_task => serde_json::from_str(text).map(Self::CoreTask),
            None | Some(COMPLETE) => done(text).map(Self::Done),
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

/// The members that distinguish the kinds of results.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct KindMembers<'a> {
    #[serde(borrow)]
    result_type: Option<Cow<'a, str>>,
    #[serde(borrow)]
    task: Option<&'a RawValue>,
}

impl<'a> KindMembers<'a> {
    /// Reads the members in a fast way if the type is an unescaped string and there is no task, as
    /// in nearly all results. The result is the same as serde's. `None` means that serde is needed.
    fn of_plain(result: &'a RawValue) -> Option<Self> {
        let mut result_type = None;
        let mut walk = Walk::new(result.get());
        walk.object(|walk, name| match name {
            "resultType" => {
                let is_first = result_type.replace(walk.string()?.into()).is_none();
                is_first.then_some(())
            }
            "task" => None,
            _ => walk.skip(),
        })?;
        let task = None;
        Some(Self { result_type, task })
    }
}
