//! A vault's records in an SQLite file.

use std::{path::Path, time::Duration};

use askback_sql::{Database, SqliteFile, SqliteSettings};

use super::schema::SCHEMA;
use crate::vault::error::VaultError;
use crate::vault::store::VaultStore;
use askback_core::debug_only;

/// Keeps the vault's records in an SQLite file, which the processes of one machine share, or in memory.
///
/// The file is its owner's alone (0600), and is refused otherwise. Sealed secrets and keys that are deleted or replaced, and
/// lines of the audit that are purged, are overwritten in the file at once, and its log is emptied: the disk may hold what
/// was in that until the file system writes there. If somebody is reading the file just then, both are done after the
/// next change. Lines of the audit that give way to newer lines are overwritten in the file, and leave its log with the next
/// such change. One thread does the work; what was begun is done even if its future is dropped, and dropping the vault
/// waits for it.
pub struct SqliteVault(SqliteFile);

const SETTINGS: SqliteSettings = SqliteSettings {
    schemas: &[SCHEMA],
    // SQLite has no queue, and on a slow disk with many processes one may wait for long; an error would be worse.
    busy: Duration::from_secs(30),
    erases: true,
};

impl SqliteVault {
    /// Opens the file at `path`, which is made if it is not there. `:memory:` is [`SqliteVault::in_memory`], as in SQLite.
    ///
    /// Waits for the disk: not for an async task to call.
    ///
    /// # Errors
    ///
    /// When the file cannot be opened, is no database, is open to other users, or has tables of another version.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, VaultError> {
        Ok(Self(SqliteFile::open(path.as_ref(), SETTINGS)?))
    }

    /// Opens an empty vault in memory, which ends with the process: for tests, and for servers whose users may connect
    /// their accounts again after each start.
    ///
    /// # Errors
    ///
    /// If SQLite has no memory.
    pub fn in_memory() -> Result<Self, VaultError> {
        Ok(Self(SqliteFile::in_memory(SETTINGS)?))
    }
}

impl VaultStore for SqliteVault {
    fn database(&self) -> &dyn Database {
        &self.0
    }
}

debug_only! {
    SqliteVault {}
}
