//! Reads a `requestedSchema` from JSON.
//!
//! The order of `properties` is the order of the form, so a visitor reads the object; a JSON map
//! would lose the order. The visitor collects the members, then plain functions interpret them, so
//! that each error names the field and gives a reason.

use alloc::{format, string::String, vec::Vec};

use serde::de::{Deserialize, Deserializer, Error as _};
use serde_json::{Map, Number, Value};

use super::{
    BooleanField, ChoiceField, ChoicesField, Field, FieldKind, FormSchema, JsonField, NumberField,
    Opt, TextField, TextFormat,
    draft::{Draft, FieldDraft, Keywords, twice},
    number,
    references::Definitions,
};
use crate::limits::FormLimits;

/// Why a JSON Schema is not a form.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", words(.field.as_deref(), .reason))]
pub struct SchemaError {
    /// The field at fault, if it is one field.
    pub field: Option<String>,
    /// The reason, as the rest of a sentence that begins with the field.
    pub reason: String,
}

impl FormSchema {
    /// Parses a `requestedSchema` and keeps the order of its fields. [`FormSchema::lint`] checks
    /// whether the form makes sense.
    ///
    /// # Errors
    ///
    /// Fails for invalid JSON, a text longer than
    /// [`limits.forms.bytes`](crate::limits::FormLimits::bytes), too many fields or options,
    /// duplicate names, and fields that a form cannot express (2026-07-28, client/elicitation,
    /// Requested Schema).
    pub fn parse(json: &[u8], limits: &FormLimits) -> Result<Self, SchemaError> {
        if json.len() > limits.bytes {
            return Err(whole(format!("is longer than {} bytes", limits.bytes)));
        }
        let draft: Draft = serde_json::from_slice(json).map_err(|error| {
            whole(format!(
                "is not the JSON of a schema: {}",
                crate::json::explain(&error)
            ))
        })?;
        draft.into_schema(limits, SchemaSource::Form)
    }

    /// Parses the schema of a tool's arguments and keeps their order. An argument that a form
    /// cannot express becomes a JSON field. A union of null and another type becomes an optional
    /// field of that type.
    ///
    /// # Errors
    ///
    /// As [`FormSchema::parse`] for the schema as a whole. It may be as long as
    /// [`limits.forms.schema_bytes`](crate::limits::FormLimits::schema_bytes).
    pub fn parse_arguments(json: &[u8], limits: &FormLimits) -> Result<Self, SchemaError> {
        if json.len() > limits.schema_bytes {
            return Err(whole(format!(
                "is longer than {} bytes",
                limits.schema_bytes
            )));
        }
        let draft: Draft = serde_json::from_slice(json).map_err(|error| {
            whole(format!(
                "is not the JSON of a schema: {}",
                crate::json::explain(&error)
            ))
        })?;
        draft.into_schema(limits, SchemaSource::Arguments)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum SchemaSource {
    Form,
    /// A form in a message. Fields that it cannot express may be answered as JSON.
    Wire,
    Arguments,
}

/// Reads a schema with [`FormLimits::default`]. A field that [`FormSchema::parse`] would reject
/// becomes a JSON field, which [`FormSchema::undrawn`] finds. The schema may therefore be as long
/// as the schema of a tool's arguments.
impl<'de> Deserialize<'de> for FormSchema {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let draft = Draft::deserialize(deserializer)?;
        let most = FormLimits::default().schema_bytes;
        if draft.bytes() > most {
            let error = whole(format!("is longer than {most} bytes"));
            return Err(D::Error::custom(error));
        }
        draft
            .into_schema(&FormLimits::default(), SchemaSource::Wire)
            .map_err(D::Error::custom)
    }
}

impl Draft {
    fn into_schema(
        mut self,
        limits: &FormLimits,
        reading: SchemaSource,
    ) -> Result<FormSchema, SchemaError> {
        match self.keywords.take("type").map_err(whole)? {
            Some(Value::String(root)) if root == "object" => {}
            _ => return Err(whole("must be of type `object`")),
        }
        let properties = self.properties.unwrap_or_default();
        if properties.len() > limits.fields {
            return Err(whole(format!("has more than {} fields", limits.fields)));
        }
        let required = self.keywords.take("required").map_err(whole)?;
        let is_required = |name: &str| {
            let names = required.as_ref().and_then(Value::as_array);
            names.is_some_and(|names| names.iter().any(|required| required == name))
        };
        let mut definitions = match reading {
            SchemaSource::Arguments => Definitions::of(&self.keywords),
            SchemaSource::Form | SchemaSource::Wire => Definitions::default(),
        };
        let mut fields: Vec<Field> = Vec::with_capacity(properties.len());
        for (name, FieldDraft(keywords)) in properties {
            // There are few names, so a linear search is faster than a set.
            let read = if fields.iter().any(|field| field.name == name) {
                Err(String::from("is given twice"))
            } else {
                match reading {
                    SchemaSource::Form => read_field(keywords, limits),
                    SchemaSource::Wire => {
                        let keywords = keywords.unwrap_or_default();
                        Ok(read_or_json(keywords.clone(), keywords, limits))
                    }
                    SchemaSource::Arguments => {
                        let mut keywords = keywords.unwrap_or_default();
                        definitions.put_into(&mut keywords);
                        Ok(read_argument(keywords, is_required(&name), limits))
                    }
                }
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
        if reading == SchemaSource::Arguments {
            add_required(&mut fields, required.as_ref(), limits);
        }
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

/// Title, description and kind of a field.
type FieldParts = (Option<String>, Option<String>, FieldKind);

fn read_field(keywords: Option<Keywords>, limits: &FormLimits) -> Result<FieldParts, String> {
    let mut keywords = keywords.ok_or("its schema must be an object")?;
    let title = keywords.text("title")?;
    let description = keywords.text("description")?;
    let kind = read_kind(&mut keywords, limits)?;
    Ok((title, description, kind))
}

/// Reads a tool argument as a form field, or else as a JSON field.
fn read_argument(mut keywords: Keywords, is_required: bool, limits: &FormLimits) -> FieldParts {
    if !is_required {
        keywords.leave_out_null();
    }
    let mut plain = keywords.clone();
    plain.0.retain(|(name, format)| {
        let is_known = |name: &str| TextFormat::from_name(name).is_some();
        name != "format" || format.as_str().is_some_and(is_known)
    });
    read_or_json(plain, keywords, limits)
}

fn read_or_json(plain: Keywords, all: Keywords, limits: &FormLimits) -> FieldParts {
    let reason = match read_field(Some(plain), limits) {
        Ok(described) => return described,
        Err(reason) => reason,
    };
    let mut schema: Map<String, Value> = all.0.into_iter().collect();
    let mut text = |key: &str| match schema.remove(key) {
        Some(Value::String(text)) => Some(text),
        _ => None,
    };
    let (title, description) = (text("title"), text("description"));
    (
        title,
        description,
        FieldKind::Json(JsonField { schema, reason }),
    )
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
        Some(name) => Some(
            TextFormat::from_name(&name)
                .ok_or_else(|| format!("the format `{name}` is none of {}", TextFormat::names()))?,
        ),
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
    // Whole numbers are shown and sent without a fraction, however they were written.
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

/// Removes the options from the keywords. Also returns whether their titles were `enumNames`.
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
        // With misaligned titles, the user would select a wrong option.
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
            None | Some(Value::Null) => None,
            Some(Value::String(title)) => Some(title),
            Some(_) => return Err(format!("the title of option `{value}` must be a text")),
        };
        options.push(Opt { value, title });
    }
    Ok(options)
}

/// Adds the required arguments that the schema does not describe.
fn add_required(fields: &mut Vec<Field>, required: Option<&Value>, limits: &FormLimits) {
    let names = required.and_then(Value::as_array).into_iter().flatten();
    for name in names.filter_map(Value::as_str) {
        let is_known = fields.iter().any(|field| field.name == name);
        if !is_known && fields.len() < limits.fields {
            let (title, description, kind) = read_argument(Keywords::default(), true, limits);
            fields.push(Field {
                name: String::from(name),
                title,
                description,
                required: true,
                kind,
                not_secret: false,
            });
        }
    }
}

fn mark_required(fields: &mut [Field], required: Option<Value>) -> Result<(), SchemaError> {
    let Some(required) = required else {
        return Ok(());
    };
    let required = list(required, "required")
        .map_err(|_| whole("has a `required` that is not a list of texts"))?;
    for name in required {
        match fields.iter_mut().find(|field| field.name == name) {
            Some(field) => field.required = true,
            // The form has no field to fill in under this name.
            None => {
                return Err(whole(format!(
                    "requires `{name}`, which is not one of its fields"
                )));
            }
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
