use std::collections::HashSet;

use askback_core::canonical::canonicalize;
use jsonschema::{Keyword, ValidationError};
use serde_json::Value;

/// `uniqueItems`: all items of an array differ by value, whatever the order of members and the notation of numbers.
///
/// The validator's own keyword compares items with equal hashes pairwise, and a peer can easily choose many such arrays
/// or large numbers.
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
            Value::Array(items) if self.required => all_differ(items),
            _ => true,
        }
    }
}

fn all_differ(items: &[Value]) -> bool {
    let mut seen = HashSet::new();
    let mut texts = items.iter().map(|item| canonicalize(&item.to_string()));
    texts.all(|text| text.is_ok_and(|text| seen.insert(text)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::all_differ;

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
            prop_assert_eq!(all_differ(&items), expected);
        }
    }
}
