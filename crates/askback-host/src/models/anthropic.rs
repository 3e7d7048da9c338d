//! Anthropic's Messages API.

use askback::{
    internal::json,
    protocol::{CreateMessageParams, CreateMessageResult, SamplingBlock, Tool, ToolChoiceMode},
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::shape::{Unfit, reply, result_text, role, tools, used};

pub(super) fn write(model: &str, request: &CreateMessageParams) -> Result<Value, Unfit> {
    let mut messages = Vec::new();
    for message in &request.messages {
        let block = |block: &SamplingBlock| match block {
            SamplingBlock::Text(text) => Ok(json!({"type": "text", "text": text.text})),
            SamplingBlock::Image(image) => Ok(json!({
                "type": "image",
                "source": {
                    "type": "base64", "media_type": image.mime_type, "data": image.data,
                },
            })),
            SamplingBlock::Audio(_) => Err(Unfit("sound")),
            SamplingBlock::ToolUse(used) => Ok(json!({
                "type": "tool_use", "id": used.id, "name": used.name, "input": used.input,
            })),
            SamplingBlock::ToolResult(result) => Ok(json!({
                "type": "tool_result",
                "tool_use_id": result.tool_use_id,
                "content": result_text(result),
                "is_error": result.is_error.unwrap_or_default(),
            })),
        };
        let blocks = message.content.blocks().iter();
        let content: Vec<_> = blocks.map(block).collect::<Result<_, _>>()?;
        messages.push(json!({"role": role(message), "content": content}));
    }
    let mut body = json!({"model": model, "max_tokens": request.max_tokens, "messages": messages});
    if let Some(system) = &request.system_prompt {
        body["system"] = system.as_str().into();
    }
    if let Some(temperature) = request.temperature {
        // Anthropic's maximum is 1. Other providers allow 2.
        body["temperature"] = temperature.clamp(0.0, 1.0).into();
    }
    if let Some(stops) = &request.stop_sequences {
        body["stop_sequences"] = stops.iter().map(String::as_str).collect();
    }
    if let Some((tools, choice)) = tools(request) {
        let tool = |tool: &Tool| {
            json!({
                "name": tool.name,
                "description": tool.description.as_deref().unwrap_or_default(),
                "input_schema": tool.input_schema,
            })
        };
        body["tools"] = tools.iter().map(tool).collect();
        body["tool_choice"] = match choice {
            ToolChoiceMode::Auto => json!({"type": "auto"}),
            ToolChoiceMode::Required => json!({"type": "any"}),
            ToolChoiceMode::None => json!({"type": "none"}),
        };
    }
    Ok(body)
}

/// Fails with the message of the parser.
pub(super) fn read(body: &[u8]) -> Result<CreateMessageResult, String> {
    #[derive(Deserialize)]
    struct Body {
        model: String,
        content: Vec<Block>,
        stop_reason: Option<String>,
    }
    #[derive(Deserialize)]
    #[serde(tag = "type", rename_all = "snake_case")]
    enum Block {
        Text {
            text: String,
        },
        ToolUse {
            id: String,
            name: String,
            input: Value,
        },
        /// Thinking blocks and future kinds.
        #[serde(other)]
        Other,
    }
    let body: Body = json::parse(body)?;
    let blocks = body.content.into_iter().filter_map(|block| match block {
        Block::Text { text } => Some(Ok(SamplingBlock::text(text))),
        Block::ToolUse { id, name, input } => Some(used(id, name, &input.to_string())),
        Block::Other => None,
    });
    let blocks = blocks.collect::<Result<_, _>>()?;
    let stopped = body.stop_reason.map(|reason| match reason.as_str() {
        "end_turn" => "endTurn".to_owned(),
        "max_tokens" => "maxTokens".to_owned(),
        "stop_sequence" => "stopSequence".to_owned(),
        "tool_use" => "toolUse".to_owned(),
        _ => reason,
    });
    Ok(reply(body.model, blocks, stopped))
}
