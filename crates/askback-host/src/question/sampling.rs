//! Requests to a model and its replies, in lines on a page.

use std::collections::HashMap;

use askback::protocol::{
    CreateMessageParams, IncludeContext, Role, SamplingBlock, SamplingMessage,
};

use super::tools;
use crate::{
    content,
    model::{Ask, Front, Part, Sampling, Step},
    page::{Excerpt, LEFT_OUT, Page, Style},
    text::{self, LocalText, PeerText, Words, given},
    words,
};

/// Said where a person would write the reply to a request that wants a tool called.
pub(crate) const NEEDS_CALL: &str =
    "The server wants a tool called, which only a model or an answers file can do. Decline it.";

/// The model that can be asked, as the person named it.
fn model(name: Option<&str>) -> LocalText {
    given(name.unwrap_or("the model")).short()
}

/// Returns the name of a part of a sampling.
pub(crate) fn part(part: Part) -> &'static str {
    match part {
        Part::System => "the system prompt",
        Part::Message => "the last message",
        Part::Reply => "the text of the reply",
    }
}

/// Puts what is wanted at a checkpoint of a sampling on the page, for the server of that name.
pub(super) fn step(page: &mut Page, server: LocalText, front: &Front<'_>) {
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
            let words = words!("1 of 2, the request: it runs on {}.", model(front.model));
            page.note(Style::Dim, words);
        }
        Step::Running(_) => {
            let words = words!("{} is asked for a reply…", model(front.model));
            page.say(Style::Plain, words);
        }
        Step::Replied(sampling) => ready(page, server, sampling),
        Step::Rewrite(changed, text) => {
            page.blank();
            page.say(Style::Strong, words!("Now {} is:", part(changed)));
            page.quote(text);
        }
        _ => {}
    }
}

/// Puts the reply on the page that is ready to be sent.
fn ready(page: &mut Page, server: LocalText, sampling: &Sampling) {
    page.blank();
    let words = words!("2 of 2, the reply: ready to send to {}:", server);
    page.say(Style::Strong, words);
    let Some(reply) = &sampling.reply else { return };
    let mut number = 0_usize;
    for block in reply.content.blocks() {
        match block {
            SamplingBlock::ToolUse(call) => {
                number = number.saturating_add(1);
                tools::call(page, words!(" {}", words!("{}", number).right(2)), call);
            }
            other => page.quote(content::sampling_block(other)),
        }
    }
    page.quote_line("  model ", &reply.model);
    if let Some(reason) = &reply.stop_reason {
        page.quote_line("  ended by ", reason);
    }
}

/// Puts a request to a model on the page: what is wished of the model, and its messages. The last of them stands at the
/// end and has room kept for it, for it is what is new; those left out are the first.
pub(super) fn request(excerpt: &mut Excerpt<'_>, request: &CreateMessageParams) {
    let sizes: Vec<_> = request.messages.iter().map(size).collect();
    let all = sizes.iter().copied().fold(0, usize::saturating_add);
    excerpt.reserve(all);
    if let Some(system) = &request.system_prompt {
        excerpt.say(Style::Dim, "to the model:");
        excerpt.quote(system);
    }
    wishes(excerpt, request);
    tools::offered(excerpt, request);
    excerpt.release();
    let mut left = excerpt.left();
    let fitting = sizes.iter().rev().take_while(|&&size| {
        let after = left.checked_sub(size);
        left = after.unwrap_or(left);
        after.is_some()
    });
    let earlier = sizes.len().saturating_sub(fitting.count().max(1));
    let (earlier, last) = request.messages.split_at(earlier);
    match earlier.len() {
        0 => {}
        1 => excerpt.leave_out(
            "1 message before is left out",
            earlier.iter().map(characters).sum(),
        ),
        count => {
            let words = words!("{} messages before are left out", count);
            excerpt.leave_out(words, earlier.iter().map(characters).sum());
        }
    }
    let blocks = earlier.iter().flat_map(|said| said.content.blocks());
    let mut names: HashMap<_, _> = blocks.filter_map(named).collect();
    for said in last {
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
                    names.extend(named(block));
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
}

/// The id of a call, and the tool that it calls.
fn named(block: &SamplingBlock) -> Option<(&str, &str)> {
    match block {
        SamplingBlock::ToolUse(call) => Some((&call.id, &call.name)),
        _ => None,
    }
}

/// The texts of a message, as they are shown.
fn texts(said: &SamplingMessage) -> impl Iterator<Item = PeerText> {
    said.content.blocks().iter().map(|block| match block {
        SamplingBlock::ToolUse(call) => tools::called_text(call),
        SamplingBlock::ToolResult(result) => tools::result_text(result),
        other => content::sampling_block(other),
    })
}

/// How much room a message takes, with the line on whose it is.
fn size(said: &SamplingMessage) -> usize {
    let texts = texts(said).map(|text| text::extent(text.raw()));
    texts.fold(ROLE, usize::saturating_add)
}

/// The most characters of the line on whose a message is.
const ROLE: usize = 16;

fn characters(said: &SamplingMessage) -> usize {
    let texts = texts(said).map(|text| text.raw().chars().count());
    texts.fold(ROLE, usize::saturating_add)
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
