//! Requests to a model and its replies, in lines on a page.

use askback::protocol::SamplingBlock;

use super::tools;
use crate::{
    content,
    model::{Ask, Front, Part, Sampling, Step},
    page::{Excerpt, LEFT_OUT, Page, Style},
    text::{self, LocalText, Words, given},
    view::{self, BlockView, Labelled, MessageView, RequestView},
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
                request(&mut excerpt, &view::request(&sampling.request));
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

/// Puts a request to a model on the page. Its last message has room kept for it, for it is what is new; the messages
/// that are left out are the first.
pub(super) fn request(excerpt: &mut Excerpt<'_>, request: &RequestView) {
    let sizes: Vec<_> = request.messages.iter().map(size).collect();
    let all = sizes.iter().copied().fold(0, usize::saturating_add);
    excerpt.reserve(all);
    if let Some(system) = &request.system {
        excerpt.say(Style::Dim, system.label.clone());
        excerpt.quote(system.text.raw());
    }
    excerpt.page().note(Style::Dim, request.wishes.clone());
    for hint in &request.hints {
        excerpt.quote_line(words!("  {} ", hint.label), hint.text.raw());
    }
    if let Some(tools) = &request.tools {
        tools::offered(excerpt, tools);
    }
    excerpt.release();
    let mut left = excerpt.left();
    let fitting = sizes.iter().rev().take_while(|&&size| {
        let after = left.checked_sub(size);
        left = after.unwrap_or(left);
        after.is_some()
    });
    let earlier = sizes.len().saturating_sub(fitting.count().max(1));
    let (earlier, last) = request.messages.split_at(earlier);
    let words: Option<Words> = match earlier.len() {
        0 => None,
        1 => Some("1 message before is left out".into()),
        count => Some(words!("{} messages before are left out", count)),
    };
    if let Some(words) = words {
        excerpt.leave_out(words, earlier.iter().map(characters).sum());
    }
    for message in last {
        excerpt.say(Style::Dim, message.from.clone());
        for block in &message.blocks {
            match block {
                BlockView::Text(text) => excerpt.quote(text.raw()),
                BlockView::Call(call) => labelled(excerpt, call),
                BlockView::Result(of, text) => {
                    labelled(excerpt, of);
                    excerpt.quote(text.raw());
                }
            }
        }
    }
}

fn labelled(excerpt: &mut Excerpt<'_>, line: &Labelled) {
    excerpt.quote_line(words!("{} ", line.label), line.text.raw());
}

/// The texts of a message.
fn texts(message: &MessageView) -> impl Iterator<Item = &str> {
    message.blocks.iter().map(|block| match block {
        BlockView::Text(text) | BlockView::Result(_, text) => text.raw(),
        BlockView::Call(call) => call.text.raw(),
    })
}

/// How much room a message takes, with the line on whose it is.
fn size(message: &MessageView) -> usize {
    let texts = texts(message).map(text::extent);
    texts.fold(ROLE, usize::saturating_add)
}

/// The most characters of the line on whose a message is.
const ROLE: usize = 16;

fn characters(message: &MessageView) -> usize {
    let texts = texts(message).map(|text| text.chars().count());
    texts.fold(ROLE, usize::saturating_add)
}
