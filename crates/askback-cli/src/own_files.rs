//! The files that this process writes: `--watch` ignores their changes.

use std::{
    collections::BTreeSet,
    fs::{self, File, OpenOptions},
    io,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

/// The files that were opened to be written, by their true paths.
static WRITTEN: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// Opens a file to write it. There is no other way in this package, so that none is left out here.
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

/// Makes a file for a person who named it, with the permissions that new files have.
pub fn create_new(path: &Path) -> io::Result<File> {
    open(OpenOptions::new().write(true).create_new(true), path)
}

/// Opens an empty file for a person who named it; what it held is gone.
pub fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    open(options.write(true).create(true).truncate(true), path)
}

/// Opens a file for a person who named it, to add to it.
pub fn append(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    open(options.create(true).append(true), path)
}

/// Whether this process has written the file of this true path.
pub fn contain(path: &Path) -> bool {
    written().contains(path)
}

fn note(path: &Path) {
    // What has no true path any more is gone again.
    if let Ok(path) = fs::canonicalize(path) {
        written().insert(path);
    }
}

fn written() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    WRITTEN.lock().unwrap_or_else(PoisonError::into_inner)
}
