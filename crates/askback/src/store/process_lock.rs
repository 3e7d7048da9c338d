//! A lock that is released when its process ends for any reason, so that other processes detect abandoned claims at
//! once.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

use super::file::{hex, parse_hex};
use crate::{entropy::entropy, private_file};

const PREFIX: &str = ".process-";

/// The name of a process in a folder. It is random, so it is never used again.
pub(super) type ProcessId = [u8; 16];

/// A locked file in the folder, removed on drop.
pub(super) struct ProcessLock {
    id: ProcessId,
    path: PathBuf,
    /// Locked, unless the file system has no locks.
    file: Option<File>,
}

impl ProcessLock {
    /// Creates a file in the folder. It is locked before it gets its name, so an unlocked file with this kind of name
    /// belongs to a process that has ended.
    pub(super) fn create(folder: &Path) -> io::Result<Self> {
        let id = entropy()?;
        let (path, mut file) = (path(folder, &id), None);
        private_file::create(&path, |draft| {
            let locked = open(draft)?;
            // Some network file systems grant every lock.
            if locked.try_lock().is_ok() && open(draft)?.try_lock_shared().is_err() {
                file = Some(locked);
            }
            io::Result::Ok(())
        })?;
        Ok(Self { id, path, file })
    }

    pub(super) fn id(&self) -> Option<ProcessId> {
        self.file.as_ref().map(|_| self.id)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for ProcessLock {
    fn drop(&mut self) {
        // If this fails, another process removes it in its next scan.
        let _ = fs::remove_file(&self.path);
    }
}

/// Whether a process has ended; `false` if the file system cannot tell.
pub(super) fn has_ended(folder: &Path, id: &ProcessId) -> bool {
    match open(&path(folder, id)) {
        // A shared lock, so that two processes that check at once do not mistake each other for the holder.
        Ok(file) => file.try_lock_shared().is_ok(),
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

pub(super) fn parse_name(name: &str) -> Option<ProcessId> {
    parse_hex(name.strip_prefix(PREFIX)?)
}

fn path(folder: &Path, id: &ProcessId) -> PathBuf {
    folder.join(format!("{PREFIX}{}", hex(id)))
}

fn open(path: &Path) -> io::Result<File> {
    // NFS needs both for a lock.
    File::options().read(true).write(true).open(path)
}
