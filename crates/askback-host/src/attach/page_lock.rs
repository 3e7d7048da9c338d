//! One page for all programs of a user.

use std::{
    fs::{File, TryLockError},
    io,
    path::{Path, PathBuf},
};

use super::folder;

/// The lock of the page that opens automatically. Held until the process exits.
#[derive(Debug)]
pub struct PageLock(
    #[expect(dead_code, reason = "the lock lasts as long as the file is open")] File,
);

impl PageLock {
    /// Takes the lock. `None` if another page has it. `folder` is the folder of the sockets; `None`
    /// means the user's default.
    ///
    /// # Errors
    ///
    /// If the folder is not the user's own, or the lock cannot be made.
    pub fn take(folder: Option<&Path>) -> io::Result<Option<Self>> {
        let folder = folder::given(folder.map(PathBuf::from))?;
        let lock = folder::open_lock(&folder.join("page"))?;
        match lock.try_lock() {
            Ok(()) => Ok(Some(Self(lock))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}
