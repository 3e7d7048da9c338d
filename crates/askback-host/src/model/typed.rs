//! The content that a user has typed in a question, as its front ends exchange it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The field name for the reply that a user writes instead of a model. Such a question has no
/// fields.
pub(super) const TEXT: &str = "text";

/// The typed content of a question, by the name of the field. Fields that seem to ask for a
/// secret are left out.
pub type Typed = BTreeMap<String, TypedValue>;

/// The typed content of a field, or of all fields of an object or a list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum TypedValue {
    /// Nothing.
    Empty,
    /// A text that is not a value of the field, or not yet.
    Text(String),
    /// A value.
    Value(Value),
}

/// A change that another front end made to a field.
#[derive(Debug, Clone, PartialEq)]
pub struct TypedChange {
    /// The name of the field.
    pub name: String,
    /// The content that the change replaces. If the user has typed something else in the meantime,
    /// the change is dropped. `None` replaces anything.
    pub over: Option<TypedValue>,
    /// The new content.
    pub now: TypedValue,
}
