//! The file that lists the stored credentials.

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use askback::authorization::Secret;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::private_file;

pub(super) type All = BTreeMap<String, SecretPlace>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecretPlace {
    Here(Secret),
    /// In the keyring, under the same key.
    InKeyring,
}

/// The list of credentials: a file that only its owner can read, or memory for one run.
#[derive(Debug)]
pub enum Records {
    /// The file need not exist yet.
    At(PathBuf),
    InMemory(Mutex<All>),
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

impl Records {
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::At(path) => Some(path),
            Self::InMemory(_) => None,
        }
    }

    pub fn read(&self) -> io::Result<All> {
        match self {
            Self::At(path) => private_file::load(path),
            Self::InMemory(all) => Ok(lock(all).clone()),
        }
    }

    /// Changes the list. Only one program at a time can change the file. A reader sees either the
    /// old or the new content.
    pub fn change<T>(&self, change: impl FnOnce(&mut All) -> T) -> io::Result<T> {
        match self {
            Self::At(path) => private_file::change(path, change),
            Self::InMemory(all) => Ok(change(&mut lock(all))),
        }
    }
}

fn lock(all: &Mutex<All>) -> std::sync::MutexGuard<'_, All> {
    all.lock().unwrap_or_else(PoisonError::into_inner)
}
