//! Reading of members and entries that a peer may write in a wrong way.
//!
//! What only describes (titles, hints, icons, `_meta`) is dropped if it cannot be read. An entry of a list is read by
//! itself: one that cannot be used is left out and named. What a peer must say stays required.

use alloc::{
    borrow::{Cow, ToOwned},
    boxed::Box,
    collections::BTreeMap,
    format,
    string::String,
    vec::Vec,
};
use core::{fmt, marker::PhantomData};

use serde::{
    Deserialize, Deserializer,
    de::{
        self, DeserializeOwned, IgnoredAny, IntoDeserializer, MapAccess, SeqAccess, Visitor,
        value::{MapAccessDeserializer, StrDeserializer},
    },
};
use serde_json::{Value, value::RawValue};

use super::{CacheScope, IconTheme, Role, TaskSupport};
use crate::{
    json,
    jsonrpc::whole,
    quote::{QuotedName, clipped},
};

/// A part of a list or result that cannot be used, and the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOutEntry {
    /// The kind and place: `tool 2`, `block 1`, or the name of a member such as `isError`.
    pub place: String,
    /// The name of the entry, if it has one; clipped.
    pub name: Option<String>,
    /// The fault.
    pub why: String,
    /// Whether this is a hint of an entry, which is used without it.
    pub is_hint: bool,
}

impl LeftOutEntry {
    /// The longest name that is kept, in bytes.
    pub const NAME_BYTES: usize = 128;

    pub(super) fn member(name: &str, why: &str) -> Self {
        Self {
            place: format!("`{name}`"),
            name: None,
            why: why.to_owned(),
            is_hint: false,
        }
    }

    pub(super) fn block(place: usize, why: String) -> Self {
        Self {
            place: format!("block {place}"),
            name: None,
            why,
            is_hint: false,
        }
    }
}

impl fmt::Display for LeftOutEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            place, name, why, ..
        } = self;
        match name {
            Some(name) => write!(f, "{place} ({}): {why}", QuotedName(name)),
            None => write!(f, "{place}: {why}"),
        }
    }
}

/// A text, a flag or a number; the inside of anything else is skipped.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) enum Scalar<'a> {
    #[default]
    Absent,
    Text(Cow<'a, str>),
    Flag(bool),
    Integer(i128),
    Float(f64),
    /// An array or an object.
    Tree,
}

/// A type that a [`Scalar`] may hold.
pub(super) trait FromScalar: Sized {
    fn from_scalar(scalar: Scalar<'_>) -> Option<Self>;
}

impl FromScalar for String {
    fn from_scalar(scalar: Scalar<'_>) -> Option<Self> {
        match scalar {
            Scalar::Text(text) => Some(text.into_owned()),
            _ => None,
        }
    }
}

impl FromScalar for bool {
    fn from_scalar(scalar: Scalar<'_>) -> Option<Self> {
        match scalar {
            Scalar::Flag(flag) => Some(flag),
            _ => None,
        }
    }
}

impl FromScalar for f64 {
    fn from_scalar(scalar: Scalar<'_>) -> Option<Self> {
        match scalar {
            Scalar::Float(number) => Some(number),
            // Every number that is read here was an `f64` to its writer, or near enough.
            #[allow(clippy::cast_precision_loss)]
            Scalar::Integer(number) => Some(number as Self),
            _ => None,
        }
    }
}

/// Implements [`FromScalar`] for types whose values are names.
macro_rules! names {
    ($($name:ident)*) => {
        $(
            impl FromScalar for $name {
                fn from_scalar(scalar: Scalar<'_>) -> Option<Self> {
                    match scalar {
                        Scalar::Text(text) => {
                            let text: StrDeserializer<'_, de::value::Error> = (*text).into_deserializer();
                            Self::deserialize(text).ok()
                        }
                        _ => None,
                    }
                }
            }
        )*
    };
}

names! { CacheScope IconTheme Role TaskSupport }

macro_rules! integers {
    ($($integer:ident)*) => {
        $(
            impl FromScalar for $integer {
                fn from_scalar(scalar: Scalar<'_>) -> Option<Self> {
                    match scalar {
                        Scalar::Integer(number) => number.try_into().ok(),
                        Scalar::Float(number) => whole(number)?.try_into().ok(),
                        _ => None,
                    }
                }
            }
        )*
    };
}

integers! { i64 u64 }

/// Reads an integer that must be there.
pub(super) fn integer<'de, D: Deserializer<'de>, T: FromScalar>(
    deserializer: D,
) -> Result<T, D::Error> {
    T::from_scalar(Scalar::deserialize(deserializer)?)
        .ok_or_else(|| de::Error::custom("expected an integer"))
}

/// Reads an integer that may be absent or `null`; any other value is an error.
pub(super) fn optional_integer<'de, D: Deserializer<'de>, T: FromScalar>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    match Scalar::deserialize(deserializer)? {
        Scalar::Absent => Ok(None),
        scalar => T::from_scalar(scalar)
            .map(Some)
            .ok_or_else(|| de::Error::custom("expected an integer")),
    }
}

/// Reads a text, flag or number that only describes.
pub(super) fn scalar<'de, D: Deserializer<'de>, T: FromScalar>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    Scalar::deserialize(deserializer).map(T::from_scalar)
}

/// Reads a member that only describes. A type must not hold itself behind it: each value is read by a parser of its own,
/// which counts depth from zero.
pub(super) fn member<'de, D: Deserializer<'de>, T: DeserializeOwned>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    let raw = Box::<RawValue>::deserialize(deserializer)?;
    Ok(serde_json::from_str(raw.get()).ok())
}

/// Reads a member that has a value to go on with if it cannot be read.
pub(super) fn or_default<'de, D: Deserializer<'de>, T: DeserializeOwned + Default>(
    deserializer: D,
) -> Result<T, D::Error> {
    member(deserializer).map(Option::unwrap_or_default)
}

/// Reads a capability: `{}`, and what some servers write instead (`true`, `[]`), declare it. `null` and `false` do not.
pub(super) fn capability<'de, D: Deserializer<'de>, T: DeserializeOwned + Default>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    let raw = Box::<RawValue>::deserialize(deserializer)?;
    match raw.get() {
        "null" | "false" => Ok(None),
        text => Ok(Some(serde_json::from_str(text).unwrap_or_default())),
    }
}

/// Reads an object that only describes; its own members are read leniently too.
pub(super) fn object<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    object_with(deserializer, |object| object)
}

/// Reads an object and says what to make of it, before it is moved.
pub(super) fn object_with<'de, D: Deserializer<'de>, T: Deserialize<'de>, R>(
    deserializer: D,
    make: impl FnOnce(T) -> R,
) -> Result<Option<R>, D::Error> {
    deserializer.deserialize_any(ObjectVisitor(make, PhantomData))
}

/// Reads a list that only describes, without the entries that cannot be read.
pub(super) fn list<'de, D: Deserializer<'de>, T: DeserializeOwned>(
    deserializer: D,
) -> Result<Option<Vec<T>>, D::Error> {
    let raw = Box::<RawValue>::deserialize(deserializer)?;
    let entries: Option<Vec<&RawValue>> = serde_json::from_str(raw.get()).unwrap_or_default();
    let readable = |entry: &RawValue| serde_json::from_str(entry.get()).ok();
    Ok(entries.map(|entries| entries.into_iter().filter_map(readable).collect()))
}

/// Reads a list of texts, flags or numbers that only describes, without entries of another type.
pub(super) fn scalars<'de, D: Deserializer<'de>, T: FromScalar>(
    deserializer: D,
) -> Result<Option<Vec<T>>, D::Error> {
    deserializer.deserialize_any(ScalarsVisitor(PhantomData))
}

/// The same for a list that must be there.
pub(super) fn required_scalars<'de, D: Deserializer<'de>, T: FromScalar>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    scalars(deserializer).map(Option::unwrap_or_default)
}

/// A kind of entry that is listed.
pub(super) trait ListEntry: DeserializeOwned {
    /// The kind, in words.
    const KIND: &'static str;

    /// The hints of the entry that are not true or false.
    fn wrong_hints(&self) -> &[&'static str] {
        &[]
    }
}

/// The members that only describe an entry or result, and are looked into when it is read.
const DESCRIBING: [&str; 9] = [
    "_meta",
    "annotations",
    "title",
    "description",
    "mimeType",
    "size",
    "execution",
    "ttlMs",
    "cacheScope",
];

/// Reads an object also if a describing member cannot be read at all, such as one that is nested too deep: it is left
/// out. Of several members of a name, the last one counts.
pub(super) fn forgiving<T: DeserializeOwned>(text: &str) -> Result<T, serde_json::Error> {
    let error = match serde_json::from_str(text) {
        Ok(read) => return Ok(read),
        Err(error) => error,
    };
    let Ok(mut members) = serde_json::from_str::<BTreeMap<String, Box<RawValue>>>(text) else {
        return Err(error);
    };
    for name in DESCRIBING {
        let Some(member) = members.get_mut(name) else {
            continue;
        };
        // Its own members are once each in a tree.
        let tree = serde_json::from_str::<Value>(member.get());
        match tree.and_then(|tree| serde_json::value::to_raw_value(&tree)) {
            Ok(tree) => *member = tree,
            Err(_) => drop(members.remove(name)),
        }
    }
    let read = |members: &BTreeMap<_, _>| serde_json::from_str(&serde_json::to_string(members)?);
    read(&members).or_else(|_| {
        members.retain(|name, _| !DESCRIBING.contains(&name.as_str()));
        read(&members).map_err(|_| error)
    })
}

/// A result with entries.
///
/// Nearly all are right, and reading each entry by itself takes half as long again. So `from_text` reads strictly first,
/// and leniently after an error. It reads what `Deserialize` reads, and more: a result with a member that is given twice.
pub trait ResultWithEntries: DeserializeOwned {
    /// Reads the text of a result.
    ///
    /// # Errors
    ///
    /// If the text is not such a result, however leniently it is read.
    fn from_text(text: &str) -> Result<Self, serde_json::Error>;
}

/// Implements reading for a result by the type of its members, which is generic over the list of its entries.
macro_rules! with_entries {
    ($result:ident, $members:ident<$($lifetime:lifetime,)? _>, $item:ident, $kind:literal $(, $wrong_hints:item)?) => {
        impl $crate::protocol::lenient::ListEntry for $item {
            const KIND: &'static str = $kind;

            $($wrong_hints)?
        }

        impl $crate::protocol::lenient::ResultWithEntries for $result {
            fn from_text(text: &str) -> Result<Self, serde_json::Error> {
                serde_json::from_str::<$members<$($lifetime,)? $crate::protocol::lenient::StrictEntries<$item>>>(text)
                    .map(Self::from)
                    .or_else(|_| $crate::protocol::lenient::forgiving(text))
            }
        }

        impl<'de> serde::Deserialize<'de> for $result {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $members::<$($lifetime,)? $crate::protocol::lenient::Entries<$item>>::deserialize(deserializer)
                    .map(Self::from)
            }
        }
    };
}
pub(super) use with_entries;

/// The entries of a list that can be used. `null` is an empty list: it is how Go writes one.
pub(super) struct Entries<T> {
    pub(super) items: Vec<T>,
    pub(super) left_out: Vec<LeftOutEntry>,
}

/// Entries without a fault; a fault is an error.
pub(super) struct StrictEntries<T>(Vec<T>);

impl<'de, T: ListEntry> Deserialize<'de> for StrictEntries<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let items = Vec::<T>::deserialize(deserializer)?;
        if items.iter().any(|item| !item.wrong_hints().is_empty()) {
            return Err(de::Error::custom("a hint is wrong"));
        }
        Ok(Self(items))
    }
}

impl<T> From<StrictEntries<T>> for Entries<T> {
    fn from(StrictEntries(items): StrictEntries<T>) -> Self {
        Self {
            items,
            left_out: Vec::new(),
        }
    }
}

impl<'de, T: ListEntry> Deserialize<'de> for Entries<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let entries = Option::<Vec<Box<RawValue>>>::deserialize(deserializer)?;
        let mut read = Self {
            items: Vec::new(),
            left_out: Vec::new(),
        };
        for (index, entry) in entries.into_iter().flatten().enumerate() {
            let place = || format!("{} {}", T::KIND, index + 1);
            match forgiving::<T>(entry.get()) {
                Ok(item) => {
                    for hint in item.wrong_hints() {
                        read.left_out.push(LeftOutEntry {
                            place: format!("`{hint}` of {}", place()),
                            name: name(&entry),
                            why: "expected true or false".to_owned(),
                            is_hint: true,
                        });
                    }
                    read.items.push(item);
                }
                Err(error) => read.left_out.push(LeftOutEntry {
                    place: place(),
                    name: name(&entry),
                    why: reason(&error),
                    is_hint: false,
                }),
            }
        }
        Ok(read)
    }
}

/// The name or URI of an entry that cannot be used.
fn name(entry: &RawValue) -> Option<String> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Names<'a> {
        #[serde(borrow, default)]
        name: Scalar<'a>,
        #[serde(borrow, default)]
        uri: Scalar<'a>,
        #[serde(borrow, default)]
        uri_template: Scalar<'a>,
    }
    let Names {
        name,
        uri,
        uri_template,
    } = serde_json::from_str(entry.get()).ok()?;
    let mut names = [name, uri, uri_template].into_iter();
    let name = names.find_map(String::from_scalar)?;
    Some(clipped(&name, LeftOutEntry::NAME_BYTES))
}

/// What is wrong with JSON that does not fit a type, without the words of the parser.
#[must_use]
pub fn reason(error: &serde_json::Error) -> String {
    /// The longest reason; it may quote what came.
    const REASON_BYTES: usize = 256;
    clipped(&json::explain(error), REASON_BYTES)
}

impl<'de: 'a, 'a> Deserialize<'de> for Scalar<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ScalarVisitor)
    }
}

struct ScalarVisitor;

impl<'de> Visitor<'de> for ScalarVisitor {
    type Value = Scalar<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_unit<E: de::Error>(self) -> Result<Self::Value, E> {
        Ok(Scalar::Absent)
    }

    fn visit_none<E: de::Error>(self) -> Result<Self::Value, E> {
        Ok(Scalar::Absent)
    }

    fn visit_bool<E: de::Error>(self, flag: bool) -> Result<Self::Value, E> {
        Ok(Scalar::Flag(flag))
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Self::Value, E> {
        Ok(Scalar::Integer(number.into()))
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Self::Value, E> {
        Ok(Scalar::Integer(number.into()))
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Self::Value, E> {
        Ok(Scalar::Float(number))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Scalar::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_borrowed_str<E: de::Error>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Scalar::Text(Cow::Borrowed(text)))
    }

    fn visit_string<E: de::Error>(self, text: String) -> Result<Self::Value, E> {
        Ok(Scalar::Text(Cow::Owned(text)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Scalar::Tree)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Scalar::Tree)
    }
}

/// Implements what a visitor makes of texts, flags, numbers and `null`: nothing.
macro_rules! nothing_of {
    ($($visit:ident($($value:ty)?))*) => {
        $(
            fn $visit<E: de::Error>(self, $(_: $value)?) -> Result<Self::Value, E> {
                Ok(None)
            }
        )*
    };
}

struct ObjectVisitor<F, T>(F, PhantomData<T>);

impl<'de, F: FnOnce(T) -> R, T: Deserialize<'de>, R> Visitor<'de> for ObjectVisitor<F, T> {
    type Value = Option<R>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    nothing_of! { visit_unit() visit_none() visit_bool(bool) visit_i64(i64) visit_u64(u64) visit_f64(f64) visit_str(&str) }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(None)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(|object| Some((self.0)(object)))
    }
}

struct ScalarsVisitor<T>(PhantomData<T>);

impl<'de, T: FromScalar> Visitor<'de> for ScalarsVisitor<T> {
    type Value = Option<Vec<T>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    nothing_of! { visit_unit() visit_none() visit_bool(bool) visit_i64(i64) visit_u64(u64) visit_f64(f64) visit_str(&str) }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut items = Vec::new();
        while let Some(scalar) = seq.next_element()? {
            items.extend(T::from_scalar(scalar));
        }
        Ok(Some(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(None)
    }
}

/// Reads a member that must be there, also if its type can be read from nothing.
pub(super) fn required<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    T::deserialize(deserializer)
}

/// Defines a result that is a page of a list, and how it is read.
macro_rules! page {
    (
        $(#[$doc:meta])* $result:ident as $members:ident;
        $(#[$field_doc:meta])* $field:ident: $item:ident, $kind:literal;
        $($wrong_hints:item)?
    ) => {
        $crate::protocol::messages::messages! {
            $(#[$doc])*
            #[derive(Default)]
            struct $result {
                $(#[$field_doc])*
                $field: Vec<$item>;
                /// Where the next page begins.
                next_cursor?: String;
                /// For how long the list may be kept, in milliseconds (from 2026-07-28 on).
                ttl_ms?: i64;
                /// The caches that may keep it (from 2026-07-28 on).
                cache_scope?: $crate::protocol::CacheScope;
                /// The entries that cannot be used, and why.
                #[serde(skip)]
                left_out: Vec<$crate::protocol::LeftOutEntry>;
                meta;
            }
        }

        #[derive(serde::Deserialize)]
        #[serde(
            rename_all = "camelCase",
            bound(deserialize = "L: serde::Deserialize<'de>, 'de: 'a")
        )]
        struct $members<'a, L> {
            #[serde(deserialize_with = "crate::protocol::lenient::required")]
            $field: L,
            #[serde(borrow, default)]
            next_cursor: $crate::protocol::lenient::Scalar<'a>,
            #[serde(default, deserialize_with = "crate::protocol::lenient::scalar")]
            ttl_ms: Option<i64>,
            #[serde(default, deserialize_with = "crate::protocol::lenient::scalar")]
            cache_scope: Option<$crate::protocol::CacheScope>,
            #[serde(
                default,
                rename = "_meta",
                deserialize_with = "crate::protocol::meta::lenient"
            )]
            meta: Option<alloc::boxed::Box<$crate::protocol::Meta>>,
        }

        impl<L: Into<$crate::protocol::lenient::Entries<$item>>> From<$members<'_, L>> for $result {
            fn from(members: $members<'_, L>) -> Self {
                let $crate::protocol::lenient::Entries {
                    items,
                    mut left_out,
                } = members.$field.into();
                let next_cursor =
                    $crate::protocol::lenient::cursor(members.next_cursor, &mut left_out);
                Self {
                    $field: items,
                    next_cursor,
                    ttl_ms: members.ttl_ms,
                    cache_scope: members.cache_scope,
                    meta: members.meta,
                    left_out,
                }
            }
        }

        $crate::protocol::lenient::with_entries!($result, $members<'_, _>, $item, $kind $(, $wrong_hints)?);
    };
}
pub(super) use page;

/// The cursor of the next page. One that is no text cannot be sent back.
pub(super) fn cursor(cursor: Scalar<'_>, left_out: &mut Vec<LeftOutEntry>) -> Option<String> {
    match cursor {
        Scalar::Absent => None,
        Scalar::Text(cursor) => Some(cursor.into_owned()),
        _ => {
            let why = "expected a text; the rest of the list cannot be fetched";
            left_out.push(LeftOutEntry::member("nextCursor", why));
            None
        }
    }
}
