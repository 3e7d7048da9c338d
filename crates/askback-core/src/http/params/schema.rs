//! Finds the annotations of a schema, and rejects those in wrong places.

use alloc::{
    borrow::ToOwned,
    format,
    string::{String, ToString},
    vec::Vec,
};

use serde_json::{Map, Value};

use super::{
    AnnotatedArgument, BadAnnotation, BadReason, HeaderAnnotations, headers::PARAM_PREFIX,
};
use crate::protocol::Schema;

const ANNOTATION: &str = "x-mcp-header";

/// Keywords whose values are data and have no annotations.
const DATA: [&str; 5] = ["const", "default", "enum", "examples", "required"];

pub(super) fn annotations(schema: &Schema) -> Result<HeaderAnnotations, BadAnnotation> {
    let mut annotations = HeaderAnnotations::default();
    let text = schema.as_str();
    // Most schemas have no annotations. An escape may hide one.
    if !text.contains(ANNOTATION) && !text.contains("\\u") {
        return Ok(annotations);
    }
    let schema: Map<String, Value> = schema.decode().map_err(|_| bad("/", BadReason::Depth))?;
    if schema.contains_key(ANNOTATION) {
        return Err(bad("/", BadReason::Place));
    }
    inside(&schema, "", &mut Vec::new(), &mut annotations.0)?;
    Ok(annotations)
}

/// Collects the annotations inside the schema at `place`, except its own.
fn inside(
    schema: &Map<String, Value>,
    place: &str,
    path: &mut Vec<String>,
    found: &mut Vec<AnnotatedArgument>,
) -> Result<(), BadAnnotation> {
    for (keyword, value) in schema {
        let place = below(place, keyword);
        match value.as_object().filter(|_| keyword == "properties") {
            Some(properties) => {
                for (name, schema) in properties {
                    path.push(name.to_owned());
                    property(schema, &below(&place, name), path, found)?;
                    path.pop();
                }
            }
            None => refuse_in_keyword(keyword, value, &place)?,
        }
    }
    Ok(())
}

fn property(
    schema: &Value,
    place: &str,
    path: &mut Vec<String>,
    found: &mut Vec<AnnotatedArgument>,
) -> Result<(), BadAnnotation> {
    let Value::Object(schema) = schema else {
        return Ok(());
    };
    if let Some(annotation) = schema.get(ANNOTATION) {
        let header = header(annotation, schema, found).map_err(|reason| bad(place, reason))?;
        let path = path.clone();
        found.push(AnnotatedArgument { header, path });
    }
    inside(schema, place, path, found)
}

fn header(
    annotation: &Value,
    schema: &Map<String, Value>,
    found: &[AnnotatedArgument],
) -> Result<String, BadReason> {
    let name = annotation.as_str().unwrap_or_default();
    if name.is_empty() || !name.bytes().all(is_token) {
        return Err(BadReason::Name);
    }
    if !schema.get("type").is_some_and(is_primitive) {
        return Err(BadReason::Type);
    }
    let header = format!("{PARAM_PREFIX}{}", name.to_ascii_lowercase());
    if found.iter().any(|argument| argument.header == header) {
        return Err(BadReason::Repeated);
    }
    Ok(header)
}

/// Whether a character may be in a header name (RFC 9110, 5.6.2).
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// Whether this is one type that a header can repeat, optionally with null, which has no header.
fn is_primitive(kind: &Value) -> bool {
    let known = |kind: &Value| matches!(kind.as_str(), Some("boolean" | "integer" | "string"));
    match kind.as_array() {
        None => known(kind),
        Some(kinds) => {
            let other = kinds.iter().filter(|kind| *kind != "null");
            other.clone().count() == 1 && other.clone().all(known)
        }
    }
}

/// Rejects annotations below a keyword that does not lead to properties.
fn refuse_in_keyword(keyword: &str, value: &Value, place: &str) -> Result<(), BadAnnotation> {
    if DATA.contains(&keyword) {
        return Ok(());
    }
    match value
        .as_object()
        .filter(|_| Schema::NAMED.contains(&keyword))
    {
        Some(named) => named
            .iter()
            .try_for_each(|(name, schema)| refuse(schema, &below(place, name))),
        None => refuse(value, place),
    }
}

fn refuse(value: &Value, place: &str) -> Result<(), BadAnnotation> {
    match value {
        Value::Object(schema) if schema.contains_key(ANNOTATION) => {
            Err(bad(place, BadReason::Place))
        }
        Value::Object(schema) => schema.iter().try_for_each(|(keyword, value)| {
            refuse_in_keyword(keyword, value, &below(place, keyword))
        }),
        Value::Array(schemas) => schemas
            .iter()
            .enumerate()
            .try_for_each(|(at, schema)| refuse(schema, &below(place, &at.to_string()))),
        _ => Ok(()),
    }
}

fn below(place: &str, name: &str) -> String {
    format!("{place}/{}", name.replace('~', "~0").replace('/', "~1"))
}

fn bad(place: &str, reason: BadReason) -> BadAnnotation {
    BadAnnotation {
        place: place.to_owned(),
        reason,
    }
}
