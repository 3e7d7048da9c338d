//! Arguments whose type or choice is not that of the tool's schema.
//!
//! Only what is certain is told, in any build: a value that a `type`, an `enum` or a `const` rules out. Bounds, patterns and
//! the insides of lists and objects are left to the server.

use askback_host::text::Words;
use serde_json::{Map, Value};

use super::{PARTS, Type, declared_types};

/// The most values of a choice that are named.
const CHOICES: usize = 8;

/// How many schemas within each other are looked at.
const DEPTH: u32 = 32;

/// An argument that does not fit the schema.
#[derive(Debug, Clone, PartialEq)]
pub struct Unfit<'a> {
    pub name: &'a str,
    /// The value that the schema wants.
    pub wanted: Wanted<'a>,
}

/// The value that the schema of an argument wants.
#[derive(Debug, Clone, PartialEq)]
pub enum Wanted<'a> {
    Type(Words),
    /// One of these values, and whether there are more.
    Choice(Vec<&'a Value>, bool),
}

/// The arguments that certainly do not fit the input schema of a tool.
pub fn unfit<'a>(arguments: &'a Map<String, Value>, schema: &'a Value) -> Vec<Unfit<'a>> {
    let unfit = arguments.iter().filter_map(|(name, value)| {
        let property = schema["properties"].get(name)?;
        let mut left = PARTS;
        let mut look = Look {
            root: schema,
            value,
            left: &mut left,
        };
        let wanted = match look.rules_out(property, DEPTH)? {
            Fault::Choice(values) => {
                let named = values.iter().take(CHOICES).collect();
                Wanted::Choice(named, values.len() > CHOICES)
            }
            Fault::Type => {
                let types = declared_types(schema, property);
                let types = types.into_iter().map(|one| Words::from(one.in_words()));
                Wanted::Type(Words::join(types, ", or "))
            }
        };
        Some(Unfit { name, wanted })
    });
    unfit.collect()
}

/// A value that is held against parts of a schema. The schema is the server's, so that all that is looked at is counted.
struct Look<'a, 'l> {
    root: &'a Value,
    value: &'a Value,
    left: &'l mut usize,
}

/// The reason why a value is ruled out.
enum Fault<'a> {
    Type,
    Choice(&'a [Value]),
}

impl<'a> Look<'a, '_> {
    /// The reason why a schema certainly rules the value out, if it does.
    fn rules_out(&mut self, schema: &'a Value, depth: u32) -> Option<Fault<'a>> {
        *self.left = self.left.checked_sub(1)?;
        let depth = depth.checked_sub(1)?;
        // In older dialects nothing beside a reference counts.
        if let Some(reference) = schema["$ref"].as_str() {
            let target = self.root.pointer(reference.strip_prefix('#')?)?;
            return self.rules_out(target, depth);
        }
        if self.is_of_other_type(&schema["type"]) {
            return Some(Fault::Type);
        }
        if let Some(values) = schema["enum"].as_array() {
            *self.left = self.left.checked_sub(values.len())?;
            if !values.iter().any(|one| same(one, self.value)) {
                return Some(Fault::Choice(values));
            }
        }
        if let Some(only) = schema.get("const").filter(|only| !same(only, self.value)) {
            return Some(Fault::Choice(std::slice::from_ref(only)));
        }
        let all = schema["allOf"].as_array().into_iter().flatten();
        let fault = all.filter_map(|part| self.rules_out(part, depth)).next();
        fault.or_else(|| {
            ["anyOf", "oneOf"]
                .into_iter()
                .find_map(|word| self.all_rule_out(schema[word].as_array()?, depth))
        })
    }

    /// The reason why the value is ruled out where all of several schemas do it.
    fn all_rule_out(&mut self, schemas: &'a [Value], depth: u32) -> Option<Fault<'a>> {
        let (first, others) = schemas.split_first()?;
        let fault = self.rules_out(first, depth)?;
        for other in others {
            self.rules_out(other, depth)?;
        }
        Some(match (others, fault) {
            ([], fault) => fault,
            _ => Fault::Type,
        })
    }

    fn is_of_other_type(&self, types: &Value) -> bool {
        let names = match types {
            Value::Array(names) => names.as_slice(),
            one => std::slice::from_ref(one),
        };
        let is_other = |name: &Value| {
            let named = name.as_str().and_then(Type::named);
            named.is_some_and(|one| !self.is_of(one))
        };
        !names.is_empty() && names.iter().all(is_other)
    }

    fn is_of(&self, one: Type) -> bool {
        match one {
            Type::String => self.value.is_string(),
            other => other.takes(Some(self.value)),
        }
    }
}

/// Whether two values are the same in JSON Schema, where 1 is 1.0.
fn same(one: &Value, other: &Value) -> bool {
    one == other
        || matches!((one.as_f64(), other.as_f64()), (Some(one), Some(other)) if one == other)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_certainly_does_not_fit_is_told_and_nothing_else() {
        let schema = json!({
            "$defs": {
                "room": {"enum": ["sea_view", "city"]},
                "loop": {"$ref": "#/$defs/loop"},
                "many": {"enum": (0..9).collect::<Vec<_>>()},
            },
            "properties": {
                "nights": {"type": "integer"},
                "price": {"type": ["number", "null"]},
                "room": {"$ref": "#/$defs/room", "type": "integer"},
                "meal": {"anyOf": [{"type": "string"}, {"type": "null"}]},
                "open": {"anyOf": [{"type": "string"}, {}]},
                "kind": {"const": "x"},
                "both": {"allOf": [{}, {"type": "boolean"}]},
                "loop": {"$ref": "#/$defs/loop"},
                "many": {"$ref": "#/$defs/many"},
                "odd": {"type": "date"},
                "far": {"$ref": "https://a.test/b"},
                "any": true,
                "none": {"type": []},
            },
        });
        #[track_caller]
        fn check(schema: &Value, name: &str, value: Value, wanted: Option<&str>) {
            let arguments = Map::from_iter([(name.to_owned(), value)]);
            let found = unfit(&arguments, schema);
            let found = found.first().map(|unfit| match &unfit.wanted {
                Wanted::Type(words) => words.to_string(),
                Wanted::Choice(values, has_more) => json!([values, has_more]).to_string(),
            });
            assert_eq!(found.as_deref(), wanted, "{name}");
        }
        let whole = Some("a whole number, such as 7");
        check(&schema, "nights", json!(7), None);
        check(&schema, "nights", json!(7.0), None);
        check(&schema, "nights", json!("7"), whole);
        check(&schema, "nights", json!(7.5), whole);
        check(&schema, "price", json!(7), None);
        check(&schema, "price", json!(null), None);
        let number = Some("a number, such as 1.5, or null");
        check(&schema, "price", json!("7"), number);
        check(&schema, "room", json!("city"), None);
        let rooms = Some(r#"[["sea_view","city"],false]"#);
        check(&schema, "room", json!("attic"), rooms);
        check(&schema, "meal", json!(null), None);
        check(&schema, "meal", json!([]), Some("null, or a text"));
        check(&schema, "open", json!([]), None);
        check(&schema, "kind", json!("x"), None);
        check(&schema, "kind", json!("y"), Some(r#"[["x"],false]"#));
        check(&schema, "both", json!(true), None);
        check(&schema, "both", json!("yes"), Some("true or false"));
        check(&schema, "many", json!(3.0), None);
        let many = Some("[[0,1,2,3,4,5,6,7],true]");
        check(&schema, "many", json!(9), many);
        for name in ["loop", "odd", "far", "any", "none", "unknown"] {
            check(&schema, name, json!({"a": 1}), None);
        }
    }

    #[test]
    fn a_schema_that_has_no_end_is_left() {
        let mut members = vec![json!({"type": "string"}); PARTS];
        let wide = json!({"properties": {"a": {"anyOf": members}}});
        let arguments = Map::from_iter([("a".to_owned(), json!(1))]);
        assert_eq!(unfit(&arguments, &wide), []);
        members.truncate(PARTS - 2);
        let wide = json!({"properties": {"a": {"anyOf": members}}});
        assert_eq!(unfit(&arguments, &wide).len(), 1);
        let twice = json!({"$ref": "#/$defs/a"});
        let grows = json!({
            "$defs": {"a": {"allOf": [twice, twice], "anyOf": [twice, twice]}},
            "properties": {"a": twice},
        });
        assert_eq!(unfit(&arguments, &grows), []);
    }
}
