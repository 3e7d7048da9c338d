//! Schemas of types, from `schemars`.

use askback_core::protocol;
use schemars::{JsonSchema, Schema, SchemaGenerator, generate::SchemaSettings};
use serde_json::{Map, Value};

/// Returns the schema of arguments of this type, which is always an object schema.
pub(crate) fn of_arguments<T: JsonSchema>() -> protocol::Schema {
    let mut schema = root::<T>(settings().for_deserialize());
    let object = Value::from("object");
    match schema.get("type") {
        None => {
            schema.insert("type".to_owned(), object);
        }
        // An optional object: arguments are always present.
        Some(Value::Array(types)) if types.contains(&object) => {
            schema.insert("type".to_owned(), object);
        }
        Some(_) => {}
    }
    protocol::Schema::new(&schema).unwrap_or_default()
}

/// Returns the schema of a result of this type; `None` if the schema is empty. It says `type: object` if possible,
/// because revisions before 2026-07-28 allow no other results.
pub(crate) fn of_result<T: JsonSchema>() -> Option<protocol::Schema> {
    let mut schema = root::<T>(settings().for_serialize());
    if schema.as_object().is_none_or(Map::is_empty) {
        return None;
    }
    if schema.get("type").is_none() && is_always_object(&schema) {
        schema.insert("type".to_owned(), "object".into());
    }
    protocol::Schema::new(&schema).ok()
}

pub(crate) fn generator() -> SchemaGenerator {
    settings().for_deserialize().into_generator()
}

/// Omits `$schema`, because 2020-12 is the default.
fn settings() -> SchemaSettings {
    SchemaSettings::draft2020_12().with(|settings| settings.meta_schema = None)
}

/// Returns the schema of a type. If it has only a title, as for any value, the result is empty.
fn root<T: JsonSchema>(settings: SchemaSettings) -> Schema {
    let schema = settings.into_generator().into_root_schema_for::<T>();
    let says = |members: &Map<String, Value>| members.keys().any(|key| key != "title");
    if schema.as_object().is_some_and(says) {
        schema
    } else {
        Map::new().into()
    }
}

/// Whether all alternatives of a schema are objects, as for most enums.
fn is_always_object(schema: &Schema) -> bool {
    ["oneOf", "anyOf"].iter().any(|keyword| {
        let alternatives = schema.get(*keyword).and_then(Value::as_array);
        alternatives.is_some_and(|all| {
            let is_object = |alternative: &Value| alternative["type"] == "object";
            !all.is_empty() && all.iter().all(is_object)
        })
    })
}
