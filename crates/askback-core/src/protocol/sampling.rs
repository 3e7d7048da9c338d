//! Sampling: a server uses the client's model.

use alloc::{boxed::Box, string::String, vec, vec::Vec};
use core::fmt;

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{
        MapAccess, SeqAccess, Visitor,
        value::{MapAccessDeserializer, SeqAccessDeserializer},
    },
};

use super::{
    JsonObject, Role, SamplingBlock, TaskMetadata, Tool, content::joined, lenient,
    messages::messages, number,
};

messages! {
    /// The parameters of `sampling/createMessage`.
    #[derive(Default, Deserialize)]
    struct CreateMessageParams {
        /// The conversation so far.
        messages: Vec<SamplingMessage>;
        /// The maximum number of tokens to generate.
        #[serde(deserialize_with = "lenient::integer")]
        max_tokens: u64;
        /// The system prompt.
        system_prompt?: String;
        /// The preferred models.
        model_preferences?: ModelPreferences;
        /// The sampling temperature.
        #[serde(serialize_with = "number::serialize_some")]
        temperature?: f64;
        /// Texts at which to stop.
        stop_sequences?: Vec<String>;
        /// How much of the client's context to include. Anything but none requires the client's
        /// `sampling.context`.
        include_context?: IncludeContext;
        /// The tools for the model (from 2025-11-25 on; requires the client's `sampling.tools`).
        tools?: Vec<Tool>;
        /// Whether the model must call a tool (from 2025-11-25 on).
        tool_choice?: ToolChoice;
        /// Metadata for the provider of the model.
        metadata?: JsonObject;
        /// Asks for the sampling to become a task (2025-11-25).
        task?: TaskMetadata;
        meta;
    }

    /// The answer to `sampling/createMessage`.
    #[derive(Deserialize)]
    struct CreateMessageResult {
        /// The author: the assistant.
        role: Role;
        /// The completion.
        content: SamplingContent;
        /// The name of the model.
        model: String;
        /// Why it stopped: `endTurn`, `stopSequence`, `maxTokens`, `toolUse`, or the provider's own
        /// reason.
        stop_reason?: String;
        meta;
    }

    /// One message to or from a model.
    #[derive(Deserialize)]
    struct SamplingMessage {
        /// The author of the message.
        role: Role;
        /// The content.
        content: SamplingContent;
        meta;
    }
}

/// The content of one message: a block, or a list of blocks, as in the JSON.
#[derive(Debug, Clone, PartialEq)]
pub enum SamplingContent {
    /// One block: the only form before 2025-11-25.
    One(Box<SamplingBlock>),
    /// A list of blocks.
    Many(Vec<SamplingBlock>),
}

messages! {
    /// The preferred models. The client decides.
    #[derive(Default, Deserialize)]
    struct ModelPreferences {
        /// Names of models, best first.
        hints?: Vec<ModelHint>;
        /// The importance of a low price, from 0 to 1.
        #[serde(serialize_with = "number::serialize_some")]
        cost_priority?: f64;
        /// The importance of speed, from 0 to 1.
        #[serde(serialize_with = "number::serialize_some")]
        speed_priority?: f64;
        /// The importance of intelligence, from 0 to 1.
        #[serde(serialize_with = "number::serialize_some")]
        intelligence_priority?: f64;
    }

    /// The name of a model, or a part of it.
    #[derive(Eq, Default, Deserialize)]
    struct ModelHint {
        /// The name.
        name?: String;
    }
}

/// How much of the client's context to include.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum IncludeContext {
    /// Nothing.
    None,
    /// The context of this server.
    ThisServer,
    /// The context of all servers.
    AllServers,
}

messages! {
    /// Whether a model must call a tool.
    #[derive(Eq, Default, Deserialize)]
    struct ToolChoice {
        /// The rule; absent means [`ToolChoiceMode::Auto`].
        mode?: ToolChoiceMode;
    }
}

/// Whether a model must call a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ToolChoiceMode {
    /// The model may call a tool.
    Auto,
    /// The model must call a tool.
    Required,
    /// The model must not call a tool.
    None,
}

impl SamplingMessage {
    /// Makes a message of the user.
    pub fn user(content: impl Into<SamplingContent>) -> Self {
        Self {
            role: Role::User,
            content: content.into(),
            meta: None,
        }
    }

    /// Makes a message of the assistant.
    pub fn assistant(content: impl Into<SamplingContent>) -> Self {
        Self {
            role: Role::Assistant,
            content: content.into(),
            meta: None,
        }
    }
}

impl CreateMessageParams {
    /// Makes a request with one message of the user.
    pub fn new(text: impl Into<String>, max_tokens: u64) -> Self {
        Self {
            messages: vec![SamplingMessage::user(SamplingBlock::text(text))],
            max_tokens,
            ..Self::default()
        }
    }
}

impl CreateMessageResult {
    /// Makes a text reply of a model.
    pub fn text(model: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            role: Role::Assistant,
            content: SamplingBlock::text(text).into(),
            model: model.into(),
            stop_reason: Some("endTurn".into()),
            meta: None,
        }
    }
}

impl SamplingContent {
    /// Returns the blocks in either form.
    pub fn blocks(&self) -> &[SamplingBlock] {
        match self {
            Self::One(block) => core::slice::from_ref(block),
            Self::Many(blocks) => blocks,
        }
    }

    /// Returns the blocks in either form.
    pub fn into_blocks(self) -> Vec<SamplingBlock> {
        match self {
            Self::One(block) => vec![*block],
            Self::Many(blocks) => blocks,
        }
    }

    /// Returns all text in the blocks, one block per line.
    pub fn text(&self) -> String {
        joined(self.blocks().iter().filter_map(|block| match block {
            SamplingBlock::Text(text) => Some(&*text.text),
            _ => None,
        }))
    }
}

impl From<SamplingBlock> for SamplingContent {
    fn from(block: SamplingBlock) -> Self {
        Self::One(Box::new(block))
    }
}

impl From<Vec<SamplingBlock>> for SamplingContent {
    fn from(blocks: Vec<SamplingBlock>) -> Self {
        Self::Many(blocks)
    }
}

impl From<&str> for SamplingContent {
    fn from(text: &str) -> Self {
        SamplingBlock::text(text).into()
    }
}

impl From<String> for SamplingContent {
    fn from(text: String) -> Self {
        SamplingBlock::text(text).into()
    }
}

impl Serialize for SamplingContent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::One(block) => block.serialize(serializer),
            Self::Many(blocks) => blocks.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for SamplingContent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(SamplingContentVisitor)
    }
}

struct SamplingContentVisitor;

impl<'de> Visitor<'de> for SamplingContentVisitor {
    type Value = SamplingContent;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a content block or a list of them")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        SamplingBlock::deserialize(MapAccessDeserializer::new(map)).map(Into::into)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Self::Value, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(seq)).map(SamplingContent::Many)
    }
}
