use std::cmp::Ordering;

use jsonschema::{Keyword, ValidationError};
use serde_json::{Map, Number, Value};

/// `uniqueItems`: all items of an array differ.
///
/// The validator's own keyword compares items with equal hashes pairwise, and a peer can easily choose many such arrays
/// or large numbers. Here the items are sorted, so equal items are neighbours.
pub(super) struct UniqueItems {
    /// The keyword's value; `false` disables the check.
    pub(super) required: bool,
}

impl<'i> Keyword<'i> for UniqueItems {
    fn validate(&self, instance: &'i Value) -> Result<(), ValidationError<'i>> {
        if self.is_valid(instance) {
            Ok(())
        } else {
            Err(ValidationError::custom("it holds the same item twice"))
        }
    }

    fn is_valid(&self, instance: &'i Value) -> bool {
        match instance {
            Value::Array(items) if self.required => all_differ(items, compare),
            _ => true,
        }
    }
}

fn all_differ(items: &[Value], mut compare: impl FnMut(&Value, &Value) -> Ordering) -> bool {
    let mut sorted: Vec<_> = items.iter().collect();
    sorted.sort_unstable_by(|one, other| compare(one, other));
    sorted
        .windows(2)
        .all(|pair| compare(pair[0], pair[1]).is_ne())
}

/// An ordering in which values are equal if JSON Schema says so: numbers by value, objects regardless of member order
/// (core, Instance Equality).
fn compare(one: &Value, other: &Value) -> Ordering {
    match (one, other) {
        (Value::Bool(one), Value::Bool(other)) => one.cmp(other),
        (Value::Number(one), Value::Number(other)) => compare_numbers(one, other),
        (Value::String(one), Value::String(other)) => one.cmp(other),
        (Value::Array(one), Value::Array(other)) => {
            let pairs = || one.iter().zip(other);
            let items = || first_difference(pairs().map(|(one, other)| compare(one, other)));
            one.len().cmp(&other.len()).then_with(items)
        }
        (Value::Object(one), Value::Object(other)) => {
            let pairs = || sorted(one).into_iter().zip(sorted(other));
            let members = || {
                first_difference(pairs().map(|((name, value), (other_name, other))| {
                    name.cmp(other_name).then_with(|| compare(value, other))
                }))
            };
            one.len().cmp(&other.len()).then_with(members)
        }
        _ => kind(one).cmp(&kind(other)),
    }
}

fn first_difference(mut orders: impl Iterator<Item = Ordering>) -> Ordering {
    orders
        .find(|order| order.is_ne())
        .unwrap_or(Ordering::Equal)
}

/// The members sorted by name: with `serde_json/preserve_order` a map is not sorted.
fn sorted(members: &Map<String, Value>) -> Vec<(&String, &Value)> {
    let mut sorted: Vec<_> = members.iter().collect();
    sorted.sort_unstable_by_key(|(name, _)| *name);
    sorted
}

fn compare_numbers(one: &Number, other: &Number) -> Ordering {
    match (integer(one), integer(other)) {
        (Some(one), Some(other)) => one.cmp(&other),
        _ => float(one).total_cmp(&float(other)),
    }
}

/// Returns a number's integer value, if it fits.
fn integer(number: &Number) -> Option<i128> {
    const MOST: f64 = (1_u128 << 100) as f64;
    let whole = |float: &f64| float.fract() == 0.0 && float.abs() < MOST;
    let of_float = || number.as_f64().filter(whole).map(|float| float as i128);
    number.as_i128().or_else(of_float)
}

fn float(number: &Number) -> f64 {
    number.as_f64().unwrap_or(f64::INFINITY)
}

fn kind(value: &Value) -> u8 {
    match value {
        Value::Null => 0,
        Value::Bool(_) => 1,
        Value::Number(_) => 2,
        Value::String(_) => 3,
        Value::Array(_) => 4,
        Value::Object(_) => 5,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::{all_differ, compare};

    /// Returns the number of comparisons needed to find that all items differ.
    fn comparisons(items: &[Value]) -> usize {
        let mut made = 0;
        let differ = all_differ(items, |one, other| {
            made += 1;
            compare(one, other)
        });
        assert!(differ);
        made
    }

    #[test]
    fn items_that_many_hashes_take_for_one_are_not_compared_with_each_other() {
        const BITS: u32 = 12;
        let nested = |number: u32| -> Value {
            let digits = (0..BITS).map(|bit| number >> bit & 1);
            digits
                .map(|digit| if digit == 1 { json!([0]) } else { json!(0) })
                .collect()
        };
        let neighbour = |number: u32| json!((1_u64 << 63) + u64::from(number));
        let items: [Vec<Value>; 2] = [
            (0..1 << BITS).map(nested).collect(),
            (0..1 << BITS).map(neighbour).collect(),
        ];
        for items in items {
            let made = comparisons(&items);
            let most = items.len() * 4 * BITS as usize;
            assert!(made < most, "{made} comparisons for {} items", items.len());
        }
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop::sample::select(
            [
                "null",
                "false",
                "0",
                "-0.0",
                "1",
                "1.0",
                "-1",
                "1.5",
                "9007199254740992",
                "9007199254740993",
                "9007199254740992.0",
                "18446744073709551615",
                "18446744073709551614",
                "18446744073709551616",
                "1e300",
                "10e299",
                r#""""#,
                r#""a""#,
                r#""1""#,
            ]
            .map(|text| serde_json::from_str::<Value>(text).unwrap())
            .to_vec(),
        );
        leaf.prop_recursive(3, 8, 3, |inner| {
            let name = prop::sample::select(vec!["a".to_owned(), "b".to_owned()]);
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
                prop::collection::vec((name, inner), 0..3).prop_map(|members| members
                    .into_iter()
                    .collect::<serde_json::Map<_, _>>()
                    .into()),
            ]
        })
    }

    proptest! {
        /// The validator's own keyword compares all pairs if there are few items.
        #[test]
        fn items_are_equal_as_the_validator_says(items in prop::collection::vec(value(), 0..12)) {
            let oracle = jsonschema::options().offline().build(&json!({"uniqueItems": true})).unwrap();
            let expected = oracle.is_valid(&Value::from(items.clone()));
            prop_assert_eq!(all_differ(&items, compare), expected);
        }
    }
}
