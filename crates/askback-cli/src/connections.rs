//! The accounts at third parties that this user has connected, for the servers this program carries: where they are
//! kept.

use std::{fmt, path::PathBuf, sync::Arc};

use askback::{
    Principal,
    keys::{KeyOrigin, KeySource, state_dir},
};
use askback_connect::{
    Connections,
    vault::{LocalKeys, SqliteVault, Vault, VaultSettings},
};
use askback_host::{text::given, words};

use crate::{error::Error, private_file};

/// Names the files: `connections.db`, and `connections.key` beside it.
const NAME: &str = "connections";

/// Opens the vault of this user. It and its key are made if need be: the key of random bytes, in a file that only this
/// user can read.
///
/// # Errors
///
/// A usage error where there is no folder to keep it in, or its files cannot be used, such as one that others can read.
pub async fn open() -> Result<Vault, Error> {
    // It looks at the disk.
    let opened = tokio::task::spawn_blocking(|| {
        let path = path()?;
        if let Some(folder) = path.parent() {
            private_file::make_folder(folder).map_err(unusable)?;
        }
        let keys = KeySource::StateFile.load(NAME, state_dir().as_deref());
        let keys = keys.map_err(unusable)?;
        if let KeyOrigin::Process(why) = keys.origin {
            // What is sealed by such a key nobody opens again.
            return Err(unusable(why));
        }
        let store = SqliteVault::open(&path).map_err(unusable)?;
        Ok((store, LocalKeys::new(keys.ring)))
    });
    let (store, keys) = opened.await.map_err(unusable)??;
    let vault = Vault::open(Arc::new(store), Arc::new(keys), VaultSettings::default());
    vault.await.map_err(unusable)
}

/// Opens the vault of this user, if anything was ever kept in it.
///
/// # Errors
///
/// As [`open`].
pub async fn open_if_made() -> Result<Option<Vault>, Error> {
    match path()?.try_exists().map_err(unusable)? {
        true => open().await.map(Some),
        false => Ok(None),
    }
}

/// This user, as the vault knows them.
pub fn user() -> Principal {
    Connections::user_of_this_machine()
}

/// The error of a vault that cannot be used.
pub fn unusable(why: impl fmt::Display) -> Error {
    Error::usage(words!("your connections cannot be used: {}", given(why)))
}

fn path() -> Result<PathBuf, Error> {
    let state = state_dir().ok_or_else(|| {
        Error::usage("there is no folder to keep connections in")
            .hint("Set HOME, or XDG_STATE_HOME.")
    })?;
    Ok(state.join("askback").join(NAME).with_extension("db"))
}
