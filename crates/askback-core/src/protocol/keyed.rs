//! A map that keeps the order of its keys.

use alloc::{string::String, vec::Vec};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::RawJson;
use crate::json::Members;

/// Values by unique key, in insertion order.
///
/// The order of questions is the order in which the user sees them.
#[derive(Debug, Clone, PartialEq)]
pub struct OrderedMap<V>(Vec<(String, V)>);

/// The answers of a round by key. The type of an answer depends on its question, so it is stored as
/// JSON until [`InputRequest::read_response`](super::InputRequest::read_response).
pub type InputResponses = OrderedMap<RawJson>;

impl<V> OrderedMap<V> {
    /// Makes an empty map.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Returns the number of values.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether the map is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the value of a key.
    pub fn get(&self, key: &str) -> Option<&V> {
        self.iter()
            .find_map(|(known, value)| (known == key).then_some(value))
    }

    /// Inserts a value at the end, or replaces the value of an existing key and returns the old
    /// value.
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

    /// Removes a key and returns its value.
    pub fn remove(&mut self, key: &str) -> Option<V> {
        let index = self.0.iter().position(|(known, _)| known == key)?;
        Some(self.0.remove(index).1)
    }

    /// Iterates over keys and values in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&str, &V)> + ExactSizeIterator {
        self.0.iter().map(|(key, value)| (key.as_str(), value))
    }

    /// Iterates over the values in order, for changes.
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
    /// The last value of a duplicate key wins.
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
        let Members(entries) = Members::deserialize(deserializer)?;
        // Sorting finds duplicates without comparing every pair of keys, which a peer could make
        // slow.
        let mut keys: Vec<&str> = entries.iter().map(|(key, _)| key.as_str()).collect();
        keys.sort_unstable();
        if let Some(pair) = keys.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(de::Error::custom(format_args!(
                "the key {:?} is given twice",
                pair[0]
            )));
        }
        Ok(Self(entries))
    }
}
