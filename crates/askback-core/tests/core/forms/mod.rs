//! Forms: reading, checking, lowering, describing.

mod build;
mod check;
mod dialect;
mod lint;
mod pattern;
mod property;
mod read;
mod regression;
mod secret;
mod text;
mod words;

use askback_core::{
    forms::{Content, Field, FormSchema},
    limits::FormLimits,
};
use serde_json::{Value, json};

/// A form with these properties in alphabetical order, all required.
#[track_caller]
fn form(properties: Value) -> FormSchema {
    let names: Vec<_> = properties.as_object().unwrap().keys().collect();
    let schema = json!({"type": "object", "properties": properties, "required": names});
    FormSchema::parse(schema.to_string().as_bytes(), &FormLimits::default()).unwrap()
}

/// The required field `f` with this schema.
#[track_caller]
fn field(schema: Value) -> Field {
    form(json!({"f": schema})).fields.remove(0)
}

/// The optional field `f` with this schema.
#[track_caller]
fn optional(schema: Value) -> Field {
    Field {
        required: false,
        ..field(schema)
    }
}

fn form_of(fields: impl IntoIterator<Item = Field>) -> FormSchema {
    FormSchema {
        fields: fields.into_iter().collect(),
        ..FormSchema::default()
    }
}

#[track_caller]
fn content(value: Value) -> Content {
    match value {
        Value::Object(content) => content,
        other => panic!("{other} is no content"),
    }
}
