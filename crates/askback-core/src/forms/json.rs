//! Fields that a form cannot express, written as JSON instead.

use alloc::{
    borrow::ToOwned,
    format,
    string::{String, ToString},
    vec::Vec,
};

use serde_json::{Map, Value};

use super::{Field, FormSchema, SchemaError};
use crate::limits::FormLimits;

/// A field that is written as JSON: a tool argument whose schema a form cannot express.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct JsonField {
    /// Its JSON Schema, without title and description.
    pub schema: Map<String, Value>,
    /// Why a form cannot express it, as the rest of a sentence.
    pub reason: String,
}

/// Reads JSON that a person wrote. Whole numbers are never rounded.
///
/// ```
/// use askback_core::forms::read_json;
///
/// assert_eq!(read_json("[9007199254740993]").unwrap().to_string(), "[9007199254740993]");
/// let error = read_json("[18446744073709551616]").unwrap_err();
/// assert_eq!(error, "18446744073709551616 is too large to be sent exactly");
/// ```
///
/// # Errors
///
/// Fails at the position of a syntax error, or for a whole number beyond 64 bits.
pub fn read_json(text: &str) -> Result<Value, String> {
    let value = serde_json::from_str(text)
        .map_err(|error| format!("is not JSON from character {} on", error.column()))?;
    match rounded(text) {
        None => Ok(value),
        Some(number) => Err(format!("{number} is too large to be sent exactly")),
    }
}

impl JsonField {
    /// Returns the fields of an object whose schema is this one or part of it, in the order of
    /// their names.
    ///
    /// # Errors
    ///
    /// As [`FormSchema::parse_arguments`].
    pub fn members(
        &self,
        object: &Map<String, Value>,
        limits: &FormLimits,
    ) -> Result<Vec<Field>, SchemaError> {
        let json = serde_json::to_vec(object).unwrap_or_default();
        FormSchema::parse_arguments(&json, limits).map(|form| form.fields)
    }

    pub(super) fn default_value(&self) -> Option<Value> {
        let default = self.schema.get("default");
        default.filter(|value| !value.is_null()).cloned()
    }

    pub(super) fn hint(&self) -> String {
        let types: Vec<_> = self.types().filter_map(named).collect();
        match types.is_empty() {
            true => "a value, as JSON".to_owned(),
            false => format!("{}, as JSON", types.join(" or ")),
        }
    }

    /// Reads what a user wrote. If a string is expected, invalid JSON is read as a string.
    pub(super) fn parse(&self, text: &str) -> Result<Value, String> {
        match read_json(text) {
            Err(_) if self.types().any(|name| name == "string") => Ok(text.into()),
            read => read,
        }
    }

    /// Checks only the outermost type and the listed values. The tool checks the rest.
    pub(super) fn check(&self, value: &Value) -> Result<(), String> {
        let mut types = self.types().filter(|name| named(name).is_some()).peekable();
        if types.peek().is_some() && !types.any(|name| is(name, value)) {
            let types: Vec<_> = self.types().filter_map(named).collect();
            return Err(format!("must be {}", types.join(" or ")));
        }
        let listed = self.schema.get("enum").and_then(Value::as_array);
        match listed {
            Some(listed) if !listed.contains(value) => {
                Err("must be one of the values in its schema".to_string())
            }
            _ => Ok(()),
        }
    }

    fn types(&self) -> impl Iterator<Item = &str> {
        let several = match self.schema.get("type") {
            Some(Value::Array(names)) => names.as_slice(),
            Some(name) => core::slice::from_ref(name),
            None => &[],
        };
        several.iter().filter_map(Value::as_str)
    }
}

/// Describes a JSON Schema type, or returns `None` for an unknown one.
fn named(name: &str) -> Option<&'static str> {
    Some(match name {
        "object" => "an object",
        "array" => "a list",
        "string" => "a text",
        "number" => "a number",
        "integer" => "a whole number",
        "boolean" => "true or false",
        "null" => "null",
        _ => return None,
    })
}

fn is(name: &str, value: &Value) -> bool {
    match value {
        Value::Null => name == "null",
        Value::Bool(_) => name == "boolean",
        Value::Number(number) => {
            name == "number" || name == "integer" && super::number::is_integral(number)
        }
        Value::String(_) => name == "string",
        Value::Array(_) => name == "array",
        Value::Object(_) => name == "object",
    }
}

/// Returns the first whole number in a JSON text that would be rounded.
fn rounded(json: &str) -> Option<&str> {
    let is_of_number = |c: char| c.is_ascii_digit() || "+-.eE".contains(c);
    let mut rest = json;
    while let Some(at) = rest.find(|c: char| c == '"' || c == '-' || c.is_ascii_digit()) {
        rest = &rest[at..];
        if let Some(text) = rest.strip_prefix('"') {
            rest = behind(text);
            continue;
        }
        let end = rest.find(|c| !is_of_number(c)).unwrap_or(rest.len());
        let (number, behind) = rest.split_at(end);
        let is_whole = !number.contains(['.', 'e', 'E']);
        if is_whole && number.parse::<i64>().is_err() && number.parse::<u64>().is_err() {
            return Some(number);
        }
        rest = behind;
    }
    None
}

fn behind(text: &str) -> &str {
    let mut is_escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => return &text[at + 1..],
            _ => {}
        }
    }
    ""
}
