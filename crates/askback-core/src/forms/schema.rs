//! The types of a form.

use alloc::{string::String, vec::Vec};

use serde_json::{Map, Value};

use super::{JsonField, TextFormat};

/// The values of a filled-in form, by field name: what `ElicitResult.content` carries.
pub type Content = Map<String, Value>;

/// A form, as in `requestedSchema`, with its fields in the author's order.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FormSchema {
    /// The fields, in order.
    pub fields: Vec<Field>,
    /// The other members at the root of the schema (`$schema`, `title`, …), unchanged.
    pub annotations: Map<String, Value>,
}

/// One field of a form.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// The property name under which the answer is sent.
    pub name: String,
    /// The label shown to a person. Defaults to the name.
    pub title: Option<String>,
    /// A sentence that explains the field.
    pub description: Option<String>,
    /// Whether the field is required.
    pub required: bool,
    /// The kind of the field.
    pub kind: FieldKind,
    /// The author's assurance that the field does not ask for a secret, although its wording
    /// suggests it. Not part of the JSON.
    pub not_secret: bool,
}

/// The kind of a field, with its bounds.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum FieldKind {
    /// A text.
    Text(TextField),
    /// A number or an integer.
    Number(NumberField),
    /// A yes or no.
    Boolean(BooleanField),
    /// One of several options.
    Choice(ChoiceField),
    /// Any number of several options.
    Choices(ChoicesField),
    /// Any other value, written as JSON: a tool argument, or a field that servers must not put into
    /// a form.
    Json(JsonField),
}

/// A text field.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TextField {
    /// The minimum length, in characters (Unicode scalar values).
    pub min_length: Option<u64>,
    /// The maximum length, in characters (Unicode scalar values).
    pub max_length: Option<u64>,
    /// A regular expression the text must match somewhere.
    pub pattern: Option<String>,
    /// The format of the text.
    pub format: Option<TextFormat>,
    /// The default.
    pub default: Option<String>,
}

/// A number field.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct NumberField {
    /// Whether only whole numbers are accepted.
    pub integer: bool,
    /// The minimum.
    pub minimum: Option<serde_json::Number>,
    /// The maximum.
    pub maximum: Option<serde_json::Number>,
    /// The default.
    pub default: Option<serde_json::Number>,
}

/// A yes-or-no field.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BooleanField {
    /// The default.
    pub default: Option<bool>,
}

/// An option of a choice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opt {
    /// The value that is sent.
    pub value: String,
    /// The label shown to a person. Defaults to the value.
    pub title: Option<String>,
}

/// A choice of one option.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ChoiceField {
    /// The options, in order.
    pub options: Vec<Opt>,
    /// Whether titles are always written as `enumNames`, as in 2025-06-18.
    pub enum_names: bool,
    /// The default.
    pub default: Option<String>,
}

/// A choice of several options.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ChoicesField {
    /// The options, in order.
    pub options: Vec<Opt>,
    /// The minimum number of options to choose.
    pub min_items: Option<u64>,
    /// The maximum number of options to choose.
    pub max_items: Option<u64>,
    /// The default.
    pub default: Option<Vec<String>>,
}

impl FormSchema {
    /// Returns the field with this name.
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// Returns the first field that must not be in a server's form, and the reason.
    pub fn undrawn(&self) -> Option<(&Field, &str)> {
        self.fields.iter().find_map(|field| match &field.kind {
            FieldKind::Json(json) => Some((field, json.reason.as_str())),
            _ => None,
        })
    }
}

impl Opt {
    /// Returns the title, or the value if there is no title.
    pub fn label(&self) -> &str {
        self.title.as_deref().unwrap_or(&self.value)
    }
}
