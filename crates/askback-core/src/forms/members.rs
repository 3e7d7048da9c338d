//! The fields of an object within a form, in their written order.

use alloc::{string::String, vec::Vec};

use serde_json::{Map, Value};

use super::{
    Field, FormSchema, JsonField,
    read::{SchemaError, order_by},
};
use crate::limits::FormLimits;

impl JsonField {
    /// Returns the fields of an object whose schema is this one or part of it. They are in their
    /// written order if [`FormSchema::parse_arguments`] read this schema.
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
