//! The files that this process writes: a change of theirs is none of a server's.

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
///
/// # Errors
///
/// Those of the file.
pub fn open(options: &OpenOptions, path: &Path) -> io::Result<File> {
    let file = options.open(path)?;
    add(path);
    Ok(file)
}

/// Gives a file that was written another name.
///
/// # Errors
///
/// Those of the files.
pub fn rename(from: &Path, to: &Path) -> io::Result<()> {
    fs::rename(from, to)?;
    add(to);
    Ok(())
}

/// Makes a file for a person who named it, with the permissions that new files have.
///
/// # Errors
///
/// Those of the file, among them that it is there already.
pub fn create_new(path: &Path) -> io::Result<File> {
    open(OpenOptions::new().write(true).create_new(true), path)
}

/// Opens an empty file for a person who named it; what it held is gone.
///
/// # Errors
///
/// Those of the file.
pub fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    open(options.write(true).create(true).truncate(true), path)
}

/// Whether this process wrote the file of this true path.
pub fn has(path: &Path) -> bool {
    written().contains(path)
}

fn add(path: &Path) {
    // What has no true path any more is gone again.
    if let Ok(path) = fs::canonicalize(path) {
        written().insert(path);
    }
}

fn written() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    WRITTEN.lock().unwrap_or_else(PoisonError::into_inner)
}
