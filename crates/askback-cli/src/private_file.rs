//! Files and folders that only their owner can read. One program at a time changes a file.

use std::{
    ffi::OsString,
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
};

use serde::{Serialize, de::DeserializeOwned};
use zeroize::Zeroizing;

use crate::own_files;

pub fn read(path: &Path) -> io::Result<Option<Zeroizing<String>>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(about(path, &error)),
    };
    let metadata = file.metadata()?;
    if let Some(mode) = exposure(&metadata) {
        let shown = path.display();
        return Err(io::Error::other(format!(
            "{shown} can be read by others (mode {mode:o}): run chmod 600 {shown}"
        )));
    }
    let text = io::read_to_string(file).map_err(|error| about(path, &error))?;
    Ok(Some(Zeroizing::new(text)))
}

pub fn parse<T: DeserializeOwned>(path: &Path, text: &str) -> io::Result<T> {
    serde_json::from_str(text).map_err(|error| {
        about(
            path,
            &io::Error::other(askback::internal::json::explain(&error)),
        )
    })
}

pub fn load<T: DeserializeOwned + Default>(path: &Path) -> io::Result<T> {
    match read(path)? {
        Some(text) => parse(path, &text),
        None => Ok(T::default()),
    }
}

/// Changes a file's JSON content under its lock. A reader sees either the old or the new content.
pub fn change<T, C>(path: &Path, change: impl FnOnce(&mut T) -> C) -> io::Result<C>
where
    T: Serialize + DeserializeOwned + Default,
{
    let _turn = lock(path)?;
    let mut all = load(path)?;
    let changed = change(&mut all);
    write(path, &Zeroizing::new(serde_json::to_string_pretty(&all)?))?;
    Ok(changed)
}

/// Locks the file against other programs until the value is dropped. Creates the file's folder if it is missing.
pub fn lock(path: &Path) -> io::Result<File> {
    let turn = open_lock(&path.with_extension("lock"))?;
    turn.lock()?;
    Ok(turn)
}

/// Opens an empty file used as a lock. Creates it and its folder if they are missing.
pub fn open_lock(path: &Path) -> io::Result<File> {
    if let Some(folder) = path.parent() {
        make_folder(folder)?;
    }
    own_files::open(options().create(true).truncate(false), path)
}

/// Creates a folder that only its owner can access, and its missing parents.
pub fn make_folder(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Writes a file under its lock. A reader sees either the old or the new content.
pub fn write(path: &Path, text: &str) -> io::Result<()> {
    let draft = draft(path);
    // A leftover file may not be private.
    if let Err(error) = fs::remove_file(&draft)
        && error.kind() != io::ErrorKind::NotFound
    {
        return Err(about(&draft, &error));
    }
    let mut file = create_new(&draft)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    own_files::rename(&draft, path).map_err(|error| about(path, &error))
}

/// The temporary file next to it. Its name is reserved, so a leftover can be removed.
fn draft(path: &Path) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(".askback-new");
    path.with_file_name(name)
}

pub fn append(path: &Path) -> io::Result<File> {
    own_files::open(options().create(true).append(true), path)
}

pub fn create_new(path: &Path) -> io::Result<File> {
    own_files::open(options().create_new(true), path)
}

pub fn hex(bytes: &[u8]) -> String {
    let digit = |half: u8| char::from_digit(half.into(), 16).unwrap_or_default();
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.map(digit).collect()
}

/// Options for files that only their owner can read.
fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// The file's permissions, if users other than the owner have any.
fn exposure(metadata: &fs::Metadata) -> Option<u32> {
    #[cfg(unix)]
    {
        let mode = std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o777;
        (metadata.is_file() && mode & 0o077 != 0).then_some(mode)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_file_in_the_folder_is_left_alone() {
        let temporary = tempfile::tempdir().expect("there is room");
        let folder = temporary.path();
        let (file, beside) = (folder.join("mcp.json"), folder.join("mcp.new"));
        fs::write(&beside, "theirs").expect("it is ours");
        // A leftover from an earlier run.
        fs::write(draft(&file), "cut").expect("it is ours");
        for text in ["one", "two"] {
            write(&file, text).expect("it can be written");
            assert_eq!(fs::read_to_string(&file).expect("it is there"), text);
        }
        assert_eq!(fs::read_to_string(&beside).expect("it is there"), "theirs");
        let names = fs::read_dir(folder).expect("it is there").count();
        assert_eq!(names, 2);
    }
}
