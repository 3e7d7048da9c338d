//! A schema as it was read, before it is interpreted.

use alloc::{format, string::String, vec::Vec};
use core::fmt;

use serde::de::{
    Deserialize, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor,
    value::MapAccessDeserializer,
};
use serde_json::{Number, Value};

use super::number;
use crate::json::{Members, nothing_of};

#[derive(Default)]
pub(super) struct Draft {
    pub(super) properties: Option<Vec<(String, FieldDraft)>>,
    pub(super) keywords: Keywords,
}

/// The keywords of a property, or `None` if its schema is not an object.
#[derive(Clone, Default)]
pub(super) struct FieldDraft(pub(super) Option<Keywords>);

/// The members of an object in their order, including duplicates.
#[derive(Default, Clone)]
pub(super) struct Keywords(pub(super) Vec<(String, Value)>);

impl Keywords {
    /// Removes a keyword and returns its value. Null counts as absent, because schema generators
    /// write it so. A duplicate keyword is an error.
    pub(super) fn take(&mut self, key: &str) -> Result<Option<Value>, String> {
        let mut found = None;
        let mut doubled = false;
        self.0.retain_mut(|(name, value)| {
            if name != key {
                return true;
            }
            doubled |= found.replace(value.take()).is_some();
            false
        });
        if doubled {
            return Err(twice(key));
        }
        Ok(found.filter(|value| !value.is_null()))
    }

    pub(super) fn text(&mut self, key: &str) -> Result<Option<String>, String> {
        match self.take(key)? {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(format!("`{key}` must be a text")),
        }
    }

    pub(super) fn number(&mut self, key: &str) -> Result<Option<Number>, String> {
        match self.take(key)? {
            None => Ok(None),
            Some(Value::Number(number)) => Ok(Some(number)),
            Some(_) => Err(format!("`{key}` must be a number")),
        }
    }

    pub(super) fn count(&mut self, key: &str) -> Result<Option<u64>, String> {
        match self.number(key)? {
            None => Ok(None),
            Some(number) => match number::to_u64(&number) {
                Some(count) => Ok(Some(count)),
                None => Err(format!("`{key}` must be a whole number from 0 on")),
            },
        }
    }

    /// Removes null from a union of null and one other type, which schema generators write for
    /// optional arguments.
    pub(super) fn leave_out_null(&mut self) {
        let is_null = |schema: &Value| schema["type"] == "null";
        let mut only = None;
        for (name, value) in &mut self.0 {
            let Value::Array(members) = value else {
                continue;
            };
            match name.as_str() {
                "type" if members.len() == 2 && members.iter().any(|name| name == "null") => {
                    members.retain(|name| name != "null");
                    *value = members.swap_remove(0);
                }
                "anyOf" | "oneOf" if members.len() == 2 && members.iter().any(is_null) => {
                    only = members.iter().find(|schema| !is_null(schema)).cloned();
                }
                _ => {}
            }
        }
        if let Some(Value::Object(only)) = only {
            self.0
                .retain(|(name, _)| !matches!(name.as_str(), "anyOf" | "oneOf"));
            for (name, value) in only {
                if self.0.iter().all(|(known, _)| *known != name) {
                    self.0.push((name, value));
                }
            }
        }
    }

    pub(super) fn preset(&mut self) -> Result<Option<Value>, String> {
        self.take("default")
    }
}

impl Draft {
    /// The minimum length of the schema's JSON, in bytes.
    pub(super) fn bytes(&self) -> usize {
        let fields = self.properties.iter().flatten();
        let fields = fields.map(|(name, field)| name.len().saturating_add(field.bytes()));
        fields.fold(self.keywords.bytes(), usize::saturating_add)
    }
}

impl FieldDraft {
    fn bytes(&self) -> usize {
        self.0.as_ref().map_or(0, Keywords::bytes)
    }
}

impl Keywords {
    fn bytes(&self) -> usize {
        let all = self.0.iter();
        all.map(|(name, value)| name.len().saturating_add(bytes(value)))
            .fold(0, usize::saturating_add)
    }
}

/// The minimum length of a value's JSON, in bytes.
fn bytes(value: &Value) -> usize {
    let inside = match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(bytes).fold(0, usize::saturating_add),
        Value::Object(members) => members
            .iter()
            .map(|(name, value)| name.len().saturating_add(bytes(value)))
            .fold(0, usize::saturating_add),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    };
    // One digit, or two quotes or brackets, and a comma.
    inside.saturating_add(2)
}

pub(super) fn twice(key: &str) -> String {
    format!("gives `{key}` twice")
}

impl<'de> Deserialize<'de> for Draft {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(DraftVisitor)
    }
}

struct DraftVisitor;

impl<'de> Visitor<'de> for DraftVisitor {
    type Value = Draft;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the schema of a form")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Draft, A::Error> {
        let mut draft = Draft::default();
        while let Some(key) = map.next_key::<String>()? {
            if key != "properties" {
                draft.keywords.0.push((key, map.next_value()?));
                continue;
            }
            let properties: Option<Members<FieldDraft>> = map.next_value()?;
            let Members(properties) = properties.unwrap_or_default();
            if draft.properties.replace(properties).is_some() {
                return Err(A::Error::custom(twice("properties")));
            }
        }
        Ok(draft)
    }
}

impl<'de> Deserialize<'de> for FieldDraft {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(FieldVisitor)
    }
}

/// Accepts any value, so that the error for a value that is not an object can name the field.
struct FieldVisitor;

impl<'de> Visitor<'de> for FieldVisitor {
    type Value = FieldDraft;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the schema of a field")
    }

    nothing_of! { visit_unit() visit_bool(bool) visit_i64(i64) visit_u64(u64) visit_f64(f64) visit_str(&str) }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<FieldDraft, A::Error> {
        let keywords = Members::deserialize(MapAccessDeserializer::new(map))?;
        Ok(FieldDraft(Some(Keywords(keywords.0))))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<FieldDraft, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(FieldDraft(None))
    }
}
