//! Raw JSON values.
//!
//! Arguments, structured results and schemas are defined by the author of a tool. They are stored
//! as text, so nothing is lost (`3` does not become `3.0`, members keep their order) and nothing is
//! parsed needlessly. Two of them are equal if their values are equal, however they are written.

use alloc::{borrow::ToOwned, boxed::Box, format, string::String};
use core::fmt;

use serde::{Deserialize, Deserializer, Serialize, de};
use serde_json::{Value, value::RawValue};

use crate::jsonrpc::ErrorObject;

/// Any JSON value, as text.
#[derive(Clone, Serialize)]
#[serde(transparent)]
pub struct RawJson(Box<RawValue>);

/// A JSON object, as text.
#[derive(Clone, PartialEq, Serialize)]
#[serde(transparent)]
pub struct RawObject(RawJson);

/// The JSON Schema of a tool, as text: an object.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Schema(RawObject);

impl Schema {
    /// Keywords whose members are schemas with names that the author chooses.
    pub const NAMED: [&str; 6] = [
        "$defs",
        "definitions",
        "dependencies",
        "dependentSchemas",
        "patternProperties",
        "properties",
    ];
}

impl RawJson {
    /// Serializes a value as JSON.
    ///
    /// # Errors
    ///
    /// Fails if the value's `Serialize` fails, or a map has keys that are not strings.
    pub fn new<T: Serialize + ?Sized>(value: &T) -> Result<Self, serde_json::Error> {
        serde_json::value::to_raw_value(value).map(Self)
    }

    /// Wraps JSON text.
    ///
    /// # Errors
    ///
    /// Fails if the text is not one JSON value.
    pub fn from_text(text: String) -> Result<Self, serde_json::Error> {
        RawValue::from_string(text).map(Self)
    }

    pub(crate) fn as_raw(&self) -> &RawValue {
        &self.0
    }

    fn is_object(&self) -> bool {
        self.as_str().starts_with('{')
    }
}

impl RawObject {
    /// Serializes a value as a JSON object.
    ///
    /// # Errors
    ///
    /// Fails if the value cannot be serialized or is not an object.
    pub fn new<T: Serialize + ?Sized>(value: &T) -> Result<Self, serde_json::Error> {
        RawJson::new(value).and_then(Self::checked)
    }

    /// Wraps the text of a JSON object.
    ///
    /// # Errors
    ///
    /// Fails if the text is not one JSON object.
    pub fn from_text(text: String) -> Result<Self, serde_json::Error> {
        RawJson::from_text(text).and_then(Self::checked)
    }

    /// Converts a JSON value.
    ///
    /// # Errors
    ///
    /// Fails if it is not an object.
    pub fn from_json(json: RawJson) -> Result<Self, serde_json::Error> {
        Self::checked(json)
    }

    /// Converts the object to any JSON.
    pub fn into_json(self) -> RawJson {
        self.0
    }

    fn checked<E: de::Error>(json: RawJson) -> Result<Self, E> {
        if json.is_object() {
            Ok(Self(json))
        } else {
            Err(E::custom("expected an object"))
        }
    }
}

impl Schema {
    /// Serializes a schema as JSON.
    ///
    /// # Errors
    ///
    /// Fails if the value cannot be serialized or is not an object.
    pub fn new<T: Serialize + ?Sized>(value: &T) -> Result<Self, serde_json::Error> {
        RawObject::new(value).map(Self)
    }

    /// Wraps the text of a JSON object.
    ///
    /// # Errors
    ///
    /// Fails if the text is not one JSON object.
    pub fn from_text(text: String) -> Result<Self, serde_json::Error> {
        RawObject::from_text(text).map(Self)
    }
}

/// Implements the common parts of the three types.
macro_rules! texts {
    ($($name:ident of $inner:ident, $what:literal;)*) => {
        $(
            impl $name {
                #[doc = concat!("The ", $what, " as text, without surrounding white space.")]
                pub fn as_str(&self) -> &str {
                    self.0.$inner()
                }

                #[doc = concat!("The ", $what, " as a type.")]
                ///
                /// # Errors
                ///
                /// Fails if it does not match the type.
                pub fn decode<'a, T: Deserialize<'a>>(&'a self) -> Result<T, serde_json::Error> {
                    serde_json::from_str(self.as_str())
                }
            }

            impl fmt::Debug for $name {
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    f.write_str(self.as_str())
                }
            }
        )*
    };
}

texts! {
    RawJson of get, "value";
    RawObject of as_str, "object";
    Schema of as_str, "schema";
}

impl Default for RawJson {
    /// `null`.
    fn default() -> Self {
        Self(RawValue::NULL.to_owned())
    }
}

impl Default for RawObject {
    /// `{}`.
    fn default() -> Self {
        Self(RawJson(constant("{}")))
    }
}

impl Default for Schema {
    /// The schema of any object.
    fn default() -> Self {
        Self(RawObject(RawJson(constant(r#"{"type":"object"}"#))))
    }
}

impl PartialEq for RawJson {
    fn eq(&self, other: &Self) -> bool {
        if self.as_str() == other.as_str() {
            return true;
        }
        match (self.decode::<Value>(), other.decode::<Value>()) {
            (Ok(a), Ok(b)) => a == b,
            _ => false,
        }
    }
}

impl From<Box<RawValue>> for RawJson {
    fn from(value: Box<RawValue>) -> Self {
        Self(value)
    }
}

impl From<RawJson> for Box<RawValue> {
    fn from(json: RawJson) -> Self {
        json.0
    }
}

impl From<RawObject> for RawJson {
    fn from(object: RawObject) -> Self {
        object.0
    }
}

impl From<RawObject> for Schema {
    fn from(object: RawObject) -> Self {
        Self(object)
    }
}

impl<'de> Deserialize<'de> for RawJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Box::<RawValue>::deserialize(deserializer).map(Self)
    }
}

impl<'de> Deserialize<'de> for RawObject {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        RawJson::deserialize(deserializer).and_then(Self::checked)
    }
}

/// Reads a member that is present, so that `null` is a value and not an absence.
pub(super) fn present<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    T::deserialize(deserializer).map(Some)
}

/// Reads a descriptive object.
pub(super) fn object<'de, D: Deserializer<'de>, T: From<RawObject>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    let json = RawJson::deserialize(deserializer)?;
    Ok(json.is_object().then(|| RawObject(json).into()))
}

/// Reads parameters. Absent ones are read as an empty object.
pub(super) fn decode_params<'a, T: Deserialize<'a>>(
    params: Option<&'a RawValue>,
) -> Result<T, ErrorObject> {
    crate::json::from_text(params.map_or("{}", RawValue::get))
        .map_err(|why| ErrorObject::invalid_params(format!("invalid params: {why}")))
}

/// Makes raw JSON from a constant.
fn constant(text: &'static str) -> Box<RawValue> {
    // The constants are in this file and are valid JSON.
    RawValue::from_string(text.into()).expect("a constant of this file is JSON")
}
