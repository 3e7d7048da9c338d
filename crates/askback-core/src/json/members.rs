//! Reads the members of an object one by one.

use alloc::{string::String, vec::Vec};
use core::{fmt, marker::PhantomData};

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};

/// The members of an object in their order, including duplicates.
#[derive(Clone)]
pub(crate) struct Members<V>(pub(crate) Vec<(String, V)>);

impl<V> Default for Members<V> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, V: Deserialize<'de>> Deserialize<'de> for Members<V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MembersVisitor(PhantomData))
    }
}

struct MembersVisitor<V>(PhantomData<V>);

impl<'de, V: Deserialize<'de>> Visitor<'de> for MembersVisitor<V> {
    type Value = Members<V>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Members::default();
        while let Some(member) = map.next_entry()? {
            members.0.push(member);
        }
        Ok(members)
    }
}

/// Implements visitor methods that read strings, booleans, numbers and `null` as the default.
macro_rules! nothing_of {
    ($($visit:ident($($value:ty)?))*) => {
        $(
            fn $visit<E: serde::de::Error>(self, $(_: $value)?) -> Result<Self::Value, E> {
                Ok(Default::default())
            }
        )*
    };
}
pub(crate) use nothing_of;
