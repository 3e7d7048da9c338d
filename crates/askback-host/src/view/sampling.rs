use std::collections::HashMap;

use askback::{
    forms::{Content, FormSchema},
    limits::Limits,
    protocol::{
        CreateMessageParams, CreateMessageResult, IncludeContext, Role, SamplingBlock,
        SamplingMessage, Tool, ToolChoiceMode, ToolResultContent, ToolUseContent,
    },
};
use serde::Serialize;

use super::{Labelled, field_lines, name};
use crate::{
    content,
    model::{self, Ask, Asker, Front, Sampling, Step},
    page::Style,
    text::{self, PeerText, Words, given},
    words,
};

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RequestView {
    pub system: Option<Labelled>,
    /// The requested tokens, temperature and priorities.
    pub wishes: Words,
    /// The model hints and stop sequences.
    pub hints: Vec<Labelled>,
    /// The tools that may be called.
    pub tools: Option<ToolsView>,
    /// The messages, oldest first.
    pub messages: Vec<MessageView>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ToolsView {
    /// Whether they may be called.
    pub words: Words,
    pub tools: Vec<ToolView>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ToolView {
    /// Its name, and its title if that is different.
    pub name: PeerText,
    pub description: Option<PeerText>,
    /// Its arguments, one per line.
    pub arguments: Vec<PeerText>,
    /// Its schema, if the arguments cannot be listed.
    pub schema: Option<PeerText>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MessageView {
    /// Its role: the user, the model or the tools.
    pub from: Words,
    pub blocks: Vec<BlockView>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum BlockView {
    /// A text, or the description of an image or of audio.
    Text(PeerText),
    /// A call of a tool with its arguments.
    Call(Labelled),
    /// A result: the tool, and what it returned.
    Result(Labelled, PeerText),
}

/// The current step of a sampling request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum SamplingView {
    /// Review the request and let a model reply.
    Request {
        /// The changed request with its title, if the user changed it.
        changed: Option<(Words, Box<RequestView>)>,
        /// Names the model.
        words: Words,
    },
    /// Wait for the reply.
    Running(Words),
    /// Review the reply and send it.
    Reply {
        title: Words,
        /// Its texts and tool calls.
        blocks: Vec<ReplyBlockView>,
        /// The model, and why it stopped.
        facts: Vec<Labelled>,
    },
    /// Rewrite a part.
    Rewrite {
        /// The title above the current text.
        title: Words,
        /// The title above the new text.
        editing: Words,
        /// The current text.
        text: PeerText,
    },
    /// Write a reply instead of a model.
    Write {
        /// Why the user writes it.
        note: Option<(Style, Words)>,
        /// The tools that a model could call.
        tools: Option<Labelled>,
    },
    /// Review that reply and send it.
    Reread { title: Words, text: PeerText },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum ReplyBlockView {
    /// A text, or the description of an image or of audio.
    Text(PeerText),
    Call {
        number: usize,
        tool: Labelled,
        arguments: Vec<PeerText>,
    },
}

pub(super) fn sampling(asker: &Asker, front: &Front<'_>) -> Option<SamplingView> {
    let model = given(front.model.unwrap_or("the model")).short();
    Some(match front.step {
        Step::Request(sampling) => {
            let is_changed = match &front.question.ask {
                Ask::Sample(asked) => **asked != sampling.request,
                _ => false,
            };
            let changed = || {
                (
                    "As you changed it:".into(),
                    Box::new(request(&sampling.request)),
                )
            };
            SamplingView::Request {
                changed: is_changed.then(changed),
                words: words!("1 of 2, the request: it runs on {}.", model),
            }
        }
        Step::Running(_) => SamplingView::Running(words!("{} is asked for a reply…", model)),
        Step::Replied(sampling) => SamplingView::Reply {
            title: words!("2 of 2, the reply: ready to send to {}:", name(asker)),
            blocks: sampling.reply.as_ref().map(blocks).unwrap_or_default(),
            facts: sampling.reply.as_ref().map(facts).unwrap_or_default(),
        },
        Step::Rewrite(_, part, text) => {
            let part = match part {
                model::Part::System => "the system prompt",
                model::Part::Message => "the last message",
                model::Part::Reply => "the text of the reply",
            };
            SamplingView::Rewrite {
                title: words!("Now {} is:", part),
                editing: words!("You change {}:", part),
                text: text.into(),
            }
        }
        Step::Write(sampling) => SamplingView::Write {
            note: note(front, sampling),
            tools: callable(sampling),
        },
        Step::Reread(written, _) => SamplingView::Reread {
            title: words!("Ready to send to {}:", name(asker)),
            text: written.into(),
        },
        _ => return None,
    })
}

/// Says why the user writes instead of a model.
fn note(front: &Front<'_>, sampling: &Sampling) -> Option<(Style, Words)> {
    let needs_call =
        "The server wants a tool called, which only a model or an answers file can do. Decline it.";
    let no_model = "No model is set up (--model), so you write the reply. The newest revision of MCP deprecates this request.";
    match front.model {
        _ if sampling.must_call() => Some((Style::Warning, needs_call.into())),
        Some(_) => None,
        None => Some((Style::Dim, no_model.into())),
    }
}

fn callable(sampling: &Sampling) -> Option<Labelled> {
    let names = sampling.offered().iter().map(|tool| tool.name.as_str());
    let names: Vec<_> = names.collect();
    let label: Words = match (names.len(), sampling.must_call()) {
        (0, _) => return None,
        (count, true) => words!("Has to call 1 of {}:", count),
        (1, false) => "May call:".into(),
        (count, false) => words!("May call {} tools:", count),
    };
    let text = names.join(", ");
    Some(Labelled::new(label, text))
}

fn blocks(reply: &CreateMessageResult) -> Vec<ReplyBlockView> {
    let mut numbers = 1_usize..;
    let blocks = reply.content.blocks().iter().map(|block| match block {
        SamplingBlock::ToolUse(call) => ReplyBlockView::Call {
            number: numbers.next().unwrap_or_default(),
            tool: Labelled::new("calls", &call.name),
            arguments: arguments(call),
        },
        other => ReplyBlockView::Text(content::sampling_block(other)),
    });
    blocks.collect()
}

fn arguments(call: &ToolUseContent) -> Vec<PeerText> {
    let content: Result<Content, _> = call.input.decode();
    let Ok(content) = content else {
        return vec![text::json(call.input.as_str()).into()];
    };
    let arguments = content.iter().map(|(name, value)| {
        let line = format!("{}: {value}", text::line(name));
        PeerText::from(text::json(&line))
    });
    arguments.collect()
}

fn facts(reply: &CreateMessageResult) -> Vec<Labelled> {
    let ended = reply.stop_reason.iter();
    let ended = ended.map(|reason| Labelled::new("ended by", reason));
    let model = Labelled::new("model", &reply.model);
    [model].into_iter().chain(ended).collect()
}

pub(super) fn request(request: &CreateMessageParams) -> RequestView {
    let preferences = request.model_preferences.as_ref();
    let models = preferences.and_then(|preferences| preferences.hints.as_deref());
    let models = models.unwrap_or_default().iter();
    let models = models.filter_map(|hint| hint.name.as_ref());
    let stops = request.stop_sequences.iter().flatten();
    let system = request.system_prompt.as_ref();
    let mut names = HashMap::new();
    let messages = request.messages.iter();
    RequestView {
        system: system.map(|text| Labelled::new("to the model:", text)),
        wishes: wishes(request),
        hints: models
            .map(|name| Labelled::new("model like", name))
            .chain(stops.map(|text| Labelled::new("stops at", text)))
            .collect(),
        tools: tools(request),
        messages: messages.map(|said| message(said, &mut names)).collect(),
    }
}

fn wishes(request: &CreateMessageParams) -> Words {
    let mut wishes = vec![words!("at most {} tokens", request.max_tokens)];
    wishes.extend(
        request
            .temperature
            .map(|value| words!("temperature {}", value)),
    );
    let preferences = request.model_preferences.as_ref();
    let priorities = preferences.map(|preferences| {
        [
            ("cost", preferences.cost_priority),
            ("speed", preferences.speed_priority),
            ("intelligence", preferences.intelligence_priority),
        ]
    });
    for (name, priority) in priorities.into_iter().flatten() {
        wishes.extend(priority.map(|priority| words!("{} {}", name, priority)));
    }
    let context = match request.include_context {
        None | Some(IncludeContext::None) => None,
        Some(IncludeContext::ThisServer) => {
            Some("with the context of this server, which is left out")
        }
        Some(IncludeContext::AllServers) => {
            Some("with the context of all servers, which is left out")
        }
    };
    wishes.extend(context.map(Words::from));
    Words::join(wishes, " · ")
}

/// `names` maps the ids of earlier tool calls to tool names.
fn message<'a>(said: &'a SamplingMessage, names: &mut HashMap<&'a str, &'a str>) -> MessageView {
    let blocks = said.content.blocks();
    let is_result = |block: &SamplingBlock| matches!(block, SamplingBlock::ToolResult(_));
    let from = match said.role {
        Role::User if blocks.iter().any(is_result) => "from the tools:",
        Role::User => "from the user:",
        Role::Assistant => "from the model:",
    };
    let blocks = blocks.iter().map(|block| match block {
        SamplingBlock::ToolUse(call) => {
            names.insert(&call.id, &call.name);
            BlockView::Call(called(call))
        }
        SamplingBlock::ToolResult(it) => result(names.get(it.tool_use_id.as_str()).copied(), it),
        other => BlockView::Text(content::sampling_block(other)),
    });
    MessageView {
        from: from.into(),
        blocks: blocks.collect(),
    }
}

fn called(call: &ToolUseContent) -> Labelled {
    let input = match call.input.as_str() {
        "{}" => String::new(),
        input => format!(" {}", text::json(input)),
    };
    Labelled::new("calls", format!("{}{input}", call.name))
}

fn result(name: Option<&str>, result: &ToolResultContent) -> BlockView {
    let label = match result.is_error {
        Some(true) => "failed:",
        _ => "result of",
    };
    let of = Labelled::new(label, name.unwrap_or(&result.tool_use_id));
    let text = match &result.structured_content {
        Some(structured) if result.content.is_empty() => PeerText::from(structured),
        _ => content::blocks_text(&result.content),
    };
    BlockView::Result(of, text)
}

fn tools(request: &CreateMessageParams) -> Option<ToolsView> {
    let tools = request.tools.as_deref().unwrap_or_default();
    let words = match model::mode(request) {
        ToolChoiceMode::Auto => "may call these tools:",
        ToolChoiceMode::Required => "has to call one of these tools:",
        ToolChoiceMode::None => "is to call none of these tools:",
    };
    (!tools.is_empty()).then(|| ToolsView {
        words: words.into(),
        tools: tools.iter().map(tool).collect(),
    })
}

fn tool(tool: &Tool) -> ToolView {
    let schema = tool.input_schema.as_str();
    let form = FormSchema::parse_arguments(schema.as_bytes(), &Limits::default().forms).ok();
    let arguments = form.iter().flat_map(field_lines).map(PeerText::from);
    let arguments: Vec<_> = arguments.collect();
    let is_shown = !arguments.is_empty() || says_nothing(tool);
    ToolView {
        name: match &tool.title {
            Some(title) if *title != tool.name => format!("{} ({title})", tool.name).into(),
            _ => PeerText::from(&tool.name),
        },
        description: tool.description.as_ref().map(PeerText::from),
        arguments,
        schema: (!is_shown).then(|| PeerText::from(text::json(schema))),
    }
}

fn says_nothing(tool: &Tool) -> bool {
    let schema: Result<Content, _> = tool.input_schema.decode();
    let known = ["type", "properties", "$schema", "additionalProperties"];
    schema.is_ok_and(|schema| {
        schema.get("type").is_some_and(|kind| kind == "object")
            && schema.keys().all(|key| known.contains(&key.as_str()))
    })
}
