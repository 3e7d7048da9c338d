//! Forms: the flat schema subset as types, the check of an answer, and what is wrong with it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A form: what `requestedSchema` carries.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FormSchema(Value);
