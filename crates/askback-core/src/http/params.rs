//! Arguments of a tool that are repeated in headers, as `x-mcp-header` annotations in its schema
//! demand (2026-07-28, basic/transports/streamable-http, Custom Headers from Tool Parameters).

mod schema;
mod values;

use alloc::{borrow::Cow, format, string::String, vec, vec::Vec};

use super::{Mismatch, headers};
use crate::protocol::{RawObject, Schema};
use values::{Value, Walk};

/// The arguments of a tool that headers repeat, with the headers' names.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HeaderAnnotations {
    /// In lower case.
    headers: Vec<String>,
    properties: Vec<Property>,
}

/// An annotation that the specification forbids. The server's author is to blame. Clients ignore
/// the tool.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the x-mcp-header annotation of {place} {reason}")]
pub struct BadAnnotation {
    /// The place in the schema, as a JSON Pointer; `/` is the schema itself.
    pub place: String,
    pub reason: BadReason,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadReason {
    /// The name is empty or has a character that header names must not have.
    #[error("is not the name of a header")]
    Name,
    /// Another property has the same name, ignoring case.
    #[error("has the name of another one")]
    Repeated,
    /// The property's type is not integer, string or boolean. `null` may be added to these.
    #[error("is on a property that is not an integer, a string or a boolean")]
    Type,
    /// The path to the property has a keyword other than `properties`.
    #[error("is not on a property reached through `properties` alone")]
    Place,
    #[error("cannot be found: the schema is nested too deeply")]
    Depth,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Property {
    name: String,
    header: Option<usize>,
    inside: Vec<Property>,
}

impl HeaderAnnotations {
    /// Reads the annotations of a tool's input schema. `const`, `enum`, `default` and `examples`
    /// are data, so nothing in them is an annotation. Nor is a property called `x-mcp-header`.
    ///
    /// # Errors
    ///
    /// The first invalid annotation.
    pub fn of(schema: &Schema) -> Result<Self, BadAnnotation> {
        schema::annotations(schema)
    }

    /// Whether there are no annotations, as in most tools.
    pub fn is_empty(&self) -> bool {
        self.headers.is_empty()
    }

    /// Returns the names of the headers in lower case, including `mcp-param-`.
    pub fn header_names(&self) -> impl Iterator<Item = &str> {
        self.headers.iter().map(String::as_str)
    }

    /// Returns the headers that a client sends with these arguments: names in lower case, values
    /// encoded. A missing or null argument has no header, nor has one that cannot be repeated:
    /// other types, fractions, and whole numbers beyond ±(2^53-1).
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
        // The server will reject unreadable arguments.
        let _ = Walk::new(take).over(arguments, &self.properties);
        headers
    }

    /// Checks that the headers of a request match its arguments. `find` returns the values of the
    /// header with a lower-case name: an `Option` for one value, or an iterator if there may be
    /// several. Whole numbers are compared by value: `42.0` is 42. The schema is not considered;
    /// that is another check.
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

/// Parses a decimal whole number; zeros after a point are allowed.
fn integer(text: &str) -> Option<i64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let is_number = !whole.starts_with('+') && !fraction.is_empty();
    let is_whole = fraction.bytes().all(|digit| digit == b'0');
    (is_number && is_whole).then(|| whole.parse().ok())?
}

fn shown(name: &str) -> Cow<'static, str> {
    Cow::Owned(name.into())
}
