//! Expresses as text what a revision cannot express otherwise.

use alloc::{format, string::String, vec, vec::Vec};

use crate::protocol::{
    AudioContent, ContentBlock, ImageContent, RawJson, ResourceLink, SamplingBlock, TextContent,
    ToolResultContent, ToolUseContent,
};

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
        text: sound(audio),
        annotations: audio.annotations.take(),
        meta: audio.meta.take(),
    }
}

fn sound(audio: &AudioContent) -> String {
    format!("[sound left out: {}]", audio.mime_type)
}

fn picture(image: &ImageContent) -> String {
    format!("[picture left out: {}]", image.mime_type)
}

pub(super) fn is_object(value: &RawJson) -> bool {
    value.as_str().starts_with('{')
}

pub(super) fn as_text(blocks: &[SamplingBlock]) -> String {
    let texts = blocks.iter().map(|block| match block {
        SamplingBlock::Text(block) => block.text.clone(),
        SamplingBlock::Image(image) => picture(image),
        SamplingBlock::Audio(audio) => sound(audio),
        SamplingBlock::ToolUse(call) => tool_use(call),
        SamplingBlock::ToolResult(result) => tool_result(result),
    });
    texts.collect::<Vec<_>>().join("\n")
}

pub(super) fn tool_use(call: &ToolUseContent) -> String {
    format!("[call of the tool {}: {}]", call.name, call.input.as_str())
}

pub(super) fn tool_result(result: &ToolResultContent) -> String {
    let begin = match result.is_error {
        Some(true) => "[the tool failed]",
        _ => "[the tool's result]",
    };
    let mut lines = vec![String::from(begin)];
    lines.extend(result.content.iter().map(|block| match block {
        ContentBlock::Text(block) => block.text.clone(),
        ContentBlock::Image(image) => picture(image),
        ContentBlock::Audio(audio) => sound(audio),
        ContentBlock::ResourceLink(link) => link.uri.clone(),
        ContentBlock::Resource(embedded) => embedded.resource.uri().into(),
    }));
    if let (true, Some(structured)) = (result.content.is_empty(), &result.structured_content) {
        lines.push(structured.as_str().into());
    }
    lines.join("\n")
}
