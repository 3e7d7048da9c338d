//! The parts of requests and replies that all providers share.

use askback::protocol::{
    CreateMessageParams, CreateMessageResult, RawJson, RawObject, Role, SamplingBlock,
    SamplingMessage, Tool, ToolChoiceMode, ToolResultContent, ToolUseContent,
};

use crate::{
    content,
    model::{content_of, mode},
};

/// A feature of a request that the provider does not support.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Unfit(pub(super) &'static str);

pub(super) fn role(message: &SamplingMessage) -> &'static str {
    match message.role {
        Role::User => "user",
        Role::Assistant => "assistant",
    }
}

/// The tools of a request and how they may be used; `None` if there are no tools.
pub(super) fn tools(request: &CreateMessageParams) -> Option<(&[Tool], ToolChoiceMode)> {
    let tools = request.tools.as_deref().filter(|it| !it.is_empty())?;
    Some((tools, mode(request)))
}

/// The result of a tool as text. Blocks that are not text are described.
pub(super) fn result_text(result: &ToolResultContent) -> String {
    match &result.structured_content {
        Some(structured) if result.content.is_empty() => structured.as_str().to_owned(),
        _ => content::blocks(&result.content),
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

pub(super) fn reply(
    model: String,
    mut blocks: Vec<SamplingBlock>,
    stop_reason: Option<String>,
) -> CreateMessageResult {
    if blocks.is_empty() {
        blocks.push(SamplingBlock::text(""));
    }
    CreateMessageResult {
        role: Role::Assistant,
        content: content_of(blocks),
        model,
        stop_reason,
        meta: None,
    }
}
