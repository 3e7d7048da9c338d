//! Sampling: a server asks the client's model.

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
        /// The most tokens to generate.
        #[serde(deserialize_with = "lenient::integer")]
        max_tokens: u64;
        /// The system prompt.
        system_prompt?: String;
        /// Which model would suit.
        model_preferences?: ModelPreferences;
        /// How freely to choose words.
        #[serde(serialize_with = "number::serialize_some")]
        temperature?: f64;
        /// Texts at which to stop.
        stop_sequences?: Vec<String>;
        /// The part of the client's context to include; anything but none needs the client's
        /// `sampling.context`.
        include_context?: IncludeContext;
        /// The tools the model may call (from 2025-11-25 on; needs the client's `sampling.tools`).
        tools?: Vec<Tool>;
        /// Whether it must call one (from 2025-11-25 on).
        tool_choice?: ToolChoice;
        /// For the provider of the model.
        metadata?: JsonObject;
        /// The sampling shall be a task (2025-11-25).
        task?: TaskMetadata;
        meta;
    }

    /// The answer to `sampling/createMessage`.
    #[derive(Deserialize)]
    struct CreateMessageResult {
        /// The speaker: the assistant.
        role: Role;
        /// The completion.
        content: SamplingContent;
        /// Which model it was.
        model: String;
        /// Why it stopped: `endTurn`, `stopSequence`, `maxTokens`, `toolUse`, or a word of the
        /// provider's.
        stop_reason?: String;
        meta;
    }

    /// One message to or from a model.
    #[derive(Deserialize)]
    struct SamplingMessage {
        /// The speaker.
        role: Role;
        /// The content.
        content: SamplingContent;
        meta;
    }
}

/// The content of one message: a block or a list of blocks, which the wire tells apart.
#[derive(Debug, Clone, PartialEq)]
pub enum SamplingContent {
    /// One block by itself: the only way before 2025-11-25.
    One(Box<SamplingBlock>),
    /// A list of blocks.
    Many(Vec<SamplingBlock>),
}

messages! {
    /// Which model would suit. The client decides.
    #[derive(Default, Deserialize)]
    struct ModelPreferences {
        /// Names of models, best first.
        hints?: Vec<ModelHint>;
        /// How much the price matters, from 0 to 1.
        #[serde(serialize_with = "number::serialize_some")]
        cost_priority?: f64;
        /// How much the speed matters, from 0 to 1.
        #[serde(serialize_with = "number::serialize_some")]
        speed_priority?: f64;
        /// How much the wits matter, from 0 to 1.
        #[serde(serialize_with = "number::serialize_some")]
        intelligence_priority?: f64;
    }

    /// A name of a model, or a part of one.
    #[derive(Eq, Default, Deserialize)]
    struct ModelHint {
        /// The name.
        name?: String;
    }
}

/// The part of the client's context to include.
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
    /// It may.
    Auto,
    /// It must.
    Required,
    /// It must not.
    None,
}

impl SamplingMessage {
    /// Creates a message of the user.
    pub fn user(content: impl Into<SamplingContent>) -> Self {
        Self {
            role: Role::User,
            content: content.into(),
            meta: None,
        }
    }

    /// Creates a message of the assistant.
    pub fn assistant(content: impl Into<SamplingContent>) -> Self {
        Self {
            role: Role::Assistant,
            content: content.into(),
            meta: None,
        }
    }
}

impl CreateMessageParams {
    /// A request to answer one message of a person.
    pub fn new(text: impl Into<String>, max_tokens: u64) -> Self {
        Self {
            messages: vec![SamplingMessage::user(SamplingBlock::text(text))],
            max_tokens,
            ..Self::default()
        }
    }
}

impl CreateMessageResult {
    /// A text of a model.
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
    /// The blocks, however they were written.
    pub fn blocks(&self) -> &[SamplingBlock] {
        match self {
            Self::One(block) => core::slice::from_ref(block),
            Self::Many(blocks) => blocks,
        }
    }

    /// The blocks, however they were written.
    pub fn into_blocks(self) -> Vec<SamplingBlock> {
        match self {
            Self::One(block) => vec![*block],
            Self::Many(blocks) => blocks,
        }
    }

    /// All text among the blocks, one block a line.
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
