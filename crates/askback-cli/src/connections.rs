//! The accounts at third parties that this user has connected, for the servers this program carries: where they are
//! kept.

use std::{
    fmt, fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use askback::{
    Principal,
    keys::{KeyOrigin, KeySource, KeyWarning, state_dir},
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
            private_file::make_folder(folder).map_err(|error| of_file(folder, error))?;
        }
        let keys = KeySource::StateFile.load(NAME, state_dir().as_deref());
        let keys = match keys.map_err(unusable)?.origin {
            // It names the file, should a key be missing there.
            KeyOrigin::StateFile(path) => LocalKeys::file(path).map_err(unusable)?,
            // What is sealed by a key of this process nobody opens again.
            KeyOrigin::Process(KeyWarning::Unusable { path, error }) => {
                return Err(of_file(&path, error));
            }
            KeyOrigin::Process(why) => return Err(unusable(why)),
            KeyOrigin::Configured => return Err(unusable("its key is not in a file")),
        };
        let store = SqliteVault::open(&path).map_err(unusable)?;
        Ok((store, keys))
    });
    let (store, keys) = opened.await.map_err(unusable)??;
    let vault = Vault::open(Arc::new(store), Arc::new(keys), VaultSettings::default());
    vault.await.map_err(unusable)
}

/// Opens the vault of this user, if anything was ever kept in it. Nothing is made.
///
/// # Errors
///
/// As [`open`], and where its key is missing.
pub async fn open_if_made() -> Result<Option<Vault>, Error> {
    let path = path()?;
    let key = path.with_extension("key");
    match fs::metadata(&path) {
        Ok(found) if found.len() == 0 => return Ok(None),
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(of_file(&path, error)),
    }
    match key.try_exists() {
        Ok(true) => open().await.map(Some),
        Ok(false) => Err(unusable(format_args!(
            "there is no file {}, whose key seals what {} holds",
            key.display(),
            path.display()
        ))
        .hint("Put the key file back. Without it, remove the database, and connect your accounts again.")),
        Err(error) => Err(of_file(&key, error)),
    }
}

/// Opens the vault of a server for the user of this machine, which is there.
///
/// # Errors
///
/// A usage error where a file is missing or cannot be used, such as one that others can read.
pub async fn open_files(vault: PathBuf, keys: PathBuf) -> Result<Vault, Error> {
    let opened = tokio::task::spawn_blocking(move || {
        // SQLite would make one.
        fs::metadata(&vault).map_err(|error| of_file(&vault, error))?;
        let keys = LocalKeys::file(keys).map_err(unusable)?;
        Ok::<_, Error>((SqliteVault::open(&vault).map_err(unusable)?, keys))
    });
    let (store, keys) = opened.await.map_err(unusable)??;
    let vault = Vault::open(Arc::new(store), Arc::new(keys), VaultSettings::default());
    vault.await.map_err(unusable)
}

/// This user, as the vault knows them.
pub fn user() -> Principal {
    Connections::user_of_this_machine()
}

/// The error of a vault that cannot be used.
pub fn unusable(why: impl fmt::Display) -> Error {
    Error::usage(words!("your connections cannot be used: {}", given(why)))
}

/// The error of a file or folder that cannot be used.
fn of_file(path: &Path, why: io::Error) -> Error {
    unusable(format_args!("{}: {why}", path.display()))
}

fn path() -> Result<PathBuf, Error> {
    let state = state_dir().ok_or_else(|| {
        Error::usage("there is no folder to keep connections in")
            .hint("Set HOME, or XDG_STATE_HOME.")
    })?;
    Ok(state.join("askback").join(NAME).with_extension("db"))
}
