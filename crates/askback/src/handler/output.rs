use askback_core::protocol::{
    CallToolResult, ContentBlock, GetPromptResult, InputRequiredResult, Outcome, PromptMessage,
    ReadResourceResult, ResourceContents, Schema,
};

use crate::{
    answer::Answer,
    error::{Error, Result},
};

/// A type that a tool may return, directly or in a [`Result`].
#[diagnostic::on_unimplemented(
    message = "a tool cannot return `{Self}`",
    note = "a tool returns `()`, a text, a number, a `ContentBlock` or several, `Json<_>` of a type with \
            `Serialize` and `JsonSchema`, `PlainJson<_>`, `CallToolResult`, or an `Outcome` of it",
    note = "each by itself or in an `askback::Result<_>`; take an `Answer<_>` apart with `.accepted()?`, and wait for \
            a question or a step with `.await?`"
)]
pub trait IntoToolResult {
    /// Returns the schema of the structured content, if the type has one. It becomes the output schema of the tool.
    fn output_schema() -> Option<Schema>
    where
        Self: Sized,
    {
        None
    }

    /// Converts to the result, or to questions that must be answered first.
    ///
    /// # Errors
    ///
    /// The handler's error, or a value that cannot be serialized as JSON.
    fn into_tool_result(self) -> Result<Outcome<CallToolResult>>;
}

/// A type that a prompt may return, directly or in a [`Result`].
#[diagnostic::on_unimplemented(
    message = "a prompt cannot return `{Self}`",
    note = "a prompt returns a text, a `PromptMessage` or several, `GetPromptResult`, or an `Outcome` of it",
    note = "each by itself or in an `askback::Result<_>`; take an `Answer<_>` apart with `.accepted()?`, and wait for \
            a question or a step with `.await?`"
)]
pub trait IntoPromptResult {
    /// Converts to the result, or to questions that must be answered first.
    ///
    /// # Errors
    ///
    /// The handler's error.
    fn into_prompt_result(self) -> Result<Outcome<GetPromptResult>>;
}

/// A type that reading a resource may return, directly or in a [`Result`]. An empty URI or media type is filled in from
/// the resource.
#[diagnostic::on_unimplemented(
    message = "a resource cannot return `{Self}`",
    note = "a resource returns a text, `Json<_>` of a type with `Serialize`, `ResourceContents` or several, \
            `ReadResourceResult`, or an `Outcome` of it",
    note = "each by itself or in an `askback::Result<_>`; take an `Answer<_>` apart with `.accepted()?`, and wait for \
            a question or a step with `.await?`"
)]
pub trait IntoReadResult {
    /// Converts to the result, or to questions that must be answered first.
    ///
    /// # Errors
    ///
    /// The handler's error.
    fn into_read_result(self) -> Result<Outcome<ReadResourceResult>>;
}

impl<R: IntoToolResult> IntoToolResult for Result<R> {
    fn output_schema() -> Option<Schema> {
        R::output_schema()
    }

    fn into_tool_result(self) -> Result<Outcome<CallToolResult>> {
        self?.into_tool_result()
    }
}

impl<R: IntoPromptResult> IntoPromptResult for Result<R> {
    fn into_prompt_result(self) -> Result<Outcome<GetPromptResult>> {
        self?.into_prompt_result()
    }
}

impl<R: IntoReadResult> IntoReadResult for Result<R> {
    fn into_read_result(self) -> Result<Outcome<ReadResourceResult>> {
        self?.into_read_result()
    }
}

macro_rules! numbers {
    ($($number:ty),*) => {$(
        #[diagnostic::do_not_recommend]
        impl IntoToolResult for $number {
            fn into_tool_result(self) -> Result<Outcome<CallToolResult>> {
                self.to_string().into_tool_result()
            }
        }
    )*};
}

numbers!(
    bool, f32, f64, i8, i16, i32, i64, i128, isize, u8, u16, u32, u64, u128, usize
);

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
impl<const N: usize> IntoToolResult for [ContentBlock; N] {
    fn into_tool_result(self) -> Result<Outcome<CallToolResult>> {
        Vec::from(self).into_tool_result()
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
impl IntoPromptResult for &'static str {
    fn into_prompt_result(self) -> Result<Outcome<GetPromptResult>> {
        self.to_owned().into_prompt_result()
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
impl<const N: usize> IntoPromptResult for [PromptMessage; N] {
    fn into_prompt_result(self) -> Result<Outcome<GetPromptResult>> {
        Vec::from(self).into_prompt_result()
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
impl IntoReadResult for &'static str {
    fn into_read_result(self) -> Result<Outcome<ReadResourceResult>> {
        self.to_owned().into_read_result()
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
impl<const N: usize> IntoReadResult for [ResourceContents; N] {
    fn into_read_result(self) -> Result<Outcome<ReadResourceResult>> {
        Vec::from(self).into_read_result()
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

impl<T> Answer<T> {
    /// Returns the answer, or an error that ends the call with this tool result. Use it for a tool with an output
    /// schema, whose clients need a structured result even if the user declines or cancels.
    ///
    /// ```
    /// # use askback::{Ctx, Form, PlainJson, Result, handler::JsonWithText};
    /// # use serde_json::{Value, json};
    /// #[derive(Form)]
    /// struct Confirm {
    ///     /// Nothing is booked otherwise.
    ///     book: bool,
    /// }
    ///
    /// async fn book(ctx: Ctx) -> Result<JsonWithText<PlainJson<Value>>> {
    ///     let nothing = || PlainJson(json!({"reference": null})).with_text("Nothing was booked.");
    ///     let confirm: Confirm = ctx.elicit("Book?").await?.accepted_or(nothing())?;
    ///     # let _ = confirm;
    ///     Ok(PlainJson(json!({"reference": "TRV-1"})).with_text("Booked as TRV-1."))
    /// }
    /// ```
    ///
    /// In a prompt or resource it acts like [`Answer::accepted`].
    ///
    /// # Errors
    ///
    /// If the user declined or cancelled, or if `result` cannot be converted or is a question.
    pub fn accepted_or(self, result: impl IntoToolResult) -> Result<T> {
        self.accepted()
            .or_else(|no| match result.into_tool_result()? {
                Outcome::Done(result) => Err(no.with_result(result)),
                _ => Err(Error::new(
                    "a call that ends with a person's no cannot ask or become a task",
                )),
            })
    }
}
