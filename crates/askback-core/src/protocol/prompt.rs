//! Prompts: message templates that the user chooses.

use alloc::{boxed::Box, collections::BTreeMap, string::String, vec::Vec};

use serde::Deserialize;

use super::{
    ContentBlock, Icon, InputResponses, LeftOutEntry, Meta, Role,
    content::joined,
    lenient::{self, Entries},
    messages::messages,
    meta,
};

messages! {
    /// A prompt.
    #[derive(Default, Deserialize)]
    struct Prompt {
        /// The name for programs.
        name: String;
        /// The display name (from 2025-06-18 on).
        title?: String = "lenient::scalar";
        /// The description.
        description?: String = "lenient::scalar";
        /// The arguments.
        arguments?: Vec<PromptArgument> = "lenient::list";
        /// Icons for display (from 2025-11-25 on).
        icons?: Vec<Icon> = "lenient::list";
        meta = "meta::lenient";
    }

    /// An argument of a prompt. Its value is always a string.
    #[derive(Eq, Default, Deserialize)]
    struct PromptArgument {
        /// The name for programs.
        name: String;
        /// The display name (from 2025-06-18 on).
        title?: String = "lenient::scalar";
        /// The description.
        description?: String = "lenient::scalar";
        /// Whether it is required.
        required?: bool = "lenient::scalar";
    }

    /// One message of a prompt.
    #[derive(Deserialize)]
    struct PromptMessage {
        /// The author of the message.
        role: Role;
        /// The content.
        content: ContentBlock;
    }
}

lenient::page! {
    /// The result of `prompts/list`.
    ListPromptsResult as PromptsPage;
    /// The prompts of this page.
    prompts: Prompt, "prompt";
}

messages! {
    /// The parameters of `prompts/get`.
    #[derive(Default, Deserialize)]
    struct GetPromptParams {
        /// The name of the prompt.
        name: String;
        /// The arguments.
        arguments?: BTreeMap<String, String>;
        /// The answers to the questions of the previous round (from 2026-07-28 on).
        input_responses?: InputResponses;
        /// The state from the previous round (from 2026-07-28 on).
        request_state?: String;
        meta;
    }

    /// The result of `prompts/get`.
    #[derive(Default)]
    struct GetPromptResult {
        /// The description of the prompt.
        description?: String;
        /// The messages.
        messages: Vec<PromptMessage>;
        /// The invalid messages.
        #[serde(skip)]
        left_out: Vec<LeftOutEntry>;
        meta;
    }
}

#[derive(Deserialize)]
struct PromptMembers<L> {
    #[serde(default, deserialize_with = "lenient::scalar")]
    description: Option<String>,
    messages: L,
    #[serde(default, rename = "_meta", deserialize_with = "meta::lenient")]
    meta: Option<Box<Meta>>,
}

impl<L: Into<Entries<PromptMessage>>> From<PromptMembers<L>> for GetPromptResult {
    fn from(read: PromptMembers<L>) -> Self {
        let messages = read.messages.into();
        Self {
            description: read.description,
            messages: messages.items,
            meta: read.meta,
            left_out: messages.left_out,
        }
    }
}

lenient::with_entries!(GetPromptResult, PromptMembers<_>, PromptMessage, "message");

impl Prompt {
    /// Makes a prompt with only a name.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            ..Self::default()
        }
    }

    /// Returns the name to display.
    pub fn display_name(&self) -> &str {
        self.title.as_deref().unwrap_or(&self.name)
    }
}

impl GetPromptResult {
    /// Makes a result with these messages.
    pub fn new(messages: impl Into<Vec<PromptMessage>>) -> Self {
        Self {
            messages: messages.into(),
            ..Self::default()
        }
    }

    /// Returns the text of all messages, one block per line. Images and other content are left out.
    pub fn text(&self) -> String {
        let blocks = self.messages.iter().map(|message| &message.content);
        joined(blocks.filter_map(ContentBlock::as_text))
    }
}

impl PromptMessage {
    /// Makes a message of the user.
    pub fn user(content: impl Into<ContentBlock>) -> Self {
        Self {
            role: Role::User,
            content: content.into(),
        }
    }

    /// Makes a message of the assistant.
    pub fn assistant(content: impl Into<ContentBlock>) -> Self {
        Self {
            role: Role::Assistant,
            content: content.into(),
        }
    }
}
