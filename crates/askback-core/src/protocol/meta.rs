//! `_meta`: members of a message next to its payload.

use alloc::{
    borrow::{Cow, ToOwned},
    boxed::Box,
    format,
    string::String,
};
use core::fmt;

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{self, DeserializeOwned, MapAccess, Visitor},
    ser::SerializeMap,
};
use serde_json::{Map, Value, value::RawValue};

use super::{
    ClientCapabilities, Implementation, LoggingLevel, MetaKeyError, RawJson, Receipt, lenient,
    meta_key::{check_free, key},
};
use crate::{json::entry, jsonrpc::RequestId};

/// The token for the progress of a request. The sender of the request chooses it.
pub type ProgressToken = RequestId;

/// The `_meta` of any message or item: reserved keys as fields, all others in [`Meta::extra`]
/// (2026-07-28, basic, `_meta`).
///
/// A duplicate reserved key, or one with a value of the wrong type, is an error.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Meta {
    /// `progressToken`: asks for progress notifications with this token.
    pub progress_token: Option<ProgressToken>,
    /// The revision of a request.
    pub protocol_version: Option<String>,
    /// The client that sends a request.
    pub client_info: Option<Implementation>,
    /// The client's capabilities, for this request.
    pub client_capabilities: Option<ClientCapabilities>,
    /// The minimum level of log messages during this request.
    pub log_level: Option<LoggingLevel>,
    /// The id of the `subscriptions/listen` request that a notification belongs to.
    pub subscription_id: Option<RequestId>,
    /// The server that returned a result.
    pub server_info: Option<Implementation>,
    /// The task a message belongs to (2025-11-25).
    pub related_task: Option<RelatedTask>,
    /// Every other key.
    pub extra: Map<String, Value>,
}

/// The task that a message belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RelatedTask {
    /// The id of the task.
    pub task_id: String,
}

/// A message with a `_meta`.
pub trait HasMeta {
    /// Returns the `_meta`, if any.
    fn meta(&self) -> Option<&Meta>;

    /// Returns the field of the `_meta`.
    fn meta_slot(&mut self) -> &mut Option<Box<Meta>>;

    /// Returns the `_meta` for changes. Creates it if absent.
    fn meta_mut(&mut self) -> &mut Meta {
        self.meta_slot().get_or_insert_default()
    }

    /// Returns the value of a key that no specification defines.
    fn meta_value(&self, key: &str) -> Option<&Value> {
        self.meta()?.extra.get(key)
    }

    /// Sets a value in the `_meta`: `with_meta("com.example/tenant", "north")`.
    ///
    /// # Errors
    ///
    /// As [`Meta::set`].
    fn with_meta(mut self, key: &str, value: impl Into<Value>) -> Result<Self, MetaKeyError>
    where
        Self: Sized,
    {
        self.meta_mut().set(key, value)?;
        Ok(self)
    }
}

/// Implements [`HasMeta`] for structs with a field `meta`, and for enums whose variants hold such a struct.
macro_rules! has_meta {
    ($($name:ident),* $(,)?) => {
        $($crate::protocol::meta::has_meta! { @of $name, this => this.meta.as_deref(), &mut this.meta })*
    };
    ($($name:ident: $($variant:ident)|+;)*) => {
        $($crate::protocol::meta::has_meta! { @of $name, this =>
            match this { $(Self::$variant(message) => message.meta(),)+ },
            match this { $(Self::$variant(message) => message.meta_slot(),)+ }
        })*
    };
    (@of $name:ident, $this:ident => $meta:expr, $slot:expr) => {
        impl $crate::protocol::HasMeta for $name {
            fn meta(&self) -> Option<&$crate::protocol::Meta> {
                let $this = self;
                $meta
            }

            fn meta_slot(&mut self) -> &mut Option<alloc::boxed::Box<$crate::protocol::Meta>> {
                let $this = self;
                $slot
            }
        }
    };
}
pub(super) use has_meta;

/// Who refused a question. A client may say so in `_meta`; otherwise the server infers it from the
/// response time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AnswerSource {
    /// The user, or a rule that the user wrote.
    Person,
    /// The client itself; no person has seen the question.
    Client,
}

impl AnswerSource {
    fn as_str(self) -> &'static str {
        match self {
            Self::Person => "person",
            Self::Client => "client",
        }
    }
}

impl Meta {
    /// Sets the value of a key that no specification defines.
    ///
    /// # Errors
    ///
    /// [`MetaKeyError`] if the key is invalid or reserved: reserved keys have fields in this type.
    pub fn set(&mut self, key: &str, value: impl Into<Value>) -> Result<(), MetaKeyError> {
        check_free(key)?;
        self.extra.insert(key.to_owned(), value.into());
        Ok(())
    }

    /// Checks the keys that no specification defines.
    ///
    /// # Errors
    ///
    /// As [`Meta::set`], for the first invalid key.
    pub fn check(&self) -> Result<(), MetaKeyError> {
        self.extra.keys().try_for_each(|key| check_free(key))
    }

    /// The key of a question that an askback server asks on a session. Handshake revisions have no
    /// `inputRequests` to hold it.
    pub fn ask_key(&self) -> Option<&str> {
        self.extra.get(key::ASK_KEY).and_then(Value::as_str)
    }

    /// Sets [`Meta::ask_key`].
    pub fn set_ask_key(&mut self, value: impl Into<String>) {
        self.extra
            .insert(key::ASK_KEY.into(), Value::String(value.into()));
    }

    /// Returns the user's reason to decline, if an askback client sent it.
    pub fn reason(&self) -> Option<&str> {
        self.extra.get(key::REASON).and_then(Value::as_str)
    }

    /// Sets [`Meta::reason`].
    pub fn set_reason(&mut self, value: impl Into<String>) {
        self.extra
            .insert(key::REASON.into(), Value::String(value.into()));
    }

    /// The challenge of a question whose answer should come with a [`Receipt`].
    pub fn challenge(&self) -> Option<&str> {
        self.extra.get(key::CHALLENGE).and_then(Value::as_str)
    }

    /// Sets [`Meta::challenge`].
    pub fn set_challenge(&mut self, value: impl Into<String>) {
        self.extra
            .insert(key::CHALLENGE.into(), Value::String(value.into()));
    }

    /// The receipt of an answer, if it has the form of one. Its signature is not checked.
    pub fn receipt(&self) -> Option<Receipt> {
        let receipt = Receipt::deserialize(self.extra.get(key::RECEIPT)?).ok()?;
        receipt.is_short().then_some(receipt)
    }

    /// Sets [`Meta::receipt`], or removes it.
    pub fn set_receipt(&mut self, receipt: Option<&Receipt>) {
        let value = receipt.and_then(|receipt| serde_json::to_value(receipt).ok());
        match value {
            Some(value) => self.extra.insert(key::RECEIPT.into(), value),
            None => self.extra.remove(key::RECEIPT),
        };
    }

    /// Returns the part that belongs to an answer, not to a message: the user's reason, who refused the question, and the
    /// receipt.
    #[must_use]
    pub fn of_answer(&self) -> Self {
        let mut kept = Self::default();
        if let Some(reason) = self.reason() {
            kept.set_reason(reason);
        }
        if let Some(by) = self.answered_by() {
            kept.set_answered_by(by);
        }
        kept.set_receipt(self.receipt().as_ref());
        kept
    }

    /// Returns who refused a question, if the client said so or the server inferred it.
    pub fn answered_by(&self) -> Option<AnswerSource> {
        let said = self.extra.get(key::ANSWERED_BY)?.as_str()?;
        let known = [AnswerSource::Person, AnswerSource::Client].into_iter();
        known.into_iter().find(|by| by.as_str() == said)
    }

    /// Sets [`Meta::answered_by`].
    pub fn set_answered_by(&mut self, by: AnswerSource) {
        let value = Value::String(by.as_str().into());
        self.extra.insert(key::ANSWERED_BY.into(), value);
    }

    /// Whether there are no members.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Boxes the `_meta` for a message; `None` if it is empty.
    pub fn boxed(self) -> Option<Box<Self>> {
        (!self.is_empty()).then(|| Box::new(self))
    }

    fn write<S: Serializer>(
        &self,
        server: Option<&impl Serialize>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        entry(&mut map, key::PROGRESS_TOKEN, self.progress_token.as_ref())?;
        entry(
            &mut map,
            key::PROTOCOL_VERSION,
            self.protocol_version.as_ref(),
        )?;
        entry(&mut map, key::CLIENT_INFO, self.client_info.as_ref())?;
        entry(
            &mut map,
            key::CLIENT_CAPABILITIES,
            self.client_capabilities.as_ref(),
        )?;
        entry(&mut map, key::LOG_LEVEL, self.log_level.as_ref())?;
        entry(
            &mut map,
            key::SUBSCRIPTION_ID,
            self.subscription_id.as_ref(),
        )?;
        entry(&mut map, key::SERVER_INFO, server)?;
        entry(&mut map, key::RELATED_TASK, self.related_task.as_ref())?;
        for (key, value) in &self.extra {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

/// The name and version of a server in its results, serialized once (2026-07-28, basic/index,
/// `_meta`).
#[derive(Debug, Clone, PartialEq)]
pub struct Signature {
    server: RawJson,
    /// The `_meta` member of a result without other `_meta`.
    member: String,
}

impl Signature {
    /// Serializes the name and version of a server.
    ///
    /// # Panics
    ///
    /// Never, because an [`Implementation`] can always be written as JSON.
    #[must_use]
    pub fn new(server: &Implementation) -> Self {
        let server = RawJson::new(server).expect("a struct of texts and lists of texts");
        let member = format!(r#""_meta":{{"{}":{}}}"#, key::SERVER_INFO, server.as_str());
        Self { server, member }
    }

    pub(crate) fn sign(&self, meta: Option<&Meta>) -> Cow<'_, str> {
        let Some(meta) = meta else {
            return Cow::Borrowed(&self.member);
        };
        let signed = RawJson::new(&SignedMeta {
            meta,
            server: &self.server,
        });
        let signed = signed.expect("keys are texts");
        Cow::Owned(format!(r#""_meta":{}"#, signed.as_str()))
    }
}

struct SignedMeta<'a> {
    meta: &'a Meta,
    server: &'a RawJson,
}

impl Serialize for Meta {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.write(self.server_info.as_ref(), serializer)
    }
}

impl Serialize for SignedMeta<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.meta.write(Some(self.server), serializer)
    }
}

impl<'de> Deserialize<'de> for Meta {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MetaVisitor { is_lenient: false })
    }
}

/// A `_meta` that is only displayed: invalid reserved keys are dropped.
pub(super) struct LenientMeta(Box<Meta>);

impl<'de> Deserialize<'de> for LenientMeta {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let meta = deserializer.deserialize_map(MetaVisitor { is_lenient: true })?;
        Ok(Self(Box::new(meta)))
    }
}

/// Reads the `_meta` of a description or result leniently.
pub(super) fn lenient<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Box<Meta>>, D::Error> {
    let meta: Option<LenientMeta> = lenient::object(deserializer)?;
    Ok(meta.map(|LenientMeta(meta)| meta))
}

/// A key, borrowed if possible: the reserved keys are long and frequent.
#[derive(Deserialize)]
#[serde(transparent)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

struct MetaVisitor {
    /// Drops invalid reserved keys. If false, an invalid or duplicate reserved key is an error.
    is_lenient: bool,
}

impl MetaVisitor {
    fn fill<'de, T: DeserializeOwned, A: MapAccess<'de>>(
        &self,
        slot: &mut Option<T>,
        key: &str,
        map: &mut A,
    ) -> Result<(), A::Error> {
        if self.is_lenient {
            let value: Box<RawValue> = map.next_value()?;
            if let Ok(value) = serde_json::from_str(value.get()) {
                *slot = Some(value);
            }
            return Ok(());
        }
        if slot.replace(map.next_value()?).is_some() {
            return Err(de::Error::custom(format_args!(
                "{key:?} is given twice in _meta"
            )));
        }
        Ok(())
    }
}

impl<'de> Visitor<'de> for MetaVisitor {
    type Value = Meta;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Meta, A::Error> {
        let mut meta = Meta::default();
        while let Some(Key(name)) = map.next_key::<Key<'de>>()? {
            match &*name {
                key::PROGRESS_TOKEN => self.fill(&mut meta.progress_token, &name, &mut map)?,
                key::PROTOCOL_VERSION => self.fill(&mut meta.protocol_version, &name, &mut map)?,
                key::CLIENT_INFO => self.fill(&mut meta.client_info, &name, &mut map)?,
                key::CLIENT_CAPABILITIES => {
                    self.fill(&mut meta.client_capabilities, &name, &mut map)?
                }
                key::LOG_LEVEL => self.fill(&mut meta.log_level, &name, &mut map)?,
                key::SUBSCRIPTION_ID => self.fill(&mut meta.subscription_id, &name, &mut map)?,
                key::SERVER_INFO => self.fill(&mut meta.server_info, &name, &mut map)?,
                key::RELATED_TASK => self.fill(&mut meta.related_task, &name, &mut map)?,
                _ => {
                    let value = map.next_value()?;
                    meta.extra.insert(name.into_owned(), value);
                }
            }
        }
        Ok(meta)
    }
}
