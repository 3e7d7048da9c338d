//! Files that only their owner may read, made whole or not at all.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::entropy::entropy;

/// Whether [`create`] made the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Creation {
    /// The file is new and is as it was to be filled.
    Created,
    /// There was one already, perhaps made by another process just now. It is untouched.
    Existed,
}

/// Creates the file `path`, readable and writable by its owner alone, as `fill` makes it.
///
/// `fill` is given the path of an empty file next to it. Of several processes that do this at
/// once exactly one creates the file, and nobody ever sees it half made: it is filled under
/// another name, and a hard link, which fails where its name is taken, gives it its own.
///
/// # Errors
///
/// Those of `fill` and of the file system, also when it has no hard links.
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
    // A draft that stays behind is as private as the file itself.
    let _ = fs::remove_file(&draft);
    match linked? {
        Ok(()) => Ok(Creation::Created),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(Creation::Existed),
        Err(error) => Err(error.into()),
    }
}

/// Gives the file `path`, which exists, the content that `fill` writes: readers see the old content or the
/// new one.
///
/// # Errors
///
/// Those of `fill` and of the file system. The file is as it was.
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

/// Writes a file, and waits until it is on the disk.
pub(crate) fn write_durably(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = File::options().write(true).open(path)?;
    file.write_all(content)?;
    file.sync_all()
}

/// Creates a folder, with those above it, that only its owner may use.
pub(crate) fn create_folder(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Waits until the names of a folder's files are on the disk. Other systems than Unix do that by
/// themselves.
pub(crate) fn sync_folder(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    File::open(path)?.sync_all()?;
    #[cfg(not(unix))]
    let _ = path;
    Ok(())
}

/// The permissions of a file, if others than its owner have any. Those of a folder are nobody's fault: whoever takes it
/// for a file is told so when they open it.
///
/// On systems without permission bits, where the directory protects the file, none are reported.
pub(crate) fn exposure(metadata: &fs::Metadata) -> Option<u32> {
    open_to_others(metadata).filter(|_| metadata.is_file())
}

/// The permissions of a file or folder, if others than its owner have any.
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

/// Checks that the file or folder at `path` belongs to the user that runs this process. This user owns `own`, a file
/// that this process has just created.
///
/// On systems without user ids, where the directory protects the file, every owner passes.
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

/// Creates an empty file next to `path`: `.<its name>.<16 hex digits>`.
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
