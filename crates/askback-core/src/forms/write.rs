//! Writes a form as the JSON of a `requestedSchema`.
//!
//! Everything is written in its newest notation. `lower` removes what a revision does not support
//! beforehand.

use alloc::string::String;

use serde::{Serialize, Serializer, ser::SerializeMap};

use super::{
    BooleanField, ChoiceField, ChoicesField, Field, FieldKind, FormSchema, NumberField, Opt,
    TextField, TextFormat,
};
use crate::json::entry;

/// The root keywords that the form writes itself; annotations cannot replace them.
pub(super) const ROOT_KEYWORDS: [&str; 3] = ["type", "properties", "required"];

impl FormSchema {
    /// Returns the form as JSON: a `requestedSchema`, or the `inputSchema` of a tool.
    pub fn to_json(&self) -> String {
        // Serializing fails only for keys that are not strings or for a failing `Serialize`; a form
        // has neither.
        serde_json::to_string(self).expect("a form is always JSON")
    }
}

impl Serialize for FormSchema {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (key, value) in &self.annotations {
            if !ROOT_KEYWORDS.contains(&key.as_str()) {
                map.serialize_entry(key, value)?;
            }
        }
        map.serialize_entry("type", "object")?;
        map.serialize_entry("properties", &Properties(&self.fields))?;
        if self.fields.iter().any(|field| field.required) {
            let required = || self.fields.iter().filter(|field| field.required);
            let names = List(|| required().map(|field| &field.name));
            map.serialize_entry("required", &names)?;
        }
        map.end()
    }
}

struct Properties<'a>(&'a [Field]);

impl Serialize for Properties<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|field| (&field.name, Property(field))))
    }
}

struct Property<'a>(&'a Field);

impl Serialize for Property<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Field {
            title,
            description,
            kind,
            ..
        } = self.0;
        let mut map = serializer.serialize_map(None)?;
        entry(&mut map, "type", type_name(kind).as_ref())?;
        entry(&mut map, "title", title.as_ref())?;
        entry(&mut map, "description", description.as_ref())?;
        match kind {
            FieldKind::Text(text) => write_text(&mut map, text)?,
            FieldKind::Number(number) => write_number(&mut map, number)?,
            FieldKind::Boolean(BooleanField { default }) => {
                entry(&mut map, "default", default.as_ref())?;
            }
            FieldKind::Choice(choice) => write_choice(&mut map, choice)?,
            FieldKind::Choices(choices) => write_choices(&mut map, choices)?,
            FieldKind::Json(json) => {
                for (keyword, value) in &json.schema {
                    map.serialize_entry(keyword, value)?;
                }
            }
        }
        map.end()
    }
}

fn type_name(kind: &FieldKind) -> Option<&'static str> {
    Some(match kind {
        FieldKind::Text(_) | FieldKind::Choice(_) => "string",
        FieldKind::Number(NumberField { integer: true, .. }) => "integer",
        FieldKind::Number(_) => "number",
        FieldKind::Boolean(_) => "boolean",
        FieldKind::Choices(_) => "array",
        // A JSON field contains its own type.
        FieldKind::Json(_) => return None,
    })
}

fn write_text<M: SerializeMap>(map: &mut M, text: &TextField) -> Result<(), M::Error> {
    entry(map, "minLength", text.min_length.as_ref())?;
    entry(map, "maxLength", text.max_length.as_ref())?;
    entry(map, "pattern", text.pattern.as_ref())?;
    entry(map, "format", text.format.map(TextFormat::name).as_ref())?;
    entry(map, "default", text.default.as_ref())
}

fn write_number<M: SerializeMap>(map: &mut M, number: &NumberField) -> Result<(), M::Error> {
    entry(map, "minimum", number.minimum.as_ref())?;
    entry(map, "maximum", number.maximum.as_ref())?;
    entry(map, "default", number.default.as_ref())
}

fn write_choice<M: SerializeMap>(map: &mut M, choice: &ChoiceField) -> Result<(), M::Error> {
    let options = &choice.options;
    let names = List(|| options.iter().map(Opt::label));
    match is_titled(options) {
        true if choice.enum_names => {
            map.serialize_entry("enum", &values(options))?;
            map.serialize_entry("enumNames", &names)?;
        }
        true => map.serialize_entry("oneOf", &titled(options))?,
        false => map.serialize_entry("enum", &values(options))?,
    }
    entry(map, "default", choice.default.as_ref())
}

fn write_choices<M: SerializeMap>(map: &mut M, choices: &ChoicesField) -> Result<(), M::Error> {
    let options = &choices.options;
    let is_titled = is_titled(options);
    entry(map, "minItems", choices.min_items.as_ref())?;
    entry(map, "maxItems", choices.max_items.as_ref())?;
    let items = Items {
        any_of: is_titled.then(|| titled(options)),
        kind: (!is_titled).then_some("string"),
        values: (!is_titled).then(|| values(options)),
    };
    map.serialize_entry("items", &items)?;
    entry(map, "default", choices.default.as_ref())
}

fn is_titled(options: &[Opt]) -> bool {
    options.iter().any(|option| option.title.is_some())
}

fn values(options: &[Opt]) -> impl Serialize {
    List(move || options.iter().map(|option| &option.value))
}

fn titled(options: &[Opt]) -> impl Serialize {
    List(move || {
        options.iter().map(|option| TitledOption {
            value: &option.value,
            title: option.label(),
        })
    })
}

#[derive(Serialize)]
struct TitledOption<'a> {
    #[serde(rename = "const")]
    value: &'a str,
    title: &'a str,
}

#[derive(Serialize)]
struct Items<T, V> {
    #[serde(rename = "anyOf", skip_serializing_if = "Option::is_none")]
    any_of: Option<T>,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    #[serde(rename = "enum", skip_serializing_if = "Option::is_none")]
    values: Option<V>,
}

/// Writes the items of an iterator as a list.
struct List<F>(F);

impl<F: Fn() -> I, I: Iterator<Item: Serialize>> Serialize for List<F> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq((self.0)())
    }
}
