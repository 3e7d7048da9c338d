//! Sampling requests and replies, in lines on a page.

use super::tools;
use crate::{
    page::{Excerpt, LEFT_OUT, Page, Style},
    text::{self, Words},
    view::{BlockView, Labelled, MessageView, ReplyBlockView, RequestView, SamplingView},
    words,
};

pub(super) fn step(page: &mut Page, sampling: &SamplingView) {
    match sampling {
        SamplingView::Request { changed, words } => {
            if let Some((title, changed)) = changed {
                page.blank();
                page.say(Style::Strong, title.clone());
                let mut excerpt = Excerpt::new(page, usize::MAX);
                request(&mut excerpt, changed);
                excerpt.end(LEFT_OUT);
            }
            page.note(Style::Dim, words.clone());
        }
        SamplingView::Running(words) => page.say(Style::Plain, words.clone()),
        SamplingView::Reply {
            title,
            blocks,
            facts,
        } => {
            page.blank();
            page.say(Style::Strong, title.clone());
            for block in blocks {
                reply_block(page, block);
            }
            for fact in facts {
                page.quote_line(words!("  {} ", fact.label), fact.text.clone());
            }
        }
        SamplingView::Rewrite { title, text, .. } | SamplingView::Reread { title, text } => {
            page.blank();
            page.say(Style::Strong, title.clone());
            page.quote(text.clone());
        }
        SamplingView::Write { note, .. } => match note {
            Some((Style::Dim, words)) => page.note(Style::Dim, words.clone()),
            Some((style, words)) => page.say(*style, words.clone()),
            None => {}
        },
    }
}

fn reply_block(page: &mut Page, block: &ReplyBlockView) {
    match block {
        ReplyBlockView::Text(text) => page.quote(text.clone()),
        ReplyBlockView::Call {
            number,
            tool,
            arguments,
        } => {
            let number = words!("{}", *number).right(2);
            page.quote_line(words!(" {} {} ", number, tool.label), tool.text.clone());
            for line in arguments {
                page.quote_at("      ", line.clone());
            }
        }
    }
}

/// Puts a sampling request on the page. If it does not fit, messages in the middle are left out: the
/// last ones are new, and a request must not look as if it began with them.
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
    let first_shown = match all <= excerpt.left() {
        true => 0,
        false => FIRST_MESSAGE_SHOWN.min(excerpt.left() / 4),
    };
    let mut left = excerpt.left().saturating_sub(first_shown);
    let fitting = sizes.iter().rev().take_while(|&&size| {
        let after = left.checked_sub(size);
        left = after.unwrap_or(left);
        after.is_some()
    });
    let earlier = sizes.len().saturating_sub(fitting.count().max(1));
    let (earlier, last) = request.messages.split_at(earlier);
    let earlier = match earlier {
        [first, middle @ ..] => {
            beginning(excerpt, first, first_shown);
            middle
        }
        [] => earlier,
    };
    let words: Option<Words> = match earlier.len() {
        0 => None,
        1 => Some("1 message is left out here".into()),
        count => Some(words!("{} messages are left out here", count)),
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

/// Puts the start of a message on the page, in at most `most` characters.
fn beginning(excerpt: &mut Excerpt<'_>, message: &MessageView, most: usize) {
    excerpt.say(Style::Dim, message.from.clone());
    let (head, _) = text::head(texts(message).next().unwrap_or_default(), most);
    excerpt.quote(head);
    let shown = head.chars().count().saturating_add(ROLE);
    let more = characters(message).saturating_sub(shown);
    if more > 0 {
        let words = words!("{} more characters of this message are left out", more);
        excerpt.leave_out(words, more);
    }
}

fn labelled(excerpt: &mut Excerpt<'_>, line: &Labelled) {
    excerpt.quote_line(words!("{} ", line.label), line.text.raw());
}

fn texts(message: &MessageView) -> impl Iterator<Item = &str> {
    message.blocks.iter().map(|block| match block {
        BlockView::Text(text) | BlockView::Result(_, text) => text.raw(),
        BlockView::Call(call) => call.text.raw(),
    })
}

fn size(message: &MessageView) -> usize {
    let texts = texts(message).map(text::extent);
    texts.fold(ROLE, usize::saturating_add)
}

/// The maximum number of characters of the first message, if not all messages are shown.
const FIRST_MESSAGE_SHOWN: usize = 1024;

/// The number of characters for the line with the role.
const ROLE: usize = 16;

fn characters(message: &MessageView) -> usize {
    let texts = texts(message).map(|text| text.chars().count());
    texts.fold(ROLE, usize::saturating_add)
}
