//! Requests to a model and its replies, in lines on a page.

use askback_core::protocol::{
    CreateMessageParams, CreateMessageResult, IncludeContext, Role, SamplingBlock, ToolChoiceMode,
};

use crate::{
    content,
    model::{Ask, Front, Part, Step},
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
        Part::Reply => "the reply",
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
        Step::Replied(sampling) => {
            page.blank();
            page.say(Style::Strong, words!("Ready to send to {}:", server));
            if let Some(written) = &sampling.reply {
                reply(page, written);
            }
        }
        Step::Rewrite(changed, text) => {
            page.blank();
            page.say(Style::Strong, words!("Now {} is:", part(changed)));
            page.quote(text);
        }
        _ => {}
    }
}

/// Puts the reply of a model on the page.
fn reply(page: &mut Page, reply: &CreateMessageResult) {
    for block in reply.content.blocks() {
        page.quote(content::sampling_block(block));
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
    for said in &request.messages {
        let role = match said.role {
            Role::User => "from the user:",
            Role::Assistant => "from the model:",
        };
        excerpt.say(Style::Dim, role);
        for block in said.content.blocks() {
            match block {
                SamplingBlock::Text(block) => excerpt.quote(&block.text),
                other => excerpt.quote(content::sampling_block(other).raw()),
            }
        }
    }
    wishes(excerpt, request);
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
    for tool in request.tools.iter().flatten() {
        excerpt.quote_line("  may use the tool ", &tool.name);
    }
    let must = request.tool_choice.as_ref().and_then(|choice| choice.mode);
    if must == Some(ToolChoiceMode::Required) {
        excerpt.page().note(Style::Dim, "and has to use one");
    }
}
