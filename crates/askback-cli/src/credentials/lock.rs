//! Locks on the credentials of one key, held across processes. Each is a system lock on an empty file per key. The
//! file is never removed, because other processes may be waiting for its lock. The system releases the lock when its
//! process ends for any reason.

use std::{
    fs::{File, TryLockError},
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use askback::authorization::client::KeyLock;
use sha2::{Digest, Sha256};

use crate::private_file;

/// How long to wait before the first retry. Each later wait is twice as long.
const PAUSE: Duration = Duration::from_millis(5);
/// The maximum wait between retries.
const PAUSE_MOST: Duration = Duration::from_millis(200);

/// Locks a key. `folder` has the lock files. Cancel safe: no lock is held if the future is dropped early.
pub(super) async fn hold(folder: &Path, key: &str) -> io::Result<KeyLock> {
    let file = open(folder, key).await?;
    let mut pause = PAUSE;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(KeyLock::new(file)),
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(error)) => return Err(error),
        }
        // Polls, because a blocking wait cannot be cancelled.
        tokio::time::sleep(pause).await;
        pause = pause.saturating_mul(2).min(PAUSE_MOST);
    }
}

async fn open(folder: &Path, key: &str) -> io::Result<File> {
    let path = path(folder, key);
    let opening = tokio::task::spawn_blocking(move || private_file::open_lock(&path));
    opening.await.map_err(io::Error::other)?
}

/// A key contains a URL, which is not a valid file name.
fn path(folder: &Path, key: &str) -> PathBuf {
    folder.join(private_file::hex(&Sha256::digest(key)))
}
