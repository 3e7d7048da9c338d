//! Conditions on a JSON value.

use askback_host::{
    text::{Words, given},
    words,
    yaml::Shape,
};
use regex::Regex;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// How many characters of an expected value an error shows.
const SHOWN: usize = 200;

/// A condition on a value. Unless it is a map, the value must equal it.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(from = "Shape<Tests>")]
pub(super) struct Condition(Tests);

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Tests {
    #[serde(deserialize_with = "some")]
    equals: Option<Value>,
    /// Parts of a text, or elements of a list.
    #[serde(deserialize_with = "one_or_more")]
    contains: Vec<Value>,
    matches: Option<Pattern>,
    length: Option<u64>,
    present: Option<bool>,
    not: Option<Box<Condition>>,
}

/// Accepts any value, `null` included.
fn some<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

fn one_or_more<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Value>, D::Error> {
    Ok(match Value::deserialize(deserializer)? {
        Value::Array(all) => all,
        one => vec![one],
    })
}

#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "String")]
struct Pattern(Regex);

impl TryFrom<String> for Pattern {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        // The crate's message has several lines.
        Regex::new(&text).map(Self).map_err(|error| match error {
            regex::Error::CompiledTooBig(_) => format!("the pattern `{text}` is too large"),
            _ => format!("`{text}` is not a regular expression"),
        })
    }
}

impl From<Shape<Tests>> for Condition {
    fn from(text: Shape<Tests>) -> Self {
        let equal_to = |value| Tests {
            equals: Some(value),
            ..Tests::default()
        };
        Self(match text {
            Shape::Map(tests) => tests,
            Shape::Scalar(value) => equal_to(value),
            Shape::List(values) => equal_to(values.into()),
        })
    }
}

impl Condition {
    /// Checks a value or its absence. The error says what was expected.
    pub(super) fn check(&self, found: Option<&Value>) -> Result<(), Words> {
        if let Some(wanted) = &self.0.equals
            && !found.is_some_and(|found| equal(wanted, found))
        {
            let kinds = found.map(|found| (kind(wanted), kind(found)));
            return Err(match kinds {
                Some((wanted_kind, kind)) if wanted_kind != kind => {
                    words!("{} ({}; {} came)", shown(wanted), wanted_kind, kind)
                }
                _ if found.is_some_and(|found| is_part(wanted, found)) => words!(
                    "{} (it is a part of what came; {contains: …} expects a part)",
                    shown(wanted)
                ),
                _ => shown(wanted),
            });
        }
        let mut parts = self.parts(found).into_iter();
        match parts.find(|(fits, _)| !fits) {
            Some((_, words)) => Err(words),
            None => Ok(()),
        }
    }

    /// Evaluates all tests except `equals`. Returns for each whether the value passes, and what was
    /// expected.
    fn parts(&self, found: Option<&Value>) -> Vec<(bool, Words)> {
        let mut parts = Vec::new();
        if let Some(present) = self.0.present {
            let words = match present {
                true => "a value",
                false => "nothing there",
            };
            parts.push((found.is_some() == present, words.into()));
        }
        for part in &self.0.contains {
            let fits = found.is_some_and(|found| contains(found, part));
            parts.push((fits, words!("something that contains {}", shown(part))));
        }
        if let Some(Pattern(regex)) = &self.0.matches {
            let fits = found.is_some_and(|found| regex.is_match(&text(found)));
            let words = words!("something that matches {}", cut(regex.as_str()));
            parts.push((fits, words));
        }
        if let Some(length) = self.0.length {
            let fits = found.and_then(self::length) == Some(length);
            parts.push((fits, words!("something of length {}", length)));
        }
        if let Some(not) = &self.0.not {
            parts.push((not.check(found).is_err(), words!("not {}", not.in_words())));
        }
        parts
    }

    pub(super) fn check_text(&self, found: &str) -> Result<(), Words> {
        self.check(Some(&Value::String(found.to_owned())))
    }

    pub(super) fn in_words(&self) -> Words {
        let parts = self.parts(None).into_iter().map(|(_, words)| words);
        let all: Vec<_> = self.0.equals.iter().map(shown).chain(parts).collect();
        match all.is_empty() {
            true => "anything".into(),
            false => Words::join(all, " and "),
        }
    }
}

/// Whether two values are equal. Numbers are compared by value.
fn equal(wanted: &Value, found: &Value) -> bool {
    match (wanted, found) {
        (Value::Number(wanted), Value::Number(found)) => {
            wanted == found
                || wanted.as_f64() == found.as_f64() && (wanted.is_f64() || found.is_f64())
        }
        (Value::Array(wanted), Value::Array(found)) => {
            let mut both = wanted.iter().zip(found);
            wanted.len() == found.len() && both.all(|(wanted, found)| equal(wanted, found))
        }
        (Value::Object(wanted), Value::Object(found)) => {
            let is_same = |(name, wanted): (&String, &Value)| {
                found.get(name).is_some_and(|found| equal(wanted, found))
            };
            wanted.len() == found.len() && wanted.iter().all(is_same)
        }
        _ => wanted == found,
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a yes or no",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

fn is_part(wanted: &Value, found: &Value) -> bool {
    match (wanted, found) {
        (Value::String(wanted), Value::String(found)) => {
            !wanted.is_empty() && found.contains(wanted)
        }
        _ => false,
    }
}

fn contains(found: &Value, part: &Value) -> bool {
    match found {
        Value::Array(all) => all.iter().any(|one| equal(part, one)),
        _ => text(found).contains(&text(part)),
    }
}

/// The text of a string, or the JSON of any other value.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn length(value: &Value) -> Option<u64> {
    let length = match value {
        Value::String(text) => text.chars().count(),
        Value::Array(all) => all.len(),
        Value::Object(all) => all.len(),
        _ => return None,
    };
    u64::try_from(length).ok()
}

/// A value from the suite, as JSON.
fn shown(value: &Value) -> Words {
    cut(&value.to_string())
}

fn cut(text: &str) -> Words {
    match text.char_indices().nth(SHOWN) {
        None => given(text).into(),
        Some((end, _)) => words!("{}…", given(&text[..end])),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_condition_describes_its_requirement() {
        #[track_caller]
        fn check(condition: &str, found: Value, wanted: Option<&str>) {
            let condition: Condition = yaml_serde::from_str(condition).expect("a condition");
            let checked = condition.check(Some(&found).filter(|found| **found != json!("absent")));
            let told = checked.err().map(|words| words.to_string());
            assert_eq!(told.as_deref(), wanted, "{found}");
        }
        check("yes it is", json!("yes it is"), None);
        check(
            "yes",
            json!("yes, it is"),
            Some("\"yes\" (it is a part of what came; {contains: …} expects a part)"),
        );
        check("yes", json!("no, it is"), Some("\"yes\""));
        check("''", json!("yes"), Some("\"\""));
        check("3000", json!(3000.0), None);
        check("3000.0", json!(3000), None);
        check("3000", json!("3000"), Some("3000 (a number; a text came)"));
        check("'3'", json!(3), Some("\"3\" (a text; a number came)"));
        check(
            "true",
            json!("true"),
            Some("true (a yes or no; a text came)"),
        );
        check("[3]", json!(["3"]), Some("[3]"));
        check(
            "9007199254740993",
            json!(9007199254740992_u64),
            Some("9007199254740993"),
        );
        check("[1, {a: 2}]", json!([1.0, {"a": 2}]), None);
        check("[1]", json!([1, 2]), Some("[1]"));
        check("null", json!(null), None);
        check("null", json!("absent"), Some("null"));
        check(
            "{equals: {a: 1}}",
            json!({"a": 1, "b": 2}),
            Some(r#"{"a":1}"#),
        );
        check("{contains: ell}", json!("hello"), None);
        check("{contains: [h, lo]}", json!("hello"), None);
        check(
            "{contains: [h, x]}",
            json!("hello"),
            Some("something that contains \"x\""),
        );
        check("{contains: 2}", json!([1, 2]), None);
        check(
            "{contains: 3}",
            json!([1, 2]),
            Some("something that contains 3"),
        );
        check(
            "{matches: '^TRV-[0-9A-F]{8}$'}",
            json!("TRV-D3DD162E"),
            None,
        );
        check(
            "{matches: '^TRV'}",
            json!("x"),
            Some("something that matches ^TRV"),
        );
        check("{length: 2}", json!("äö"), None);
        check("{length: 2}", json!([1]), Some("something of length 2"));
        check("{present: true}", json!(null), None);
        check("{present: true}", json!("absent"), Some("a value"));
        check("{present: false}", json!("absent"), None);
        check("{present: false}", json!(1), Some("nothing there"));
        check("{not: {contains: TRV-}}", json!("nothing"), None);
        check(
            "{not: {contains: TRV-}}",
            json!("TRV-1"),
            Some("not something that contains \"TRV-\""),
        );
        check(
            "{contains: a, length: 1}",
            json!("ab"),
            Some("something of length 1"),
        );
    }
}
