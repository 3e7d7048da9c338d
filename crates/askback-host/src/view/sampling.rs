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

use super::{Body, Labelled, Part, field_lines, name};
use crate::{
    content,
    model::{self, Ask, Asker, Front, Sampling, Step},
    page::Style,
    text::{self, PeerText, Words, given},
    words,
};

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RequestView {
    pub system: Option<MessageView>,
    /// The requested tokens, temperature and priorities, the model hints and the stop sequences.
    pub wishes: Vec<Part>,
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

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MessageView {
    /// Its role: the user, the model or the tools.
    pub from: Words,
    /// Its texts, tool calls and results.
    pub parts: Vec<Part>,
}

/// A text that the user writes or rewrites.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WriteView {
    /// Why the user writes it, and what the reply may do.
    pub parts: Vec<Part>,
    /// The current text, if the user rewrites one.
    pub now: Option<Labelled>,
    pub label: Words,
}

pub(super) fn body(asker: &Asker, front: &Front<'_>) -> Body {
    let model = given(front.model.unwrap_or("the model")).short();
    match front.step {
        Step::Request(sampling) => {
            let mut parts = Vec::new();
            if !matches!(&front.question.ask, Ask::Sample(asked) if **asked == sampling.request) {
                parts.push(Part::Say(Style::Strong, "As you changed it:".into()));
                parts.push(Part::Request(Box::new(request(&sampling.request))));
            }
            let words = words!("1 of 2, the request: it runs on {}.", model);
            parts.push(Part::Say(Style::Dim, words));
            Body::Request(parts)
        }
        Step::Running(_) => Body::Running(words!("{} is asked for a reply…", model)),
        Step::Replied(sampling) => {
            let title = words!("2 of 2, the reply: ready to send to {}:", name(asker));
            let mut parts = vec![Part::Say(Style::Strong, title)];
            parts.extend(sampling.reply.iter().flat_map(reply));
            Body::Reply(parts)
        }
        Step::Reread(written, _) => {
            let title = words!("Ready to send to {}:", name(asker));
            let title = Part::Say(Style::Strong, title);
            Body::Reply(vec![title, shown(written.into())])
        }
        Step::Rewrite(_, part, text) => {
            let part = match part {
                model::Part::System => "the system prompt",
                model::Part::Message => "the last message",
                model::Part::Reply => "the text of the reply",
            };
            Body::Write(WriteView {
                parts: Vec::new(),
                now: Some(Labelled::new(words!("Now {} is:", part), text)),
                label: words!("You change {}:", part),
            })
        }
        Step::Write(sampling) => Body::Write(WriteView {
            parts: note(front, sampling)
                .into_iter()
                .chain(callable(sampling).map(Part::Line))
                .collect(),
            now: None,
            label: "The text:".into(),
        }),
        _ => Body::Nothing,
    }
}

/// Says why the user writes instead of a model.
fn note(front: &Front<'_>, sampling: &Sampling) -> Option<Part> {
    let needs_call =
        "The server wants a tool called, which only a model or an answers file can do. Decline it.";
    let no_model = "No model is set up (--model), so you write the reply. The newest revision of MCP deprecates this request.";
    match front.model {
        _ if sampling.must_call() => Some(Part::Say(Style::Warning, needs_call.into())),
        Some(_) => None,
        None => Some(Part::Say(Style::Dim, no_model.into())),
    }
}

/// The maximum length of the names of these tools, in characters. The request describes them.
const MAX_CALLABLE_CHARS: usize = 120;

fn callable(sampling: &Sampling) -> Option<Labelled> {
    let names = sampling.offered().iter().map(|tool| tool.name.as_str());
    let names: Vec<_> = names.collect();
    let label: Words = match (names.len(), sampling.must_call()) {
        (0, _) => return None,
        (count, true) => words!("Has to call 1 of {}:", count),
        (1, false) => "May call:".into(),
        (count, false) => words!("May call {} tools:", count),
    };
    let names = text::cut(&names.join(", "), MAX_CALLABLE_CHARS);
    Some(Labelled::new(label, names))
}

/// The texts and numbered tool calls of a reply, the model, and why it stopped.
fn reply(reply: &CreateMessageResult) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut numbers = 1_usize..;
    for block in reply.content.blocks() {
        match block {
            SamplingBlock::ToolUse(call) => {
                let label = words!("call {}:", numbers.next().unwrap_or_default());
                parts.push(Part::Line(Labelled::new(label, &call.name)));
                parts.extend(arguments(call));
            }
            other => parts.push(shown(content::sampling_block(other))),
        }
    }
    parts.push(Part::Detail(Labelled::new("model", &reply.model)));
    let ended = reply.stop_reason.iter();
    parts.extend(ended.map(|reason| Part::Detail(Labelled::new("ended by", reason))));
    parts
}

/// A text of a request or reply. A model may reply with an empty one.
fn shown(text: PeerText) -> Part {
    match text.raw().is_empty() {
        true => Part::Say(Style::Dim, "(empty)".into()),
        false => Part::Text(text),
    }
}

fn arguments(call: &ToolUseContent) -> Vec<Part> {
    let lines = match call.input.decode::<Content>() {
        Ok(content) => content
            .iter()
            .map(|(name, value)| format!("{}: {value}", text::line(name)))
            .collect(),
        Err(_) => vec![call.input.as_str().to_owned()],
    };
    let lines = lines.iter().map(|line| text::json(line));
    lines
        .map(|line| Part::Detail(Labelled::new("", line)))
        .collect()
}

pub(super) fn request(request: &CreateMessageParams) -> RequestView {
    let preferences = request.model_preferences.as_ref();
    let models = preferences.and_then(|preferences| preferences.hints.as_deref());
    let models = models.unwrap_or_default().iter();
    let models = models.filter_map(|hint| hint.name.as_ref());
    let stops = request.stop_sequences.iter().flatten();
    let system = request.system_prompt.as_ref();
    let hints = models
        .map(|name| Labelled::new("model like", name))
        .chain(stops.map(|text| Labelled::new("stops at", text)));
    let mut names = HashMap::new();
    let messages = request.messages.iter();
    RequestView {
        system: system.map(|text| MessageView {
            from: "to the model:".into(),
            parts: vec![Part::Text(text.into())],
        }),
        wishes: [Part::Say(Style::Dim, wishes(request))]
            .into_iter()
            .chain(hints.map(Part::Detail))
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
    let mut parts = Vec::new();
    for block in blocks {
        match block {
            SamplingBlock::ToolUse(call) => {
                names.insert(&call.id, &call.name);
                parts.push(Part::Line(called(call)));
            }
            SamplingBlock::ToolResult(it) => {
                parts.extend(result(names.get(it.tool_use_id.as_str()).copied(), it));
            }
            other => parts.push(shown(content::sampling_block(other))),
        }
    }
    MessageView {
        from: from.into(),
        parts,
    }
}

fn called(call: &ToolUseContent) -> Labelled {
    let input = match call.input.as_str() {
        "{}" => String::new(),
        input => format!(" {}", text::json(input)),
    };
    Labelled::new("calls", format!("{}{input}", call.name))
}

fn result(name: Option<&str>, result: &ToolResultContent) -> [Part; 2] {
    let label = match result.is_error {
        Some(true) => "failed:",
        _ => "result of",
    };
    let of = Labelled::new(label, name.unwrap_or(&result.tool_use_id));
    let text = match &result.structured_content {
        Some(structured) if result.content.is_empty() => PeerText::from(structured),
        _ => content::blocks(&result.content).into(),
    };
    [Part::Line(of), Part::Text(text)]
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
