//! What a server says without asking, in a line or two.

use askback::client::Event;
use askback_core::protocol::LoggingLevel;
use serde_json::Value;

use super::{Page, Style};
use crate::text;

/// What a server has said without asking.
#[derive(Debug, Default)]
pub struct Remarks {
    /// What it last said of its progress.
    progress: Option<String>,
    /// Whether changed lists are news: to a person who can look at them.
    pub lists: bool,
}

impl Remarks {
    /// Puts on the page what a server of that name said. Of its progress, only what is news.
    pub fn put(&mut self, page: &mut Page, name: &str, event: &Event) {
        if let Event::Progress { message, .. } | Event::Task { message, .. } = event {
            if message.is_none() || self.progress == *message {
                return;
            }
            self.progress.clone_from(message);
        }
        let changed = matches!(
            event,
            Event::ToolsChanged | Event::PromptsChanged | Event::ResourcesChanged
        );
        if changed && !self.lists {
            return;
        }
        remark(page, name, event);
    }
}

fn remark(page: &mut Page, name: &str, event: &Event) {
    match event {
        Event::Progress {
            progress,
            total,
            message,
            ..
        } => {
            let far = match total {
                Some(total) => format!("{progress} of {total} "),
                None => format!("{progress} "),
            };
            page.quote_at(&far, message.as_deref().unwrap_or_default());
        }
        Event::Task { message, .. } => page.quote_at("", message.as_deref().unwrap_or_default()),
        Event::Log { level, data, .. } => {
            let level = match level {
                LoggingLevel::Debug => "debug",
                LoggingLevel::Info => "info",
                LoggingLevel::Notice => "notice",
                LoggingLevel::Warning => "warning",
                LoggingLevel::Error => "error",
                LoggingLevel::Critical => "critical",
                LoggingLevel::Alert => "alert",
                LoggingLevel::Emergency => "emergency",
            };
            let words = match data.decode::<Value>() {
                Ok(Value::String(text)) => text,
                _ => data.as_str().to_owned(),
            };
            page.quote_at(&format!("{level} "), &words);
        }
        Event::ServerStderr(line) => page.quote_at("stderr ", line),
        Event::ToolsChanged => changed(page, name, "tools"),
        Event::PromptsChanged => changed(page, name, "prompts"),
        Event::ResourcesChanged => changed(page, name, "resources"),
        Event::ResourceUpdated(uri) => page.quote_at("changed ", &text::line(uri)),
        Event::Note(note) => page.note(Style::Dim, &text::line(note)),
        _ => {}
    }
}

fn changed(page: &mut Page, name: &str, what: &str) {
    let name = text::line(name);
    page.note(
        Style::Dim,
        &format!("The {what} of {name} changed: /{what} lists them."),
    );
}
