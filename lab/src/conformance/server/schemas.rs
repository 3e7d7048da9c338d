//! Tools with arguments described by a JSON schema instead of a form.

use askback::{PlainJson, Result, protocol::Schema, tool};
use serde::Deserialize;
use serde_json::{Map, Value, json};

#[derive(Deserialize)]
pub(super) struct Custom {
    value: Option<String>,
}

/// Tool with JSON Schema 2020-12 features
#[tool(input_schema = contact_schema())]
pub(super) async fn json_schema_2020_12_tool(
    contact: PlainJson<Map<String, Value>>,
) -> Result<String> {
    Ok(Value::Object(contact.0).to_string())
}

/// Returns what it received, in the headers and in the body.
#[tool(input_schema = custom_schema())]
pub(super) async fn test_custom_header(custom: PlainJson<Custom>) -> Result<String> {
    Ok(custom.0.value.unwrap_or_default())
}

fn contact_schema() -> Schema {
    schema(json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
            },
        },
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"},
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": false,
    }))
}

fn custom_schema() -> Schema {
    schema(json!({
        "type": "object",
        "properties": {
            "value": {"type": "string", "x-mcp-header": "Value"},
        },
    }))
}

fn schema(schema: Value) -> Schema {
    Schema::new(&schema).expect("the schemas above are objects")
}
