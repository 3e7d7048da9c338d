//! Private files, written completely or not at all.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::entropy::entropy;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Creation {
    /// The file is new and has the content from `fill`.
    Created,
    /// The file exists, possibly created by another process in the meantime. It is unchanged.
    Existed,
}

/// Creates the file `path`, readable and writable only by its owner, with the content that `fill` writes.
///
/// `fill` gets the path of an empty file in the same folder. The file is filled under a temporary name and then
/// hard-linked to `path`, which fails if the name exists. So exactly one of several concurrent processes creates the
/// file, and no process ever sees it incomplete.
///
/// # Errors
///
/// The errors of `fill` and of the file system, also if it does not support hard links.
pub(crate) fn create<E: From<io::Error>>(
    path: &Path,
    fill: impl FnOnce(&Path) -> Result<(), E>,
) -> Result<Creation, E> {
    if path.try_exists()? {
        return Ok(Creation::Existed);
    }
    let draft = create_draft(path)?;
    let filled = fill(&draft);
    let linked = filled.map(|()| fs::hard_link(&draft, path));
    // If this fails, the leftover draft is as private as the file itself.
    let _ = fs::remove_file(&draft);
    match linked? {
        Ok(()) => Ok(Creation::Created),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(Creation::Existed),
        Err(error) => Err(error.into()),
    }
}

/// Replaces the content of the existing file `path` with what `fill` writes. Readers see either the old content or the
/// new.
///
/// # Errors
///
/// The errors of `fill` and of the file system. The file is then unchanged.
pub(crate) fn replace<E: From<io::Error>>(
    path: &Path,
    fill: impl FnOnce(&Path) -> Result<(), E>,
) -> Result<(), E> {
    let draft = create_draft(path)?;
    let replaced = fill(&draft).and_then(|()| Ok(fs::rename(&draft, path)?));
    if replaced.is_err() {
        let _ = fs::remove_file(&draft);
    }
    replaced
}

pub(crate) fn write_durably(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = File::options().write(true).open(path)?;
    file.write_all(content)?;
    file.sync_all()
}

pub(crate) fn create_folder(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Waits until the folder's entries are on the disk. Only needed on Unix.
pub(crate) fn sync_folder(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    File::open(path)?.sync_all()?;
    #[cfg(not(unix))]
    let _ = path;
    Ok(())
}

/// Returns the permissions of a file if other users have any. A folder is not checked: opening it as a file gives a
/// better error.
///
/// On systems without permission bits, where the directory protects the file, returns `None`.
pub(crate) fn exposure(metadata: &fs::Metadata) -> Option<u32> {
    open_to_others(metadata).filter(|_| metadata.is_file())
}

pub(crate) fn open_to_others(metadata: &fs::Metadata) -> Option<u32> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = metadata.permissions().mode() & 0o777;
        (mode & 0o077 != 0).then_some(mode)
    }
    #[cfg(not(unix))]
    {
        let _ = metadata;
        None
    }
}

/// Checks that the file or folder at `path` belongs to the user of this process, by comparing it with `own`, a file
/// that this process has just created.
///
/// On systems without user ids, where the directory protects the file, any owner is accepted.
pub(crate) fn check_owner(path: &Path, metadata: &fs::Metadata, own: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let (owner, user) = (metadata.uid(), fs::symlink_metadata(own)?.uid());
        if owner != user {
            return Err(io::Error::other(format!(
                "{path} belongs to user {owner}, expected user {user}, which runs this process: if you trust its \
                 content, run `chown {user} {path}`, else remove it",
                path = path.display()
            )));
        }
    }
    #[cfg(not(unix))]
    let _ = (path, metadata, own);
    Ok(())
}

/// Creates an empty file next to `path`, named `.<its name>.<16 hex digits>`.
pub(crate) fn create_draft(path: &Path) -> io::Result<PathBuf> {
    let mut name = OsString::from(".");
    name.push(path.file_name().ok_or(io::ErrorKind::InvalidInput)?);
    name.push(format!(".{:016x}", u64::from_ne_bytes(entropy()?)));
    let draft = path.with_file_name(name);
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(&draft)?;
    Ok(draft)
}
