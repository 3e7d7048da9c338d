//! Files that a person writes, which say what the command is to do: of servers, and of answers.

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

use askback_core::json::reworded;
use serde::de::DeserializeOwned;

use crate::{
    text::{Words, given},
    words,
};

/// The most bytes of such a file.
const MOST: u64 = 1 << 20;

/// Reads the file at a path.
///
/// # Errors
///
/// Those of [`read`], and of opening the file.
pub fn read_at(path: &Path) -> io::Result<String> {
    read(File::open(path)?)
}

/// Reads a file that is open.
///
/// # Errors
///
/// Those of the file, and where it is larger than 1 MiB or no text. No more than that is read,
/// whatever the file says of its size.
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

/// Reads YAML, and so JSON too.
///
/// # Errors
///
/// Says what is expected, and where.
pub fn parse<T: DeserializeOwned>(text: &str) -> Result<T, Words> {
    yaml_serde::from_str(text).map_err(|error| {
        let why = given(reworded(&error.to_string()));
        match error.location().map(|at| (at.line(), at.column())) {
            // YAML errors leave out this one place.
            Some((1, 1)) => words!("{} at line 1", why),
            _ => words!("{}", why),
        }
    })
}
