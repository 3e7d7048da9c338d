//! The written order of object members, which a JSON map does not preserve.

use alloc::{string::String, sync::Arc, vec::Vec};
use core::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

use crate::json::nothing_of;

/// The member names of each object in a schema, in their written order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Orders(Arc<[Vec<String>]>);

impl Orders {
    /// Reads the order from a schema. Invalid JSON has none.
    pub(super) fn read(json: &[u8]) -> Self {
        let mut orders = Vec::new();
        let mut json = serde_json::Deserializer::from_slice(json);
        let seed = Walk {
            orders: &mut orders,
            is_members: false,
        };
        match seed.deserialize(&mut json) {
            Ok(()) => Self(orders.into()),
            Err(_) => Self::default(),
        }
    }

    /// Returns the order of these names. Objects with the same member names share one order.
    pub(super) fn of<'a>(&self, names: impl Iterator<Item = &'a String> + Clone) -> &[String] {
        let count = names.clone().count();
        let orders = self.0.iter().filter(|order| order.len() == count);
        let mut orders = orders.filter(|order| names.clone().all(|name| order.contains(name)));
        orders.next().map_or(&[], Vec::as_slice)
    }
}

/// Walks through JSON and records the names below `properties`.
struct Walk<'a> {
    orders: &'a mut Vec<Vec<String>>,
    is_members: bool,
}

impl<'de> DeserializeSeed<'de> for Walk<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Walk<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let mut names = Vec::new();
        while let Some(name) = members.next_key::<String>()? {
            members.next_value_seed(Walk {
                orders: self.orders,
                is_members: !self.is_members && name == "properties",
            })?;
            if self.is_members {
                names.push(name);
            }
        }
        if names.len() > 1 {
            self.orders.push(names);
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        loop {
            let item = Walk {
                orders: self.orders,
                is_members: false,
            };
            if items.next_element_seed(item)?.is_none() {
                return Ok(());
            }
        }
    }

    nothing_of! { visit_unit() visit_bool(bool) visit_i64(i64) visit_u64(u64) visit_f64(f64) visit_str(&str) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_members_is_kept() {
        #[track_caller]
        fn check(json: &str, names: &str, order: &str) {
            let names: Vec<_> = names.split(' ').map(String::from).collect();
            let orders = Orders::read(json.as_bytes());
            assert_eq!(orders.of(names.iter()).join(" "), order, "{json}");
        }
        let object = r#"{"properties": {"to": {"properties": {"zip": 1, "city": [2.5], "area": null}}, "by": true}}"#;
        check(object, "by to", "to by");
        check(object, "area city zip", "zip city area");
        check(object, "area city", "");
        check(object, "by from", "");
        // A member may itself be called `properties`.
        check(
            r#"{"properties": {"properties": {"b": 1, "a": -1}, "a": "x"}}"#,
            "a properties",
            "properties a",
        );
        check(
            r#"{"properties": {"properties": {"b": 1, "a": -1}, "a": "x"}}"#,
            "a b",
            "",
        );
        check(
            r#"{"$defs": {"x": {"anyOf": [{"properties": {"b": {}, "a": {}}}]}}}"#,
            "a b",
            "b a",
        );
        check(r#"{"properties": {"b": 1, "a": 2}"#, "a b", "");
    }
}
