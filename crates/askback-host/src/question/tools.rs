//! The tools that a request to a model offers, calls of them and their results, in lines on a page.

use askback::{
    forms::{Content, FormSchema},
    limits::Limits,
    protocol::{CreateMessageParams, Tool, ToolChoiceMode, ToolResultContent, ToolUseContent},
};

use super::form::field_lines;
use crate::{
    content, model,
    page::{Excerpt, Page, Style},
    text::{self, PeerText, Words},
    words,
};

/// The most tools that are described where a request is not shown whole; of others the names are shown.
const DESCRIBED: usize = 5;

/// The most characters of a description there.
const DESCRIPTION: usize = 160;

/// Puts the tools on the page that a request offers, and whether they may be called.
pub(super) fn offered(excerpt: &mut Excerpt<'_>, request: &CreateMessageParams) {
    let tools = request.tools.as_deref().unwrap_or_default();
    if tools.is_empty() {
        return;
    }
    let choice = match model::mode(request) {
        ToolChoiceMode::Auto => "may call these tools:",
        ToolChoiceMode::Required => "has to call one of these tools:",
        ToolChoiceMode::None => "is to call none of these tools:",
    };
    excerpt.say(Style::Dim, choice);
    let (count, most) = match excerpt.is_whole() {
        true => (tools.len(), usize::MAX),
        false => (DESCRIBED, DESCRIPTION),
    };
    for tool in tools.iter().take(count) {
        excerpt.quote_line("  ", &name(tool));
        describe(excerpt, tool, most);
    }
    let others: Vec<_> = tools.iter().skip(count).map(name).collect();
    if !others.is_empty() {
        let mark = words!("  and {} more: ", others.len());
        excerpt.quote_line(mark, &cut(&others.join(", "), most));
    }
}

/// Puts the description and the arguments of a tool on the page.
fn describe(excerpt: &mut Excerpt<'_>, tool: &Tool, most: usize) {
    if let Some(description) = &tool.description {
        excerpt.quote_at("    ", &cut(description, most));
    }
    let form = form(tool);
    let fields = form.iter().flat_map(field_lines).collect::<Vec<_>>();
    for line in &fields {
        excerpt.quote_at("    · ", line);
    }
    if fields.is_empty() && !says_nothing(tool) {
        let schema = text::json(tool.input_schema.as_str());
        excerpt.quote_line("    schema ", &cut(&schema, most));
    }
}

/// Whether the schema of a tool without fields says nothing of its arguments.
fn says_nothing(tool: &Tool) -> bool {
    let schema: Result<Content, _> = tool.input_schema.decode();
    let known = ["type", "properties", "$schema", "additionalProperties"];
    schema.is_ok_and(|schema| {
        schema.get("type").is_some_and(|kind| kind == "object")
            && schema.keys().all(|key| known.contains(&key.as_str()))
    })
}

/// A text, of which no more than so many characters are shown.
fn cut(text: &str, most: usize) -> String {
    match text::head(text, most) {
        (_, 0) => text.to_owned(),
        (head, _) => format!("{head}…"),
    }
}

/// Puts a call in a reply on the page, behind this mark.
pub(super) fn call(page: &mut Page, mark: Words, call: &ToolUseContent) {
    page.quote_line(words!("{} calls ", mark), &call.name);
    let content: Result<Content, _> = call.input.decode();
    match content {
        Ok(content) => {
            for (name, value) in &content {
                let line = format!("{}: {value}", text::line(name));
                page.quote_at("      ", text::json(&line));
            }
        }
        Err(_) => page.quote_at("      ", text::json(call.input.as_str())),
    }
}

/// Puts a call in a conversation on the page.
pub(super) fn called(excerpt: &mut Excerpt<'_>, call: &ToolUseContent) {
    excerpt.quote_line("calls ", called_text(call).raw());
}

/// A call in a conversation: the tool and its arguments.
pub(super) fn called_text(call: &ToolUseContent) -> PeerText {
    let input = match call.input.as_str() {
        "{}" => String::new(),
        input => format!(" {}", text::json(input)),
    };
    format!("{}{input}", call.name).into()
}

/// Puts the result of a call on the page, of the tool of this name.
pub(super) fn result(excerpt: &mut Excerpt<'_>, name: Option<&str>, result: &ToolResultContent) {
    let mark = match result.is_error {
        Some(true) => "failed: ",
        _ => "result of ",
    };
    excerpt.quote_line(mark, name.unwrap_or(&result.tool_use_id));
    excerpt.quote(result_text(result).raw());
}

pub(super) fn result_text(result: &ToolResultContent) -> PeerText {
    match &result.structured_content {
        Some(structured) if result.content.is_empty() => PeerText::from(structured),
        _ => content::blocks_text(&result.content),
    }
}

/// The name of a tool, and its title where that says more.
fn name(tool: &Tool) -> String {
    match &tool.title {
        Some(title) if *title != tool.name => format!("{} ({title})", tool.name),
        _ => tool.name.clone(),
    }
}

/// The form of a tool's arguments, if there is one.
fn form(tool: &Tool) -> Option<FormSchema> {
    let schema = tool.input_schema.as_str().as_bytes();
    FormSchema::parse_arguments(schema, &Limits::default().forms).ok()
}
