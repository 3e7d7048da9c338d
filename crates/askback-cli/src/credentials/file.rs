//! The file that lists the stored credentials.

use std::collections::BTreeMap;

use askback::authorization::Secret;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub(super) type All = BTreeMap<String, SecretPlace>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecretPlace {
    Here(Secret),
    /// In the keyring, under the same key.
    InKeyring,
}

/// A secret in the file is a string; a secret in the keyring is `null`.
impl Serialize for SecretPlace {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Here(secret) => secret.expose().serialize(serializer),
            Self::InKeyring => serializer.serialize_none(),
        }
    }
}

impl<'de> Deserialize<'de> for SecretPlace {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let secret = Option::<String>::deserialize(deserializer)?;
        Ok(secret.map_or(Self::InKeyring, |it| Self::Here(Secret::new(it))))
    }
}

impl SecretPlace {
    /// Whether both secrets are stored in the same place.
    pub fn is_like(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }
}
