//! Lenient parsing of members and entries that peers often write incorrectly.
//!
//! Descriptive members (titles, hints, icons, `_meta`) are dropped if they are invalid. List
//! entries are parsed one by one, and an invalid entry is dropped and reported. Required members
//! stay required.

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

/// An invalid part of a list or result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOutEntry {
    /// The kind and position: `tool 2`, `block 1`, or the name of a member such as `isError`.
    pub place: String,
    /// The name of the entry, if it has one; shortened.
    pub name: Option<String>,
    /// The reason.
    pub why: String,
    /// Whether only a hint is invalid, and the entry is used without it.
    pub is_hint: bool,
}

impl LeftOutEntry {
    /// The longest name that is stored, in bytes.
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

/// A string, boolean or number. Other values are skipped.
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
            // JSON numbers are usually doubles in the program that wrote them.
            #[allow(clippy::cast_precision_loss)]
            Scalar::Integer(number) => Some(number as Self),
            _ => None,
        }
    }
}

/// Implements [`FromScalar`] for string enums.
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

pub(super) fn integer<'de, D: Deserializer<'de>, T: FromScalar>(
    deserializer: D,
) -> Result<T, D::Error> {
    T::from_scalar(Scalar::deserialize(deserializer)?)
        .ok_or_else(|| de::Error::custom("expected an integer"))
}

/// Reads an integer that may be absent or `null`. Any other value is an error.
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

/// Reads a descriptive string, boolean or number.
pub(super) fn scalar<'de, D: Deserializer<'de>, T: FromScalar>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    Scalar::deserialize(deserializer).map(T::from_scalar)
}

/// Reads a descriptive member. Its type must not be recursive, because each value gets its own
/// parser, which counts the depth from zero.
pub(super) fn member<'de, D: Deserializer<'de>, T: DeserializeOwned>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    let raw = Box::<RawValue>::deserialize(deserializer)?;
    Ok(serde_json::from_str(raw.get()).ok())
}

/// Reads a member, or its default if it is invalid.
pub(super) fn or_default<'de, D: Deserializer<'de>, T: DeserializeOwned + Default>(
    deserializer: D,
) -> Result<T, D::Error> {
    member(deserializer).map(Option::unwrap_or_default)
}

/// Reads a capability. `{}` declares it, and so do `true` and `[]`, which some servers write.
/// `null` and `false` do not.
pub(super) fn capability<'de, D: Deserializer<'de>, T: DeserializeOwned + Default>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    let raw = Box::<RawValue>::deserialize(deserializer)?;
    match raw.get() {
        "null" | "false" => Ok(None),
        text => Ok(Some(serde_json::from_str(text).unwrap_or_default())),
    }
}

/// Reads a descriptive object, whose members are read leniently too.
pub(super) fn object<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    object_with(deserializer, |object| object)
}

/// Reads an object and converts it in place, before it is moved.
pub(super) fn object_with<'de, D: Deserializer<'de>, T: Deserialize<'de>, R>(
    deserializer: D,
    make: impl FnOnce(T) -> R,
) -> Result<Option<R>, D::Error> {
    deserializer.deserialize_any(ObjectVisitor(make, PhantomData))
}

/// Reads a descriptive list without its invalid entries.
pub(super) fn list<'de, D: Deserializer<'de>, T: DeserializeOwned>(
    deserializer: D,
) -> Result<Option<Vec<T>>, D::Error> {
    let raw = Box::<RawValue>::deserialize(deserializer)?;
    let entries: Option<Vec<&RawValue>> = serde_json::from_str(raw.get()).unwrap_or_default();
    let readable = |entry: &RawValue| serde_json::from_str(entry.get()).ok();
    Ok(entries.map(|entries| entries.into_iter().filter_map(readable).collect()))
}

/// Reads a descriptive list of strings, booleans or numbers without entries of other types.
pub(super) fn scalars<'de, D: Deserializer<'de>, T: FromScalar>(
    deserializer: D,
) -> Result<Option<Vec<T>>, D::Error> {
    deserializer.deserialize_any(ScalarsVisitor(PhantomData))
}

/// Like [`scalars`], but an absent list is read as empty.
pub(super) fn required_scalars<'de, D: Deserializer<'de>, T: FromScalar>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    scalars(deserializer).map(Option::unwrap_or_default)
}

pub(super) trait ListEntry: DeserializeOwned {
    const KIND: &'static str;

    /// Returns the hints of the entry that are not boolean.
    fn wrong_hints(&self) -> &[&'static str] {
        &[]
    }
}

/// The descriptive members of an entry or result that are not read as raw JSON.
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

/// Reads an object without descriptive members that cannot be parsed at all, such as those nested
/// too deeply. The last one of duplicate members wins.
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
        // Parsing it as a tree removes duplicate members.
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
/// Nearly all results are valid, and parsing entries one by one takes half as long again.
/// `from_text` therefore parses strictly first, and leniently after an error. It also accepts
/// duplicate members, which `Deserialize` does not.
pub trait ResultWithEntries: DeserializeOwned {
    /// Parses a result.
    ///
    /// # Errors
    ///
    /// Fails if even lenient parsing fails.
    fn from_text(text: &str) -> Result<Self, serde_json::Error>;
}

/// Implements parsing of a result with the type of its members, which is generic over the list of
/// entries.
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

/// The valid entries of a list. Go programs write an empty list as `null`.
pub(super) struct Entries<T> {
    pub(super) items: Vec<T>,
    pub(super) left_out: Vec<LeftOutEntry>,
}

/// Only valid entries; an invalid one is an error.
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

/// Returns the name or URI of an invalid entry.
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

/// Explains why JSON does not match a type.
#[must_use]
pub fn reason(error: &serde_json::Error) -> String {
    /// Limits the reason, which may quote the input.
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

struct ObjectVisitor<F, T>(F, PhantomData<T>);

impl<'de, F: FnOnce(T) -> R, T: Deserialize<'de>, R> Visitor<'de> for ObjectVisitor<F, T> {
    type Value = Option<R>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    json::nothing_of! { visit_unit() visit_none() visit_bool(bool) visit_i64(i64) visit_u64(u64) visit_f64(f64) visit_str(&str) }

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

    json::nothing_of! { visit_unit() visit_none() visit_bool(bool) visit_i64(i64) visit_u64(u64) visit_f64(f64) visit_str(&str) }

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

/// Reads a required member, even if its type accepts an absent one.
pub(super) fn required<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    T::deserialize(deserializer)
}

/// Defines a result that is one page of a list, with its parsing.
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
                /// The cursor of the next page.
                next_cursor?: String;
                /// How long the list may be cached, in milliseconds (from 2026-07-28 on).
                ttl_ms?: i64;
                /// The caches that may store it (from 2026-07-28 on).
                cache_scope?: $crate::protocol::CacheScope;
                /// The invalid entries.
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

/// Reads the cursor of the next page. A cursor that is not a string cannot be sent back.
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
