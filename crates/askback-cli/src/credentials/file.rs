//! The file that says what is kept.

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use askback::authorization::Secret;
use zeroize::Zeroizing;

use crate::private_file;

/// The records, by their keys.
pub(super) type All = BTreeMap<String, Kept>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kept {
    Here(Secret),
    /// In the keyring, under the same key.
    InKeyring,
}

/// A file that only its owner can read, or what stands in its place for one run.
#[derive(Debug)]
pub enum Records {
    At(PathBuf),
    InMemory(Mutex<All>),
}

impl Kept {
    /// Whether another is kept in the same place.
    pub fn is_like(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }
}

impl Records {
    /// A file, which need not be there yet.
    pub fn at(path: PathBuf) -> Self {
        Self::At(path)
    }

    /// Nothing that lasts.
    pub fn in_memory() -> Self {
        Self::InMemory(Mutex::default())
    }

    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::At(path) => Some(path),
            Self::InMemory(_) => None,
        }
    }

    /// Reads the records.
    pub fn read(&self) -> io::Result<All> {
        match self {
            Self::At(path) => read(path),
            Self::InMemory(all) => Ok(lock(all).clone()),
        }
    }

    /// Changes what is kept. Of several programs one does so at a time, and a reader sees what
    /// was before, or what is after.
    pub fn change<T>(&self, change: impl FnOnce(&mut All) -> T) -> io::Result<T> {
        let path = match self {
            Self::At(path) => path,
            Self::InMemory(all) => return Ok(change(&mut lock(all))),
        };
        let _turn = private_file::lock(path)?;
        let mut all = read(path)?;
        let changed = change(&mut all);
        write(path, &all)?;
        Ok(changed)
    }
}

fn lock(all: &Mutex<All>) -> std::sync::MutexGuard<'_, All> {
    all.lock().unwrap_or_else(PoisonError::into_inner)
}

fn read(path: &Path) -> io::Result<All> {
    let Some(text) = private_file::read(path)? else {
        return Ok(All::new());
    };
    let kept: BTreeMap<String, Option<String>> = private_file::parse(path, &text)?;
    let place =
        |secret: Option<String>| secret.map_or(Kept::InKeyring, |it| Kept::Here(Secret::new(it)));
    Ok(kept
        .into_iter()
        .map(|(key, secret)| (key, place(secret)))
        .collect())
}

fn write(path: &Path, all: &All) -> io::Result<()> {
    let kept: BTreeMap<&str, Option<&str>> = all
        .iter()
        .map(|(key, kept)| match kept {
            Kept::Here(secret) => (&**key, Some(secret.expose())),
            Kept::InKeyring => (&**key, None),
        })
        .collect();
    let text = Zeroizing::new(serde_json::to_string_pretty(&kept)?);
    private_file::write(path, &text)
}
