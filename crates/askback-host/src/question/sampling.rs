//! Requests to a model and its replies, in lines on a page.

use std::collections::HashMap;

use askback_core::protocol::{CreateMessageParams, IncludeContext, Role, SamplingBlock};

use super::tools;
use crate::{
    content,
    model::{self, Ask, Front, Part, Sampling, Step},
    page::{Excerpt, LEFT_OUT, Page, Style},
    text::{Given, Words, given},
    words,
};

/// The model that can be asked, as the person named it.
fn model(name: Option<&str>) -> Given {
    given(name.unwrap_or("the model")).short()
}

/// Returns the name of a part of a sampling.
pub(crate) fn part(part: Part) -> &'static str {
    match part {
        Part::System => "the system prompt",
        Part::Message => "the last message",
        Part::Reply => "the text of the reply",
        Part::Arguments => "the arguments, in JSON",
    }
}

/// Puts what is wanted at a checkpoint of a sampling on the page, for the server of that name.
pub(super) fn step(page: &mut Page, server: Given, front: &Front<'_>) {
    match front.step {
        Step::Request(sampling) => {
            if let Ask::Sample(asked) = &front.question.ask
                && **asked != sampling.request
            {
                page.blank();
                page.say(Style::Strong, "As you changed it:");
                let mut excerpt = Excerpt::new(page, usize::MAX);
                request(&mut excerpt, &sampling.request);
                excerpt.end(LEFT_OUT);
            }
            page.note(Style::Dim, words!("Runs on {}.", model(front.model)));
        }
        Step::Running(_) => {
            let words = words!("{} is asked for a reply…", model(front.model));
            page.say(Style::Plain, words);
        }
        Step::Replied(sampling) => ready(page, server, sampling, None),
        Step::Pick(sampling) => {
            page.blank();
            page.say(Style::Strong, "Which tool is called?");
            let all: Vec<_> = (0..sampling.offered().len()).collect();
            tools::list(page, sampling, &all);
        }
        Step::Rewrite(changed, text) => {
            if let Some(tool) = front.called {
                tools::head(page, tool);
                tools::about(page, tool, usize::MAX);
            }
            page.blank();
            let words = match changed {
                Part::Arguments => "Now the arguments are, in JSON:".into(),
                changed => words!("Now {} is:", part(changed)),
            };
            page.say(Style::Strong, words);
            page.quote(text);
        }
        _ => {}
    }
}

/// Puts the reply on the page that is ready to be sent; a mark stands before the call `at`.
pub(crate) fn ready(page: &mut Page, server: Given, sampling: &Sampling, at: Option<usize>) {
    page.blank();
    page.say(Style::Strong, words!("Ready to send to {}:", server));
    let Some(reply) = &sampling.reply else { return };
    let mut number = 0_usize;
    for block in reply.content.blocks() {
        match block {
            SamplingBlock::ToolUse(call) => {
                let mark = if at == Some(number) { "›" } else { " " };
                number = number.saturating_add(1);
                tools::call(
                    page,
                    words!("{}{}", mark, words!("{}", number).right(2)),
                    call,
                );
            }
            other => page.quote(content::sampling_block(other)),
        }
    }
    if model::is_by_hand(reply) {
        return;
    }
    page.quote_line("  model ", &reply.model);
    if let Some(reason) = &reply.stop_reason {
        page.quote_line("  ended by ", reason);
    }
}

/// Puts a request to a model on the page: its messages, and what is wished of the model.
pub(super) fn request(excerpt: &mut Excerpt<'_>, request: &CreateMessageParams) {
    if let Some(system) = &request.system_prompt {
        excerpt.say(Style::Dim, "to the model:");
        excerpt.quote(system);
    }
    let mut names = HashMap::new();
    for said in &request.messages {
        let blocks = said.content.blocks();
        let is_result = |block: &SamplingBlock| matches!(block, SamplingBlock::ToolResult(_));
        let role = match said.role {
            Role::User if blocks.iter().any(is_result) => "from the tools:",
            Role::User => "from the user:",
            Role::Assistant => "from the model:",
        };
        excerpt.say(Style::Dim, role);
        for block in blocks {
            match block {
                SamplingBlock::Text(block) => excerpt.quote(&block.text),
                SamplingBlock::ToolUse(call) => {
                    names.insert(call.id.as_str(), call.name.as_str());
                    tools::called(excerpt, call);
                }
                SamplingBlock::ToolResult(result) => {
                    let name = names.get(result.tool_use_id.as_str()).copied();
                    tools::result(excerpt, name, result);
                }
                other => excerpt.quote(content::sampling_block(other).raw()),
            }
        }
    }
    wishes(excerpt, request);
    tools::offered(excerpt, request);
}

/// Puts the server's model preferences on the page.
fn wishes(excerpt: &mut Excerpt<'_>, request: &CreateMessageParams) {
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
    let stops = request.stop_sequences.as_deref().unwrap_or_default();
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
    let wishes = Words::join(wishes, " · ");
    excerpt.page().note(Style::Dim, wishes);
    let hints = preferences.and_then(|preferences| preferences.hints.as_deref());
    for name in hints
        .into_iter()
        .flatten()
        .filter_map(|hint| hint.name.as_ref())
    {
        excerpt.quote_line("  model like ", name);
    }
    for stop in stops {
        excerpt.quote_line("  stops at ", stop);
    }
}
