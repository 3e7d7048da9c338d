//! The file that lists the stored credentials.

use std::collections::BTreeMap;

use askback::authorization::Secret;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub(super) type All = BTreeMap<String, StoredSecret>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StoredSecret(pub(super) Secret);

impl Serialize for StoredSecret {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.expose().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for StoredSecret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(|secret| Self(Secret::new(secret)))
    }
}
