//! Expresses as text what a revision cannot express otherwise.

use alloc::{format, string::String};

use super::dialect;
use crate::{
    forms,
    protocol::{
        AudioContent, CallToolResult, ContentBlock, ElicitFormParams, RawJson, ResourceLink,
        SamplingBlock, TextContent, ToolResultContent, ToolUseContent,
    },
    revision::Revision,
};

pub(super) fn form(params: &mut ElicitFormParams, revision: Revision) {
    let lowered = forms::lower(&params.requested_schema, &dialect(revision));
    params.requested_schema = lowered.schema.into();
}

pub(super) fn link(link: &mut ResourceLink) -> TextContent {
    let name = link.title.as_deref().unwrap_or(&link.name);
    let mut text = format!("{name}: {}", link.uri);
    if let Some(description) = &link.description {
        text.push('\n');
        text.push_str(description);
    }
    TextContent {
        text,
        annotations: link.annotations.take(),
        meta: link.meta.take(),
    }
}

pub(super) fn audio(audio: &mut AudioContent) -> TextContent {
    TextContent {
        text: format!("[sound left out: {}]", audio.mime_type),
        annotations: audio.annotations.take(),
        meta: audio.meta.take(),
    }
}

/// Removes the structured content of a result. It becomes the text if there is no other content.
pub(super) fn structured(result: &mut CallToolResult) {
    if let Some(structured) = result.structured_content.take()
        && result.content.is_empty()
    {
        result.content.push(ContentBlock::text(structured.as_str()));
    }
}

pub(super) fn is_object(value: &RawJson) -> bool {
    value.as_str().starts_with('{')
}

/// Replaces a tool block of a sampling message by text.
pub(super) fn tool_block(block: &mut SamplingBlock) {
    let text = match block {
        SamplingBlock::ToolUse(call) => tool_use(call),
        SamplingBlock::ToolResult(result) => tool_result(result),
        SamplingBlock::Text(_) | SamplingBlock::Image(_) | SamplingBlock::Audio(_) => return,
    };
    *block = SamplingBlock::text(text);
}

/// Joins blocks into one text, for a message that holds a single block.
pub(super) fn as_text(blocks: &[SamplingBlock]) -> String {
    let mut text = String::new();
    for block in blocks {
        if !text.is_empty() {
            text.push('\n');
        }
        match block {
            SamplingBlock::Text(block) => text.push_str(&block.text),
            SamplingBlock::Image(image) => {
                text.push_str(&format!("[picture left out: {}]", image.mime_type));
            }
            SamplingBlock::Audio(audio) => {
                text.push_str(&format!("[sound left out: {}]", audio.mime_type));
            }
            SamplingBlock::ToolUse(call) => text.push_str(&tool_use(call)),
            SamplingBlock::ToolResult(result) => text.push_str(&tool_result(result)),
        }
    }
    text
}

fn tool_use(call: &ToolUseContent) -> String {
    format!("[call of the tool {}: {}]", call.name, call.input.as_str())
}

fn tool_result(result: &ToolResultContent) -> String {
    let mut text = String::from(match result.is_error {
        Some(true) => "[the tool failed]",
        _ => "[the tool's result]",
    });
    for block in &result.content {
        text.push('\n');
        match block {
            ContentBlock::Text(block) => text.push_str(&block.text),
            ContentBlock::Image(image) => {
                text.push_str(&format!("[picture left out: {}]", image.mime_type));
            }
            ContentBlock::Audio(audio) => {
                text.push_str(&format!("[sound left out: {}]", audio.mime_type));
            }
            ContentBlock::ResourceLink(link) => text.push_str(&link.uri),
            ContentBlock::Resource(embedded) => text.push_str(embedded.resource.uri()),
        }
    }
    if let (true, Some(structured)) = (result.content.is_empty(), &result.structured_content) {
        text.push('\n');
        text.push_str(structured.as_str());
    }
    text
}
