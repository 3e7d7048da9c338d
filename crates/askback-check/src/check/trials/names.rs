//! The names and schemas of tools.

use std::collections::BTreeSet;

use askback_core::{
    http::params::{BadReason, HeaderAnnotations},
    protocol::Schema,
};
use serde_json::Value;

use super::{super::rules::*, Conversation, Trials};

impl Trials<'_> {
    pub(super) fn tool_names(&mut self, talk: &Conversation) {
        let mut names = BTreeSet::new();
        for tool in &talk.listed {
            let name = tool["name"].as_str().unwrap_or_default();
            let shown = tool["name"].to_string();
            let allowed = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
            let mut judge = |rule, is_kept, part: &str, wanted| {
                self.ledger
                    .judge_part(rule, is_kept, &talk.greeting.shown, part, wanted);
            };
            let is_sized = (1..=128).contains(&name.chars().count());
            judge(TOOL_LENGTH, is_sized, &shown, "1 to 128 characters");
            let is_plain = name.chars().all(allowed);
            let wanted = "letters, digits, `_`, `-` and `.`";
            judge(TOOL_CHARACTERS, is_plain, &shown, wanted);
            let is_first = names.insert(name.to_owned());
            judge(TOOL_UNIQUE, is_first, &shown, "a name of its own");
            let schema = &tool["inputSchema"];
            let part = format!("{shown}: {schema}");
            let is_schema = schema.is_object() && schema["type"] == "object";
            judge(
                INPUT_SCHEMA,
                is_schema,
                &part,
                r#"a schema with "type": "object""#,
            );
        }
        self.headers(talk);
    }

    /// The arguments that are mirrored into headers.
    fn headers(&mut self, talk: &Conversation) {
        for tool in &talk.listed {
            let text = tool["inputSchema"].to_string();
            if !text.contains("x-mcp-header") {
                continue;
            }
            let Ok(schema) = serde_json::from_str::<Schema>(&text) else {
                continue;
            };
            let bad = HeaderAnnotations::of(&schema).err();
            let reason = bad.as_ref().map(|bad| bad.reason);
            let part = bad.as_ref().map(|bad| format!("{}: {bad}", tool["name"]));
            let part = part.unwrap_or_default();
            for (rule, broken) in [
                (HEADER_NAME, BadReason::Name),
                (HEADER_UNIQUE, BadReason::Repeated),
                (HEADER_TYPE, BadReason::Type),
                (HEADER_PLACE, BadReason::Place),
            ] {
                let is_kept = reason != Some(broken);
                self.ledger.judge_part(
                    rule,
                    is_kept,
                    &talk.greeting.shown,
                    &part,
                    "an annotation as it may be",
                );
            }
        }
        if talk
            .listed
            .iter()
            .all(|tool| Value::is_null(&tool["inputSchema"]))
        {
            self.ledger
                .untried(INPUT_SCHEMA, "the server lists no tools");
        }
    }
}
