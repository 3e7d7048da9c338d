//! Files written by this process. `--watch` ignores changes to them.

use std::{
    collections::BTreeSet,
    fs::{self, File, OpenOptions},
    io,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

/// The canonical paths of files opened for writing.
static WRITTEN: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// Opens a file for writing. This package has no other way to do so, so every written file is recorded.
pub fn open(options: &OpenOptions, path: &Path) -> io::Result<File> {
    let file = options.open(path)?;
    note(path);
    Ok(file)
}

pub fn rename(from: &Path, to: &Path) -> io::Result<()> {
    fs::rename(from, to)?;
    note(to);
    Ok(())
}

/// Creates a file that the user named, with default permissions.
pub fn create_new(path: &Path) -> io::Result<File> {
    open(OpenOptions::new().write(true).create_new(true), path)
}

/// Opens and empties a file that the user named.
pub fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    open(options.write(true).create(true).truncate(true), path)
}

/// The path must be canonical.
pub fn contain(path: &Path) -> bool {
    written().contains(path)
}

fn note(path: &Path) {
    // A path that cannot be canonicalized no longer exists.
    if let Ok(path) = fs::canonicalize(path) {
        written().insert(path);
    }
}

fn written() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    WRITTEN.lock().unwrap_or_else(PoisonError::into_inner)
}
