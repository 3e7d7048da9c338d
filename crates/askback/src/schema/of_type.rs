//! Schemas of types, by `schemars`.

use askback_core::protocol;
use schemars::{JsonSchema, Schema, SchemaGenerator, generate::SchemaSettings};
use serde_json::{Map, Value};

/// The schema of arguments that are read as this type: that of an object, which arguments are.
pub(crate) fn of_arguments<T: JsonSchema>() -> protocol::Schema {
    let mut schema = root::<T>(settings().for_deserialize());
    let object = Value::from("object");
    match schema.get("type") {
        None => {
            schema.insert("type".to_owned(), object);
        }
        // Where an object may be missing: arguments never are.
        Some(Value::Array(types)) if types.contains(&object) => {
            schema.insert("type".to_owned(), object);
        }
        Some(_) => {}
    }
    protocol::Schema::new(&schema).unwrap_or_default()
}

/// The schema of a result that is written of this type; none where it says nothing. It says of an object
/// that it is one wherever it can: revisions before 2026-07-28 know no other results.
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

/// Makes the schemas of the types of single arguments.
pub(crate) fn generator() -> SchemaGenerator {
    settings().for_deserialize().into_generator()
}

/// 2020-12, which needs not be said.
fn settings() -> SchemaSettings {
    SchemaSettings::draft2020_12().with(|settings| settings.meta_schema = None)
}

/// The schema of a type. Where it says nothing but the name of the type, as that of any value does, it is
/// empty.
fn root<T: JsonSchema>(settings: SchemaSettings) -> Schema {
    let schema = settings.into_generator().into_root_schema_for::<T>();
    let says = |members: &Map<String, Value>| members.keys().any(|key| key != "title");
    if schema.as_object().is_some_and(says) {
        schema
    } else {
        Map::new().into()
    }
}

/// Whether all alternatives of a schema are objects, as those of most enums are.
fn is_always_object(schema: &Schema) -> bool {
    ["oneOf", "anyOf"].iter().any(|keyword| {
        let alternatives = schema.get(*keyword).and_then(Value::as_array);
        alternatives.is_some_and(|all| {
            let is_object = |alternative: &Value| alternative["type"] == "object";
            !all.is_empty() && all.iter().all(is_object)
        })
    })
}
