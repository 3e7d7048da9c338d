//! Replaces the references in a schema by their definitions.

use alloc::{borrow::ToOwned, string::String, vec::Vec};

use serde_json::{Map, Value};

use super::draft::Keywords;

/// The maximum depth of references.
const DEPTH: usize = 8;

/// The maximum number of values that replace references in one schema.
const VALUES: usize = 1024;

/// The definitions of a schema, and the bounds for using them.
#[derive(Default)]
pub(super) struct Definitions {
    all: Map<String, Value>,
    /// The number of values that may still be inserted.
    left: usize,
}

impl Definitions {
    pub(super) fn of(keywords: &Keywords) -> Self {
        let mut all = Map::new();
        for (key, value) in &keywords.0 {
            if let ("$defs" | "definitions", Value::Object(definitions)) = (key.as_str(), value) {
                for (name, definition) in definitions {
                    all.insert([key, "/", name].concat(), definition.clone());
                }
            }
        }
        Self { all, left: VALUES }
    }

    /// Replaces the references in a field's schema. Keywords next to a reference override its
    /// definition, and the definition's title is dropped. References elsewhere or beyond the bounds
    /// stay.
    pub(super) fn put_into(&mut self, keywords: &mut Keywords) {
        if self.all.is_empty() {
            return;
        }
        let mut schema = Value::Object(Map::new());
        let mut doubled = Vec::new();
        for (key, value) in keywords.0.drain(..) {
            match &mut schema {
                Value::Object(schema) if !schema.contains_key(&key) => {
                    schema.insert(key, value);
                }
                _ => doubled.push((key, value)),
            }
        }
        self.put(&mut schema, DEPTH);
        if let Value::Object(schema) = schema {
            keywords.0 = schema.into_iter().chain(doubled).collect();
        }
    }

    fn put(&mut self, schema: &mut Value, depth: usize) {
        if let Some(definition) = self.definition(schema, depth) {
            *schema = definition;
            self.put(schema, depth.saturating_sub(1));
            return;
        }
        match schema {
            Value::Object(members) => members
                .values_mut()
                .for_each(|value| self.put(value, depth)),
            Value::Array(items) => items.iter_mut().for_each(|value| self.put(value, depth)),
            _ => {}
        }
    }

    /// Returns the referenced definition, merged with the keywords next to the reference.
    fn definition(&mut self, schema: &Value, depth: usize) -> Option<Value> {
        let reference = schema.get("$ref")?.as_str()?.strip_prefix("#/")?;
        let Value::Object(definition) = self.all.get(reference)? else {
            return None;
        };
        let cost = definition.values().map(values).sum::<usize>();
        if depth == 0 || cost > self.left {
            return None;
        }
        self.left -= cost;
        let mut definition = definition.clone();
        definition.remove("title");
        let beside = schema.as_object()?.iter();
        for (key, value) in beside.filter(|(key, _)| *key != "$ref") {
            definition.insert(key.to_owned(), value.clone());
        }
        Some(Value::Object(definition))
    }
}

fn values(value: &Value) -> usize {
    let inside: usize = match value {
        Value::Object(members) => members.values().map(values).sum(),
        Value::Array(items) => items.iter().map(values).sum(),
        _ => 0,
    };
    inside.saturating_add(1)
}
