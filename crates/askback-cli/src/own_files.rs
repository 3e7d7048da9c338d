//! The files that this process writes: a change of theirs is none of a server's.

use std::{
    collections::BTreeMap,
    fs::{self, File, Metadata, OpenOptions},
    io::{self, Write},
    ops::Deref,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
    time::SystemTime,
};

/// The files that were opened to be written, by their true paths.
static WRITTEN: Mutex<BTreeMap<PathBuf, Written>> = Mutex::new(BTreeMap::new());

/// The state in which this process left a file.
#[derive(Debug, Clone, Copy)]
enum Written {
    Open(u32),
    /// It was closed so, or was gone by then.
    Closed(Option<Mark>),
}

/// The length of a file and the time of its last change: another once it was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    length: u64,
    changed: Option<SystemTime>,
}

/// A file that is open to be written. What changes in it until it is dropped is of this process.
#[derive(Debug)]
pub struct OwnFile {
    file: File,
    path: Option<PathBuf>,
}

/// Opens a file to write it. There is no other way in this package, so that none is left out here.
pub fn open(options: &OpenOptions, path: &Path) -> io::Result<OwnFile> {
    let file = options.open(path)?;
    // What has no true path any more is gone again.
    let path = fs::canonicalize(path).ok();
    if let Some(path) = &path {
        let mut all = written();
        let written = all.entry(path.clone()).or_insert(Written::Open(0));
        let others = match written {
            Written::Open(times) => *times,
            Written::Closed(_) => 0,
        };
        *written = Written::Open(others.saturating_add(1));
    }
    Ok(OwnFile { file, path })
}

/// Gives a file that was written another name.
pub fn rename(from: &Path, to: &Path) -> io::Result<()> {
    let draft = fs::canonicalize(from);
    fs::rename(from, to)?;
    if let Ok(draft) = draft {
        written().insert(draft, Written::Closed(None));
    }
    if let Ok(path) = fs::canonicalize(to) {
        let left = Written::Closed(Mark::at(&path));
        written().insert(path, left);
    }
    Ok(())
}

/// Makes a file for a person who named it, with the permissions that new files have.
pub fn create_new(path: &Path) -> io::Result<OwnFile> {
    open(OpenOptions::new().write(true).create_new(true), path)
}

/// Opens an empty file for a person who named it; what it held is gone.
pub fn create(path: &Path) -> io::Result<OwnFile> {
    let mut options = OpenOptions::new();
    open(options.write(true).create(true).truncate(true), path)
}

/// Opens a file for a person who named it, to add to it.
pub fn append(path: &Path) -> io::Result<OwnFile> {
    let mut options = OpenOptions::new();
    open(options.create(true).append(true), path)
}

/// Whether the file of this true path, as it is now or where it is gone, is as this process writes or left it.
pub fn left_so(path: &Path, now: Option<Mark>) -> bool {
    match written().get(path) {
        Some(Written::Open(_)) => true,
        Some(Written::Closed(mark)) => *mark == now,
        None => false,
    }
}

impl Mark {
    fn of(metadata: &Metadata) -> Self {
        Self {
            length: metadata.len(),
            changed: metadata.modified().ok(),
        }
    }

    /// The mark of the file at a path, if it is there.
    pub fn at(path: &Path) -> Option<Self> {
        let metadata = fs::metadata(path).ok()?;
        Some(Self::of(&metadata))
    }
}

impl Deref for OwnFile {
    type Target = File;

    fn deref(&self) -> &File {
        &self.file
    }
}

impl Write for OwnFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for OwnFile {
    fn drop(&mut self) {
        let Some(path) = self.path.take() else { return };
        let mut all = written();
        let left = match all.get(&path) {
            Some(Written::Open(times)) if *times > 1 => Written::Open(times.saturating_sub(1)),
            _ => Written::Closed(Mark::at(&path)),
        };
        all.insert(path, left);
    }
}

fn written() -> MutexGuard<'static, BTreeMap<PathBuf, Written>> {
    WRITTEN.lock().unwrap_or_else(PoisonError::into_inner)
}
