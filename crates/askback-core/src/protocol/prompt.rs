//! Prompts: messages a person chooses.

use alloc::{boxed::Box, collections::BTreeMap, string::String, vec::Vec};

use serde::{Deserialize, Serialize};

use super::{
    CacheScope, ContentBlock, Icon, InputResponses, LeftOutEntry, Meta, Role,
    content::joined,
    lenient::{self, Entries},
    meta::{self, has_meta},
};

/// A prompt.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Prompt {
    /// Its name for programs.
    pub name: String,
    /// Its name for people (from 2025-06-18 on).
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient::scalar"
    )]
    pub title: Option<String>,
    /// The description.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient::scalar"
    )]
    pub description: Option<String>,
    /// The arguments.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient::list"
    )]
    pub arguments: Option<Vec<PromptArgument>>,
    /// Pictures for it (from 2025-11-25 on).
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient::list"
    )]
    pub icons: Option<Vec<Icon>>,
    /// The `_meta`.
    #[serde(
        default,
        rename = "_meta",
        skip_serializing_if = "Option::is_none",
        deserialize_with = "meta::lenient"
    )]
    pub meta: Option<Box<Meta>>,
}

/// An argument of a prompt; its value is always text.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PromptArgument {
    /// Its name for programs.
    pub name: String,
    /// Its name for people (from 2025-06-18 on).
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient::scalar"
    )]
    pub title: Option<String>,
    /// The description.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient::scalar"
    )]
    pub description: Option<String>,
    /// Whether it must be given.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient::scalar"
    )]
    pub required: Option<bool>,
}

/// One message of a prompt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PromptMessage {
    /// The speaker.
    pub role: Role,
    /// The content.
    pub content: ContentBlock,
}

/// The result of `prompts/list`.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ListPromptsResult {
    /// The prompts of this page.
    pub prompts: Vec<Prompt>,
    /// Where the next page begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// For how long the list may be kept, in milliseconds (from 2026-07-28 on).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<i64>,
    /// The caches that may keep it (from 2026-07-28 on).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_scope: Option<CacheScope>,
    /// The `_meta`.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Box<Meta>>,
    /// The entries that cannot be used, and why.
    #[serde(skip)]
    pub left_out: Vec<LeftOutEntry>,
}

lenient::page!(ListPromptsResult, PromptsPage, prompts: Prompt, "prompt");

/// The parameters of `prompts/get`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GetPromptParams {
    /// The name of the prompt.
    pub name: String,
    /// The arguments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<BTreeMap<String, String>>,
    /// Answers to the questions of the round before (from 2026-07-28 on).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_responses: Option<InputResponses>,
    /// The state of the round before (from 2026-07-28 on).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_state: Option<String>,
    /// The `_meta`.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Box<Meta>>,
}

/// The result of `prompts/get`.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct GetPromptResult {
    /// The description of the prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The messages.
    pub messages: Vec<PromptMessage>,
    /// The `_meta`.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Box<Meta>>,
    /// The messages that cannot be used, and why.
    #[serde(skip)]
    pub left_out: Vec<LeftOutEntry>,
}

#[derive(Deserialize)]
struct Messages<L> {
    #[serde(default, deserialize_with = "lenient::scalar")]
    description: Option<String>,
    messages: L,
    #[serde(default, rename = "_meta", deserialize_with = "meta::lenient")]
    meta: Option<Box<Meta>>,
}

impl<L: Into<Entries<PromptMessage>>> From<Messages<L>> for GetPromptResult {
    fn from(read: Messages<L>) -> Self {
        let messages = read.messages.into();
        Self {
            description: read.description,
            messages: messages.items,
            meta: read.meta,
            left_out: messages.left_out,
        }
    }
}

lenient::with_entries!(GetPromptResult, Messages<_>, PromptMessage, "message");

has_meta! {
    Prompt, ListPromptsResult, GetPromptParams, GetPromptResult,
}

impl Prompt {
    /// A prompt of which only the name is said.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            ..Self::default()
        }
    }

    /// The name a person should read.
    pub fn display_name(&self) -> &str {
        self.title.as_deref().unwrap_or(&self.name)
    }
}

impl GetPromptResult {
    /// The result of a prompt with these messages.
    pub fn new(messages: impl Into<Vec<PromptMessage>>) -> Self {
        Self {
            messages: messages.into(),
            ..Self::default()
        }
    }

    /// Returns the text of all messages, one block a line, whoever speaks. Pictures and other content
    /// are left out.
    pub fn text(&self) -> String {
        let blocks = self.messages.iter().map(|message| &message.content);
        joined(blocks.filter_map(ContentBlock::as_text))
    }
}

impl PromptMessage {
    /// Creates a message of the user.
    pub fn user(content: impl Into<ContentBlock>) -> Self {
        Self {
            role: Role::User,
            content: content.into(),
        }
    }

    /// Creates a message of the assistant.
    pub fn assistant(content: impl Into<ContentBlock>) -> Self {
        Self {
            role: Role::Assistant,
            content: content.into(),
        }
    }
}
