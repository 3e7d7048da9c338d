//! What a handler's result becomes.

use askback_core::protocol::{
    CallToolResult, ContentBlock, GetPromptResult, InputRequiredResult, Outcome, PromptMessage,
    RawJson, ReadResourceResult, ResourceContents,
};
use serde::Serialize;

use crate::error::{Error, Result};

/// A value that travels as JSON: the arguments of a handler, read with serde, or a tool's
/// structured result.
///
/// As a result it becomes `structuredContent`, and its JSON text for clients that read only text;
/// [`Json::with_text`] says it in words instead.
#[derive(Debug, Clone)]
pub struct Json<T> {
    /// The value.
    pub value: T,
    text: Option<String>,
}

impl<T> Json<T> {
    /// A value.
    pub fn new(value: T) -> Self {
        Self { value, text: None }
    }

    /// The same value, with words for clients that read only text.
    #[must_use]
    pub fn with_text(self, text: impl Into<String>) -> Self {
        Self {
            text: Some(text.into()),
            ..self
        }
    }
}

/// What a tool may return.
pub trait IntoToolResult {
    /// The result, or the questions that come first.
    ///
    /// # Errors
    ///
    /// Fails where the value cannot be written as JSON.
    fn into_tool_result(self) -> Result<Outcome<CallToolResult>>;
}

/// What a prompt may return.
pub trait IntoPromptResult {
    /// The result, or the questions that come first.
    ///
    /// # Errors
    ///
    /// None of the types of this crate fails.
    fn into_prompt_result(self) -> Result<Outcome<GetPromptResult>>;
}

/// What reading a resource may return. An empty URI or media type is filled in with that of the
/// resource.
pub trait IntoReadResult {
    /// The result, or the questions that come first.
    ///
    /// # Errors
    ///
    /// None of the types of this crate fails.
    fn into_read_result(self) -> Result<Outcome<ReadResourceResult>>;
}

impl IntoToolResult for () {
    fn into_tool_result(self) -> Result<Outcome<CallToolResult>> {
        Ok(Outcome::Done(CallToolResult::default()))
    }
}

impl IntoToolResult for String {
    fn into_tool_result(self) -> Result<Outcome<CallToolResult>> {
        ContentBlock::text(self).into_tool_result()
    }
}

impl IntoToolResult for &'static str {
    fn into_tool_result(self) -> Result<Outcome<CallToolResult>> {
        ContentBlock::text(self).into_tool_result()
    }
}

impl IntoToolResult for ContentBlock {
    fn into_tool_result(self) -> Result<Outcome<CallToolResult>> {
        vec![self].into_tool_result()
    }
}

impl IntoToolResult for Vec<ContentBlock> {
    fn into_tool_result(self) -> Result<Outcome<CallToolResult>> {
        Ok(Outcome::Done(CallToolResult {
            content: self,
            ..CallToolResult::default()
        }))
    }
}

impl<T: Serialize> IntoToolResult for Json<T> {
    fn into_tool_result(self) -> Result<Outcome<CallToolResult>> {
        let json = RawJson::new(&self.value)
            .map_err(|error| Error::new(format!("the result cannot be written: {error}")))?;
        let text = self.text.unwrap_or_else(|| json.as_str().to_owned());
        Ok(Outcome::Done(CallToolResult {
            content: vec![ContentBlock::text(text)],
            structured_content: Some(json),
            ..CallToolResult::default()
        }))
    }
}

impl IntoToolResult for CallToolResult {
    fn into_tool_result(self) -> Result<Outcome<CallToolResult>> {
        Ok(Outcome::Done(self))
    }
}

impl IntoPromptResult for String {
    fn into_prompt_result(self) -> Result<Outcome<GetPromptResult>> {
        PromptMessage::user(ContentBlock::text(self)).into_prompt_result()
    }
}

impl IntoPromptResult for PromptMessage {
    fn into_prompt_result(self) -> Result<Outcome<GetPromptResult>> {
        vec![self].into_prompt_result()
    }
}

impl IntoPromptResult for Vec<PromptMessage> {
    fn into_prompt_result(self) -> Result<Outcome<GetPromptResult>> {
        Ok(Outcome::Done(GetPromptResult {
            messages: self,
            ..GetPromptResult::default()
        }))
    }
}

impl IntoPromptResult for GetPromptResult {
    fn into_prompt_result(self) -> Result<Outcome<GetPromptResult>> {
        Ok(Outcome::Done(self))
    }
}

impl IntoReadResult for String {
    fn into_read_result(self) -> Result<Outcome<ReadResourceResult>> {
        ResourceContents::text("", self).into_read_result()
    }
}

impl IntoReadResult for ResourceContents {
    fn into_read_result(self) -> Result<Outcome<ReadResourceResult>> {
        vec![self].into_read_result()
    }
}

impl IntoReadResult for Vec<ResourceContents> {
    fn into_read_result(self) -> Result<Outcome<ReadResourceResult>> {
        Ok(Outcome::Done(ReadResourceResult {
            contents: self,
            ..ReadResourceResult::default()
        }))
    }
}

impl IntoReadResult for ReadResourceResult {
    fn into_read_result(self) -> Result<Outcome<ReadResourceResult>> {
        Ok(Outcome::Done(self))
    }
}

macro_rules! rounds_by_hand {
    ($($into:ident, $method:ident, $result:ty;)*) => {$(
        impl $into for InputRequiredResult {
            fn $method(self) -> Result<Outcome<$result>> {
                Ok(Outcome::NeedInput(self))
            }
        }

        impl $into for Outcome<$result> {
            fn $method(self) -> Result<Outcome<$result>> {
                Ok(self)
            }
        }
    )*};
}

rounds_by_hand! {
    IntoToolResult, into_tool_result, CallToolResult;
    IntoPromptResult, into_prompt_result, GetPromptResult;
    IntoReadResult, into_read_result, ReadResourceResult;
}
