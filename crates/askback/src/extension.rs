use askback_core::protocol::JsonObject;
use serde::Serialize;
use serde_json::Value;

/// Serializes the settings of an extension: an object, or `()` for an empty one.
///
/// # Errors
///
/// Says why the settings cannot be used.
pub(crate) fn settings(settings: &impl Serialize) -> Result<JsonObject, String> {
    match serde_json::to_value(settings) {
        Ok(Value::Object(settings)) => Ok(settings),
        Ok(Value::Null) => Ok(JsonObject::new()),
        Ok(_) => Err("its settings must be an object".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}
