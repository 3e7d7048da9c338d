//! JSON schemas, if this build can check them.

use serde_json::Value;

/// Whether a value fits a schema; `None` if that is no schema, or if this build checks none.
#[cfg(feature = "json-schema")]
pub(crate) fn fits(schema: &Value, value: &Value) -> Option<bool> {
    let validator = jsonschema::validator_for(schema).ok()?;
    Some(validator.is_valid(value))
}

#[cfg(not(feature = "json-schema"))]
pub(crate) fn fits(_: &Value, _: &Value) -> Option<bool> {
    None
}
