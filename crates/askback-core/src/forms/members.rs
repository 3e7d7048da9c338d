//! The members of an object within a form, in the order in which they are written.

use alloc::{string::String, vec::Vec};

use serde_json::{Map, Value};

use super::{
    Field, FormSchema, JsonField,
    read::{SchemaError, order_by},
};
use crate::limits::FormLimits;

impl JsonField {
    /// The fields of an object of this schema, which is its own or one within it, in the order in which they are
    /// written where its own was read by [`FormSchema::parse_arguments`].
    ///
    /// # Errors
    ///
    /// As [`FormSchema::parse_arguments`].
    pub fn members(
        &self,
        object: &Map<String, Value>,
        limits: &FormLimits,
    ) -> Result<Vec<Field>, SchemaError> {
        let json = serde_json::to_vec(object).unwrap_or_default();
        let mut fields = FormSchema::parse_arguments(&json, limits)?.fields;
        let described = object.get("properties").and_then(Value::as_object);
        if let Some(described) = described {
            let order = self.orders.of(described.keys());
            let place = |field: &Field| order.iter().position(|name| *name == field.name);
            fields.sort_by_key(|field| place(field).unwrap_or(usize::MAX));
        }
        for field in &mut fields {
            order_by(field, &self.orders);
        }
        Ok(fields)
    }
}
