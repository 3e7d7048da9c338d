//! Arguments of a tool that are mirrored into headers, as the `x-mcp-header` annotations of its
//! schema say (2026-07-28, basic/transports/streamable-http, Custom Headers from Tool Parameters).

mod schema;
mod values;

use alloc::{borrow::Cow, format, string::String, vec, vec::Vec};

use super::{Mismatch, headers};
use crate::protocol::{RawObject, Schema};
use values::{Value, Walk};

/// Which arguments of a tool are mirrored into which headers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HeaderAnnotations {
    /// The names of the headers in small letters.
    headers: Vec<String>,
    properties: Vec<Property>,
}

/// An annotation that the specification forbids; the server's author is to blame. A client leaves
/// the tool out of the list.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the x-mcp-header annotation of {place} {reason}")]
pub struct BadAnnotation {
    /// Where it stands in the schema, as a JSON Pointer; `/` is the schema itself.
    pub place: String,
    /// The fault.
    pub reason: BadReason,
}

/// The fault of an annotation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadReason {
    /// It is empty, or holds a character that no name of a header may.
    #[error("is no name of a header")]
    Name,
    /// Another property has the same name, letters counted as equal in both cases.
    #[error("has the name of another one")]
    Repeated,
    /// The property is not of type integer, string or boolean, with or without null.
    #[error("stands at a property that is no integer, string or boolean")]
    Type,
    /// It does not stand at a property that is reached through `properties` alone.
    #[error("does not stand at a property reached through `properties` alone")]
    Place,
    /// The schema is nested too deeply to be looked through.
    #[error("cannot be found: the schema is nested too deeply")]
    Depth,
}

/// A property that is annotated, or has annotated ones inside.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Property {
    name: String,
    header: Option<usize>,
    inside: Vec<Property>,
}

impl HeaderAnnotations {
    /// The annotations of a tool's input schema. What stands in `const`, `enum`, `default` and
    /// `examples` is data and never an annotation, and so is a property that is called
    /// `x-mcp-header`.
    ///
    /// # Errors
    ///
    /// The first annotation that breaks a rule.
    pub fn of(schema: &Schema) -> Result<Self, BadAnnotation> {
        schema::annotations(schema)
    }

    /// Whether nothing is mirrored, as in most tools.
    pub fn is_empty(&self) -> bool {
        self.headers.is_empty()
    }

    /// The names of the headers, in small letters, `mcp-param-` included.
    pub fn header_names(&self) -> impl Iterator<Item = &str> {
        self.headers.iter().map(String::as_str)
    }

    /// The headers a client sends along with these arguments, names in small letters and values
    /// encoded. What is absent or null has no header, and neither has what cannot be mirrored:
    /// other kinds of values, fractions, and whole numbers beyond ±(2^53-1).
    pub fn headers(&self, arguments: Option<&RawObject>) -> Vec<(String, String)> {
        let mut headers = Vec::new();
        let take = |header: usize, value: Value<'_>| {
            let value = match value {
                Value::Text(text) => headers::encode(text).into_owned(),
                Value::Integer(number) => format!("{number}"),
                Value::Flag(flag) => format!("{flag}"),
                Value::Null | Value::Unfit => return,
            };
            headers.push((self.headers[header].clone(), value));
        };
        // What cannot be read is refused by the server, whatever the headers say.
        let _ = Walk::new(take).over(arguments, &self.properties);
        headers
    }

    /// Whether the headers of a request mirror its arguments. `find` gives what the headers of a
    /// name hold, the name in small letters: an `Option` of one, or an iterator where there may be
    /// several. Whole numbers are compared as numbers: `42.0` is 42. An argument counts as what it
    /// is, whatever the schema wants: whether it fits is another check.
    ///
    /// # Errors
    ///
    /// The first [`Mismatch`].
    pub fn check<'h, F, V>(&self, find: F, arguments: Option<&RawObject>) -> Result<(), Mismatch>
    where
        F: Fn(&str) -> V,
        V: IntoIterator<Item = &'h [u8]>,
    {
        if self.is_empty() {
            return Ok(());
        }
        let mut mirrored = vec![false; self.headers.len()];
        let mut outcome = Ok(());
        let compare = |header: usize, value: Value<'_>| {
            let is_first = !core::mem::replace(&mut mirrored[header], true);
            let name = &self.headers[header];
            if outcome.is_ok() {
                outcome = match is_first {
                    true => only(find(name), name).and_then(|found| agree(found, value, name)),
                    false => Err(Mismatch::Unfit(shown(name))),
                };
            }
        };
        let walked = Walk::new(compare).over(arguments, &self.properties);
        outcome?;
        walked.map_err(|_| Mismatch::Unreadable)?;
        for (name, mirrored) in self.headers.iter().zip(mirrored) {
            if !mirrored && only(find(name), name)?.is_some() {
                return Err(Mismatch::Unexpected(shown(name)));
            }
        }
        Ok(())
    }
}

/// The one header of a name.
fn only<'h>(
    found: impl IntoIterator<Item = &'h [u8]>,
    name: &str,
) -> Result<Option<&'h [u8]>, Mismatch> {
    let mut found = found.into_iter();
    match (found.next(), found.next()) {
        (_, Some(_)) => Err(Mismatch::Repeated(shown(name))),
        (first, None) => Ok(first),
    }
}

/// Whether a header says what an argument says.
fn agree(header: Option<&[u8]>, value: Value<'_>, name: &str) -> Result<(), Mismatch> {
    let Some(header) = header else {
        return match value {
            Value::Null => Ok(()),
            Value::Unfit => Err(Mismatch::Unfit(shown(name))),
            _ => Err(Mismatch::Missing(shown(name))),
        };
    };
    let header = headers::decode(header).map_err(|_| Mismatch::Invalid(shown(name)))?;
    let agrees = match value {
        Value::Text(text) => header == text,
        Value::Integer(number) => integer(&header) == Some(number),
        Value::Flag(flag) => header == if flag { "true" } else { "false" },
        Value::Null => return Err(Mismatch::Unexpected(shown(name))),
        Value::Unfit => return Err(Mismatch::Unfit(shown(name))),
    };
    agrees.then_some(()).ok_or(Mismatch::Differs(shown(name)))
}

/// A whole number in decimal digits, with nothing but zeros after a point.
fn integer(text: &str) -> Option<i64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let is_number = !whole.starts_with('+') && !fraction.is_empty();
    let is_whole = fraction.bytes().all(|digit| digit == b'0');
    (is_number && is_whole).then(|| whole.parse().ok())?
}

fn shown(name: &str) -> Cow<'static, str> {
    Cow::Owned(name.into())
}
