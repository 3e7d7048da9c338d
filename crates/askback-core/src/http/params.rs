//! Arguments of a tool that are repeated in headers, as `x-mcp-header` annotations in its schema
//! demand (2026-07-28, basic/transports/streamable-http, Custom Headers from Tool Parameters).

mod schema;

use alloc::{
    borrow::Cow,
    string::{String, ToString},
    vec,
    vec::Vec,
};

use serde_json::{Value, value::RawValue};

use super::{Mismatch, headers};
use crate::{
    json::Members,
    jsonrpc::whole,
    protocol::{RawObject, Schema},
};

/// The arguments of a tool that headers repeat, with the headers' names.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HeaderAnnotations(Vec<AnnotatedArgument>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct AnnotatedArgument {
    /// In lower case.
    header: String,
    /// The names of the properties that lead to it.
    path: Vec<String>,
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

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the headers that a client sends with these arguments: names in lower case, values
    /// encoded. A missing or null argument has no header, nor has one that cannot be repeated:
    /// other types, fractions, and whole numbers beyond ±(2^53-1).
    pub fn headers(&self, arguments: Option<&RawObject>) -> Vec<(String, String)> {
        let mut headers = Vec::new();
        for argument in &self.0 {
            // The server will reject what cannot be repeated.
            if let Ok(Some(Repeated { text, .. })) = argument.read(arguments) {
                headers.push((argument.header.clone(), headers::encode(&text).into_owned()));
            }
        }
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
        for argument in &self.0 {
            let name = &argument.header;
            let shown = || shown(name);
            match (only(find(name), name)?, argument.read(arguments)?) {
                (None, None) => {}
                (None, Some(_)) => return Err(Mismatch::Missing(shown())),
                (Some(_), None) => return Err(Mismatch::Unexpected(shown())),
                (Some(header), Some(value)) => {
                    let header = headers::decode(header);
                    let header = header.map_err(|_| Mismatch::Invalid(shown()))?;
                    let is_same = || value.number.is_some() && integer(&header) == value.number;
                    if header != value.text && !is_same() {
                        return Err(Mismatch::Differs(shown()));
                    }
                }
            }
        }
        Ok(())
    }
}

/// The largest integer that JavaScript and most other JSON readers represent exactly.
const SAFE: i64 = (1 << 53) - 1;

/// The value of an argument as a header repeats it, before it is encoded.
struct Repeated {
    text: String,
    number: Option<i64>,
}

impl AnnotatedArgument {
    /// Returns `None` if the argument is missing or null.
    fn read(&self, arguments: Option<&RawObject>) -> Result<Option<Repeated>, Mismatch> {
        let Some(arguments) = arguments else {
            return Ok(None);
        };
        let mut found = vec![arguments.as_str()];
        for name in &self.path {
            let mut inside = Vec::new();
            for object in found.iter().filter(|object| object.starts_with('{')) {
                let members: Members<&RawValue> =
                    serde_json::from_str(object).map_err(|_| Mismatch::Unreadable)?;
                let named = members.0.into_iter().filter(|(known, _)| known == name);
                inside.extend(named.map(|(_, value)| value.get()));
            }
            found = inside;
        }
        let unfit = || Mismatch::Unfit(shown(&self.header));
        match found[..] {
            [] => Ok(None),
            [value] if !value.starts_with(['{', '[']) => repeated(value, unfit),
            _ => Err(unfit()),
        }
    }
}

fn repeated(value: &str, unfit: impl Fn() -> Mismatch) -> Result<Option<Repeated>, Mismatch> {
    let value = serde_json::from_str(value).map_err(|_| Mismatch::Unreadable)?;
    let (text, number) = match value {
        Value::Null => return Ok(None),
        Value::String(text) => (text, None),
        Value::Bool(flag) => (flag.to_string(), None),
        Value::Number(number) => {
            let number = number.as_i64().or_else(|| whole(number.as_f64()?));
            let number = number.filter(|number| (-SAFE..=SAFE).contains(number));
            let number = number.ok_or_else(unfit)?;
            (number.to_string(), Some(number))
        }
        Value::Array(_) | Value::Object(_) => return Err(unfit()),
    };
    Ok(Some(Repeated { text, number }))
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
