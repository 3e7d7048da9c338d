//! The flat schema subset as types.

use alloc::{string::String, vec::Vec};

use serde_json::{Map, Value};

use super::{JsonField, TextFormat};

/// The values of a filled-in form, by field name: what `ElicitResult.content` carries.
pub type Content = Map<String, Value>;

/// A form: what `requestedSchema` carries, in the order its author gave the fields.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FormSchema {
    /// The fields, in order.
    pub fields: Vec<Field>,
    /// The other members at the root of the schema (`$schema`, `title`, …), kept as received.
    pub annotations: Map<String, Value>,
}

/// One field of a form.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// The property name under which the answer is sent.
    pub name: String,
    /// The label shown to a person; the name where absent.
    pub title: Option<String>,
    /// A sentence that says what is wanted.
    pub description: Option<String>,
    /// Whether an answer must give this field.
    pub required: bool,
    /// The kind of the field.
    pub kind: FieldKind,
    /// The author's word that no secret is asked for, although the words look like it. Not part of
    /// the schema on the wire.
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
    /// Anything else, written as JSON: an argument of a tool, or what a server must not put into a form.
    Json(JsonField),
}

/// A text field.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TextField {
    /// The least length, in characters (Unicode scalar values).
    pub min_length: Option<u64>,
    /// The greatest length, in characters (Unicode scalar values).
    pub max_length: Option<u64>,
    /// A regular expression the text must match somewhere.
    pub pattern: Option<String>,
    /// The form of the text.
    pub format: Option<TextFormat>,
    /// The value filled in beforehand.
    pub default: Option<String>,
}

/// A number field.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct NumberField {
    /// Whether only whole numbers are taken.
    pub integer: bool,
    /// The least value.
    pub minimum: Option<serde_json::Number>,
    /// The greatest value.
    pub maximum: Option<serde_json::Number>,
    /// The value filled in beforehand.
    pub default: Option<serde_json::Number>,
}

/// A yes-or-no field.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BooleanField {
    /// The value filled in beforehand.
    pub default: Option<bool>,
}

/// An option of a choice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opt {
    /// The value that is sent.
    pub value: String,
    /// The label for a person; the value where absent.
    pub title: Option<String>,
}

/// A choice of one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ChoiceField {
    /// The options, in order.
    pub options: Vec<Opt>,
    /// Whether titles are written as `enumNames`, the way of 2025-06-18, in every revision.
    pub enum_names: bool,
    /// The value filled in beforehand.
    pub default: Option<String>,
}

/// A choice of several.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ChoicesField {
    /// The options, in order.
    pub options: Vec<Opt>,
    /// The least number of options to choose.
    pub min_items: Option<u64>,
    /// The greatest number of options to choose.
    pub max_items: Option<u64>,
    /// The values filled in beforehand.
    pub default: Option<Vec<String>>,
}

impl FormSchema {
    /// The field of that name.
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// The first field that a form of a server cannot have, and why.
    pub fn undrawn(&self) -> Option<(&Field, &str)> {
        self.fields.iter().find_map(|field| match &field.kind {
            FieldKind::Json(json) => Some((field, json.reason.as_str())),
            _ => None,
        })
    }
}

impl Opt {
    /// Returns the label for a person: the title, or the value where there is none.
    pub fn label(&self) -> &str {
        self.title.as_deref().unwrap_or(&self.value)
    }
}
