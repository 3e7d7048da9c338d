//! Content: what tools, prompts and models say.

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

/// The speaker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The person.
    User,
    /// The model.
    Assistant,
}

messages! {
    /// For whom something is meant, and how much it matters.
    #[derive(Default, Deserialize)]
    struct Annotations {
        /// For whom it is meant.
        audience?: Vec<Role> = "lenient::scalars";
        /// How much it matters, from 0 (can be left out) to 1 (is needed).
        #[serde(serialize_with = "number::serialize_some")]
        priority?: f64 = "lenient::scalar";
        /// When it last changed, as ISO 8601 (from 2025-06-18 on).
        last_modified?: String = "lenient::scalar";
    }
}

/// One piece of what a tool or prompt says.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ContentBlock {
    /// Text.
    Text(TextContent),
    /// A picture.
    Image(ImageContent),
    /// Sound (from 2025-03-26 on).
    Audio(AudioContent),
    /// A resource that can be read (from 2025-06-18 on).
    ResourceLink(ResourceLink),
    /// A resource with what it holds.
    Resource(EmbeddedResource),
}

/// One piece of what is said to or by a model that is sampled.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum SamplingBlock {
    /// Text.
    Text(TextContent),
    /// A picture.
    Image(ImageContent),
    /// Sound (from 2025-03-26 on).
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
        /// For whom it is meant.
        annotations?: Annotations;
        meta;
    }

    /// A picture.
    #[derive(Default)]
    struct ImageContent {
        /// The picture in base64.
        data: String;
        /// Its media type, such as `image/png`.
        mime_type: String;
        /// For whom it is meant.
        annotations?: Annotations;
        meta;
    }

    /// Sound.
    #[derive(Default)]
    struct AudioContent {
        /// The sound in base64.
        data: String;
        /// Its media type, such as `audio/wav`.
        mime_type: String;
        /// For whom it is meant.
        annotations?: Annotations;
        meta;
    }

    /// A resource that can be read, not necessarily one that is listed.
    #[derive(Default)]
    struct ResourceLink {
        /// Where it is.
        uri: String;
        /// Its name for programs.
        name: String;
        /// Its name for people.
        title?: String;
        /// The description, for a person or a model.
        description?: String;
        /// Its media type.
        mime_type?: String;
        /// Its size in bytes, before any encoding.
        size?: u64;
        /// Pictures for it (from 2025-11-25 on).
        icons?: Vec<Icon>;
        /// For whom it is meant.
        annotations?: Annotations;
        meta;
    }

    /// A resource with what it holds.
    struct EmbeddedResource {
        /// The content.
        resource: ResourceContents;
        /// For whom it is meant.
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
    /// Bytes.
    Blob(BlobResourceContents),
}

messages! {
    /// A resource that is text.
    #[derive(Default)]
    struct TextResourceContents {
        /// Where it is.
        uri: String;
        /// Its media type.
        mime_type?: String;
        /// The text.
        text: String;
        meta;
    }

    /// A resource that is bytes.
    #[derive(Default)]
    struct BlobResourceContents {
        /// Where it is.
        uri: String;
        /// Its media type.
        mime_type?: String;
        /// The bytes in base64.
        blob: String;
        meta;
    }

    /// A model calls a tool.
    #[derive(Default)]
    struct ToolUseContent {
        /// The id that the result repeats.
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
        /// The [`ToolUseContent::id`] it answers.
        tool_use_id: String;
        /// The result.
        content: Vec<ContentBlock>;
        /// The same for programs.
        structured_content?: RawJson;
        /// Whether the tool failed.
        is_error?: bool;
        meta;
    }
}

impl ContentBlock {
    /// A piece of text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(TextContent::new(text))
    }

    /// A picture in base64.
    pub fn image(data: impl Into<String>, mime_type: impl Into<String>) -> Self {
        Self::Image(ImageContent {
            data: data.into(),
            mime_type: mime_type.into(),
            ..ImageContent::default()
        })
    }

    /// A picture from its bytes.
    pub fn image_bytes(bytes: impl AsRef<[u8]>, mime_type: impl Into<String>) -> Self {
        Self::image(STANDARD.encode(bytes), mime_type)
    }

    /// Sound in base64.
    pub fn audio(data: impl Into<String>, mime_type: impl Into<String>) -> Self {
        Self::Audio(AudioContent {
            data: data.into(),
            mime_type: mime_type.into(),
            ..AudioContent::default()
        })
    }

    /// Sound from its bytes.
    pub fn audio_bytes(bytes: impl AsRef<[u8]>, mime_type: impl Into<String>) -> Self {
        Self::audio(STANDARD.encode(bytes), mime_type)
    }

    /// A resource that can be read.
    pub fn link(uri: impl Into<String>, name: impl Into<String>) -> Self {
        Self::ResourceLink(ResourceLink {
            uri: uri.into(),
            name: name.into(),
            ..ResourceLink::default()
        })
    }

    /// A resource with what it holds.
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
    /// Returns the text, if it is one.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(&text.text),
            _ => None,
        }
    }
}

/// Texts as one, one a line.
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
    /// A piece of text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(TextContent::new(text))
    }
}

impl TextContent {
    /// Text for everyone.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }
}

impl ResourceContents {
    /// A resource that is text.
    pub fn text(uri: impl Into<String>, text: impl Into<String>) -> Self {
        Self::Text(TextResourceContents {
            uri: uri.into(),
            text: text.into(),
            ..TextResourceContents::default()
        })
    }

    /// A resource that is bytes, in base64.
    pub fn blob(uri: impl Into<String>, blob: impl Into<String>) -> Self {
        Self::Blob(BlobResourceContents {
            uri: uri.into(),
            blob: blob.into(),
            ..BlobResourceContents::default()
        })
    }

    /// A resource from its bytes.
    pub fn bytes(uri: impl Into<String>, bytes: impl AsRef<[u8]>) -> Self {
        Self::blob(uri, STANDARD.encode(bytes))
    }

    /// Returns the text, if the resource is one.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(&text.text),
            Self::Blob(_) => None,
        }
    }

    /// Where the resource is.
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

/// The content of a result: each block is read by itself.
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

    /// Puts a text in the place of a block that cannot be read.
    fn leave_out(&mut self, why: String) {
        let place = self.content.len() + 1;
        let text = format!("[block {place} cannot be shown: {why}]");
        self.content.push(ContentBlock::text(text));
        self.left_out.push(LeftOutEntry::block(place, why));
    }
}

/// The same for content that has a block with a member that cannot be read at all.
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

    /// `null` is an empty list: it is how Go writes one.
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

/// Reads the next block into the others. A block is large, and each step out of the parser would move it.
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

/// A block, or the reason why it cannot be used.
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

/// The members of every type of content. `type` may stand anywhere, and large data should be read
/// only once, so all members are read and the type decides afterwards which are needed. None fails: what is wrong with
/// one matters only if it is needed.
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
    /// Read only if the type has blocks within it, so that blocks cannot nest without end.
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
    /// The type of the block.
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

/// The members of the contents of a resource. As in a block, none fails.
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
