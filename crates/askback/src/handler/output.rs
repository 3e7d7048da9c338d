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
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not what a tool can return",
    note = "a tool returns `()`, a text, a `ContentBlock` or several, `Json<_>`, `CallToolResult`, or an `Outcome` of it"
)]
pub trait IntoToolResult {
    /// The result, or the questions that come first.
    ///
    /// # Errors
    ///
    /// Fails where the value cannot be written as JSON.
    fn into_tool_result(self) -> Result<Outcome<CallToolResult>>;
}

/// What a prompt may return.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not what a prompt can return",
    note = "a prompt returns a text, a `PromptMessage` or several, `GetPromptResult`, or an `Outcome` of it"
)]
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
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not what a resource can return",
    note = "a resource returns a text, `ResourceContents` or several, `ReadResourceResult`, or an `Outcome` of it"
)]
pub trait IntoReadResult {
    /// The result, or the questions that come first.
    ///
    /// # Errors
    ///
    /// None of the types of this crate fails.
    fn into_read_result(self) -> Result<Outcome<ReadResourceResult>>;
}

#[diagnostic::do_not_recommend]
impl IntoToolResult for () {
    fn into_tool_result(self) -> Result<Outcome<CallToolResult>> {
        Ok(Outcome::Done(CallToolResult::default()))
    }
}

#[diagnostic::do_not_recommend]
impl IntoToolResult for String {
    fn into_tool_result(self) -> Result<Outcome<CallToolResult>> {
        ContentBlock::text(self).into_tool_result()
    }
}

#[diagnostic::do_not_recommend]
impl IntoToolResult for &'static str {
    fn into_tool_result(self) -> Result<Outcome<CallToolResult>> {
        ContentBlock::text(self).into_tool_result()
    }
}

#[diagnostic::do_not_recommend]
impl IntoToolResult for ContentBlock {
    fn into_tool_result(self) -> Result<Outcome<CallToolResult>> {
        vec![self].into_tool_result()
    }
}

#[diagnostic::do_not_recommend]
impl IntoToolResult for Vec<ContentBlock> {
    fn into_tool_result(self) -> Result<Outcome<CallToolResult>> {
        Ok(Outcome::Done(CallToolResult {
            content: self,
            ..CallToolResult::default()
        }))
    }
}

#[diagnostic::do_not_recommend]
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

#[diagnostic::do_not_recommend]
impl IntoToolResult for CallToolResult {
    fn into_tool_result(self) -> Result<Outcome<CallToolResult>> {
        Ok(Outcome::Done(self))
    }
}

#[diagnostic::do_not_recommend]
impl IntoPromptResult for String {
    fn into_prompt_result(self) -> Result<Outcome<GetPromptResult>> {
        PromptMessage::user(ContentBlock::text(self)).into_prompt_result()
    }
}

#[diagnostic::do_not_recommend]
impl IntoPromptResult for PromptMessage {
    fn into_prompt_result(self) -> Result<Outcome<GetPromptResult>> {
        vec![self].into_prompt_result()
    }
}

#[diagnostic::do_not_recommend]
impl IntoPromptResult for Vec<PromptMessage> {
    fn into_prompt_result(self) -> Result<Outcome<GetPromptResult>> {
        Ok(Outcome::Done(GetPromptResult {
            messages: self,
            ..GetPromptResult::default()
        }))
    }
}

#[diagnostic::do_not_recommend]
impl IntoPromptResult for GetPromptResult {
    fn into_prompt_result(self) -> Result<Outcome<GetPromptResult>> {
        Ok(Outcome::Done(self))
    }
}

#[diagnostic::do_not_recommend]
impl IntoReadResult for String {
    fn into_read_result(self) -> Result<Outcome<ReadResourceResult>> {
        ResourceContents::text("", self).into_read_result()
    }
}

#[diagnostic::do_not_recommend]
impl IntoReadResult for ResourceContents {
    fn into_read_result(self) -> Result<Outcome<ReadResourceResult>> {
        vec![self].into_read_result()
    }
}

#[diagnostic::do_not_recommend]
impl IntoReadResult for Vec<ResourceContents> {
    fn into_read_result(self) -> Result<Outcome<ReadResourceResult>> {
        Ok(Outcome::Done(ReadResourceResult {
            contents: self,
            ..ReadResourceResult::default()
        }))
    }
}

#[diagnostic::do_not_recommend]
impl IntoReadResult for ReadResourceResult {
    fn into_read_result(self) -> Result<Outcome<ReadResourceResult>> {
        Ok(Outcome::Done(self))
    }
}

macro_rules! rounds_by_hand {
    ($($into:ident, $method:ident, $result:ty;)*) => {$(
        #[diagnostic::do_not_recommend]
        impl $into for InputRequiredResult {
            fn $method(self) -> Result<Outcome<$result>> {
                Ok(Outcome::NeedInput(self))
            }
        }

        #[diagnostic::do_not_recommend]
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
