//! JSON written by other programs: metadata documents and files.
//!
//! Serializers leave out an optional member without a value, or write it as `null` or `""`.
//! [`document`] reads all three as absent. [`explain`] rewords parser errors for a person.

mod members;
mod text;

use alloc::{
    borrow::ToOwned,
    format,
    string::{String, ToString},
    vec::Vec,
};

use serde::{Deserialize, Deserializer, Serialize, de::DeserializeOwned, ser::SerializeMap};
use serde_json::{Value, error::Category};

pub(crate) use self::members::{Members, nothing_of};
pub(crate) use self::text::has_halves;
pub use self::text::message_text;

/// Parses a JSON document. As in messages, a byte order mark is skipped, and half of a surrogate
/// pair is read as U+FFFD ([`message_text`]).
///
/// # Errors
///
/// The error is worded by [`explain`].
pub fn parse<T: DeserializeOwned>(json: &[u8]) -> Result<T, String> {
    let text = message_text(json).map_err(|_| "it is not UTF-8".to_owned())?;
    serde_json::from_str(&text).map_err(|error| explain(&error))
}

/// Reads a document and treats a member that is `null` or `""` as absent.
///
/// # Errors
///
/// The error names the member and what was expected. It does not repeat the value, which may be a
/// secret.
pub fn document<T: DeserializeOwned>(json: Value) -> Result<T, String> {
    if !json.is_object() {
        return Err("it is not a JSON object".to_owned());
    }
    read(without_empty(json))
}

/// Removes members that are `null` or `""`, at every depth.
#[must_use]
pub fn without_empty(mut json: Value) -> Value {
    match &mut json {
        Value::Object(members) => {
            members.retain(|_, value| !value.is_null() && value != "");
            for value in members.values_mut() {
                *value = without_empty(value.take());
            }
        }
        Value::Array(values) => {
            for value in values {
                *value = without_empty(value.take());
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
    json
}

/// Deserializes a value.
///
/// # Errors
///
/// The error names the place and what was expected. It does not repeat the value, which may be a
/// secret.
pub fn read<'de, T, D>(json: D) -> Result<T, String>
where
    T: Deserialize<'de>,
    D: Deserializer<'de, Error = serde_json::Error>,
{
    read_member("", json)
}

/// Deserializes the value of a member.
///
/// # Errors
///
/// The error begins with the name of the member; the rest is as for [`read`].
pub fn read_member<'de, T, D>(name: &str, json: D) -> Result<T, String>
where
    T: Deserialize<'de>,
    D: Deserializer<'de, Error = serde_json::Error>,
{
    serde_path_to_error::deserialize(json).map_err(|error| {
        let why = explain(error.inner());
        let place = match (name, &*error.path().to_string()) {
            (name, ".") => name.to_owned(),
            ("", path) => path.to_owned(),
            (name, path) if path.starts_with('[') => format!("{name}{path}"),
            (name, path) => format!("{name}.{path}"),
        };
        match &*place {
            "" => why,
            place => format!("{place}: {why}"),
        }
    })
}

/// Deserializes a peer's JSON at the speed of `serde_json`. The place of an error is only looked
/// for after a failure.
///
/// # Errors
///
/// As [`read`].
pub fn from_text<'de, T: Deserialize<'de>>(text: &'de str) -> Result<T, String> {
    serde_json::from_str(text).map_err(|error| {
        let mut json = serde_json::Deserializer::from_str(text);
        let read: Result<T, _> = read(&mut json);
        read.err().unwrap_or_else(|| explain(&error))
    })
}

/// Rewords a JSON error for a person. It repeats the names of members and variants, and the line
/// number if there are several lines, but no value, which may be a secret.
#[must_use]
pub fn explain(error: &serde_json::Error) -> String {
    let broken = |what: &str| match error.line() {
        0 | 1 => what.to_owned(),
        line => format!("{what} (line {line})"),
    };
    match error.classify() {
        Category::Syntax => broken("it is not JSON"),
        Category::Eof => broken("it is not JSON: it ends too early"),
        Category::Io | Category::Data => {
            let told = error.to_string();
            let mut told = told.as_str();
            // The error of a nested value has the place of both.
            while let (rest, place) = without_place(told)
                && !place.is_empty()
            {
                told = rest;
            }
            reword(told)
        }
    }
}

/// Rewords the error of another parser as [`explain`] does, and keeps the place, for the author of
/// the text.
#[must_use]
pub fn reworded(told: &str) -> String {
    let (told, place) = without_place(told);
    reword(told) + place
}

/// Splits off ` at line 1 column 2`, with which parsers end an error.
fn without_place(told: &str) -> (&str, &str) {
    let Some(at) = told.rfind(" at line ") else {
        return (told, "");
    };
    let (rest, place) = told.split_at(at);
    let is_place = place
        .chars()
        .skip(" at line ".len())
        .all(|c| c.is_ascii_digit() || " column".contains(c));
    if is_place { (rest, place) } else { (told, "") }
}

const PHRASES: [&str; 8] = [
    "missing field ",
    "duplicate field ",
    "unknown field ",
    "unknown variant ",
    "invalid type: ",
    "invalid value: ",
    "invalid length ",
    "data did not match any variant",
];

fn reword(told: &str) -> String {
    let begins = |phrase: &&'static str| {
        let at = told.find(phrase)?;
        let is_begin = at == 0 || told[..at].ends_with(": ");
        is_begin.then_some((at, *phrase))
    };
    let Some((at, phrase)) = PHRASES.iter().filter_map(begins).min() else {
        return told.to_owned();
    };
    let (place, told) = told.split_at(at);
    let told = &told[phrase.len()..];
    let (what, expected) = told.rsplit_once(", expected ").unwrap_or((told, ""));
    let ours = match phrase {
        "missing field " => format!("{what} is missing"),
        "duplicate field " => format!("{what} is given twice"),
        "unknown field " | "unknown variant " => {
            let what = what.split(", there are no").next().unwrap_or(what);
            let known = expected.strip_prefix("one of ").unwrap_or(expected);
            match known {
                "" => format!("{what} is not known here"),
                known => format!("{what} is not known here; known: {known}"),
            }
        }
        "invalid type: " => {
            let (expected, found) = (expected_words(expected), found_words(what));
            format!("expected {expected}, got {found}")
        }
        "invalid value: " | "invalid length " => format!("expected {}", expected_words(expected)),
        _ => "it has none of the forms that are possible here".to_owned(),
    };
    format!("{place}{ours}")
}

fn expected_words(expected: &str) -> &str {
    match expected {
        "a string" | "a borrowed string" | "str" | "string" | "path string" => "a text",
        "a boolean" => "true or false",
        "a sequence" => "a list",
        "unit" => "null",
        "u8" => "a whole number from 0 to 255",
        "u16" => "a whole number from 0 to 65535",
        "u32" | "u64" | "usize" => "a whole number from 0 on",
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number",
        "f32" | "f64" => "a number",
        "a map" | "map" => "an object",
        "string or map" => "a text or an object",
        other if other.starts_with("struct ") || other.starts_with("variant ") => "an object",
        other if other.starts_with("a tuple ") || other.starts_with("an array ") => "a list",
        other if other.starts_with("enum ") || other.starts_with("variant identifier") => "a text",
        other => other,
    }
}

/// Returns the type of the value that was found, without the value.
fn found_words(found: &str) -> &str {
    match found.split([' ', '`']).next().unwrap_or_default() {
        "string" | "character" => "a text",
        "integer" | "floating" | "number" => "a number",
        "boolean" => "true or false",
        "sequence" => "a list",
        "map" => "an object",
        "null" | "unit" | "Option" => "null",
        _ => "something else",
    }
}

/// Reads a number of seconds, which some programs write as a string or with a fraction. Anything
/// else counts as absent, because the rest of the document is still useful.
///
/// # Errors
///
/// Fails only if the deserializer fails.
pub fn seconds<'de, D: Deserializer<'de>>(json: D) -> Result<Option<u64>, D::Error> {
    let value = Value::deserialize(json)?;
    let number = match &value {
        Value::String(text) => text.trim().parse().ok(),
        Value::Number(number) => Some(number.clone()),
        _ => None,
    };
    Ok(number.and_then(|number| {
        let fraction = || number.as_f64().filter(|seconds| *seconds >= 0.0);
        // Larger numbers saturate.
        number.as_u64().or_else(|| fraction().map(|it| it as u64))
    }))
}

/// Reads a list of strings, which some programs write as one string with spaces. Entries that are
/// not strings are ignored.
///
/// # Errors
///
/// Fails if the value is neither a list nor a string.
pub fn texts<'de, D: Deserializer<'de>>(json: D) -> Result<Vec<String>, D::Error> {
    match Value::deserialize(json)? {
        Value::Array(values) => {
            let texts = values.into_iter().filter_map(|value| match value {
                Value::String(text) if !text.is_empty() => Some(text),
                _ => None,
            });
            Ok(texts.collect())
        }
        Value::String(text) => Ok(text.split_whitespace().map(str::to_owned).collect()),
        Value::Null => Ok(Vec::new()),
        _ => Err(serde::de::Error::custom("expected a list of texts")),
    }
}

/// Reads an optional list of strings as [`texts`] does.
///
/// # Errors
///
/// As [`texts`].
pub fn optional_texts<'de, D: Deserializer<'de>>(json: D) -> Result<Option<Vec<String>>, D::Error> {
    match Value::deserialize(json)? {
        Value::Null => Ok(None),
        value => texts(value).map(Some).map_err(serde::de::Error::custom),
    }
}

/// Reads a boolean, which some programs write as a string.
///
/// # Errors
///
/// Fails for any other value.
pub fn flag<'de, D: Deserializer<'de>>(json: D) -> Result<bool, D::Error> {
    match Value::deserialize(json)? {
        Value::Bool(flag) => Ok(flag),
        Value::Null => Ok(false),
        Value::String(text) if text == "true" => Ok(true),
        Value::String(text) if text == "false" => Ok(false),
        _ => Err(serde::de::Error::custom("expected true or false")),
    }
}

/// Reads `null` as the default value.
///
/// # Errors
///
/// Fails if the type cannot be deserialized.
pub fn or_default<'de, T, D>(json: D) -> Result<T, D::Error>
where
    T: Deserialize<'de> + Default,
    D: Deserializer<'de>,
{
    Ok(Option::deserialize(json)?.unwrap_or_default())
}

/// Writes a member unless it is absent.
pub(crate) fn entry<M: SerializeMap, T: Serialize>(
    map: &mut M,
    key: &str,
    value: Option<&T>,
) -> Result<(), M::Error> {
    match value {
        Some(value) => map.serialize_entry(key, value),
        None => Ok(()),
    }
}
