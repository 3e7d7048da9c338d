//! Compares numbers exactly.
//!
//! A JSON number arrives as `u64`, `i64` or `f64`. Comparing through `f64` would call 2^53 and
//! 2^53 + 1 equal, so integers are compared as integers and against floats without rounding.

use core::cmp::Ordering;

use serde_json::Number;

/// Orders two numbers by value; `3` and `3.0` are equal.
pub(super) fn compare(left: &Number, right: &Number) -> Ordering {
    match (parts(left), parts(right)) {
        (Parts::Integer(left), Parts::Integer(right)) => left.cmp(&right),
        (Parts::Integer(left), Parts::Float(right)) => integer_to_float(left, right),
        (Parts::Float(left), Parts::Integer(right)) => integer_to_float(right, left).reverse(),
        // Both are finite. `total_cmp` would order -0.0 below 0.0.
        (Parts::Float(left), Parts::Float(right)) => {
            left.partial_cmp(&right).unwrap_or(Ordering::Equal)
        }
    }
}

/// Returns the integer if the number is whole and fits `i128`.
pub(super) fn to_i128(number: &Number) -> Option<i128> {
    match parts(number) {
        Parts::Integer(integer) => Some(integer),
        Parts::Float(float) => {
            let integer = float as i128;
            (integer_to_float(integer, float) == Ordering::Equal).then_some(integer)
        }
    }
}

/// Returns the number without a fraction, `4` for `4.0`, if it is whole and fits 64 bits exactly.
pub(super) fn whole(number: &Number) -> Option<Number> {
    let integer = to_i128(number)?;
    let unsigned = u64::try_from(integer).map(Number::from);
    unsigned
        .or_else(|_| i64::try_from(integer).map(Number::from))
        .ok()
}

/// Returns a whole number as it was written, or `None` if it may have been rounded.
pub(super) fn read_exactly(number: &Number) -> Option<Number> {
    /// 2^53: from here on, several whole numbers have the same float.
    const SHARED: f64 = 9_007_199_254_740_992.0;
    let is_rounded = number.is_f64() && number.as_f64().is_none_or(|n| n.abs() >= SHARED);
    whole(number).filter(|_| !is_rounded)
}

/// Returns the number if it is whole and not negative.
pub(super) fn to_u64(number: &Number) -> Option<u64> {
    to_i128(number).and_then(|integer| u64::try_from(integer).ok())
}

/// Whether the number is whole; `3.0` is.
pub(super) fn is_integral(number: &Number) -> bool {
    match parts(number) {
        Parts::Integer(_) => true,
        // Above 2^53 every float is whole; `core` has no `fract` for them.
        Parts::Float(float) => float % 1.0 == 0.0,
    }
}

enum Parts {
    Integer(i128),
    Float(f64),
}

fn parts(number: &Number) -> Parts {
    if let Some(integer) = number.as_u64() {
        Parts::Integer(integer.into())
    } else if let Some(integer) = number.as_i64() {
        Parts::Integer(integer.into())
    } else {
        // Every other JSON number is a float, and a finite one.
        Parts::Float(number.as_f64().unwrap_or(0.0))
    }
}

/// Compares without rounding the integer. The whole part of the float is exact in `i128` (or beyond
/// every `i64` and `u64`, where the cast saturates and keeps the order); its fraction decides a
/// tie.
fn integer_to_float(integer: i128, float: f64) -> Ordering {
    let whole = float as i128;
    integer.cmp(&whole).then_with(|| {
        let rest = float % 1.0;
        0.0.partial_cmp(&rest).unwrap_or(Ordering::Equal)
    })
}
