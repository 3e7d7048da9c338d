//! Finds the annotations of a schema, and rejects those in wrong places.

use alloc::{
    borrow::ToOwned,
    format,
    string::{String, ToString},
    vec::Vec,
};

use serde_json::{Map, Value};

use super::{BadAnnotation, BadReason, HeaderAnnotations, Property, headers::PARAM_PREFIX};
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
    annotations.properties = inside(&schema, "", &mut annotations.headers)?;
    Ok(annotations)
}

/// Collects the annotations inside the schema at `place`, except its own.
fn inside(
    schema: &Map<String, Value>,
    place: &str,
    headers: &mut Vec<String>,
) -> Result<Vec<Property>, BadAnnotation> {
    let mut found = Vec::new();
    for (keyword, value) in schema {
        let place = below(place, keyword);
        match value.as_object().filter(|_| keyword == "properties") {
            Some(properties) => {
                for (name, schema) in properties {
                    found.extend(property(name, schema, &below(&place, name), headers)?);
                }
            }
            None => refuse_in_keyword(keyword, value, &place)?,
        }
    }
    Ok(found)
}

fn property(
    name: &str,
    schema: &Value,
    place: &str,
    headers: &mut Vec<String>,
) -> Result<Option<Property>, BadAnnotation> {
    let Value::Object(schema) = schema else {
        return Ok(None);
    };
    let header = match schema.get(ANNOTATION) {
        None => None,
        Some(annotation) => {
            let header =
                header(annotation, schema, headers).map_err(|reason| bad(place, reason))?;
            headers.push(header);
            Some(headers.len() - 1)
        }
    };
    let inside = inside(schema, place, headers)?;
    let leads_to_one = header.is_some() || !inside.is_empty();
    Ok(leads_to_one.then(|| Property {
        name: name.to_owned(),
        header,
        inside,
    }))
}

fn header(
    annotation: &Value,
    schema: &Map<String, Value>,
    headers: &[String],
) -> Result<String, BadReason> {
    let name = annotation.as_str().unwrap_or_default();
    if name.is_empty() || !name.bytes().all(is_token) {
        return Err(BadReason::Name);
    }
    if !schema.get("type").is_some_and(is_primitive) {
        return Err(BadReason::Type);
    }
    let header = format!("{PARAM_PREFIX}{}", name.to_ascii_lowercase());
    if headers.contains(&header) {
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
