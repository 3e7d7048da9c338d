//! Ollama's chat API, for models on this machine.

use askback::{
    internal::json,
    protocol::{CreateMessageParams, CreateMessageResult, SamplingBlock, ToolChoiceMode},
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::shape::{ModelTool, Part, Unfit, Wire, parts, reply, result_text, role, tools, used};

pub(super) struct Ollama;

impl Wire for Ollama {
    fn path(&self) -> &'static str {
        "api/chat"
    }

    fn write(&self, model: &str, request: &CreateMessageParams) -> Result<Value, Unfit> {
        let mut messages = Vec::new();
        if let Some(system) = &request.system_prompt {
            messages.push(json!({"role": "system", "content": system}));
        }
        // In this API, a tool result names its tool, not the id of the call.
        let mut names = Vec::new();
        for message in &request.messages {
            let (mut texts, mut images, mut calls) = (Vec::new(), Vec::new(), Vec::new());
            let mut results = Vec::new();
            for part in parts(message) {
                match part {
                    Part::Text(text) => texts.push(text),
                    Part::Image { data, .. } => images.push(data),
                    Part::Audio { .. } => return Err(Unfit("sound")),
                    Part::Use(used) => {
                        names.push((used.id.as_str(), used.name.as_str()));
                        let call = json!({"name": used.name, "arguments": used.input});
                        calls.push(json!({"function": call}));
                    }
                    Part::Result(result) => {
                        let id = &result.tool_use_id;
                        let name = names.iter().rev().find(|(known, _)| known == id);
                        results.push(json!({
                            "role": "tool",
                            "tool_name": name.map_or("", |(_, name)| name),
                            "content": result_text(result),
                        }));
                    }
                }
            }
            if !(texts.is_empty() && images.is_empty() && calls.is_empty()) {
                let mut said = json!({"role": role(message), "content": texts.join("\n")});
                if !images.is_empty() {
                    said["images"] = images.into();
                }
                if !calls.is_empty() {
                    said["tool_calls"] = calls.into();
                }
                messages.push(said);
            }
            messages.extend(results);
        }
        let mut options = json!({"num_predict": request.max_tokens});
        if let Some(temperature) = request.temperature {
            options["temperature"] = temperature.into();
        }
        if let Some(stops) = &request.stop_sequences {
            options["stop"] = stops.iter().map(String::as_str).collect();
        }
        let mut body =
            json!({"model": model, "messages": messages, "stream": false, "options": options});
        match tools(request) {
            // The API has no way to forbid tools, so none are offered.
            None | Some((_, ToolChoiceMode::None)) => {}
            Some((_, ToolChoiceMode::Required)) => return Err(Unfit("a tool that has to be used")),
            Some((tools, ToolChoiceMode::Auto)) => {
                let function = |tool: ModelTool<'_>| {
                    json!({"type": "function", "function": {
                        "name": tool.name, "description": tool.description, "parameters": tool.schema,
                    }})
                };
                body["tools"] = tools.map(function).collect();
            }
        }
        Ok(body)
    }

    fn read(&self, body: &[u8]) -> Result<CreateMessageResult, String> {
        #[derive(Deserialize)]
        struct Body {
            model: String,
            message: Message,
            done_reason: Option<String>,
        }
        #[derive(Deserialize)]
        struct Message {
            #[serde(default, deserialize_with = "json::or_default")]
            content: String,
            #[serde(default, deserialize_with = "json::or_default")]
            tool_calls: Vec<Call>,
        }
        #[derive(Deserialize)]
        struct Call {
            function: Function,
        }
        #[derive(Deserialize)]
        struct Function {
            name: String,
            #[serde(default)]
            arguments: Value,
        }
        let body: Body = json::parse(body)?;
        let calls = body.message.tool_calls;
        let uses_tools = !calls.is_empty();
        let text = Some(body.message.content).filter(|text| !text.is_empty() || !uses_tools);
        let calls = calls.into_iter().enumerate().map(|(at, call)| {
            // The API gives tool calls no ids. These are unique within a message.
            let id = format!("call-{}", at.saturating_add(1));
            used(id, call.function.name, &call.function.arguments.to_string())
        });
        let text = text.map(|text| Ok(SamplingBlock::text(text)));
        let blocks = text.into_iter().chain(calls).collect::<Result<_, _>>()?;
        let stopped = match body.done_reason.as_deref() {
            _ if uses_tools => Some("toolUse".to_owned()),
            Some("stop") => Some("endTurn".to_owned()),
            Some("length") => Some("maxTokens".to_owned()),
            other => other.map(str::to_owned),
        };
        Ok(reply(body.model, blocks, stopped))
    }
}
