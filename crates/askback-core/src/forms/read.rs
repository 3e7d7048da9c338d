//! Reads a `requestedSchema` from JSON.
//!
//! The order of `properties` is the order of the form, so the object is read by a visitor that
//! keeps it; a JSON map that sorts or hashes its keys would lose it. Reading is in two steps: the
//! visitor collects what stands there, then plain functions decide what it means, so that every
//! refusal names the field and gives a reason.

use alloc::{format, string::String, vec::Vec};
use core::fmt;

use serde::de::{Deserialize, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use super::{
    BooleanField, ChoiceField, ChoicesField, Field, FieldKind, FormSchema, NumberField, Opt,
    TextField, TextFormat, number,
};
use crate::limits::FormLimits;

/// Why a JSON Schema is not one of a form.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", words(.field.as_deref(), .reason))]
pub struct SchemaError {
    /// The field at fault, where it is one.
    pub field: Option<String>,
    /// The fault, as the rest of a sentence that begins with the field.
    pub reason: String,
}

impl FormSchema {
    /// Reads the JSON of a `requestedSchema`, field order kept.
    ///
    /// # Errors
    ///
    /// Refused are text that is not JSON or longer than
    /// [`limits.forms.bytes`](crate::limits::FormLimits::bytes), more fields or options than the
    /// limits allow, names given twice, and fields that a form cannot ask (2026-07-28,
    /// client/elicitation, Requested Schema). Whether the form makes sense is a question for
    /// [`FormSchema::lint`].
    pub fn parse(json: &[u8], limits: &FormLimits) -> Result<Self, SchemaError> {
        if json.len() > limits.bytes {
            return Err(whole(format!("is longer than {} bytes", limits.bytes)));
        }
        let draft: Draft = serde_json::from_slice(json)
            .map_err(|error| whole(format!("is not the JSON of a schema: {error}")))?;
        draft.into_schema(limits)
    }
}

/// Reads a schema within [`FormLimits::default`]; [`FormSchema::parse`] takes other limits.
impl<'de> Deserialize<'de> for FormSchema {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Draft::deserialize(deserializer)?
            .into_schema(&FormLimits::default())
            .map_err(D::Error::custom)
    }
}

/// A field of a schema as it was read, before it is interpreted.
#[derive(Default)]
struct Draft {
    properties: Option<Vec<(String, FieldDraft)>>,
    keywords: Keywords,
}

/// A property: its keywords, or nothing where its schema is not an object.
struct FieldDraft(Option<Keywords>);

/// The members of an object as they came, duplicates included.
#[derive(Default)]
struct Keywords(Vec<(String, Value)>);

impl Draft {
    fn into_schema(mut self, limits: &FormLimits) -> Result<FormSchema, SchemaError> {
        match self.keywords.take("type").map_err(whole)? {
            Some(Value::String(root)) if root == "object" => {}
            _ => return Err(whole("must be of type `object`")),
        }
        let properties = self.properties.unwrap_or_default();
        if properties.len() > limits.fields {
            return Err(whole(format!("has more than {} fields", limits.fields)));
        }
        let mut fields: Vec<Field> = Vec::with_capacity(properties.len());
        for (name, FieldDraft(keywords)) in properties {
            // Names are few (bounded above), so looking through them is cheaper than a set.
            let read = if fields.iter().any(|field| field.name == name) {
                Err(String::from("is given twice"))
            } else {
                read_field(keywords, limits)
            };
            match read {
                Ok((title, description, kind)) => fields.push(Field {
                    name,
                    title,
                    description,
                    required: false,
                    kind,
                    not_secret: false,
                }),
                Err(reason) => {
                    return Err(SchemaError {
                        field: Some(name),
                        reason,
                    });
                }
            }
        }
        let required = self.keywords.take("required").map_err(whole)?;
        mark_required(&mut fields, required)?;
        let mut annotations = Map::new();
        for (key, value) in self.keywords.0 {
            if annotations.contains_key(&key) {
                return Err(whole(twice(&key)));
            }
            annotations.insert(key, value);
        }
        Ok(FormSchema {
            fields,
            annotations,
        })
    }
}

impl Keywords {
    /// Takes a keyword out; one that is given twice has no one meaning and is refused.
    fn take(&mut self, key: &str) -> Result<Option<Value>, String> {
        let mut found = None;
        let mut doubled = false;
        self.0.retain_mut(|(name, value)| {
            if name != key {
                return true;
            }
            doubled |= found.replace(value.take()).is_some();
            false
        });
        if doubled { Err(twice(key)) } else { Ok(found) }
    }

    fn text(&mut self, key: &str) -> Result<Option<String>, String> {
        match self.take(key)? {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(format!("`{key}` must be a text")),
        }
    }

    fn number(&mut self, key: &str) -> Result<Option<Number>, String> {
        match self.take(key)? {
            None => Ok(None),
            Some(Value::Number(number)) => Ok(Some(number)),
            Some(_) => Err(format!("`{key}` must be a number")),
        }
    }

    fn count(&mut self, key: &str) -> Result<Option<u64>, String> {
        match self.number(key)? {
            None => Ok(None),
            Some(number) => match number::to_u64(&number) {
                Some(count) => Ok(Some(count)),
                None => Err(format!("`{key}` must be a whole number from 0 on")),
            },
        }
    }

    /// Takes `default`; null means none, because several schema generators write it so.
    fn preset(&mut self) -> Result<Option<Value>, String> {
        Ok(self.take("default")?.filter(|value| !value.is_null()))
    }
}

/// A field without its name: title, description and kind.
type Described = (Option<String>, Option<String>, FieldKind);

fn read_field(keywords: Option<Keywords>, limits: &FormLimits) -> Result<Described, String> {
    let mut keywords = keywords.ok_or("its schema must be an object")?;
    let title = keywords.text("title")?;
    let description = keywords.text("description")?;
    let kind = read_kind(&mut keywords, limits)?;
    Ok((title, description, kind))
}

fn read_kind(keywords: &mut Keywords, limits: &FormLimits) -> Result<FieldKind, String> {
    let kind = match keywords.take("type")? {
        Some(Value::String(kind)) => kind,
        Some(_) => return Err("its `type` must be one name".into()),
        None if keywords.take("$ref")?.is_some() => {
            return Err("a reference (`$ref`) cannot be asked in a form".into());
        }
        None => return Err("it has no `type`".into()),
    };
    match kind.as_str() {
        "string" => match read_options(keywords, limits)? {
            Some(options) => read_choice(keywords, options).map(FieldKind::Choice),
            None => read_text(keywords).map(FieldKind::Text),
        },
        "number" => read_number(keywords, false).map(FieldKind::Number),
        "integer" => read_number(keywords, true).map(FieldKind::Number),
        "boolean" => read_boolean(keywords).map(FieldKind::Boolean),
        "array" => read_choices(keywords, limits).map(FieldKind::Choices),
        "object" => Err("an object cannot be asked in a form".into()),
        "null" => Err("nothing but null can be answered to it".into()),
        other => Err(format!("`{other}` is not a type")),
    }
}

fn read_text(keywords: &mut Keywords) -> Result<TextField, String> {
    let format = match keywords.text("format")? {
        None => None,
        Some(name) => Some(TextFormat::from_name(&name).ok_or_else(|| {
            format!("the format `{name}` is none of email, uri, date and date-time")
        })?),
    };
    let default = match keywords.preset()? {
        None => None,
        Some(Value::String(text)) => Some(text),
        Some(_) => return Err("its `default` must be a text".into()),
    };
    Ok(TextField {
        min_length: keywords.count("minLength")?,
        max_length: keywords.count("maxLength")?,
        pattern: keywords.text("pattern")?,
        format,
        default,
    })
}

fn read_number(keywords: &mut Keywords, integer: bool) -> Result<NumberField, String> {
    let default = match keywords.preset()? {
        None => None,
        Some(Value::Number(number)) => Some(number),
        Some(_) => return Err("its `default` must be a number".into()),
    };
    // Whole numbers are shown and sent as such, however they were written.
    let exact = |number: Number| match number::whole(&number) {
        Some(whole) if integer => whole,
        _ => number,
    };
    Ok(NumberField {
        integer,
        minimum: keywords.number("minimum")?.map(exact),
        maximum: keywords.number("maximum")?.map(exact),
        default: default.map(exact),
    })
}

fn read_boolean(keywords: &mut Keywords) -> Result<BooleanField, String> {
    match keywords.preset()? {
        None => Ok(BooleanField { default: None }),
        Some(Value::Bool(value)) => Ok(BooleanField {
            default: Some(value),
        }),
        Some(_) => Err("its `default` must be true or false".into()),
    }
}

fn read_choice(
    keywords: &mut Keywords,
    (options, enum_names): (Vec<Opt>, bool),
) -> Result<ChoiceField, String> {
    let default = match keywords.preset()? {
        None => None,
        Some(Value::String(value)) => Some(value),
        Some(_) => return Err("its `default` must be one of the options".into()),
    };
    Ok(ChoiceField {
        options,
        enum_names,
        default,
    })
}

fn read_choices(keywords: &mut Keywords, limits: &FormLimits) -> Result<ChoicesField, String> {
    const NOT_A_CHOICE: &str = "a list can be asked in a form only as a choice of options";
    let mut items = match keywords.take("items")? {
        Some(Value::Object(items)) => Keywords(items.into_iter().collect()),
        _ => return Err(NOT_A_CHOICE.into()),
    };
    match items.take("type")? {
        None => {}
        Some(Value::String(kind)) if kind == "string" => {}
        Some(Value::String(kind)) if kind == "object" => {
            return Err("a list of objects cannot be asked in a form".into());
        }
        Some(_) => return Err(NOT_A_CHOICE.into()),
    }
    let (options, _) = read_options(&mut items, limits)?.ok_or(NOT_A_CHOICE)?;
    let default = match keywords.preset()? {
        None => None,
        Some(Value::Array(values)) => Some(texts(values, "default")?),
        Some(_) => return Err("its `default` must be a list of options".into()),
    };
    Ok(ChoicesField {
        options,
        min_items: keywords.count("minItems")?,
        max_items: keywords.count("maxItems")?,
        default,
    })
}

/// Takes the options out of the keywords, and whether their titles came as `enumNames`.
fn read_options(
    keywords: &mut Keywords,
    limits: &FormLimits,
) -> Result<Option<(Vec<Opt>, bool)>, String> {
    let values = keywords.take("enum")?;
    let names = keywords.take("enumNames")?;
    let one_of = keywords.take("oneOf")?;
    let any_of = keywords.take("anyOf")?;
    let (options, enum_names) = match (values, one_of.or(any_of)) {
        (None, None) => return Ok(None),
        (Some(_), Some(_)) => return Err("its options are given twice".into()),
        (Some(values), None) => plain_options(values, names)?,
        (None, Some(titled)) => (titled_options(titled)?, false),
    };
    if options.len() > limits.options {
        return Err(format!("has more than {} options", limits.options));
    }
    Ok(Some((options, enum_names)))
}

fn plain_options(values: Value, names: Option<Value>) -> Result<(Vec<Opt>, bool), String> {
    let values = list(values, "enum")?;
    let Some(names) = names else {
        let options = values.into_iter().map(|value| Opt { value, title: None });
        return Ok((options.collect(), false));
    };
    let names = list(names, "enumNames")?;
    if names.len() != values.len() {
        // A title that belongs to another option would make a person choose what they did not mean.
        return Err(format!(
            "`enumNames` has {} names for {} options",
            names.len(),
            values.len()
        ));
    }
    let options = values.into_iter().zip(names).map(|(value, name)| Opt {
        value,
        title: Some(name),
    });
    Ok((options.collect(), true))
}

fn titled_options(titled: Value) -> Result<Vec<Opt>, String> {
    const NOT_AN_OPTION: &str = "each option must have a text as its `const`";
    let Value::Array(titled) = titled else {
        return Err("its options must be a list".into());
    };
    let mut options = Vec::with_capacity(titled.len());
    for option in titled {
        let Value::Object(mut option) = option else {
            return Err(NOT_AN_OPTION.into());
        };
        let Some(Value::String(value)) = option.remove("const") else {
            return Err(NOT_AN_OPTION.into());
        };
        let title = match option.remove("title") {
            None => None,
            Some(Value::String(title)) => Some(title),
            Some(_) => return Err(format!("the title of option `{value}` must be a text")),
        };
        options.push(Opt { value, title });
    }
    Ok(options)
}

fn mark_required(fields: &mut [Field], required: Option<Value>) -> Result<(), SchemaError> {
    let Some(required) = required else {
        return Ok(());
    };
    let required = list(required, "required")
        .map_err(|_| whole("gives a `required` that is no list of texts"))?;
    for name in required {
        match fields.iter_mut().find(|field| field.name == name) {
            Some(field) => field.required = true,
            // Nobody could answer such a form: there is nothing to fill in under that name.
            None => return Err(whole(format!("requires `{name}`, which is no field of it"))),
        }
    }
    Ok(())
}

fn list(value: Value, key: &str) -> Result<Vec<String>, String> {
    match value {
        Value::Array(values) => texts(values, key),
        _ => Err(format!("`{key}` must be a list of texts")),
    }
}

fn texts(values: Vec<Value>, key: &str) -> Result<Vec<String>, String> {
    values
        .into_iter()
        .map(|value| match value {
            Value::String(text) => Ok(text),
            _ => Err(format!("`{key}` must hold texts only")),
        })
        .collect()
}

fn twice(key: &str) -> String {
    format!("gives `{key}` twice")
}

fn whole(reason: impl Into<String>) -> SchemaError {
    SchemaError {
        field: None,
        reason: reason.into(),
    }
}

fn words(field: Option<&str>, reason: &str) -> String {
    match field {
        Some(field) => format!("field `{field}`: {reason}"),
        None => format!("the form {reason}"),
    }
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
            let Properties(properties) = map.next_value()?;
            if draft.properties.replace(properties).is_some() {
                return Err(A::Error::custom(twice("properties")));
            }
        }
        Ok(draft)
    }
}

struct Properties(Vec<(String, FieldDraft)>);

impl<'de> Deserialize<'de> for Properties {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(PropertiesVisitor)
    }
}

struct PropertiesVisitor;

impl<'de> Visitor<'de> for PropertiesVisitor {
    type Value = Properties;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of fields")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Properties, A::Error> {
        let mut properties = Vec::new();
        while let Some(property) = map.next_entry()? {
            properties.push(property);
        }
        Ok(Properties(properties))
    }
}

impl<'de> Deserialize<'de> for FieldDraft {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(FieldVisitor)
    }
}

/// Takes any value, so that the refusal of one that is not an object can name the field.
struct FieldVisitor;

impl<'de> Visitor<'de> for FieldVisitor {
    type Value = FieldDraft;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the schema of a field")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<FieldDraft, A::Error> {
        let mut keywords = Keywords::default();
        while let Some(keyword) = map.next_entry()? {
            keywords.0.push(keyword);
        }
        Ok(FieldDraft(Some(keywords)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<FieldDraft, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(FieldDraft(None))
    }

    fn visit_bool<E>(self, _: bool) -> Result<FieldDraft, E> {
        Ok(FieldDraft(None))
    }

    fn visit_i64<E>(self, _: i64) -> Result<FieldDraft, E> {
        Ok(FieldDraft(None))
    }

    fn visit_u64<E>(self, _: u64) -> Result<FieldDraft, E> {
        Ok(FieldDraft(None))
    }

    fn visit_f64<E>(self, _: f64) -> Result<FieldDraft, E> {
        Ok(FieldDraft(None))
    }

    fn visit_str<E>(self, _: &str) -> Result<FieldDraft, E> {
        Ok(FieldDraft(None))
    }

    fn visit_unit<E>(self) -> Result<FieldDraft, E> {
        Ok(FieldDraft(None))
    }
}
