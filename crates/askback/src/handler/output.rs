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

macro_rules! results {
    ($into:ident, $method:ident, $result:ty; $($($type:ty)|+ => $done:expr;)+) => {$($(
        #[diagnostic::do_not_recommend]
        impl $into for $type {
            fn $method(self) -> Result<Outcome<$result>> {
                let done: fn(Self) -> $result = $done;
                Ok(Outcome::Done(done(self)))
            }
        }
    )+)+};
}

results! {
    IntoToolResult, into_tool_result, CallToolResult;
    () => |()| CallToolResult::default();
    CallToolResult => |it| it;
    String | &'static str => |it| with_content(vec![ContentBlock::text(it)]);
    bool | f32 | f64 | i8 | i16 | i32 | i64 | i128 | isize | u8 | u16 | u32 | u64 | u128 | usize
        => |it| with_content(vec![ContentBlock::text(it.to_string())]);
    ContentBlock => |it| with_content(vec![it]);
    Vec<ContentBlock> => with_content;
}

results! {
    IntoPromptResult, into_prompt_result, GetPromptResult;
    GetPromptResult => |it| it;
    String | &'static str => |it| with_messages(vec![PromptMessage::user(ContentBlock::text(it))]);
    PromptMessage => |it| with_messages(vec![it]);
    Vec<PromptMessage> => with_messages;
}

results! {
    IntoReadResult, into_read_result, ReadResourceResult;
    ReadResourceResult => |it| it;
    String | &'static str => |it| with_contents(vec![ResourceContents::text("", it)]);
    ResourceContents => |it| with_contents(vec![it]);
    Vec<ResourceContents> => with_contents;
}

fn with_content(content: Vec<ContentBlock>) -> CallToolResult {
    CallToolResult {
        content,
        ..CallToolResult::default()
    }
}

fn with_messages(messages: Vec<PromptMessage>) -> GetPromptResult {
    GetPromptResult {
        messages,
        ..GetPromptResult::default()
    }
}

fn with_contents(contents: Vec<ResourceContents>) -> ReadResourceResult {
    ReadResourceResult {
        contents,
        ..ReadResourceResult::default()
    }
}

macro_rules! results_of_all {
    ($($into:ident, $method:ident, $result:ty, $item:ty;)*) => {$(
        #[diagnostic::do_not_recommend]
        impl<const N: usize> $into for [$item; N] {
            fn $method(self) -> Result<Outcome<$result>> {
                Vec::from(self).$method()
            }
        }

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

results_of_all! {
    IntoToolResult, into_tool_result, CallToolResult, ContentBlock;
    IntoPromptResult, into_prompt_result, GetPromptResult, PromptMessage;
    IntoReadResult, into_read_result, ReadResourceResult, ResourceContents;
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
