//! Locks on the credentials under one key, held across processes.
//!
//! The lock is one of the system, on an empty file for each key, which stays: to remove it would
//! take it away from whoever waits for it. The system gives it back when its process ends, however
//! that ends.

use std::{
    fs::{File, TryLockError},
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use askback::authorization::client::KeyLock;
use sha2::{Digest, Sha256};

use crate::private_file;

/// How long to wait before the lock is tried again; it doubles.
const PAUSE: Duration = Duration::from_millis(5);
/// The longest such pause.
const PAUSE_MOST: Duration = Duration::from_millis(200);

/// Holds the lock of a key, in this folder of locks. Nothing is held if this is dropped before.
pub(super) async fn hold(folder: &Path, key: &str) -> io::Result<KeyLock> {
    let file = open(folder, key).await?;
    let mut pause = PAUSE;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(KeyLock::new(file)),
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(error)) => return Err(error),
        }
        // Tried again and again, since waiting for the system cannot be given up.
        tokio::time::sleep(pause).await;
        pause = pause.saturating_mul(2).min(PAUSE_MOST);
    }
}

async fn open(folder: &Path, key: &str) -> io::Result<File> {
    let path = path(folder, key);
    let opening = tokio::task::spawn_blocking(move || private_file::open_lock(&path));
    opening.await.map_err(io::Error::other)?
}

/// A key holds a URL, which is no name of a file.
fn path(folder: &Path, key: &str) -> PathBuf {
    folder.join(private_file::hex(&Sha256::digest(key)))
}
