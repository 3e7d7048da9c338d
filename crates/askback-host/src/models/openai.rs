//! OpenAI's chat completions API, which Ollama and many other providers support.

use askback::{
    internal::json,
    protocol::{CreateMessageParams, CreateMessageResult, SamplingBlock, Tool, ToolChoiceMode},
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::shape::{Unfit, reply, result_text, role, tools, used};

const STOPS: usize = 4;

/// Writes a request. Newer models of OpenAI itself do not accept `max_tokens`. Ollama takes no sound,
/// and cannot force or forbid a tool.
pub(super) fn write(
    model: &str,
    request: &CreateMessageParams,
    is_ollama: bool,
    is_openai_itself: bool,
) -> Result<Value, Unfit> {
    let mut messages = Vec::new();
    if let Some(system) = &request.system_prompt {
        messages.push(json!({"role": "system", "content": system}));
    }
    for message in &request.messages {
        let mut content = Vec::new();
        let mut calls = Vec::new();
        for block in message.content.blocks() {
            match block {
                SamplingBlock::Text(text) => {
                    content.push(json!({"type": "text", "text": text.text}));
                }
                SamplingBlock::Image(image) => {
                    let url = format!("data:{};base64,{}", image.mime_type, image.data);
                    content.push(json!({"type": "image_url", "image_url": {"url": url}}));
                }
                SamplingBlock::Audio(_) if is_ollama => return Err(Unfit("sound")),
                SamplingBlock::Audio(audio) => content.push(json!({
                    "type": "input_audio",
                    "input_audio": {"data": audio.data, "format": sound(&audio.mime_type)?},
                })),
                SamplingBlock::ToolUse(used) => calls.push(json!({
                    "id": used.id,
                    "type": "function",
                    "function": {"name": used.name, "arguments": used.input.as_str()},
                })),
                SamplingBlock::ToolResult(result) => messages.push(json!({
                    "role": "tool",
                    "tool_call_id": result.tool_use_id,
                    "content": result_text(result),
                })),
            }
        }
        if content.is_empty() && calls.is_empty() {
            continue;
        }
        let mut said = json!({"role": role(message)});
        // All providers accept a plain text.
        said["content"] = match content.as_slice() {
            [] => Value::Null,
            [text] if text["type"] == "text" => text["text"].clone(),
            _ => Value::from(content),
        };
        if !calls.is_empty() {
            said["tool_calls"] = calls.into();
        }
        messages.push(said);
    }
    let most = if is_openai_itself {
        "max_completion_tokens"
    } else {
        "max_tokens"
    };
    let mut body = json!({"model": model, "messages": messages, "stream": false});
    body[most] = request.max_tokens.into();
    if let Some(temperature) = request.temperature {
        body["temperature"] = temperature.into();
    }
    if let Some(stops) = &request.stop_sequences {
        body["stop"] = stops.iter().take(STOPS).map(String::as_str).collect();
    }
    if let Some((tools, choice)) = tools(request) {
        match choice {
            ToolChoiceMode::None if is_ollama => return Ok(body),
            ToolChoiceMode::Required if is_ollama => {
                return Err(Unfit("a tool that has to be used"));
            }
            _ => {}
        }
        let function = |tool: &Tool| {
            json!({"type": "function", "function": {
                "name": tool.name,
                "description": tool.description.as_deref().unwrap_or_default(),
                "parameters": tool.input_schema,
            }})
        };
        body["tools"] = tools.iter().map(function).collect();
        body["tool_choice"] = match choice {
            ToolChoiceMode::Auto => "auto",
            ToolChoiceMode::Required => "required",
            ToolChoiceMode::None => "none",
        }
        .into();
    }
    Ok(body)
}

/// Fails with the message of the parser.
pub(super) fn read(body: &[u8]) -> Result<CreateMessageResult, String> {
    #[derive(Deserialize)]
    struct Body {
        model: String,
        choices: Vec<Choice>,
    }
    #[derive(Deserialize)]
    struct Choice {
        message: Message,
        finish_reason: Option<String>,
    }
    #[derive(Deserialize)]
    struct Message {
        content: Option<String>,
        refusal: Option<String>,
        #[serde(default)]
        tool_calls: Option<Vec<Call>>,
    }
    #[derive(Deserialize)]
    struct Call {
        id: String,
        function: Function,
    }
    #[derive(Deserialize)]
    struct Function {
        name: String,
        arguments: String,
    }
    let body: Body = json::parse(body)?;
    let choice = body
        .choices
        .into_iter()
        .next()
        .ok_or("it holds no choice")?;
    let text = choice.message.content.or(choice.message.refusal);
    let text = text
        .filter(|text| !text.is_empty())
        .map(SamplingBlock::text);
    let calls = choice.message.tool_calls.into_iter().flatten();
    let calls = calls.map(|call| {
        let arguments = match call.function.arguments.trim() {
            "" => "{}",
            arguments => arguments,
        };
        used(call.id, call.function.name, arguments)
    });
    let blocks = text
        .map(Ok)
        .into_iter()
        .chain(calls)
        .collect::<Result<_, _>>()?;
    let stopped = choice.finish_reason.map(|reason| match reason.as_str() {
        "stop" => "endTurn".to_owned(),
        "length" => "maxTokens".to_owned(),
        "tool_calls" => "toolUse".to_owned(),
        _ => reason,
    });
    Ok(reply(body.model, blocks, stopped))
}

/// The API's name for an audio format.
fn sound(kind: &str) -> Result<&'static str, Unfit> {
    match kind {
        "audio/wav" | "audio/x-wav" | "audio/wave" => Ok("wav"),
        "audio/mpeg" | "audio/mp3" => Ok("mp3"),
        _ => Err(Unfit("sound of this kind")),
    }
}
