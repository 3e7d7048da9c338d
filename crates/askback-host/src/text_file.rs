//! Text files that a user writes: servers, answers, suites.

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

const MOST: u64 = 1 << 20;

/// Reads the file at a path.
/// Fails if the file cannot be opened, and as [`read`].
pub fn read_at(path: &Path) -> io::Result<String> {
    read(File::open(path)?)
}

/// Reads an open file.
/// Fails if reading fails, the file is larger than 1 MiB or is not UTF-8. Reads at most 1 MiB and one
/// byte, whatever the metadata says.
pub fn read(file: File) -> io::Result<String> {
    let mut bytes = Vec::new();
    file.take(MOST.saturating_add(1)).read_to_end(&mut bytes)?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length <= MOST) {
        return String::from_utf8(bytes)
            .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8 text"));
    }
    Err(io::Error::new(
        io::ErrorKind::FileTooLarge,
        "it is larger than 1 MiB",
    ))
}
