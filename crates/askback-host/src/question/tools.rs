//! The tools of a sampling request, in lines on a page.

use crate::{
    page::{Excerpt, Style},
    text,
    view::{ToolView, ToolsView},
    words,
};

/// How many tools a shortened request describes. The others are only named.
const DESCRIBED: usize = 5;

/// The maximum number of characters of a description if the request is shortened.
const DESCRIPTION: usize = 160;

/// Puts the tools of a request on the page, and whether they may be called.
pub(super) fn offered(excerpt: &mut Excerpt<'_>, tools: &ToolsView) {
    excerpt.say(Style::Dim, tools.words.clone());
    let (count, most) = match excerpt.is_whole() {
        true => (tools.tools.len(), usize::MAX),
        false => (DESCRIBED, DESCRIPTION),
    };
    for tool in tools.tools.iter().take(count) {
        describe(excerpt, tool, most);
    }
    let others = tools.tools.iter().skip(count).map(|tool| tool.name.raw());
    let others: Vec<_> = others.collect();
    if !others.is_empty() {
        let mark = words!("  and {} more: ", others.len());
        excerpt.quote_line(mark, &cut(&others.join(", "), most));
    }
}

fn describe(excerpt: &mut Excerpt<'_>, tool: &ToolView, most: usize) {
    excerpt.quote_line("  ", tool.name.raw());
    if let Some(description) = &tool.description {
        excerpt.quote_at("    ", &cut(description.raw(), most));
    }
    for line in &tool.arguments {
        excerpt.quote_at("    · ", line.raw());
    }
    if let Some(schema) = &tool.schema {
        excerpt.quote_line("    schema ", &cut(schema.raw(), most));
    }
}

fn cut(text: &str, most: usize) -> String {
    match text::head(text, most) {
        (_, 0) => text.to_owned(),
        (head, _) => format!("{head}…"),
    }
}
