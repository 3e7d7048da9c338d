//! Files that a person writes, which say what the command is to do: of servers, and of answers.

use std::{
    fmt,
    fs::File,
    io::{self, Read},
    path::Path,
};

use askback_core::json::reworded;
use serde::de::{
    self, DeserializeOwned, DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use serde_path_to_error::Segment;
use yaml_serde::Deserializer;

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
/// An error is placed at the value that cannot be read, also if a type reads it by way of another one
/// (`#[serde(try_from)]`): the parser knows only the map or list around it then.
///
/// # Errors
///
/// Says what is expected, and where.
pub fn parse<T: DeserializeOwned>(text: &str) -> Result<T, Words> {
    // Most types would take the last of two members of one name.
    if let Err(error) = yaml_serde::from_str::<yaml_serde::Value>(text) {
        let told = error.to_string();
        let twice = told.split_once("duplicate entry with key \"");
        let twice = twice.and_then(|(at, rest)| Some((at, rest.split_once('"')?)));
        let twice = twice.map(|(at, (name, rest))| format!("{at}duplicate field `{name}`{rest}"));
        let why = given(reworded(&twice.unwrap_or(told)));
        return Err(match place(&error) {
            // YAML errors leave out this one place.
            Some((1, 1)) => words!("{} at line 1", why),
            _ => words!("{}", why),
        });
    }
    serde_path_to_error::deserialize(Deserializer::from_str(text)).map_err(|error| {
        let (path, error) = (error.path().clone(), error.into_inner());
        let told = error.to_string();
        let told = told
            .rsplit_once(" at line ")
            .map_or(&*told, |(told, _)| told);
        let steps: Vec<_> = path.iter().collect();
        let value = Finder(&steps).deserialize(Deserializer::from_str(text));
        let value = value.err().and_then(|error| place(&error));
        let (told, at) = match place(&error) {
            // The name of a member that is unknown is before its value.
            at if at >= value || told.contains("unknown field ") => (told.to_owned(), at),
            _ => {
                let path = path.to_string();
                let around = told.split_once(": ").filter(|it| path.starts_with(it.0));
                let why = around.map_or(told, |(_, why)| why);
                match steps.is_empty() {
                    true => (why.to_owned(), value),
                    false => (format!("{path}: {why}"), value),
                }
            }
        };
        let why = given(reworded(&told));
        match at {
            None | Some((1, 1)) => words!("{} at line 1", why),
            Some((line, column)) => words!("{} at line {} column {}", why, line, column),
        }
    })
}

/// The line and column of an error.
fn place(error: &yaml_serde::Error) -> Option<(usize, usize)> {
    error.location().map(|at| (at.line(), at.column()))
}

/// Fails at the value that a path leads to, so that the parser says where it is.
struct Finder<'a>(&'a [&'a Segment]);

impl<'de> DeserializeSeed<'de> for Finder<'_> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Finder<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("another value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        if let [Segment::Map { key }, path @ ..] = self.0 {
            while let Some(name) = map.next_key::<String>()? {
                if name == *key {
                    return map.next_value_seed(Finder(path));
                }
                map.next_value::<IgnoredAny>()?;
            }
        }
        Err(de::Error::custom("it is here"))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        if let [Segment::Seq { index }, path @ ..] = self.0 {
            for _ in 0..*index {
                list.next_element::<IgnoredAny>()?;
            }
            list.next_element_seed(Finder(path))?;
        }
        Err(de::Error::custom("it is here"))
    }
}
