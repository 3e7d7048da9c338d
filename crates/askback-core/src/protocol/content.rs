//! Content of tools, prompts and models.

use alloc::{borrow::Cow, boxed::Box, format, string::String, vec::Vec};
use core::fmt;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::{
    Deserialize, Deserializer, Serialize,
    de::{self, DeserializeSeed, SeqAccess, Visitor},
};

use serde_json::value::RawValue;

use super::{
    Icon, LeftOutEntry, Meta, RawJson, RawObject,
    lenient::{self, Scalar, reason},
    messages::messages,
    meta,
    meta::has_meta,
    number, raw,
};
use crate::quote::QuotedName;

/// The author of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The user.
    User,
    /// The model.
    Assistant,
}

messages! {
    /// Hints about the audience and importance of content.
    #[derive(Default, Deserialize)]
    struct Annotations {
        /// The intended audience.
        audience?: Vec<Role> = "lenient::scalars";
        /// The importance, from 0 (optional) to 1 (required).
        #[serde(serialize_with = "number::serialize_some")]
        priority?: f64 = "lenient::scalar";
        /// When the content last changed, in ISO 8601 (from 2025-06-18 on).
        last_modified?: String = "lenient::scalar";
    }
}

/// One block of content from a tool or prompt.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ContentBlock {
    /// Text.
    Text(TextContent),
    /// An image.
    Image(ImageContent),
    /// Audio (from 2025-03-26 on).
    Audio(AudioContent),
    /// A link to a resource (from 2025-06-18 on).
    ResourceLink(ResourceLink),
    /// A resource with its content.
    Resource(EmbeddedResource),
}

/// One block of content in a sampling message.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum SamplingBlock {
    /// Text.
    Text(TextContent),
    /// An image.
    Image(ImageContent),
    /// Audio (from 2025-03-26 on).
    Audio(AudioContent),
    /// The model calls a tool (from 2025-11-25 on).
    ToolUse(ToolUseContent),
    /// The result of a tool (from 2025-11-25 on).
    ToolResult(ToolResultContent),
}

messages! {
    /// Text.
    #[derive(Default)]
    struct TextContent {
        /// The text.
        text: String;
        /// Hints for the client.
        annotations?: Annotations;
        meta;
    }

    /// An image.
    #[derive(Default)]
    struct ImageContent {
        /// The image in base64.
        data: String;
        /// The media type, such as `image/png`.
        mime_type: String;
        /// Hints for the client.
        annotations?: Annotations;
        meta;
    }

    /// Audio.
    #[derive(Default)]
    struct AudioContent {
        /// The audio in base64.
        data: String;
        /// The media type, such as `audio/wav`.
        mime_type: String;
        /// Hints for the client.
        annotations?: Annotations;
        meta;
    }

    /// A link to a resource, which need not be in the resource list.
    #[derive(Default)]
    struct ResourceLink {
        /// The URI of the resource.
        uri: String;
        /// The name for programs.
        name: String;
        /// The display name.
        title?: String;
        /// The description, for users or models.
        description?: String;
        /// The media type.
        mime_type?: String;
        /// The size in bytes, before any encoding.
        size?: u64;
        /// Icons for display (from 2025-11-25 on).
        icons?: Vec<Icon>;
        /// Hints for the client.
        annotations?: Annotations;
        meta;
    }

    /// A resource with its content.
    struct EmbeddedResource {
        /// The content.
        resource: ResourceContents;
        /// Hints for the client.
        annotations?: Annotations;
        meta;
    }
}

/// The content of a resource.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum ResourceContents {
    /// Text.
    Text(TextResourceContents),
    /// Binary data.
    Blob(BlobResourceContents),
}

messages! {
    /// The content of a text resource.
    #[derive(Default)]
    struct TextResourceContents {
        /// The URI of the resource.
        uri: String;
        /// The media type.
        mime_type?: String;
        /// The text.
        text: String;
        meta;
    }

    /// The content of a binary resource.
    #[derive(Default)]
    struct BlobResourceContents {
        /// The URI of the resource.
        uri: String;
        /// The media type.
        mime_type?: String;
        /// The data in base64.
        blob: String;
        meta;
    }

    /// A tool call by a model.
    #[derive(Default)]
    struct ToolUseContent {
        /// The id, which the result repeats.
        id: String;
        /// The name of the tool.
        name: String;
        /// The arguments.
        input: RawObject;
        meta;
    }

    /// The result of a tool that a model called.
    #[derive(Default)]
    struct ToolResultContent {
        /// The [`ToolUseContent::id`] of the call.
        tool_use_id: String;
        /// The content of the result.
        content: Vec<ContentBlock>;
        /// The result as JSON.
        structured_content?: RawJson;
        /// Whether the tool failed.
        is_error?: bool;
        meta;
    }
}

impl ContentBlock {
    /// Makes a text block.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(TextContent::new(text))
    }

    /// Makes an image block from base64.
    pub fn image(data: impl Into<String>, mime_type: impl Into<String>) -> Self {
        Self::Image(ImageContent {
            data: data.into(),
            mime_type: mime_type.into(),
            ..ImageContent::default()
        })
    }

    /// Makes an image block from bytes.
    pub fn image_bytes(bytes: impl AsRef<[u8]>, mime_type: impl Into<String>) -> Self {
        Self::image(STANDARD.encode(bytes), mime_type)
    }

    /// Makes an audio block from base64.
    pub fn audio(data: impl Into<String>, mime_type: impl Into<String>) -> Self {
        Self::Audio(AudioContent {
            data: data.into(),
            mime_type: mime_type.into(),
            ..AudioContent::default()
        })
    }

    /// Makes an audio block from bytes.
    pub fn audio_bytes(bytes: impl AsRef<[u8]>, mime_type: impl Into<String>) -> Self {
        Self::audio(STANDARD.encode(bytes), mime_type)
    }

    /// Makes a link to a resource.
    pub fn link(uri: impl Into<String>, name: impl Into<String>) -> Self {
        Self::ResourceLink(ResourceLink {
            uri: uri.into(),
            name: name.into(),
            ..ResourceLink::default()
        })
    }

    /// Makes a block with an embedded resource.
    pub fn resource(resource: ResourceContents) -> Self {
        Self::Resource(EmbeddedResource {
            resource,
            annotations: None,
            meta: None,
        })
    }
}

has_meta! {
    ContentBlock: Text | Image | Audio | ResourceLink | Resource;
    ResourceContents: Text | Blob;
}

impl ContentBlock {
    /// Returns the text of a text block.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(&text.text),
            _ => None,
        }
    }
}

pub(super) fn joined<'a>(texts: impl Iterator<Item = &'a str>) -> String {
    texts.collect::<Vec<_>>().join("\n")
}

impl From<&str> for ContentBlock {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<String> for ContentBlock {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

impl SamplingBlock {
    /// Makes a text block.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(TextContent::new(text))
    }
}

impl TextContent {
    /// Makes text content without annotations.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }
}

impl ResourceContents {
    /// Makes the content of a text resource.
    pub fn text(uri: impl Into<String>, text: impl Into<String>) -> Self {
        Self::Text(TextResourceContents {
            uri: uri.into(),
            text: text.into(),
            ..TextResourceContents::default()
        })
    }

    /// Makes the content of a binary resource from base64.
    pub fn blob(uri: impl Into<String>, blob: impl Into<String>) -> Self {
        Self::Blob(BlobResourceContents {
            uri: uri.into(),
            blob: blob.into(),
            ..BlobResourceContents::default()
        })
    }

    /// Makes the content of a binary resource from bytes.
    pub fn bytes(uri: impl Into<String>, bytes: impl AsRef<[u8]>) -> Self {
        Self::blob(uri, STANDARD.encode(bytes))
    }

    /// Returns the text of a text resource.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(&text.text),
            Self::Blob(_) => None,
        }
    }

    /// Returns the URI of the resource.
    pub fn uri(&self) -> &str {
        match self {
            Self::Text(text) => &text.uri,
            Self::Blob(blob) => &blob.uri,
        }
    }

    /// Sets the media type.
    #[must_use]
    pub fn with_mime_type(mut self, mime_type: impl Into<String>) -> Self {
        *match &mut self {
            Self::Text(text) => &mut text.mime_type,
            Self::Blob(blob) => &mut blob.mime_type,
        } = Some(mime_type.into());
        self
    }
}

impl<'de> Deserialize<'de> for ContentBlock {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Block::deserialize(deserializer)?
            .content()
            .map_err(de::Error::custom)
    }
}

impl<'de> Deserialize<'de> for SamplingBlock {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut block = Block::deserialize(deserializer)?;
        let read = match &*block.kind()? {
            "text" => block.text().map(Self::Text),
            "image" => block.image().map(Self::Image),
            "audio" => block.audio().map(Self::Audio),
            "tool_use" => block.tool_use().map(Self::ToolUse),
            "tool_result" => block.tool_result().map(Self::ToolResult),
            other => Err(unknown(
                other,
                "text, image, audio, tool_use and tool_result",
            )),
        };
        read.map_err(de::Error::custom)
    }
}

/// The content blocks of a result. An invalid block does not affect the others.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    pub(super) content: Vec<ContentBlock>,
    pub(super) left_out: Vec<LeftOutEntry>,
}

impl Blocks {
    fn take(&mut self, block: Result<ContentBlock, String>) {
        match block {
            Ok(block) => self.content.push(block),
            Err(why) => self.leave_out(why),
        }
    }

    /// Replaces an invalid block by a text.
    fn leave_out(&mut self, why: String) {
        let place = self.content.len() + 1;
        let text = format!("[block {place} cannot be shown: {why}]");
        self.content.push(ContentBlock::text(text));
        self.left_out.push(LeftOutEntry::block(place, why));
    }
}

/// Like [`Blocks`], but also survives a block with unparsable members.
#[derive(Default)]
pub(super) struct LenientBlocks(pub(super) Blocks);

impl<'de> Deserialize<'de> for LenientBlocks {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut blocks = Blocks::default();
        for block in Vec::<Box<RawValue>>::deserialize(deserializer)? {
            let read = lenient::forgiving(block.get());
            blocks.take(read.map_or_else(|error| Err(reason(&error)), |BlockResult(block)| block));
        }
        Ok(Self(blocks))
    }
}

impl<'de> Deserialize<'de> for Blocks {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(BlocksVisitor)
    }
}

struct BlocksVisitor;

impl<'de> Visitor<'de> for BlocksVisitor {
    type Value = Blocks;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of content")
    }

    /// Go programs write an empty list as `null`.
    fn visit_unit<E: de::Error>(self) -> Result<Blocks, E> {
        Ok(Blocks::default())
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Blocks, E> {
        let mut blocks = Blocks::default();
        blocks.content.push(ContentBlock::text(text));
        let why = "expected an array, got a text";
        blocks.left_out.push(LeftOutEntry::member("content", why));
        Ok(blocks)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Blocks, A::Error> {
        let mut blocks = Blocks::default();
        while seq.next_element_seed(NextBlock(&mut blocks))?.is_some() {}
        Ok(blocks)
    }
}

/// Appends the next block. Blocks are large, so they are not moved out of the parser first.
struct NextBlock<'a>(&'a mut Blocks);

impl<'de> DeserializeSeed<'de> for NextBlock<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        let Self(blocks) = self;
        lenient::object_with(deserializer, |block: Block<'de>| {
            blocks.take(block.content())
        })
        .map(|read| read.unwrap_or_else(|| blocks.take(Err(NO_OBJECT.into()))))
    }
}

const NO_OBJECT: &str = "expected an object";

/// A block, or why it is invalid.
struct BlockResult(Result<ContentBlock, String>);

impl<'de> Deserialize<'de> for BlockResult {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        lenient::object_with(deserializer, |block: Block<'de>| block.content())
            .map(|read| Self(read.unwrap_or_else(|| Err(NO_OBJECT.into()))))
    }
}

impl<'de> Deserialize<'de> for ResourceContents {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Contents::deserialize(deserializer)?
            .contents()
            .map_err(de::Error::custom)
    }
}

/// The members of every type of block. `type` may come last, and large data should be parsed only
/// once, so all members are read before the type is known. No member causes an error by itself,
/// because it may not be needed.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Block<'a> {
    #[serde(rename = "type", borrow, default)]
    kind: Scalar<'a>,
    #[serde(default, deserialize_with = "lenient::scalar")]
    text: Option<String>,
    #[serde(default, deserialize_with = "lenient::scalar")]
    data: Option<String>,
    #[serde(default, deserialize_with = "lenient::scalar")]
    mime_type: Option<String>,
    #[serde(default, deserialize_with = "lenient::scalar")]
    uri: Option<String>,
    #[serde(default, deserialize_with = "lenient::scalar")]
    name: Option<String>,
    #[serde(default, deserialize_with = "lenient::scalar")]
    title: Option<String>,
    #[serde(default, deserialize_with = "lenient::scalar")]
    description: Option<String>,
    #[serde(default, deserialize_with = "lenient::scalar")]
    size: Option<u64>,
    #[serde(default, deserialize_with = "lenient::list")]
    icons: Option<Vec<Icon>>,
    #[serde(default, deserialize_with = "lenient::object")]
    resource: Option<Contents>,
    #[serde(default, deserialize_with = "lenient::scalar")]
    id: Option<String>,
    #[serde(default, deserialize_with = "raw::object")]
    input: Option<RawObject>,
    #[serde(default, deserialize_with = "lenient::scalar")]
    tool_use_id: Option<String>,
    /// Parsed only if the type has nested blocks, so that blocks cannot nest without limit.
    content: Option<Box<RawValue>>,
    #[serde(default, deserialize_with = "raw::present")]
    structured_content: Option<RawJson>,
    #[serde(default, deserialize_with = "lenient::scalar")]
    is_error: Option<bool>,
    #[serde(default, deserialize_with = "lenient::object")]
    annotations: Option<Annotations>,
    #[serde(default, rename = "_meta", deserialize_with = "meta::lenient")]
    meta: Option<Box<Meta>>,
}

impl<'a> Block<'a> {
    fn kind<E: de::Error>(&mut self) -> Result<Cow<'a, str>, E> {
        match core::mem::take(&mut self.kind) {
            Scalar::Text(kind) => Ok(kind),
            _ => Err(E::custom("it has no `type`")),
        }
    }

    fn content(mut self) -> Result<ContentBlock, String> {
        let kind = match core::mem::take(&mut self.kind) {
            Scalar::Text(kind) => kind,
            _ => return Err("it has no `type`".into()),
        };
        match &*kind {
            "text" => self.text().map(ContentBlock::Text),
            "image" => self.image().map(ContentBlock::Image),
            "audio" => self.audio().map(ContentBlock::Audio),
            "resource_link" => self.resource_link().map(ContentBlock::ResourceLink),
            "resource" => self.resource().map(ContentBlock::Resource),
            other => Err(unknown(
                other,
                "text, image, audio, resource_link and resource",
            )),
        }
    }

    fn text(self) -> Result<TextContent, String> {
        Ok(TextContent {
            text: need(self.text, "text")?,
            annotations: self.annotations,
            meta: self.meta,
        })
    }

    fn image(self) -> Result<ImageContent, String> {
        Ok(ImageContent {
            data: need(self.data, "data")?,
            mime_type: need(self.mime_type, "mimeType")?,
            annotations: self.annotations,
            meta: self.meta,
        })
    }

    fn audio(self) -> Result<AudioContent, String> {
        Ok(AudioContent {
            data: need(self.data, "data")?,
            mime_type: need(self.mime_type, "mimeType")?,
            annotations: self.annotations,
            meta: self.meta,
        })
    }

    fn resource_link(self) -> Result<ResourceLink, String> {
        Ok(ResourceLink {
            uri: need(self.uri, "uri")?,
            name: need(self.name, "name")?,
            title: self.title,
            description: self.description,
            mime_type: self.mime_type,
            size: self.size,
            icons: self.icons,
            annotations: self.annotations,
            meta: self.meta,
        })
    }

    fn resource(self) -> Result<EmbeddedResource, String> {
        Ok(EmbeddedResource {
            resource: need(self.resource, "resource")?
                .contents()
                .map_err(|why| format!("its `resource`: {why}"))?,
            annotations: self.annotations,
            meta: self.meta,
        })
    }

    fn tool_use(self) -> Result<ToolUseContent, String> {
        Ok(ToolUseContent {
            id: need(self.id, "id")?,
            name: need(self.name, "name")?,
            input: need(self.input, "input")?,
            meta: self.meta,
        })
    }

    fn tool_result(self) -> Result<ToolResultContent, String> {
        Ok(ToolResultContent {
            tool_use_id: need(self.tool_use_id, "toolUseId")?,
            content: serde_json::from_str(need(self.content, "content")?.get())
                .map_err(|error| format!("its `content`: {}", reason(&error)))?,
            structured_content: self.structured_content,
            is_error: self.is_error,
            meta: self.meta,
        })
    }
}

/// The members of all resource contents. As in a block, no member causes an error by itself.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Contents {
    #[serde(default, deserialize_with = "lenient::scalar")]
    uri: Option<String>,
    #[serde(default, deserialize_with = "lenient::scalar")]
    mime_type: Option<String>,
    #[serde(default, deserialize_with = "lenient::scalar")]
    text: Option<String>,
    #[serde(default, deserialize_with = "lenient::scalar")]
    blob: Option<String>,
    #[serde(default, rename = "_meta", deserialize_with = "meta::lenient")]
    meta: Option<Box<Meta>>,
}

impl Contents {
    fn contents(self) -> Result<ResourceContents, String> {
        let Self {
            uri,
            mime_type,
            text,
            blob,
            meta,
        } = self;
        let uri = need(uri, "uri")?;
        match (text, blob) {
            (Some(text), None) => Ok(ResourceContents::Text(TextResourceContents {
                uri,
                mime_type,
                text,
                meta,
            })),
            (None, Some(blob)) => Ok(ResourceContents::Blob(BlobResourceContents {
                uri,
                mime_type,
                blob,
                meta,
            })),
            _ => Err("the contents of a resource have either `text` or `blob`".into()),
        }
    }
}

fn need<T>(member: Option<T>, name: &str) -> Result<T, String> {
    member.ok_or_else(|| format!("it has no `{name}` that can be read"))
}

fn unknown(kind: &str, known: &str) -> String {
    format!(
        "there is no content of type {} here; the types are {known}",
        QuotedName(kind)
    )
}
