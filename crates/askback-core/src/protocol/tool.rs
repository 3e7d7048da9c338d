//! Tools: functions of a server that a model can call.

use alloc::{
    boxed::Box,
    format,
    string::{String, ToString},
    vec,
    vec::Vec,
};

use serde::{
    Deserialize, Deserializer, Serialize,
    de::{self, DeserializeOwned},
};
use serde_json::Value;

use super::{
    ContentBlock, Icon, InputResponses, LeftOutEntry, Meta, RawJson, RawObject, Schema,
    TaskMetadata,
    content::{Blocks, LenientBlocks, joined},
    lenient::{self, FromScalar, Scalar},
    messages::messages,
    meta::{self, HasMeta},
    meta_key::key,
    raw,
};

messages! {
    /// A tool.
    #[derive(Default, Deserialize)]
    struct Tool {
        /// The name for programs.
        name: String;
        /// The display name (from 2025-06-18 on).
        title?: String = "lenient::scalar";
        /// The description, for the model.
        description?: String = "lenient::scalar";
        /// The schema of the arguments, verbatim.
        input_schema: Schema;
        /// The schema of the structured content, verbatim (from 2025-06-18 on).
        output_schema?: Schema = "raw::object";
        /// Hints about its behavior (from 2025-03-26 on).
        annotations?: ToolAnnotations = "lenient::object";
        /// How it may be called (2025-11-25).
        execution?: ToolExecution = "lenient::object";
        /// Icons for display (from 2025-11-25 on).
        icons?: Vec<Icon> = "lenient::list";
        meta = "meta::lenient";
    }

    /// Hints about a tool's behavior. They come from the server; trust them only as far as the
    /// server.
    #[derive(Eq, Default)]
    struct ToolAnnotations {
        /// The display name, if there is no [`Tool::title`].
        title?: String;
        /// The tool does not change anything.
        read_only_hint?: bool;
        /// The tool may delete or overwrite data.
        destructive_hint?: bool;
        /// Calling the tool twice has the same effect as once.
        idempotent_hint?: bool;
        /// The tool interacts with the outside world.
        open_world_hint?: bool;
        /// The names of hints that are not boolean. They count as absent.
        #[serde(skip)]
        wrong: Vec<&'static str>;
    }
}

impl<'de> Deserialize<'de> for ToolAnnotations {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Default, Deserialize)]
        #[serde(rename_all = "camelCase", default)]
        struct Members<'a> {
            #[serde(borrow)]
            title: Scalar<'a>,
            #[serde(borrow)]
            read_only_hint: Scalar<'a>,
            #[serde(borrow)]
            destructive_hint: Scalar<'a>,
            #[serde(borrow)]
            idempotent_hint: Scalar<'a>,
            #[serde(borrow)]
            open_world_hint: Scalar<'a>,
        }
        let members = Members::deserialize(deserializer)?;
        let mut wrong = Vec::new();
        let mut hint = |name, scalar| match scalar {
            Scalar::Absent => None,
            Scalar::Flag(flag) => Some(flag),
            _ => {
                wrong.push(name);
                None
            }
        };
        Ok(Self {
            title: String::from_scalar(members.title),
            read_only_hint: hint("readOnlyHint", members.read_only_hint),
            destructive_hint: hint("destructiveHint", members.destructive_hint),
            idempotent_hint: hint("idempotentHint", members.idempotent_hint),
            open_world_hint: hint("openWorldHint", members.open_world_hint),
            wrong,
        })
    }
}

messages! {
    /// How a tool may be called (2025-11-25).
    #[derive(Eq, Default, Deserialize)]
    struct ToolExecution {
        /// Whether a call may be a task. If absent, it may not.
        task_support?: TaskSupport = "lenient::scalar";
    }
}

/// Whether a call of a tool may be a task (2025-11-25).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TaskSupport {
    /// A call must not be a task.
    Forbidden,
    /// A call may be a task.
    Optional,
    /// A call must be a task.
    Required,
}

lenient::page! {
    /// The result of `tools/list`.
    ListToolsResult as ToolsPage;
    /// The tools of this page.
    tools: Tool, "tool";
    fn wrong_hints(&self) -> &[&'static str] {
        let hints = self.annotations.as_ref();
        hints.map_or(&[], |hints| &hints.wrong)
    }
}

messages! {
    /// The parameters of `tools/call`.
    #[derive(Default, Deserialize)]
    struct CallToolParams {
        /// The name of the tool.
        name: String;
        /// The arguments, as they arrived.
        arguments?: RawObject;
        /// The answers to the questions of the previous round (from 2026-07-28 on).
        input_responses?: InputResponses;
        /// The state from the previous round (from 2026-07-28 on).
        request_state?: String;
        /// Asks for the call to become a task (2025-11-25).
        task?: TaskMetadata;
        meta;
    }

    /// The result of `tools/call`.
    #[derive(Default)]
    struct CallToolResult {
        /// The content.
        content: Vec<ContentBlock>;
        /// The result as JSON (an object from 2025-06-18 on, any JSON from 2026-07-28 on).
        structured_content?: RawJson;
        /// Whether the tool failed. If absent, it did not.
        is_error?: bool;
        /// The invalid parts. An invalid block is replaced in [`content`](Self::content) by a text
        /// that says so.
        #[serde(skip)]
        left_out: Vec<LeftOutEntry>;
        meta;
    }
}

#[derive(Deserialize)]
#[serde(
    rename_all = "camelCase",
    bound(deserialize = "B: Deserialize<'de>, 'de: 'a")
)]
struct CallMembers<'a, B> {
    content: Option<B>,
    #[serde(default, deserialize_with = "raw::present")]
    structured_content: Option<RawJson>,
    #[serde(borrow, default)]
    is_error: Scalar<'a>,
    #[serde(default, rename = "_meta", deserialize_with = "meta::lenient")]
    meta: Option<Box<Meta>>,
}

impl<'de> Deserialize<'de> for CallToolResult {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let called = CallMembers::<Blocks>::deserialize(deserializer)?;
        Self::of(called, |blocks| blocks)
    }
}

/// A result with a block or descriptive member that cannot be parsed at all.
struct LenientResult(CallToolResult);

impl<'de> Deserialize<'de> for LenientResult {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let called = CallMembers::<LenientBlocks>::deserialize(deserializer)?;
        CallToolResult::of(called, |LenientBlocks(blocks)| blocks).map(Self)
    }
}

impl CallToolResult {
    /// Parses a result as far as possible. A block that `Deserialize` cannot handle, such as one
    /// with duplicate members, is replaced and reported.
    ///
    /// # Errors
    ///
    /// Fails if even lenient parsing fails.
    pub fn from_text(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text).or_else(|_| {
            let LenientResult(result) = lenient::forgiving(text)?;
            Ok(result)
        })
    }

    fn of<B, E: de::Error>(called: CallMembers<'_, B>, blocks: fn(B) -> Blocks) -> Result<Self, E> {
        let is_missing = called.content.is_none();
        let Blocks {
            content,
            mut left_out,
        } = called.content.map(blocks).unwrap_or_default();
        if is_missing && called.structured_content.is_none() {
            return Err(E::missing_field("content"));
        }
        if is_missing {
            left_out.push(LeftOutEntry::member("content", "it is missing"));
        }
        let is_error = match called.is_error {
            Scalar::Absent => None,
            Scalar::Flag(flag) => Some(flag),
            odd => {
                left_out.push(LeftOutEntry::member("isError", "expected true or false"));
                // If in doubt, the tool has failed: `"true"` and 1 mean that, and other values may.
                Some(!matches!(odd, Scalar::Text(text) if text == "false"))
            }
        };
        Ok(Self {
            content,
            structured_content: called.structured_content,
            is_error,
            meta: called.meta,
            left_out,
        })
    }
}

/// Why a tool's result is not of the expected kind.
///
/// It is separate from [`ClientError`](crate::engine::client::ClientError), because a program
/// without a client can also read results. `?` converts it to a `ClientError`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ToolResultError {
    /// The tool itself failed (`isError`), with this text.
    #[error("the tool failed{}", because(.0))]
    Failed(String),
    /// The tool returned no `structuredContent`. From 2025-06-18 on, a tool with an output schema
    /// must return it.
    #[error("the tool returned no structured content; read its text instead")]
    NotStructured,
    /// The `structuredContent` does not match the type.
    #[error("the structured content of the tool does not fit: {0}")]
    Unfit(String),
}

fn because(text: &str) -> String {
    match text {
        "" => String::new(),
        text => format!(": {text}"),
    }
}

impl Tool {
    /// Makes a tool with only a name and an input schema.
    pub fn new(name: impl Into<String>, input_schema: Schema) -> Self {
        Self {
            name: name.into(),
            input_schema,
            ..Self::default()
        }
    }

    /// Whether a call must be a task (2025-11-25).
    pub fn requires_task(&self) -> bool {
        self.task_support() == Some(TaskSupport::Required)
    }

    /// Whether a call may be a task (2025-11-25).
    pub fn may_be_task(&self) -> bool {
        matches!(
            self.task_support(),
            Some(TaskSupport::Optional | TaskSupport::Required)
        )
    }

    fn task_support(&self) -> Option<TaskSupport> {
        self.execution.as_ref()?.task_support
    }

    /// Returns the name to display.
    pub fn display_name(&self) -> &str {
        let hinted = || self.annotations.as_ref().and_then(|a| a.title.as_deref());
        self.title.as_deref().or_else(hinted).unwrap_or(&self.name)
    }
}

impl CallToolParams {
    /// Makes a call without arguments.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            ..Self::default()
        }
    }
}

impl CallToolResult {
    /// Makes a result with one block of content, such as a text.
    pub fn new(content: impl Into<ContentBlock>) -> Self {
        Self {
            content: vec![content.into()],
            ..Self::default()
        }
    }

    /// Makes a failed result with a text for the model.
    pub fn error(text: impl Into<String>) -> Self {
        Self {
            is_error: Some(true),
            ..Self::new(text.into())
        }
    }

    /// Whether the tool failed.
    pub fn failed(&self) -> bool {
        self.is_error == Some(true)
    }

    /// Marks the result as declined: nothing was done because the user declined or cancelled. The
    /// mark is `"dev.askback/declined": true` in `_meta`.
    #[must_use]
    pub fn mark_declined(mut self) -> Self {
        let extra = &mut self.meta_mut().extra;
        extra.insert(key::DECLINED.into(), Value::Bool(true));
        self
    }

    /// Whether nothing was done because the user declined or cancelled. Only servers made with
    /// askback mark their results, which otherwise look like a success.
    pub fn declined(&self) -> bool {
        self.meta_value(key::DECLINED) == Some(&Value::Bool(true))
    }

    /// Returns the text blocks, one per line. Images and other content are left out.
    ///
    /// The text of a failed result is in the error, so that it cannot be mistaken for an answer. To
    /// show the model a failure, use [`CallToolResult::content`].
    ///
    /// # Errors
    ///
    /// [`ToolResultError::Failed`] if the tool failed.
    pub fn text(&self) -> Result<String, ToolResultError> {
        self.check().map(|()| self.all_text())
    }

    /// Reads the structured content as a type.
    ///
    /// # Errors
    ///
    /// [`ToolResultError::Failed`] if the tool failed, [`ToolResultError::NotStructured`] if there
    /// is no structured content, [`ToolResultError::Unfit`] if it does not match the type.
    pub fn structured<T: DeserializeOwned>(&self) -> Result<T, ToolResultError> {
        self.check()?;
        let json = self.structured_content.as_ref();
        let json = json.ok_or(ToolResultError::NotStructured)?;
        json.decode()
            .map_err(|error| ToolResultError::Unfit(error.to_string()))
    }
    fn check(&self) -> Result<(), ToolResultError> {
        match self.failed() {
            true => Err(ToolResultError::Failed(self.all_text())),
            false => Ok(()),
        }
    }

    fn all_text(&self) -> String {
        joined(self.content.iter().filter_map(ContentBlock::as_text))
    }
}
