//! The file that says what is kept.

use std::{
    collections::BTreeMap,
    fs::{self, File, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use askback::authorization::Secret;
use zeroize::Zeroizing;

/// What is kept, by its key.
pub(super) type All = BTreeMap<String, Kept>;

/// Where a secret is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kept {
    /// In the file.
    Here(Secret),
    /// In the keyring, under the same key.
    InKeyring,
}

/// A file that only its owner can read, or what stands in its place for one run.
#[derive(Debug)]
pub enum Records {
    /// The file.
    At(PathBuf),
    /// The memory.
    InMemory(Mutex<All>),
}

impl Kept {
    /// Whether another is kept in the same place.
    pub fn is_like(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }
}

impl Records {
    /// A file, which need not be there yet.
    pub fn at(path: PathBuf) -> Self {
        Self::At(path)
    }

    /// Nothing that lasts.
    pub fn in_memory() -> Self {
        Self::InMemory(Mutex::default())
    }

    /// The file.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::At(path) => Some(path),
            Self::InMemory(_) => None,
        }
    }

    /// What is kept.
    ///
    /// # Errors
    ///
    /// Those of the file, among them that others can read it.
    pub fn read(&self) -> io::Result<All> {
        match self {
            Self::At(path) => read(path),
            Self::InMemory(all) => Ok(lock(all).clone()),
        }
    }

    /// Changes what is kept. Of several programs one does so at a time, and a reader sees what
    /// was before, or what is after.
    ///
    /// # Errors
    ///
    /// Those of the file.
    pub fn change<T>(&self, change: impl FnOnce(&mut All) -> T) -> io::Result<T> {
        let path = match self {
            Self::At(path) => path,
            Self::InMemory(all) => return Ok(change(&mut lock(all))),
        };
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let turn = private()
            .create(true)
            .truncate(false)
            .open(path.with_extension("lock"))?;
        turn.lock()?;
        let mut all = read(path)?;
        let changed = change(&mut all);
        write(path, &all)?;
        Ok(changed)
    }
}

fn lock(all: &Mutex<All>) -> std::sync::MutexGuard<'_, All> {
    all.lock().unwrap_or_else(PoisonError::into_inner)
}

fn read(path: &Path) -> io::Result<All> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(All::new()),
        Err(error) => return Err(about(path, &error)),
    };
    let metadata = file.metadata()?;
    if let Some(mode) = exposure(&metadata) {
        let shown = path.display();
        return Err(io::Error::other(format!(
            "{shown} can be read by others (mode {mode:o}): run chmod 600 {shown}"
        )));
    }
    let text = Zeroizing::new(io::read_to_string(file).map_err(|error| about(path, &error))?);
    let kept: BTreeMap<String, Option<String>> =
        serde_json::from_str(&text).map_err(|error| about(path, &error.into()))?;
    let place =
        |secret: Option<String>| secret.map_or(Kept::InKeyring, |it| Kept::Here(Secret::new(it)));
    Ok(kept
        .into_iter()
        .map(|(key, secret)| (key, place(secret)))
        .collect())
}

fn write(path: &Path, all: &All) -> io::Result<()> {
    let kept: BTreeMap<&str, Option<&str>> = all
        .iter()
        .map(|(key, kept)| match kept {
            Kept::Here(secret) => (&**key, Some(secret.expose())),
            Kept::InKeyring => (&**key, None),
        })
        .collect();
    let text = Zeroizing::new(serde_json::to_string_pretty(&kept)?);
    let draft = path.with_extension("new");
    // One that was left behind is not trusted to be private.
    if let Err(error) = fs::remove_file(&draft)
        && error.kind() != io::ErrorKind::NotFound
    {
        return Err(about(&draft, &error));
    }
    let mut file = private().create_new(true).open(&draft)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&draft, path).map_err(|error| about(path, &error))
}

/// How files are opened that only their owner may read.
fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// The permissions of a file, if others than its owner have any.
fn exposure(metadata: &fs::Metadata) -> Option<u32> {
    #[cfg(unix)]
    {
        let mode = std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o777;
        (mode & 0o077 != 0).then_some(mode)
    }
    #[cfg(not(unix))]
    {
        let _ = metadata;
        None
    }
}

fn about(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}
