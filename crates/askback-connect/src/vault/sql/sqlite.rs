use std::{path::Path, time::Duration};

use askback_sql::{Database, SqliteFile, SqliteSettings};

use super::schema::SCHEMA;
use crate::vault::error::VaultError;
use crate::vault::store::VaultStore;
use askback_core::debug_only;

/// Stores the vault's records in memory or in an SQLite file, shared by the processes of one machine.
///
/// The file must be readable by its owner only (0600), or opening it fails. Deleted and replaced secrets and keys, and
/// purged audit records, are overwritten in the file at once, and the write-ahead log is emptied. The disk may contain
/// old log pages until the file system reuses them. If the file is being read at that time, both happen after the next
/// change. Audit records that are replaced by newer ones are overwritten in the file, and leave the log at the next
/// such change.
///
/// One thread does the work. A started operation is completed even if its future is dropped, and dropping the vault
/// waits for it.
pub struct SqliteVault(SqliteFile);

const SETTINGS: SqliteSettings = SqliteSettings {
    schemas: &[SCHEMA],
    // SQLite has no queue. On a slow disk with many processes, waiting long is better than failing.
    busy: Duration::from_secs(30),
    erases: true,
};

impl SqliteVault {
    /// Opens the file at `path`, and creates it if necessary. As in SQLite, `:memory:` means
    /// [`SqliteVault::in_memory`].
    ///
    /// This blocks on disk I/O, so do not call it from an async task.
    ///
    /// # Errors
    ///
    /// If the file cannot be opened, is not a database, is accessible to other users, or has tables of another version.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, VaultError> {
        Ok(Self(SqliteFile::open(path.as_ref(), SETTINGS)?))
    }

    /// Opens an empty vault in memory, for tests, and for servers whose users can connect their accounts again after
    /// each start.
    ///
    /// # Errors
    ///
    /// If SQLite cannot allocate memory.
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
