//! Numbers that may have a fraction.

use serde::{Serialize, Serializer};

/// Up to this magnitude, an `f64` represents every whole number exactly.
const EXACT: f64 = 9_007_199_254_740_992.0;

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
        let Self(number) = *self;
        // The cast is exact within these bounds; comparing it shows whether there was a fraction.
        // `core` has no `f64::fract`.
        #[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss)]
        if number.abs() <= EXACT && (number as i64) as f64 == number {
            return serializer.serialize_i64(number as i64);
        }
        serializer.serialize_f64(number)
    }
}
