//! Numbers that may have a fraction.

use serde::{Serialize, Serializer};

use crate::jsonrpc::whole;

/// Writes a whole number as an integer (`3`, not `3.0`), so that a number that was read as an
/// integer is written back as one.
pub(super) fn serialize<S: Serializer>(number: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    Number(*number).serialize(serializer)
}

/// Like [`serialize`], for an optional number.
pub(super) fn serialize_some<S: Serializer>(
    number: &Option<f64>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    number.map(Number).serialize(serializer)
}

struct Number(f64);

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match whole(self.0) {
            Some(integer) => serializer.serialize_i64(integer),
            None => serializer.serialize_f64(self.0),
        }
    }
}
