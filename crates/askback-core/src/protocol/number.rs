//! Numbers that may be whole or not.

use serde::{Serialize, Serializer};

/// The greatest magnitude up to which every whole number is exact in an `f64`.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Writes a whole number as an integer (`3`, not `3.0`), so that what was read as one is written
/// back as one.
pub(super) fn serialize<S: Serializer>(number: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    Number(*number).serialize(serializer)
}

/// The same for a number that may be absent.
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
        // The cast is exact within these bounds and only compared, so that it also tells whether
        // there was a fraction; `f64::fract` is not in `core`.
        #[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss)]
        if number.abs() <= EXACT && (number as i64) as f64 == number {
            return serializer.serialize_i64(number as i64);
        }
        serializer.serialize_f64(number)
    }
}
