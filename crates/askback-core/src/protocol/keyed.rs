//! A map that keeps the order it was written in.

use alloc::{string::String, vec::Vec};
use core::{fmt, marker::PhantomData};

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{self, MapAccess, Visitor},
};

use super::RawJson;

/// Values by key, in the order they were given, each key once.
///
/// The order of questions is the order in which a person meets them.
#[derive(Debug, Clone, PartialEq)]
pub struct OrderedMap<V>(Vec<(String, V)>);

/// The answers of a round, by the key of their question. What an answer is only its question
/// tells, so it is kept as it came; [`InputRequest::read_response`](super::InputRequest::read_response) reads it.
pub type InputResponses = OrderedMap<RawJson>;

impl<V> OrderedMap<V> {
    /// An empty map.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// How many values there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&V> {
        self.iter()
            .find_map(|(known, value)| (known == key).then_some(value))
    }

    /// Puts a value under a key: at the end if the key is new, else in place of the value that was
    /// there, which is given back.
    pub fn insert(&mut self, key: impl Into<String>, value: V) -> Option<V> {
        let key = key.into();
        match self.0.iter_mut().find(|(known, _)| *known == key) {
            Some((_, slot)) => Some(core::mem::replace(slot, value)),
            None => {
                self.0.push((key, value));
                None
            }
        }
    }

    /// Takes the value of a key out.
    pub fn remove(&mut self, key: &str) -> Option<V> {
        let index = self.0.iter().position(|(known, _)| known == key)?;
        Some(self.0.remove(index).1)
    }

    /// Keys and values in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&str, &V)> + ExactSizeIterator {
        self.0.iter().map(|(key, value)| (key.as_str(), value))
    }

    /// The values in order, to be changed.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut V> {
        self.0.iter_mut().map(|(_, value)| value)
    }
}

impl<V> Default for OrderedMap<V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<V> IntoIterator for OrderedMap<V> {
    type Item = (String, V);
    type IntoIter = alloc::vec::IntoIter<(String, V)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<K: Into<String>, V> FromIterator<(K, V)> for OrderedMap<V> {
    /// Of several values of one key the last is kept.
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let mut keyed = Self::new();
        for (key, value) in entries {
            keyed.insert(key, value);
        }
        keyed
    }
}

impl<V: Serialize> Serialize for OrderedMap<V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl<'de, V: Deserialize<'de>> Deserialize<'de> for OrderedMap<V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(KeyedVisitor(PhantomData))
    }
}

struct KeyedVisitor<V>(PhantomData<V>);

impl<'de, V: Deserialize<'de>> Visitor<'de> for KeyedVisitor<V> {
    type Value = OrderedMap<V>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut entries: Vec<(String, V)> = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        // Sorting the keys once finds a repeated one without comparing each with every other,
        // which a peer could make slow.
        let mut keys: Vec<&str> = entries.iter().map(|(key, _)| key.as_str()).collect();
        keys.sort_unstable();
        if let Some(pair) = keys.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(de::Error::custom(format_args!(
                "the key {:?} stands twice",
                pair[0]
            )));
        }
        Ok(OrderedMap(entries))
    }
}
