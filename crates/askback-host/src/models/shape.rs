//! The parts of requests and replies that all providers share.

use askback::protocol::{
    ContentBlock, CreateMessageParams, CreateMessageResult, RawJson, RawObject, Role,
    SamplingBlock, SamplingContent, SamplingMessage, Schema, ToolChoiceMode, ToolResultContent,
    ToolUseContent,
};

use serde_json::Value;

use crate::content;

pub(super) trait Wire: Send + Sync {
    fn path(&self) -> &'static str;

    fn write(&self, model: &str, request: &CreateMessageParams) -> Result<Value, Unfit>;

    /// Parses a response. Fails with the message of the parser.
    fn read(&self, body: &[u8]) -> Result<CreateMessageResult, String>;
}

/// A feature of a request that the provider does not support.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Unfit(pub(super) &'static str);

pub(super) enum Part<'a> {
    Text(&'a str),
    Image { kind: &'a str, data: &'a str },
    Audio { kind: &'a str, data: &'a str },
    Use(&'a ToolUseContent),
    Result(&'a ToolResultContent),
}

pub(super) struct ModelTool<'a> {
    pub(super) name: &'a str,
    pub(super) description: &'a str,
    pub(super) schema: &'a Schema,
}

pub(super) fn parts(message: &SamplingMessage) -> impl Iterator<Item = Part<'_>> {
    message.content.blocks().iter().map(|block| match block {
        SamplingBlock::Text(text) => Part::Text(&text.text),
        SamplingBlock::Image(image) => Part::Image {
            kind: &image.mime_type,
            data: &image.data,
        },
        SamplingBlock::Audio(audio) => Part::Audio {
            kind: &audio.mime_type,
            data: &audio.data,
        },
        SamplingBlock::ToolUse(used) => Part::Use(used),
        SamplingBlock::ToolResult(result) => Part::Result(result),
    })
}

pub(super) fn role(message: &SamplingMessage) -> &'static str {
    match message.role {
        Role::User => "user",
        Role::Assistant => "assistant",
    }
}

/// The tools of a request and how they may be used; `None` if there are no tools.
pub(super) fn tools(
    request: &CreateMessageParams,
) -> Option<(impl Iterator<Item = ModelTool<'_>>, ToolChoiceMode)> {
    let tools = request.tools.as_ref().filter(|tools| !tools.is_empty())?;
    let choice = request.tool_choice.as_ref().and_then(|choice| choice.mode);
    let tools = tools.iter().map(|tool| ModelTool {
        name: &tool.name,
        description: tool.description.as_deref().unwrap_or_default(),
        schema: &tool.input_schema,
    });
    Some((tools, choice.unwrap_or(ToolChoiceMode::Auto)))
}

/// The result of a tool as text. Blocks that are not text are described.
pub(super) fn result_text(result: &ToolResultContent) -> String {
    let is_bare = result.content.is_empty();
    match result.structured_content.as_ref().filter(|_| is_bare) {
        Some(structured) => structured.as_str().to_owned(),
        None => {
            let block = |block: &ContentBlock| content::block(block);
            result
                .content
                .iter()
                .map(block)
                .collect::<Vec<_>>()
                .join("\n")
        }
    }
}

/// A tool call in a reply. Fails if the arguments are not a JSON object.
pub(super) fn used(id: String, name: String, arguments: &str) -> Result<SamplingBlock, String> {
    let input = RawJson::from_text(arguments.to_owned()).and_then(RawObject::from_json);
    let input = input.map_err(|error| format!("the arguments of a tool: {error}"))?;
    Ok(SamplingBlock::ToolUse(ToolUseContent {
        id,
        name,
        input,
        meta: None,
    }))
}

/// A reply with these blocks. A single block is not put in a list, for revisions before 2025-11-25.
pub(super) fn reply(
    model: String,
    blocks: Vec<SamplingBlock>,
    stop_reason: Option<String>,
) -> CreateMessageResult {
    let mut blocks = blocks.into_iter();
    let content = match (blocks.next(), blocks.len()) {
        (None, _) => SamplingBlock::text("").into(),
        (Some(only), 0) => only.into(),
        (Some(first), _) => SamplingContent::Many(std::iter::once(first).chain(blocks).collect()),
    };
    CreateMessageResult {
        role: Role::Assistant,
        content,
        model,
        stop_reason,
        meta: None,
    }
}
